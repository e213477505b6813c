"""Rewrite the notebooks in their committed form: python -m tools.notebooks

No outputs, counters or editor metadata; nbformat 4.5; stable cell ids; indent 1; a folded cell's
title as its first line, the one that JupyterLab and VS Code show; and the cell that installs the
package if it is missing (install_cell.py).
"""

import sys
from pathlib import Path

import nbformat

from d2lmini.course.notebooks import text_of
from tools.extensions.addresses import addresses
from tools.extensions.install_cell import requirement, with_install_cell
from tools.extensions.portable import TITLE, title_of, untitled

BOOK = Path(__file__).parents[1] / "book"
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# Cell metadata read by the build, by editors or by the slides
KEPT = ("tags", "mystnb", "jupyter", "slideshow")


def canonical(text):
    """The committed form of a notebook's text."""
    notebook = nbformat.reads(text, as_version=4)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(KERNEL)
    for cell in notebook.cells:
        metadata = cell.metadata
        cell.metadata = {key: metadata[key] for key in KEPT if key in metadata}
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.source = untitled(cell.source)
            title = title_of(cell)
            # A cell of the package says where it is from.
            if title and not cell.source.startswith("# d2lmini/"):
                cell.source = f"{TITLE}{title}\n{cell.source}"
    return text_of(with_install_cell(notebook, requirement(*addresses())))


def main():
    """Rewrite and name the notebooks that are not canonical."""
    for path in sorted(BOOK.glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        if canonical(text) != text:
            path.write_text(canonical(text), encoding="utf-8", newline="\n")
            print(path, file=sys.stderr)


if __name__ == "__main__":
    main()
