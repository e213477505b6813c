"""Carry the answers of an older copy of the book into the notebooks that ask for them now.

Exercises move and get other numbers and names, but their cells keep their ids.
"""

import contextlib
import hashlib
import json
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from d2lmini.course.notebooks import read

STUB = "raise NotImplementedError  # your code here"
NAME = re.compile(r'(?<=check\.exercise\(")[\w-]+|(?<=check\.mystery\(")[\w-]+')


def answer_cells(path: Path) -> dict[str, NotebookNode]:
    """Id -> cell that calls check.exercise; none in a file that is not a notebook."""
    try:
        cells = read(path).cells
    except Exception:  # whatever a reader's file holds
        return {}
    asked = (cell for cell in cells if cell.cell_type == "code")
    return {cell.id: cell for cell in asked if "check.exercise(" in cell.source}


def answered(path: Path) -> dict[str, str]:
    """Id -> source of the answer cells that are no longer the stub."""
    cells = answer_cells(path).items()
    return {key: cell.source for key, cell in cells if STUB not in cell.source}


def fingerprint(path: Path) -> str:
    """A hash of the sources of the cells, without outputs and editor metadata."""
    content = path.read_bytes()
    if path.suffix == ".ipynb":
        # A file that nbformat cannot read belongs to the reader.
        with contextlib.suppress(Exception):
            cells = nbformat.read(path, as_version=4).cells
            sources = [(cell.cell_type, cell.source) for cell in cells]
            content = json.dumps(sources).encode()
    return hashlib.sha256(content).hexdigest()


def set_aside(book: Path, own: Path, copied: dict[str, str]) -> dict[str, str]:
    """Move copies that have left the book, or whose exercises have moved, to own/older.

    Files that were not copied from the book, renamed ones among them, are the reader's and stay.

    Args:
        copied: file name -> fingerprint of what was copied; loses what is moved.
    Returns:
        Id -> answer, of the exercises that are elsewhere now.
    """
    home = {
        key: path.name for path in book.glob("*.ipynb") for key in answer_cells(path)
    }
    answers = {}
    for path in [own / name for name in sorted(copied) if (own / name).exists()]:
        found = {key: text for key, text in answered(path).items() if key in home}
        gone = not (book / path.name).exists()
        if gone and fingerprint(path) == copied[path.name]:
            path.unlink()  # nothing in it is the reader's
        elif gone or any(home[key] != path.name for key in found):
            answers |= found
            (own / "older").mkdir(exist_ok=True)
            place = own / "older" / path.name
            while place.exists():
                place = place.with_stem(f"{place.stem}-older")
            path.rename(place)
            del copied[path.name]
            print(f"{path.name} is now in {place.parent}: its exercises have moved.")
    return answers


def carry(answers: dict[str, str], notebook: Path) -> list[str]:
    """Put answers into the stubs with the same ids; return the names of their exercises there."""
    if not answers.keys() & answer_cells(notebook).keys():
        return []
    content, names = read(notebook), []
    for cell in content.cells:
        if cell.id in answers and STUB in cell.source:
            (name,) = {*NAME.findall(cell.source)}
            cell.source = NAME.sub(name, answers[cell.id])
            names.append(name)
    if names:
        nbformat.write(content, notebook)
    return names
