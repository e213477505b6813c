"""What cells say about their slides, and the decks made from it."""

import re
from pathlib import Path

import nbformat
import pytest
from conftest import for_each

from tools.extensions.portable import EXERCISE, SOLUTION, expanded
from tools.slides import make_slides as slides

BOOK = Path(__file__).parents[2] / "book"
each_chapter = for_each(BOOK / f"{c.file}.ipynb" for c in slides.CHAPTERS.values())


def on_slides(path):
    """(cell, its slide settings) of each cell in the lecture."""
    for cell in nbformat.read(path, as_version=4).cells:
        said = cell.metadata.get("slideshow", {})
        if said.get("slide_type", "skip") != "skip":
            yield cell, said


def deck_of(path):
    """The cells of the slides; here without outputs."""
    return [*slides.slides_of(nbformat.read(path, as_version=4))]


@each_chapter
def test_every_sentence_that_is_named_is_there_once(path):
    for cell, said in on_slides(path):
        shows = said.get("shows", [])
        if cell.cell_type == "code":
            assert shows in ([], "code", "output")
            continue
        text = cell.source
        for chapters, own in slides.SKELETON.items():
            text = text.replace(chapters, own)
        blocks = slides.CLOSED.sub("", text).split("\n\n")
        found = {}
        for start in shows:
            hits = (slides.sentence(block, start) for block in blocks)
            found[start] = [sentence for sentence in hits if sentence]
        named = [start for start, hits in found.items() if len(hits) != 1]
        remedy = f"change `shows` of cell {cell.id} in its metadata: each begins one"
        assert not named, f"{remedy} sentence of the cell"
        once = {hits[0] for hits in found.values()}
        assert len(once) == len(shows), f"{remedy} other sentence"


@each_chapter
def test_no_exercise_no_answer_and_one_question_is_on_a_slide(path):
    for cell, _ in on_slides(path):
        assert not EXERCISE.fullmatch(cell.source)
        assert not SOLUTION.fullmatch(cell.source)
        assert "check.exercise(" not in cell.source
    of_slides = (c for c in deck_of(path) if c.metadata.slideshow.slide_type != "notes")
    shown = [cell.source for cell in of_slides]
    text = "\n".join(shown)
    assert "<details>" not in text and "](" not in text
    (question,) = (part for part in shown if part.startswith("## Question\n"))
    assert question.count("?") in (1, 2)


@each_chapter
def test_the_notes_of_a_slide_have_the_answer_to_its_question(path):
    cells = deck_of(path)
    (place,) = (i for i, c in enumerate(cells) if c.source.startswith("## Question\n"))
    (asked,) = (c for c, _ in on_slides(path) if c.source.startswith("## Questions\n"))
    (number,) = re.findall(r"\d", "".join(asked.metadata.slideshow.shows))
    answer = asked.source.partition(f"<summary>Answer {number}</summary>\n\n")[2]
    answer = answer.partition("\n\n</details>")[0]
    assert cells[place + 1].metadata.slideshow.slide_type == "notes"
    assert cells[place + 1].source == slides.LINK.sub(r"\1", answer)


@each_chapter
def test_every_slide_has_notes(path):
    slide = []
    for cell in [*deck_of(path), None]:
        if slide and (cell is None or slides.begins(cell)):
            kinds = [c.metadata.slideshow.slide_type for c in slide]
            assert "notes" in kinds, slide[0].source
            slide = []
        slide.append(cell)


def test_what_is_folded_away_is_for_the_speaker():
    text = "## A\n\nB.\n\n<details>\n<summary>C</summary>\n\n$$\nd\n$$\n\n</details>"
    assert slides.on_slide(text, []) == "## A"
    assert slides.for_speaker(text, []) == "**A**\n\nB.\n\n**C.** $$\nd\n$$"


@pytest.mark.parametrize(
    ("text", "start", "sentence"),
    [
        ("We pad. A pad is a token. More.", "A pad", "A pad is a token."),
        ("See Ba et al. 2016 for it. And?", "See", "See Ba et al. 2016 for it."),
        ("First: zero its *weight*. Then:", "First", "First: zero its *weight*."),
        ("It is **so.** The rest", "It is", "It is **so.**"),
        ("Now it follows:", "Now", "Now it follows:"),
        ("**2.** Why? And when?", "**2.**", "Why? And when?"),
        ("Nowhere", "here", None),
    ],
)
def test_a_sentence_is_found_by_its_beginning(text, start, sentence):
    assert slides.sentence(text, start) == sentence


def test_the_pages_know_nothing_of_slides():
    """Choosing other slides must not rerun a notebook."""
    path = BOOK / "02-masks.ipynb"
    assert any(on_slides(path)) and path in slides.made_of(path)  # but a deck
    assert not any("slideshow" in cell.metadata for cell in expanded(path).cells)


def test_the_rules_of_reveal_for_a_class_of_the_figures_are_taken_away():
    css = ".reveal .controls{top:0}.a{b:c}@media print{.x .controls button,.y{d:e}.z{f:g}}"
    assert slides.CONTROLS.sub("", css) == ".a{b:c}@media print{.z{f:g}}"
    figure = (slides.FIGURES / "figure.css").read_text(encoding="utf-8")
    assert re.search(r"\.controls\b", figure)
