"""The book on paper: what tools/paper/paper.py and make_epub.py make of a page."""

import pytest
from bs4 import BeautifulSoup

from tools.paper import paper

PAGE = """<section id="masks"><h1>2 Masks</h1>
<section id="first"><h2>First</h2><p><a href="#masks-1">1</a> <a href="glossary.html">all</a></p>
<div class="exercise admonition" id="masks-1"><p class="admonition-title"><span
class="caption-number">Exercise 2.1 </span> (Count <em>all</em>)</p></div>
<div class="cell"><div class="cell_output"><div class="d2lmini-verdict"><p>not attempted</p>
<details><summary>Hint 1</summary><p>One.</p><details><summary>Hint 2</summary><p>Two.</p>
</details></details></div></div></div>
<div class="solution dropdown admonition" id="book/02-masks-solution-1">
<p class="admonition-title">Solution</p><p>Three.</p></div></section>
<section id="hard-questions"><h2>Hard questions</h2><div class="admonition">Stays.</div></section>
<section id="questions"><h2>Questions</h2><p>Why?</p>
<div class="admonition"><p class="admonition-title">Answer 1</p><p>Because.</p></div></section>
</section>"""


def body(markup):
    return BeautifulSoup(markup, "html.parser").contents[0]


@pytest.fixture
def chapters():
    """A chapter and a glossary, as paper has them."""
    glossary = '<section id="words"><h1>Glossary</h1></section>'
    pages = ("02-masks", "The pieces", PAGE), ("glossary", "Back matter", glossary)
    found = [paper.Chapter(name, part, body(text)) for name, part, text in pages]
    paper.lead_to_ids(found, None)
    return found


def test_ids_are_of_their_page_and_links_follow(chapters):
    links = [link["href"] for link in chapters[0].body.select("a")]
    assert links == ["#page-02-masks-masks-1", "#page-glossary"]
    assert chapters[0].sections[0] == ("page-02-masks-first", "First")


def test_a_link_to_nothing_is_an_error():
    lost = body('<section id="a"><h1>A</h1><a href="#lost">?</a></section>')
    with pytest.raises(KeyError):
        paper.lead_to_ids([paper.Chapter("a", "", lost)], None)


def test_hints_solutions_and_answers_are_gathered(chapters):
    answers = paper.gather_answers(chapters, "Back matter").body
    titles = [heading.get_text() for heading in answers.select("h2, h3")]
    assert titles == ["2 Masks", "Exercise 2.1: Count all", "Questions"]
    assert [hint.get_text() for hint in answers.select("li")] == ["One.", "Two."]
    assert "Three." in answers.get_text() and "Because." in answers.get_text()
    left = chapters[0].body
    assert "Stays." in left.get_text()
    assert "not attempted" not in left.get_text()
    assert not left.select(".solution, details, #page-02-masks-questions .admonition")
    for there, here in zip(
        left.select(".to-answer a"), answers.select("h3"), strict=True
    ):
        assert there["href"] == f"#{here.parent['id']}"
        assert left.find(id=here.a["href"][1:])


def test_a_fold_stands_open_under_its_title():
    fold = body(
        '<div class="cell"><details class="hide"><summary><p class="collapsed">Imports</p>'
        '<p class="expanded">Hide</p></summary><pre>import torch</pre></details></div>'
    )
    paper.open_folds(fold)
    assert fold.get_text() == "Importsimport torch"
    assert not fold.select("details, summary")


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (None, "page 02-masks.html"),
        ("https://site.test", "site.test/book/02-masks.html#figure-masks"),
    ],
)
def test_a_still_picture_says_where_the_live_figure_is(address, place):
    cell = body(
        '<div><div class="output"><div class="d2lmini-still" id="figure-masks">'
        '<img alt="m" src="data:,"></div></div></div>'
    )
    paper.show_stills(cell, "book/02-masks", address)
    assert cell.figure["id"] == "figure-masks"
    said = f"Masks, as the page first shows it. Live in {place}"
    assert cell.figcaption.get_text() == said
