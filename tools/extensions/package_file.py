"""A Sphinx extension: the package as one file, a wheel, beside the pages.

A reader who has nothing but the pages and a notebook from them installs it from there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.extensions.addresses import ROOT, wheel_name
from tools.kept import kept
from tools.whole_files import write_bytes

WHAT = ("d2lmini", "pyproject.toml", "README.md", "LICENSE")
# What tools leave there, and recordings of results that have not ended
LEFT_OUT = (
    *("__pycache__", ".ipynb_checkpoints", "*.egg-info"),
    *("unfinished", "*-[0-9].safetensors"),
)


def copy_project(what, folder):
    """Copy files and folders of the project's top into a folder, without what tools leave."""
    for path in map(ROOT.joinpath, what):
        if path.is_dir():
            leave = shutil.ignore_patterns(*LEFT_OUT)
            shutil.copytree(path, folder / path.name, ignore=leave)
        else:
            shutil.copy(path, folder)


def build_wheel(folder):
    """Put the wheel of the package into a folder."""
    with tempfile.TemporaryDirectory() as copy:
        copy_project(WHAT, Path(copy))
        wheel = kept("wheel", contents(Path(copy)), lambda: wheel_of(Path(copy)))
    write_bytes(folder / wheel_name(), wheel)


def contents(folder):
    """Names and contents of the files in a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix()
            yield path


def wheel_of(project):
    """The bytes of the wheel of a copy: what setuptools leaves would go into the next wheel."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "build", "--wheel", "--no-isolation"),
                *("--outdir", out, str(project)),
            ],
            capture_output=True,
            text=True,
            # The same files give the same wheel, whenever it is made.
            env=os.environ | {"SOURCE_DATE_EPOCH": "1577836800"},
        )
        if done.returncode:
            raise RuntimeError(f"the wheel could not be built:\n{done.stderr}")
        (wheel,) = Path(out).iterdir()
        return wheel.read_bytes()


def on_build_finished(app, exception):
    """With the pages; other builders have no place for it."""
    if not exception and app.builder.format == "html":
        build_wheel(Path(app.outdir))


def setup(app):
    app.connect("build-finished", on_build_finished)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
