"""Helpers of the grammars: read their tables and write their files."""

import re
from pathlib import Path

CORPORA = Path(__file__).parents[2] / "d2lmini" / "corpora"


def rows(text):
    """Split a table into rows at commas, and into cells at slashes."""
    return [tuple(row.strip().split("/")) for row in text.split(",")]


def typeset(text, names=()):
    """Write a tokenised text as printed, with capitals and without gaps."""
    for name in names:
        text = re.sub(rf"\b{name}\b", name.capitalize(), text)
    text = re.sub(r" ([.,;?!])", r"\1", text)
    return re.sub(r"(^|[.?!] )(\w)", lambda begin: begin[0].upper(), text)


def write(name, files):
    """Write the files of a corpus into the package; files is split -> text."""
    folder = CORPORA / name
    folder.mkdir(exist_ok=True)
    for split, text in files.items():
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8", newline="\n")
