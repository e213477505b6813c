"""A reader who has the built pages and a Python with PyTorch and Jupyter, such as Colab's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
# With their markers: some packages are locked to one version for each of several Pythons.
LOCKED = [
    line.partition(" #")[0].strip()
    for line in (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    if "==" in line
]
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
    """A Python that has PyTorch and what runs a notebook, and nothing of ours."""
    folder = tmp_path_factory.mktemp("with a space, and an é") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    pins = [locked(name) for name in ("torch", "ipykernel", "nbclient")]
    got = subprocess.run([python, "-m", "pip", "install", "--quiet", *pins])
    if got.returncode and not os.environ.get("CI"):
        pytest.skip("no package index can be reached")
    assert got.returncode == 0
    return python


def test_downloaded_notebooks_run_with_the_package_beside_the_pages(
    python, built, tmp_path
):
    def run(name):
        # As the download button gives it, in a folder with nothing else.
        notebook = tmp_path / name
        notebook.write_bytes((built / "_sources" / "book" / name).read_bytes())
        done = subprocess.run(
            [python, "-c", RUN, notebook], cwd=tmp_path, capture_output=True, text=True
        )
        return done, nbformat.read(notebook, as_version=4)

    done, _ = run("02-masks.ipynb")
    (line,) = re.findall(r'%pip install "FOLDER/(.+?)"', done.stderr)[-1:]

    # What the cell says to do.
    pins = tmp_path / "pins.txt"
    pins.write_text("\n".join(LOCKED), "utf-8")
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", pins]
    subprocess.run([*pip, f"{built}/{line}"], check=True)

    for name in ("02-masks.ipynb", "index.ipynb"):
        done, notebook = run(name)
        assert done.returncode == 0, done.stderr[-2000:]
        outputs = [
            output for cell in notebook.cells for output in cell.get("outputs", [])
        ]
        views = [
            output.data["application/vnd.jupyter.widget-view+json"]["model_id"]
            for output in outputs
            if "application/vnd.jupyter.widget-view+json" in output.get("data", {})
        ]
        (states,) = notebook.metadata.widgets.values()
        modules = {states["state"][view]["model_module"] for view in views}
        assert "anywidget" in modules, "no figure has started"
