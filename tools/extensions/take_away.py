"""A Sphinx extension: what readers can download from the pages.

A single notebook, by the button on its page. If the site's address is known, its first code cell
gets the package from the site, and its links lead there, since no other page lies next to it.

The package, as a wheel that such a notebook installs. All notebooks, as a zip with the package, so
that they run even if the site has no address. And the project, as a zip: it needs only Python for
`make lab` or `make book`.
"""

import functools
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import nbformat

from d2lmini.course.notebooks import text_of
from tools.extensions.addresses import (
    PAGES,
    ROOT,
    addresses,
    file_name,
    settings,
    wheel_name,
)
from tools.extensions.html_build import after_html_build
from tools.extensions.install_cell import requirement, with_install_cell
from tools.kept import kept
from tools.whole_files import write_bytes, write_text

PROJECT = [
    ".ci", ".devcontainer", ".dockerignore", ".gitattributes", ".github", ".gitignore",
    ".pre-commit-config.yaml", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "Dockerfile",
    "LICENSE", "LICENSE-TEXT", "Makefile", "README.md", "SECURITY.md", "_config.yml", "_toc.yml",
    "benchmarks", "book", "d2lmini", "docs", "pyproject.toml", "requirements.in",
    "requirements.txt", "tests", "tools",
]  # fmt: skip
IN_WHEEL = ("d2lmini", "pyproject.toml", "README.md", "LICENSE")
# Leftovers of tools, and unfinished recordings of results
LEFT_OUT = ("__pycache__", ".ipynb_checkpoints", "*.egg-info", "unfinished",
            "*-[0-9].safetensors")  # fmt: skip
READ_ME = Path(__file__).with_name("notebooks_readme.txt")
# Links to other pages and files of the book; [text](#place) stays in the notebook.
TO_PAGE = re.compile(r"\]\(([\w-]+)\.(?:ipynb|md)(#[\w-]+)?\)")
LACKING = re.compile(r"(<!-- \w+ -->\n[^<]*?)the built book([^<]*<!-- end -->)")
TO_FILE = re.compile(r'(?<=href=")\.\./')


def names():
    """The names of the two zips next to the pages: the notebooks and the project."""
    return f"{file_name()}-notebooks.zip", f"{file_name()}-project.zip"


def lead_to_site(folder, site):
    """Make the notebooks in a folder, which are downloaded one by one, link to the site."""
    for path in folder.glob("**/*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                text = TO_PAGE.sub(rf"]({site}/book/\1.html\2)", cell.source)
                cell.source = TO_FILE.sub(f"{site}/", text)
        text = text_of(with_install_cell(notebook, requirement("", site)))
        write_text(path, text)


def copy_project(what, folder):
    """Copy top-level files and folders of the project into a folder, without leftovers."""
    ignore = shutil.ignore_patterns(*LEFT_OUT)
    for path in map(ROOT.joinpath, what):
        if path.is_dir():
            # Not copy2: make must see that an unpacked project is newer than what it built.
            copy = shutil.copy
            shutil.copytree(path, folder / path.name, ignore=ignore, copy_function=copy)
        else:
            shutil.copy(path, folder)


def build_wheel(folder):
    """Build the wheel of the package into a folder."""
    with tempfile.TemporaryDirectory() as copy:
        copy_project(IN_WHEEL, Path(copy))
        wheel = kept("wheel", contents(Path(copy)), lambda: wheel_of(Path(copy)))
    write_bytes(folder / wheel_name(), wheel)


def contents(folder):
    """Yield the name and the path of each file in a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix()
            yield path


def wheel_of(project):
    """The wheel of a copy of the project: setuptools' leftovers would get into the next one."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
        command += ["--outdir", out, str(project)]
        # Equal files give equal wheels, whenever they are built.
        env = os.environ | {"SOURCE_DATE_EPOCH": "1577836800"}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        if done.returncode:
            raise RuntimeError(f"the wheel could not be built:\n{done.stderr}")
        (wheel,) = Path(out).iterdir()
        packed = io.BytesIO()
        with zipfile.ZipFile(wheel) as loose, zipfile.ZipFile(packed, "w") as tight:
            for (
                entry
            ) in loose.infolist():  # setuptools does not press as hard as it could
                tight.writestr(entry, loose.read(entry), compresslevel=9)
        return packed.getvalue()


def write_zip(path, fill):
    """Zip a folder that fill(folder) fills; it is zipped again only if a file has changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, path.stem)
        folder.mkdir()
        fill(folder)

        def make():
            archive = shutil.make_archive(str(folder), "zip", name, folder.name)
            return Path(archive).read_bytes()

        write_bytes(path, kept(path.stem, contents(folder), make))


def zip_notebooks(wheel, path):
    """Zip all notebooks, the pages they link to, and the package they use."""
    site = addresses()[1]

    def fill(folder):
        for page in [*(ROOT / "book").glob("*.ipynb"), *(ROOT / "book").glob("*.md")]:
            text = page.read_text(encoding="utf-8")
            if site:  # it has what a copy lacks
                there = f"[the built book]({site}/book/{page.stem}.html)"
                text = LACKING.sub(rf"\1{there}\2", text)
            if page.suffix == ".ipynb":
                notebook = nbformat.reads(text, as_version=4)
                text = text_of(with_install_cell(notebook, f"./{wheel.name}[book]"))
            write_text(folder / page.name, text)
        pages = f"\nThe pages are at {site}/\n" if site else ""
        fields = {"title": settings()["title"], "wheel": wheel.name, "pages": pages}
        text = READ_ME.read_text("utf-8").format(**fields)
        write_text(folder / "README.txt", text)
        copy_project(["LICENSE", "LICENSE-TEXT"], folder)
        (folder / wheel.name).write_bytes(wheel.read_bytes())

    write_zip(path, fill)


def zip_project(path):
    """Zip the sources of the book."""
    write_zip(path, functools.partial(copy_project, PROJECT))


@after_html_build
def write_downloads(app, out):
    """Write the wheel and both zips; on a site, adapt the single notebooks."""
    build_wheel(out)
    notebooks, project = names()
    zip_notebooks(out / wheel_name(), out / notebooks)
    zip_project(out / project)
    if site := addresses()[1]:
        lead_to_site(out / "_sources", site)


def offer(app, pagename, templatename, context, doctree):
    """Say what each entry of the download menu is, and add the other downloads."""

    def link(text, tooltip, path, icon="fas fa-file"):
        url = context["pathto"](path, 1)
        kind = {"type": "link", "label": f"download-{text.split()[-1][1:-1]}-button"}
        return kind | {"text": text, "tooltip": tooltip, "icon": icon, "url": url}

    zip_name, pdf, icon = names()[0], f"{file_name()}.pdf", "fas fa-file-pdf"
    more = [link("All notebooks (.zip)", "All notebooks, with their package", zip_name)]
    if page := PAGES.get(pagename):
        more.append(link("Slides (.html)", "Slides of this chapter", f"slides/{page}"))
    if addresses()[1]:
        more.append(link("Book (.pdf)", "The whole book, for paper", pdf, icon))
    for group in context.get("header_buttons", []):
        if group["label"] == "download-buttons":
            group["tooltip"] = "Download"
            for button in group["buttons"]:
                if button["label"] == "download-pdf-button":
                    button["text"] = "Print this page"
                else:
                    what = "Notebook" if button["text"] == ".ipynb" else "Page"
                    button["text"] = f"{what} ({button['text']})"
            group["buttons"] += more


def setup(app):
    app.connect("build-finished", write_downloads, priority=600)
    # After the theme has made its buttons
    app.connect("html-page-context", offer, priority=900)
