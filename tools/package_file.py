"""A Sphinx extension: the package as one file, a wheel, beside the pages.

A reader who has nothing but the pages and a notebook from them installs it from there. Where the
site's address is known, the notebook does so itself: its first cell of code names the wheel.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from addresses import ROOT, addresses
from install_cell import with_install_cell

from d2lmini.course.notebooks import text_of

WHAT = ("d2lmini", "pyproject.toml", "README.md", "LICENSE")


def build_wheel(folder):
    """Put the wheel of the package into a folder.

    From a copy: what setuptools leaves in a project would go into the next wheel.
    """
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for path in map(ROOT.joinpath, WHAT):
            if path.is_dir():
                leave = shutil.ignore_patterns("__pycache__", "unfinished")
                shutil.copytree(path, copy / path.name, ignore=leave)
            else:
                shutil.copy(path, copy)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "build", "--wheel", "--no-isolation"),
                *("--outdir", str(folder.resolve()), str(copy)),
            ],
            capture_output=True,
            text=True,
            # The same files give the same wheel, whenever it is made.
            env=os.environ | {"SOURCE_DATE_EPOCH": "1577836800"},
        )
    if done.returncode:
        raise RuntimeError(f"the wheel could not be built:\n{done.stderr}")


def name_wheel(notebooks, site):
    """Let the notebooks of a folder, from which readers download them, get the package here."""
    for path in notebooks.glob("**/*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        text = text_of(with_install_cell(notebook, "", site))
        path.write_text(text, encoding="utf-8", newline="\n")


def on_build_finished(app, exception):
    """With the pages; other builders have no place for it."""
    if not exception and app.builder.format == "html":
        build_wheel(Path(app.outdir))
        if site := addresses()[1]:
            name_wheel(Path(app.outdir) / "_sources", site)


def setup(app):
    app.connect("build-finished", on_build_finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
