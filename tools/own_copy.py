"""A reader's own copy of the notebooks, to run and to answer in: make lab

Notebooks without changed cells are updated from the book. Those with answers are never overwritten;
a message names those that have changed in the book since they were copied. If their exercises are
in other notebooks now, they are set aside in the folder older, and their answers are carried along.
"""

import json
import shutil
import sys
from pathlib import Path

from d2lmini.course.carrying import carry, fingerprint, set_aside
from tools.whole_files import whole, write_text

ROOT = Path(__file__).parents[1]
COPIED = ".copied.json"  # file name -> fingerprint of the original of the reader's copy


def recorded(record):
    """What was copied. Nothing if the record is torn, so that no answer is overwritten."""
    try:
        found = json.loads(record.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def update(book, own):
    """Update the folder own from book; return the names of files that changed in both."""
    own.mkdir(parents=True, exist_ok=True)
    record = own / COPIED
    copied = recorded(record)
    answers, changed = set_aside(book, own, copied), []
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
    for path in own.glob("*.ipynb") if answers else []:
        for name in carry(answers, path):
            print(f"{name}: your answer is in {path.name} now.")
    write_text(record, json.dumps(copied, indent=1) + "\n")
    return changed


def main(own):
    """Update the copy and tell the reader what has changed."""
    changed = update(ROOT / "book", own)
    print(f"Your notebooks are in {own}; what you write there is never overwritten.")
    advice = "has changed in the book. Yours stays; rename it to get the new one."
    for name in changed:
        print(name, advice)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "my-book")
