"""The search finds sections and marks the words in excerpts, also when loaded from disk."""

import json
import re

import pytest
from test_pages import inaccessible

SIZE = 800_000  # bytes of what the search page loads for it


def search(visit, scheme, words):
    """Search for words; return the page of results."""
    opened = visit(scheme, "search.html")
    opened.page.locator("main input[name=q]").fill(words)
    opened.page.keyboard.press("Enter")
    opened.page.locator(".search-summary:not(:empty)").wait_for()
    return opened


def results(page):
    """(name of the section, where it leads, excerpt, its marked words) of each."""
    return page.locator("ul.search > li").evaluate_all(
        """all => all.map((item) => [
            item.querySelector("a").textContent,
            item.querySelector("a").getAttribute("href"),
            item.querySelector("p").textContent,
            [...item.querySelectorAll("mark")].map((mark) => mark.textContent)])"""
    )


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_a_result_names_its_section_and_marks_the_words(visit, built, scheme):
    opened = search(visit, scheme, "Label Smoothing")
    page = opened.page
    found = results(page)
    said = page.locator(".search-summary").inner_text()
    assert said == f"{len(found)} sections of the book"
    place = "book/glossary.html#term-label-smoothing"
    assert found[0][:2] == ["Glossary › label smoothing", place]
    sections = [link for _, link, _, _ in found]
    assert "book/10-how-good-is-it.html#harder-questions" in sections
    for name, link, excerpt, marked in found:
        file, _, anchor = link.partition("#")
        assert not anchor or f'id="{anchor}"' in (built / file).read_text("utf-8")
        assert " › " in name or not anchor
        assert 0 < len(excerpt) < 300
        assert all(re.match("label|smooth", word, re.I) for word in marked)
    assert sum(bool(marked) for *_, marked in found) >= len(found) - 1
    page.locator("ul.search a").nth(1).click()
    page.wait_for_url(f"**/{sections[1]}")
    assert opened.problems == []


@pytest.mark.parametrize("shortcut", ["Control+k", "click"])
def test_the_dialog_of_every_page_leads_to_the_results(visit, shortcut):
    opened = visit("file", "book/02-masks.html", width=400)
    page = opened.page
    if shortcut == "click":
        buttons = page.locator(":is(article, .bd-header-article) button.search-button")
        buttons.first.click()
    else:
        page.keyboard.press(shortcut)
    page.keyboard.type("beam")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=beam*")
    page.locator("ul.search > li").first.wait_for()
    assert "Glossary › beam search" in [name for name, *_ in results(page)]
    page.keyboard.press("Control+k")  # and again, from the results
    page.keyboard.press("Control+a")
    page.keyboard.type("perplexity")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=perplexity*")
    page.locator("ul.search > li").first.wait_for()
    assert opened.problems == []


@pytest.mark.parametrize(
    "words",
    ['"', "  ", "%", "\\", "((", "zebras", "__proto__", "toString()", "dropout zebra",
        '<img src="x" onerror="alert(1)">', "<script>alert(1)</script>zebra"],
)  # fmt: skip
def test_words_that_are_not_in_the_book(visit, words):
    opened = search(visit, "file", words)
    assert results(opened.page) == []
    text = opened.page.locator(".search-summary").inner_text()
    assert text == "No section of the book has all these words."
    markup = "#search-results img, #search-results script"
    assert opened.page.locator(markup).count() == 0
    assert opened.page.locator("main input[name=q]").input_value() == words
    assert opened.problems == []


def test_the_results_are_accessible(visit):
    opened = search(visit, "http", "dropout")
    assert opened.problems == []
    assert inaccessible(opened.page) == set()


def test_only_the_search_page_loads_the_texts(built):
    index = (built / "searchindex.js").read_text(encoding="utf-8")
    assert len(index.encode()) <= SIZE
    # Without it Sphinx refuses the index, and building once more stops with a warning.
    assert json.loads(index[len("Search.setIndex(") : -1])["envversion"]
    for path in built.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert ("searchindex.js" in text) == (path.name == "search.html")
        assert ("_static/search.js" in text) == (path.name == "search.html")


@pytest.mark.parametrize(
    "place", ["glossary.html#term-softmax", "bibliography.html#ba2016layer"]
)
@pytest.mark.parametrize("dark", [False, True])
def test_what_a_link_leads_to_is_marked(visit, place, dark):
    page = visit("file", f"book/{place}", dark=dark).page
    colour = "e => getComputedStyle(e).backgroundColor"
    assert page.locator(":target").evaluate(colour) != "rgba(0, 0, 0, 0)"
