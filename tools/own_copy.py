"""A reader's own copy of the notebooks, to run and to answer in: make lab.

A notebook in which no cell was changed follows the book. One with answers is never overwritten:
it is said which of these have changed in the book since they were copied.
"""

import contextlib
import hashlib
import json
import shutil
import sys
from pathlib import Path

import nbformat

from tools.whole_files import whole, write_text

ROOT = Path(__file__).parents[1]
COPIED = (
    ".copied.json"  # file name -> fingerprint of what the reader's copy was made from
)


def fingerprint(path):
    """Of what the cells say: outputs and what an editor adds do not count."""
    said = path.read_bytes()
    if path.suffix == ".ipynb":
        # What nbformat cannot read is the reader's own.
        with contextlib.suppress(Exception):
            cells = nbformat.read(path, as_version=4).cells
            said = json.dumps(
                [(cell.cell_type, cell.source) for cell in cells]
            ).encode()
    return hashlib.sha256(said).hexdigest()


def update(book, own):
    """Bring the folder own up to date with book; names of what changed in both."""
    own.mkdir(parents=True, exist_ok=True)
    record = own / COPIED
    copied = json.loads(record.read_text("utf-8")) if record.exists() else {}
    changed = []
    for path in sorted([*book.glob("*.ipynb"), *book.glob("*.md")]):
        mine, now = own / path.name, fingerprint(path)
        has = fingerprint(mine) if mine.exists() else None
        if has in (None, copied.get(path.name)) and has != now:
            with whole(mine) as part:
                shutil.copy(path, part)
            has = now
        if has == now:
            copied[path.name] = now
        elif copied.get(path.name) != now:
            changed.append(path.name)
    write_text(record, json.dumps(copied, indent=1) + "\n")
    return changed


def main(own):
    """Update the copy and say what the reader should know."""
    changed = update(ROOT / "book", own)
    print(f"Your notebooks are in {own}; what you write there is never overwritten.")
    for name in changed:
        print(
            f"{name} has changed in the book. Yours stays; rename it to get the new one."
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "my-book")
