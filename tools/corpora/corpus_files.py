"""Helpers of the grammars: read their tables and write their files."""

from pathlib import Path

CORPORA = Path(__file__).parents[2] / "d2lmini" / "corpora"


def rows(text):
    """Split a table into rows at commas, and into cells at slashes."""
    return [tuple(row.strip().split("/")) for row in text.split(",")]


def write(name, files):
    """Write the files of a corpus into the package; files is split -> text."""
    folder = CORPORA / name
    folder.mkdir(exist_ok=True)
    for split, text in files.items():
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8", newline="\n")
