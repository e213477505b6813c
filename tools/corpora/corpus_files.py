"""What the grammars of the corpora share: their tables, and where their files go."""

from pathlib import Path

CORPORA = Path(__file__).parents[2] / "d2lmini" / "corpora"


def rows(text):
    """The rows of a table; commas separate the rows and slashes the cells."""
    return [tuple(row.strip().split("/")) for row in text.split(",")]


def write(name, files):
    """Write a corpus into the package: files is split -> text."""
    folder = CORPORA / name
    folder.mkdir(exist_ok=True)
    for split, text in files.items():
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8", newline="\n")
