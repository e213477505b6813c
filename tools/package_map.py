"""d2lmini/README.md: where a chapter's code is, and its figure; `python tools/package_map.py`.

Read off the notebooks: a cell that begins with "# d2lmini/masks.py" shows code of that file, one
that calls widgets.explore_masks shows the figure that figures/masks.py builds.
"""

import inspect
import json
import re
from pathlib import Path

from d2lmini import widgets
from d2lmini.chapters import EXERCISE_PAGES

ROOT = Path(__file__).parents[1]

HEAD = """# The package, chapter by chapter

A chapter shows the code of its files as it runs, line by line. What must hold for any block is in
`checking/properties.py`, `comparisons.py` and `gradients.py`, and readers call it as `check.…`;
the bugs of the museum are in `checking/bugs.py`. Checks of arguments are in `arguments.py` and
`training_arguments.py`, and in `data/arguments.py` for text and paths. Recorded runs, the ledger
of `results/`, are read by `ledger.py`; `checkpoints.py` keeps a training in a file; `files.py`
writes a file whole or not at all, weights that are passed on as safetensors.

`python tools/package_map.py` writes this page from the notebooks.

| chapter | code | figure | exercises |
| --- | --- | --- | --- |
"""


def code(chapter):
    """The sources of a chapter's code cells, as one text."""
    path = ROOT / "book" / f"{chapter.file}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")


def files(paths):
    """Links to files of the package, once each, in order."""
    return ", ".join(f"[{path}]({path})" for path in dict.fromkeys(paths))


def figure(name):
    """The file that builds widgets.explore_... or another figure."""
    path = Path(inspect.getsourcefile(getattr(widgets, name)))
    return path.relative_to(ROOT / "d2lmini").as_posix()


def page():
    """The text of d2lmini/README.md."""
    lines = []
    for chapter in EXERCISE_PAGES.values():
        text = code(chapter)
        shown = re.findall(r"^# d2lmini/(\S+\.py)$", text, re.MULTILINE)
        drawn = [
            figure(name) for name in re.findall(r"widgets\.(explore_\w+|Live)", text)
        ]
        exercises = f"exercises/{chapter.slug}.py"
        row = (
            f"{chapter.number} {chapter.title}",
            files(shown),
            files(drawn),
            files([exercises]),
        )
        lines.append(f"| {' | '.join(row)} |\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    (ROOT / "d2lmini/README.md").write_text(page(), encoding="utf-8", newline="\n")
