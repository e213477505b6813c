"""Bring the notebooks to the form in which they are committed; `python -m tools.notebooks`.

No outputs, no counters, no metadata of an editor; nbformat 4.5; stable cell ids; indent 1; and the
cell that gets the package where it is missing (install_cell.py).
"""

import sys
from pathlib import Path

import nbformat

from d2lmini.course.notebooks import text_of
from tools.extensions.addresses import addresses
from tools.extensions.install_cell import requirement, with_install_cell

BOOK = Path(__file__).parents[1] / "book"
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Cell metadata that the build, an editor or the slides read
KEPT = ("tags", "mystnb", "jupyter", "slideshow")


def canonical(text):
    """The committed form of a notebook's text."""
    notebook = nbformat.reads(text, as_version=4)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(KERNEL)
    for cell in notebook.cells:
        cell.metadata = {
            key: cell.metadata[key] for key in KEPT if key in cell.metadata
        }
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return text_of(with_install_cell(notebook, requirement(*addresses())))


def main():
    """Rewrite what is not canonical and name it."""
    for path in sorted(BOOK.glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        if canonical(text) != text:
            path.write_text(canonical(text), encoding="utf-8", newline="\n")
            print(path, file=sys.stderr)


if __name__ == "__main__":
    main()
