"""The recipes of the recorded runs still find what they take from a chapter."""

import ast
from pathlib import Path

import nbformat
import pytest

from d2lmini.support.chapters import CHAPTERS

ROOT = Path(__file__).parents[2]


def taken():
    """(recipe, chapter, names) of each call of from_chapter."""
    for path in sorted((ROOT / "benchmarks" / "recipes").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "from_chapter"
            ):
                chapter, *names = node.args
                yield path.stem, CHAPTERS[chapter.slice.value], [n.value for n in names]


def names_in(chapter):
    """The names that a chapter's cells define at their top level."""
    notebook = nbformat.read(ROOT / "book" / f"{chapter.file}.ipynb", as_version=4)
    for cell in notebook.cells:
        for node in ast.parse(cell.source if cell.cell_type == "code" else "").body:
            targets = getattr(node, "targets", [])
            for part in ast.walk(ast.Tuple([*targets])):
                yield getattr(part, "id", None)
            yield getattr(node, "name", None)


@pytest.mark.parametrize(
    "recipe, chapter, names", list(taken()), ids=lambda part: str(part)[:20]
)
def test_a_recipe_finds_its_parts_in_the_chapter(recipe, chapter, names):
    assert {*names} <= {*names_in(chapter)}, f"benchmarks/recipes/{recipe}.py"
