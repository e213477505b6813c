"""Where the corpora of the book lie, for the grammars that write them."""

from pathlib import Path

CORPORA = Path(__file__).parents[2] / "d2lmini" / "corpora"


def write(name, files):
    """Write a corpus into the package: files is split -> text."""
    folder = CORPORA / name
    folder.mkdir(exist_ok=True)
    for split, text in files.items():
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8", newline="\n")
