"""A pytest plugin: the build of the book reuses the outputs of notebooks that nbval has run.

A notebook is run as the build reads it, including solutions. If every cell passes, the notebook
goes, with its outputs and the state of its figures, into the cache in the folder of --keep-outputs.
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

# nbval has no option for how to read a notebook.
nbval.plugin.nbformat = SimpleNamespace(read=lambda path, as_version: expanded(path))


def pytest_addoption(parser):
    parser.addoption("--keep-outputs", type=Path, metavar="BUILD")


def pytest_runtest_setup(item):
    """At the first cell of a notebook, start recording the messages of its figures."""
    if isinstance(item, IPyNbCell) and not hasattr(item.parent, "figures"):
        figures = NotebookClient(item.parent.nb)  # only for its record of widgets
        figures.comm_open_handlers = {"jupyter.widget": lambda message: None}
        get = item.parent.get_kernel_message  # ignores widgets

        def get_and_record(**settings):
            message = get(**settings)
            if message["msg_type"] in ("comm_open", "comm_msg"):
                figures.handle_comm_msg([], message, 0)
            return message

        item.parent.figures, item.parent.get_kernel_message = figures, get_and_record


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail here already, with the reason: a plot that cannot be repainted, or a warning."""
    result = yield
    for output in getattr(item, "test_outputs", None) or []:
        if output.get("name") == "stderr":
            assert "remove-stderr" in item.cell.metadata.get("tags", []), output["text"]
        if svg := output.get("data", {}).get("image/svg+xml"):
            dark(svg)
    return result


def pytest_runtest_makereport(item, call):
    """Store a passed cell's outputs in the notebook; after the last cell, keep the notebook."""
    build = item.config.getoption("keep_outputs")
    if build is None or not isinstance(item, IPyNbCell) or call.when != "call":
        return
    if call.excinfo is None:
        item.cell.outputs = item.test_outputs
        item.cell.execution_count = item.cell_num + 1
    notebook = item.parent.nb
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if item.cell is code[-1] and all(cell.execution_count for cell in code):
        item.parent.figures.set_widgets_metadata()
        bundle = CacheBundleIn(notebook, str(item.parent.path))
        cache = get_cache(build / ".jupyter_cache")
        # One at a time: the cache evicts old entries, maybe one that another process just added.
        with FileLock(cache.path / "keep.lock"):
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
