"""A Sphinx extension: what needs an address, where _config.yml has one, and nothing where not.

A repository brings buttons that open a notebook on Colab, Binder or in a Codespace, and a way to
report an error on each page. Both it and the site are settings of _config.yml.
"""

import os
import re
import tomllib
from pathlib import Path
from runpy import run_path
from urllib.parse import urlencode

import yaml

ROOT = Path(__file__).parents[2]
CHAPTERS = run_path(str(ROOT / "d2lmini" / "support" / "chapters.py"))[
    "CHAPTERS"
]  # no PyTorch


def version():
    """Of the package, as pyproject.toml has it; the repository has a tag of this name."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return tomllib.loads(text)["project"]["version"]


def wheel_name():
    """The package as a file, which lies beside the pages."""
    return f"d2lmini-{version()}-py3-none-any.whl"


def settings():
    """What _config.yml says."""
    return yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))


def site_address(configured):
    """Of the site: what is configured, unless SITE_ADDRESS in the environment says another."""
    return (os.environ.get("SITE_ADDRESS") or configured or "").rstrip("/")


def file_name():
    """The book's title as a name of files, without an ending: the-transformer-by-running-it."""
    return re.sub(r"\W+", "-", settings()["title"].lower()).strip("-")


def addresses():
    """Of the repository and of the site; empty while there is none."""
    said = settings()
    repository = (said["repository"]["url"] or "").rstrip("/")
    return repository, site_address(said["html"]["baseurl"])


def tell_theme(app, config):
    """The repository, if there is one, and what can be launched from it.

    Jupyter Book would tell the theme, but for the theme's options that _config.yml sets itself.
    """
    said, (repository, _) = settings(), addresses()
    if repository:
        config.html_theme_options |= {
            "repository_url": repository,
            "repository_branch": said["repository"]["branch"],
            "launch_buttons": said["launch_buttons"],
        }


def add_codespace(app, pagename, templatename, context, doctree):
    """Beside the theme's own buttons, one that opens the repository in a Codespace."""
    repository = app.config.html_theme_options.get("repository_url") or ""
    owner_and_name = repository.removeprefix("https://github.com/").strip("/")
    for group in context.get("header_buttons", []):
        if group["label"] == "launch-buttons" and owner_and_name != repository:
            group["buttons"].append(
                {
                    "type": "link",
                    "text": "Codespaces",
                    "tooltip": "Open the repository in a GitHub Codespace",
                    "icon": "fas fa-code",
                    "url": f"https://codespaces.new/{owner_and_name}",
                }
            )


def add_footer(app, pagename, templatename, context, doctree):
    """Slides, version, licences, and how to cite and to correct, at the foot of each page."""
    repository = app.config.html_theme_options.get("repository_url")

    def link(page, section, text):
        path = context["pathto"](f"book/{page}").removesuffix("#")  # the page itself
        return f'<a href="{path}#{section}">{text}</a>'

    said = [
        f'<a href="../slides/{chapter.page}">Slides of this chapter</a>'
        for chapter in CHAPTERS.values()
        if pagename == f"book/{chapter.file}"
    ]
    said += [
        link("about", "versions", f"Version {version()}"),
        f"Text and figures: {link('about', 'licences', 'CC BY 4.0')}. Code: MIT.",
        link("licences", "third-party-licences", "Third-party licences"),
        link("about", "how-to-cite-it", "Cite this book"),
        link("errata", "errata", "Errata"),
    ]
    if repository:
        about = urlencode({"title": f"{pagename}: ", "labels": "erratum"})
        address = f"{repository.rstrip('/')}/issues/new?{about}".replace("&", "&amp;")
        said.append(f'<a href="{address}">Report an error on this page</a>')
    context["theme_extra_footer"] = " · ".join(said)


def setup(app):
    # After Jupyter Book and the theme have read the configuration, and made their buttons.
    app.connect("config-inited", tell_theme, priority=900)
    app.connect("html-page-context", add_codespace, priority=900)
    app.connect("html-page-context", add_footer, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
