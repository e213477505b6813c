"""How the book's notebooks mark exercises, answers and solutions."""

import json
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

# Each fills a cell: the text of an exercise, and its solution
EXERCISE = re.compile(
    r'<a id="(?P<label>[\w-]+)"></a>\n\n'
    r"### Exercise (?P<number>[\dP]+\.\d+) (?P<stars>★+) (?P<title>[^\n]+)\n\n(?P<text>.+)",
    re.S,
)
SOLUTION = re.compile(
    r"<details>\n<summary>Solution</summary>\n\n(?P<text>.+)\n\n</details>", re.S
)
# What an answer cell ends with: check.exercise("masks-2", answer)
CALL = re.compile(r"""\bexercise\s*\(\s*(?:name\s*=\s*)?(["'])([\w-]+)\1""")
# Code within a solution, with tags for its cell in the built page
PYTHON = re.compile(r"```python ?(?P<tags>.*)\n(?P<source>(?:.*\n)*?)```")


def read(path: Path) -> NotebookNode:
    """Read a notebook of the book."""
    return nbformat.read(path, as_version=4)


def text_of(notebook: NotebookNode) -> str:
    """The text of a notebook file; equal notebooks give equal bytes."""
    nbformat.validate(notebook)
    # multi-line strings as lists
    plain = json.loads(nbformat.v4.nbjson.writes(notebook))
    return json.dumps(plain, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
