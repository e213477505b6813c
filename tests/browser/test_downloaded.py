"""A reader who has the built pages and a Python with PyTorch and Jupyter, such as Colab's."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
# With markers: some packages have a locked version for each of several Pythons.
LINES = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
LOCKED = [line.partition(" #")[0].strip() for line in LINES if "==" in line]
RUN = """
import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.execute(notebook, timeout=300, extra_arguments=["--log-level=ERROR"])
nbformat.write(notebook, sys.argv[1])
"""


def locked(name):
    return next(pin for pin in LOCKED if pin.startswith(f"{name}=="))


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python with PyTorch and the tools to run a notebook, but not our package."""
    folder = tmp_path_factory.mktemp("with a space, and an é") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    pins = [locked(name) for name in ("torch", "ipykernel", "nbclient")]
    got = subprocess.run([python, "-m", "pip", "install", "--quiet", *pins])
    if got.returncode and not os.environ.get("CI"):
        pytest.skip("no package index can be reached")
    assert got.returncode == 0
    return python


def run(python, notebook):
    """Run a notebook; return the process and the notebook with its outputs."""
    command = [python, "-c", RUN, notebook]
    done = subprocess.run(command, cwd=notebook.parent, capture_output=True, text=True)
    return done, nbformat.read(notebook, as_version=4)


def test_notebooks_run_with_the_package_beside_the_pages_or_beside_them(
    python, built, tmp_path, monkeypatch
):
    def downloaded(name):
        # As the download button gives it, in a folder with nothing else.
        notebook = tmp_path / name
        notebook.write_bytes((built / "_sources" / "book" / name).read_bytes())
        return notebook

    done, _ = run(python, downloaded("02-masks.ipynb"))
    (line,) = re.findall(r'%pip install "FOLDER/(.+?)"', done.stderr)[-1:]

    # What the cell says to do.
    pins = tmp_path / "pins.txt"
    pins.write_text("\n".join(LOCKED), "utf-8")
    monkeypatch.setenv("PIP_CONSTRAINT", str(pins))
    pip = [python, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "install", f"{built}/{line}"], check=True)

    for name in ("02-masks.ipynb", "index.ipynb"):
        done, notebook = run(python, downloaded(name))
        assert done.returncode == 0, done.stderr[-2000:]
        assert "anywidget" in started(notebook), "no figure has started"

    # All of them bring the package, and install it.
    subprocess.run([*pip, "uninstall", "--yes", "d2lmini"], check=True)
    with zipfile.ZipFile(next(built.glob("*-notebooks.zip"))) as notebooks:
        notebooks.extractall(tmp_path / "all of them")
    (notebook,) = (tmp_path / "all of them").glob("*/02-masks.ipynb")
    done, notebook = run(python, notebook)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "anywidget" in started(notebook)


def started(notebook):
    """The modules of the figures that a notebook shows."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    views = [
        output.data["application/vnd.jupyter.widget-view+json"]["model_id"]
        for output in outputs
        if "application/vnd.jupyter.widget-view+json" in output.get("data", {})
    ]
    (states,) = notebook.metadata.widgets.values()
    return {states["state"][view]["model_module"] for view in views}
