"""A Sphinx extension: everything that needs the address of the repository or of the site.

With a repository, each page has a link to report an error and buttons that open its notebook on
Colab, on Binder or in a Codespace. Both addresses are settings in _config.yml and may be empty.
"""

import os
import re
import tomllib
from pathlib import Path
from runpy import run_path
from urllib.parse import urlencode

import yaml

ROOT = Path(__file__).parents[2]
# Run by path, since importing the package would load PyTorch.
TABLE = run_path(str(ROOT / "d2lmini" / "support" / "chapters.py"))
CHAPTERS, EXERCISE_PAGES = TABLE["CHAPTERS"], TABLE["EXERCISE_PAGES"]
PAGES = {f"book/{chapter.file}": chapter.page for chapter in CHAPTERS.values()}


def version():
    """The package's version from pyproject.toml; the repository has a tag of this name."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return tomllib.loads(text)["project"]["version"]


def wheel_name():
    """The name of the package's wheel, which lies next to the pages."""
    return f"d2lmini-{version()}-py3-none-any.whl"


def settings():
    """The settings in _config.yml."""
    return yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))


def site_address(configured):
    """The site's address: SITE_ADDRESS in the environment, or else the configured one."""
    return (os.environ.get("SITE_ADDRESS") or configured or "").rstrip("/")


def file_name():
    """The book's title as a file name without extension: the-transformer-by-running-it."""
    return re.sub(r"\W+", "-", settings()["title"].lower()).strip("-")


def addresses():
    """The addresses of the repository and of the site; each is empty if not configured."""
    config = settings()
    repository = (config["repository"]["url"] or "").rstrip("/")
    return repository, site_address(config["html"]["baseurl"])


def tell_theme(app, config):
    """Pass the repository and its launch buttons to the theme.

    Jupyter Book does this only if _config.yml sets no theme options itself.
    """
    ours, (repository, _), options = settings(), addresses(), config.html_theme_options
    if repository:
        options["repository_url"] = repository
        options["repository_branch"] = ours["repository"]["branch"]
        options["launch_buttons"] = ours["launch_buttons"]


def add_codespace(app, pagename, templatename, context, doctree):
    """Add a button that opens the repository in a Codespace to the theme's own buttons."""
    repository = app.config.html_theme_options.get("repository_url") or ""
    owner_and_name = repository.removeprefix("https://github.com/").strip("/")
    button = {
        "type": "link",
        "text": "Codespaces",
        "tooltip": "Open the repository in a GitHub Codespace",
        "icon": "fas fa-code",
        "url": f"https://codespaces.new/{owner_and_name}",
    }
    for group in context.get("header_buttons", []):
        if group["label"] == "launch-buttons" and owner_and_name != repository:
            group["buttons"].append(button)


def add_footer(app, pagename, templatename, context, doctree):
    """Put slides, version, licences, citation and errata at the foot of each page."""
    repository = app.config.html_theme_options.get("repository_url")

    def link(page, section, text):
        path = context["pathto"](f"book/{page}").removesuffix("#")  # the page itself
        return f'<a href="{path}#{section}">{text}</a>'

    links = [
        link("about", "versions", f"Version {version()}"),
        f"Text and figures: {link('about', 'licences', 'CC BY 4.0')}. Code: MIT.",
        link("licences", "third-party-licences", "Third-party licences"),
        link("about", "how-to-cite-it", "Cite this book"),
        link("errata", "errata", "Errata"),
    ]
    if page := PAGES.get(pagename):
        links.insert(0, f'<a href="../slides/{page}">Slides of this chapter</a>')
    if repository:
        about = urlencode({"title": f"{pagename}: ", "labels": "erratum"})
        address = f"{repository.rstrip('/')}/issues/new?{about}".replace("&", "&amp;")
        links.append(f'<a href="{address}">Report an error on this page</a>')
    context["theme_extra_footer"] = " · ".join(links)


def setup(app):
    # After Jupyter Book and the theme have read the configuration and made their buttons
    app.connect("config-inited", tell_theme, priority=900)
    app.connect("html-page-context", add_codespace, priority=900)
    app.connect("html-page-context", add_footer, priority=400)
