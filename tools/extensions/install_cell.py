"""The first cell of code in each notebook, which gets the package where it is missing.

On Colab and Kaggle, or beside a notebook that was downloaded, there is no d2lmini yet. Where it is
to come from is said in _config.yml: from the repository's tag of this version, else from the wheel
that lies beside the built pages. With neither address, the cell says which file to install. The
notebooks that readers take from the pages get the wheel of those pages (take_away.py).
"""

import nbformat

from tools.extensions.addresses import version, wheel_name

ID = "install"
TAG = "remove-cell"  # readers of the pages need it as little as readers who have the package
CELL = """\
# Gets d2lmini, the package of this book, where it is missing. Nothing else is changed.
import importlib.util

if importlib.util.find_spec("d2lmini") is None:
{get}    raise ModuleNotFoundError(
        "{what}. It lies beside the pages of the book; "
        "to install it from there, run in a cell:\\n"
        '%pip install "FOLDER/{wheel}[book]"'
    )"""
GET = """\
    print("Installing d2lmini {version}, a minute or so.")
    %pip install --quiet "{requirement}"
    importlib.invalidate_caches()
    print("Done; no restart is needed. Where a live figure has no buttons, or shows an error,")
    print("save the notebook and reload the page in the browser.")
if importlib.util.find_spec("d2lmini") is None:
"""


def requirement(repository, site):
    """What pip is asked for; nothing, while there is no address."""
    if repository:
        return f"d2lmini[book] @ {repository}/archive/refs/tags/v{version()}.zip"
    return f"d2lmini[book] @ {site}/{wheel_name()}" if site else ""


def source(requirement):
    """The text of the cell."""
    if not requirement:
        what = "The package d2lmini is missing"
        return CELL.format(get="", what=what, wheel=wheel_name())
    get = GET.format(version=version(), requirement=requirement)
    what = "d2lmini could not be fetched (is there a network?)"
    return CELL.format(get=get, what=what, wheel=wheel_name())


def with_install_cell(notebook, requirement):
    """The notebook with the cell before its other code, in its present form. Changes it."""
    cells = [cell for cell in notebook.cells if cell.get("id") != ID]
    cell = nbformat.v4.new_code_cell(source(requirement), id=ID)
    cell.metadata = nbformat.from_dict(
        {"jupyter": {"source_hidden": True}, "tags": [TAG]}
    )
    notebook.cells = [cells[0], cell, *cells[1:]]  # the title comes first
    return notebook
