"""The notebooks in JupyterLab with a kernel: rendering, running, figures, and exercises."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.thorough

BOOK = Path(__file__).parents[2] / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))
CELLS = [
    "from d2lmini import figures\nfigure = figures.explore_masks()\nfigure",
    "print('python has', figure.state['causal'], figure.state['valid_lens'])",
    "figure.state = {**figure.state, 'sentences': ['from the kernel', 'b']}",
]
# Traces of directives, roles, labels, and formulas that were not rendered.
RAW = re.compile(
    r"```|:::|\{[\w:-]+\}`|^:\w+:|\)=$|\$|\\\w+\{|</?details|</?summary|<a id", re.M
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab with the book's notebooks, and one with a single figure."""
    folder = tmp_path_factory.mktemp("lab")
    own_copy = folder / "own"
    own_copy.mkdir()
    for path in [*NOTEBOOKS, *BOOK.glob("*.md")]:
        shutil.copy(path, own_copy)
    cells = [*map(nbformat.v4.new_code_cell, CELLS)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    names = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata.kernelspec = names
    nbformat.write(notebook, own_copy / "figure.ipynb")
    settings = folder / "config" / "lab" / "user-settings" / "@jupyterlab"
    tracker = settings / "notebook-extension" / "tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True)
    # Keep all cells in the page, even those out of view.
    tracker.write_text(json.dumps({"windowingMode": "none"}), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = {"config": "JUPYTER_CONFIG_DIR", "data": "JUPYTER_DATA_DIR"}
    own = {name: str(folder / place) for place, name in names.items()}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
               "--ServerApp.port_retries=0", "--IdentityProvider.token=",
               f"--ServerApp.root_dir={own_copy}", "--LabApp.news_url=None"]  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    log = folder / "log"
    with log.open("w") as out:
        server = subprocess.Popen(command, env=os.environ | own, stdout=out, stderr=out)
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/api/status", timeout=5)
                break
            except OSError:
                time.sleep(0.5)
        else:
            pytest.fail(log.read_text(encoding="utf-8"))
        yield address
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            # it is waiting for a kernel that has just started
            server.kill()


@pytest.fixture(scope="module")
def context(browser):
    """Shared by all notebooks, so that JupyterLab's 20 MB of scripts are cached."""
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    yield context
    context.close()


@pytest.fixture
def opened(context, lab):
    """opened(name) is a page with a notebook in JupyterLab, its Markdown rendered."""
    pages = []

    def open_notebook(name):
        page = context.new_page()
        pages.append(page)
        page.goto(f"{lab}/lab/tree/{name}?reset", wait_until="load")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=90_000)
        cells = nbformat.read(BOOK / name, 4).cells if (BOOK / name).exists() else []
        rendered = page.locator(".jp-Notebook .jp-MarkdownOutput")
        texts = sum(cell.cell_type == "markdown" for cell in cells)
        expect(rendered).to_have_count(texts, timeout=90_000)
        return page

    yield open_notebook
    for page in pages:
        page.close()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_reads_right(opened, path):
    page = opened(path.name)
    cells = nbformat.read(path, as_version=4).cells
    source = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    # A cell is in the page before its text is: wait for all of it, and for the formulas.
    closed = page.locator(".jp-Notebook details")
    expect(closed).to_have_count(source.count("<details>"), timeout=60_000)
    is_set = "() => !document.querySelector('.jp-Notebook').innerText.includes('$')"
    page.wait_for_function(is_set)
    texts = page.locator(".jp-Notebook .jp-MarkdownOutput")
    for text in texts.all_inner_texts():
        assert not RAW.search(text), text
    # All of them are closed at first, and show their contents once opened.
    assert page.locator(".jp-Notebook details[open]").count() == 0
    for i, code in enumerate(page.locator(".jp-Notebook details pre").all()):
        assert not code.is_visible(), i
    if closed.count():
        closed.first.locator("summary").click()
        assert closed.first.locator("p, pre").first.is_visible()
    headings = page.locator(".jp-Notebook h3", has_text="Exercise")
    expect(headings).to_have_count(source.count("### Exercise"))
    code = (c.metadata.get("jupyter", {}) for c in cells if c.cell_type == "code")
    shown = sum(not settings.get("source_hidden") for settings in code)
    assert page.locator(".jp-Notebook .jp-InputArea-editor:visible").count() == shown
    assert page.locator(".jp-Notebook mjx-merror").count() == 0
    painted = page.locator(".jp-Notebook mjx-container [style*='color']")
    expect(painted).to_have_count(source.count("\\textcolor"))


def ready(page):
    """Wait for the kernel: before that no cell is run."""
    page.get_by_text("| Idle").wait_for(timeout=90_000)


def run_cell(page, cell, source):
    """Replace the source of a cell, run it, and return its output."""
    prompt = cell.locator(".jp-InputPrompt").first
    number = int(prompt.inner_text().strip("[]: ") or 0)  # not run yet
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source)
    page.keyboard.press("Control+Enter")
    expect(prompt).to_have_text(re.compile(rf"\[(?!{number}\])\d+\]"), timeout=60_000)
    return cell.locator(".jp-OutputArea").inner_text()


def test_run_all_then_a_figure_and_an_exercise(opened):
    name, exercise = "02-masks.ipynb", "masks-2"
    answers = "tokens != eos", "((tokens == eos).cumsum(1) < 2)[:, None, None]"
    page = opened(name)
    ready(page)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    cells = [c for c in nbformat.read(BOOK / name, 4).cells if c.cell_type == "code"]
    # A cell that is folded shows no number.
    folded = "source_hidden"
    code = [c.source for c in cells if not c.metadata.get("jupyter", {}).get(folded)]
    ran = page.locator(".jp-CodeCell .jp-InputPrompt", has_text=re.compile(r"\[\d+\]"))
    expect(ran).to_have_count(len(code), timeout=180_000)
    assert page.locator('.jp-OutputArea-output[data-mime-type$="error"]').count() == 0

    figures = page.locator(".d2lmini-figure")
    expect(figures).to_have_count(sum("figures.explore" in c.source for c in cells))
    figure = figures.last
    # it is for pages without scripts
    assert page.locator(".d2lmini-still").count() == 0
    before = figure.inner_html()
    figure.get_by_role("checkbox", name="Causal mask").click()
    assert figure.inner_html() != before

    cell = page.locator(".jp-CodeCell", has_text=f'check.exercise("{exercise}"')
    (source,) = (c for c in code if f'check.exercise("{exercise}"' in c)
    for answer, verdict in zip(answers, ("wrong", "right"), strict=True):
        filled = source.replace("raise NotImplementedError", f"return {answer}")
        assert f"({exercise}): {verdict}" in run_cell(page, cell, filled)


def test_a_figure_and_the_kernel_tell_each_other(opened):
    page = opened("figure.ipynb")
    ready(page)
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    figure = page.locator(".d2lmini-figure")
    figure.wait_for(timeout=90_000)
    # the picture is for pages without it
    assert page.locator(".d2lmini-still").count() == 0
    before = figure.locator(".parts").first.inner_text()
    figure.get_by_label("Causal mask").uncheck()
    figure.get_by_label("Valid length 1").focus()
    page.keyboard.press("ArrowLeft")
    assert figure.locator(".parts").first.inner_text() != before
    # The page sends a change only after the kernel has answered the previous one, and a cell
    # that is run meanwhile can overtake it: retry until it has arrived.
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    for _ in range(20):
        answer = run_cell(page, cell, CELLS[1])
        if "[4, 2]" not in answer:
            break
    assert "python has False [3, 2]" in answer
    page.locator(".jp-Notebook .jp-CodeCell .cm-content").nth(2).click()
    page.keyboard.press("Shift+Enter")
    figure.get_by_text("kernel", exact=True).first.wait_for(timeout=60_000)
