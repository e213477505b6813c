"""The first code cell of each notebook, which installs the package if it is missing.

On Colab and Kaggle, or next to a downloaded notebook, there is no d2lmini yet. _config.yml says
where to get it: from the repository's tag of this version, or else from the wheel next to the built
pages. With neither address, the cell names the file to install. Notebooks downloaded from the pages
get the wheel of those pages (take_away.py).
"""

import nbformat

from tools.extensions.addresses import version, wheel_name

ID = "install"
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
    """The requirement for pip; empty if no address is configured."""
    if repository:
        return f"d2lmini[book] @ {repository}/archive/refs/tags/v{version()}.zip"
    return f"d2lmini[book] @ {site}/{wheel_name()}" if site else ""


def source(requirement):
    """The text of the cell."""
    get, what = "", "The package d2lmini is missing"
    if requirement:
        get = GET.format(version=version(), requirement=requirement)
        what = "d2lmini could not be fetched (is there a network?)"
    return CELL.format(get=get, what=what, wheel=wheel_name())


def with_install_cell(notebook, requirement):
    """Put the current form of the cell before the notebook's other code, in place."""
    cells = [cell for cell in notebook.cells if cell.get("id") != ID]
    metadata = {"jupyter": {"source_hidden": True}, "tags": ["remove-cell"]}
    cell = nbformat.v4.new_code_cell(source(requirement), id=ID, metadata=metadata)
    notebook.cells = [cells[0], cell, *cells[1:]]  # the title comes first
    return notebook
