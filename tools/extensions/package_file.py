"""A Sphinx extension: put the package's wheel next to the pages.

Readers who have only the pages and a notebook from them install the package from there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.extensions.addresses import ROOT, wheel_name
from tools.extensions.html_build import after_html_build
from tools.kept import kept
from tools.whole_files import write_bytes

WHAT = ("d2lmini", "pyproject.toml", "README.md", "LICENSE")
# Leftovers of tools, and unfinished recordings of results
LEFT_OUT = ("__pycache__", ".ipynb_checkpoints", "*.egg-info", "unfinished",
            "*-[0-9].safetensors")  # fmt: skip


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
        copy_project(WHAT, Path(copy))
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
        return wheel.read_bytes()


@after_html_build
def write_wheel(app, out):
    build_wheel(out)


def setup(app):
    app.connect("build-finished", write_wheel)
