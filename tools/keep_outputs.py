"""A plugin of pytest: what nbval has run, the build of the book need not run again.

    PYTHONPATH=. pytest -p tools.keep_outputs --keep-outputs BUILD --nbval-lax book

A notebook is run as the build reads it, solutions included. When every cell has passed, it goes,
with its outputs and the state of its figures, into the cache of the build folder BUILD, where
Jupyter Book looks for it.
"""

from pathlib import Path
from types import SimpleNamespace

import nbval.plugin
import pytest
from filelock import FileLock
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient
from nbval.plugin import IPyNbCell

from tools.extensions.dark_plots import dark
from tools.extensions.portable import expanded


def keep(notebook, path, cache):
    """Put a notebook that has been run where Jupyter Book looks for it."""
    bundle = CacheBundleIn(notebook, str(path))
    # One at a time: the cache looks for what is too old, and would throw out what another process
    # has just put in.
    with FileLock(cache.path / "keep.lock"):
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


# nbval has no setting for how a notebook is read.
nbval.plugin.nbformat = SimpleNamespace(read=lambda path, as_version: expanded(path))


def pytest_addoption(parser):
    parser.addoption("--keep-outputs", type=Path, metavar="BUILD")


def pytest_runtest_setup(item):
    """At the first cell of a notebook: listen to what its figures tell the page."""
    if isinstance(item, IPyNbCell) and not hasattr(item.parent, "figures"):
        # for its record of widgets only
        item.parent.figures = NotebookClient(item.parent.nb)
        item.parent.figures.comm_open_handlers = {
            "jupyter.widget": lambda message: None
        }
        item.parent.get_kernel_message = recording(item.parent)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A plot that the build could not repaint for the dark theme fails here already."""
    result = yield
    for output in getattr(item, "test_outputs", None) or []:
        if svg := output.get("data", {}).get("image/svg+xml"):
            dark(svg)
    return result


def recording(notebook):
    """nbval's way to get a message, which passes over what widgets say; here it is kept."""
    get = notebook.get_kernel_message

    def get_and_record(**settings):
        message = get(**settings)
        if message["msg_type"] in ("comm_open", "comm_msg"):
            notebook.figures.handle_comm_msg([], message, 0)
        return message

    return get_and_record


def pytest_runtest_makereport(item, call):
    """Write what a passed cell gave into its notebook; after the last cell, keep the notebook."""
    build = item.config.getoption("keep_outputs")
    if build is None or not isinstance(item, IPyNbCell) or call.when != "call":
        return
    if call.excinfo is None:
        item.cell.outputs, item.cell.execution_count = (
            item.test_outputs,
            item.cell_num + 1,
        )
    notebook = item.parent.nb
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if item.cell is code[-1] and all(cell.execution_count for cell in code):
        item.parent.figures.set_widgets_metadata()
        keep(notebook, item.parent.path, get_cache(build / ".jupyter_cache"))
