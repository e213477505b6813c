"""The recipes of the recorded runs still find what they take from a chapter."""

import ast
import itertools
import math
from pathlib import Path

import nbformat
import pytest

from benchmarks.recipes.stories import nats_of
from d2lmini.data.texts import PRONOUNS
from d2lmini.support.chapters import CHAPTERS
from tools.corpora.make_stories_mini import ACTIONS, PLACES

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


def test_the_probabilities_of_all_stories_with_one_event_add_up():
    people, things = [*PRONOUNS], ("ball", "cup")  # of 8 * 7 pairs of things
    total = 0.0
    for owners in itertools.product(people, people):
        has = dict(zip(things, owners, strict=True))
        begins = "".join(f"{who} has a {thing} . " for thing, who in has.items())
        events = [
            (f"{has[thing]} gives the {thing} to {who} . {after}", has | {thing: who})
            for thing, who in itertools.product(things, people)
            if who != has[thing]
            for after in ("", f"{PRONOUNS[who]} is happy . ")
        ]
        events += [
            (f"{who} goes to the {place} . {PRONOUNS[who]} {does} there . ", has)
            for who, place, does in itertools.product(people, PLACES, ACTIONS)
        ]
        for event, has_then in events:
            if len({*event.split(), *owners} & {*people}) > 3:
                continue
            for asked in (things, things[::-1]):
                ends = " ".join(f"who has the {t} ? {has_then[t]} ." for t in asked)
                total += math.exp(-nats_of(begins + event + ends))
    assert math.isclose(8 * 7 * total, 1 / 4, rel_tol=1e-6)
