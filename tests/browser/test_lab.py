"""The same figures in JupyterLab, with a kernel: shown, operated, and Python is told."""

import os
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

CELLS = [
    "from d2lmini import widgets\nfigure = widgets.explore_masks()\nfigure",
    "print('python has', figure.state['causal'], figure.state['valid_lens'])",
    "figure.state = {**figure.state, 'sentences': ['from the kernel', 'b']}",
]


@pytest.fixture
def lab(tmp_path):
    """The address of a JupyterLab that serves a notebook with one figure."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    notebook.metadata.kernelspec = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(notebook, tmp_path / "figure.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
               "--ServerApp.port_retries=0", "--IdentityProvider.token=",
               f"--ServerApp.root_dir={tmp_path}", "--LabApp.news_url=None"]  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    log = tmp_path / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            command, env=os.environ | settings, stdout=out, stderr=out
        )
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/api/status", timeout=5)
                break
            except OSError:
                time.sleep(0.5)
        else:
            pytest.fail(log.read_text())
        yield address
    finally:
        server.terminate()
        server.wait(20)


def test_a_figure_lives_in_jupyterlab(browser, lab):
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.goto(f"{lab}/lab/tree/figure.ipynb?reset", wait_until="load")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=90_000)
    page.get_by_text("| Idle").wait_for(timeout=90_000)  # before that a cell is not run
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    figure = page.locator(".d2lmini-figure")
    figure.wait_for(timeout=90_000)
    assert (
        page.locator(".d2lmini-still").count() == 0
    )  # the picture is for pages without it
    before = figure.locator(".parts").first.inner_text()
    figure.get_by_label("Causal mask").uncheck()
    figure.get_by_label("Valid length 1").focus()
    page.keyboard.press("ArrowLeft")
    assert figure.locator(".parts").first.inner_text() != before
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").nth(1).click()
    page.keyboard.press("Shift+Enter")
    said = page.locator(".jp-OutputArea-output", has_text="python has")
    said.wait_for(timeout=60_000)
    assert "python has False [3, 2]" in said.inner_text()
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").nth(2).click()
    page.keyboard.press("Shift+Enter")
    figure.get_by_text("kernel", exact=True).first.wait_for(timeout=60_000)
    page.close()
