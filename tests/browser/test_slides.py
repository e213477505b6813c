"""The decks of slides, as a lecturer opens them: from the disk, without a network."""

import csv
import io
import re
import zipfile
from xml.etree import ElementTree

import pytest

from d2lmini.support.chapters import CHAPTERS

pytestmark = pytest.mark.thorough

each_deck = pytest.mark.parametrize("chapter", CHAPTERS.values(), ids=list(CHAPTERS))

# For each slide: how far its content overflows, and its smallest type. Live figures and captions of
# plots have sizes of their own.
MEASURE = """() => [...document.querySelectorAll(".slides section:not(.stack)")].map((slide) => {
  const sizes = (selector) => [...slide.querySelectorAll(selector)]
    .filter((e) => !e.closest(".d2lmini-figure, aside") && e.textContent.trim())
    .map((e) => parseFloat(getComputedStyle(e).fontSize));
  return {
    over: Math.max(slide.scrollHeight - slide.clientHeight, slide.scrollWidth - slide.clientWidth,
      ...[...slide.querySelectorAll("pre")].map((e) => e.scrollWidth - e.clientWidth)),
    layout: getComputedStyle(slide).display + getComputedStyle(slide).padding,
    text: Math.min(99, ...sizes("p, li, figcaption")),
    code: Math.min(99, ...sizes("pre")),
  };
})"""
GO_TO = """(selector) => {
  const { h, v } = Reveal.getIndices(document.querySelector(selector).closest("section"));
  Reveal.slide(h, v);
}"""


@pytest.fixture
def open_deck(visit):
    def open_deck(chapter, **size):
        opened = visit("file", f"slides/{chapter.page}", viewport=size)
        opened.page.evaluate("window.deckReady")
        return opened

    return open_deck


@each_deck
def test_no_slide_is_cut_and_all_can_be_read(open_deck, chapter):
    opened = open_deck(chapter, width=1280, height=720)
    found = opened.page.evaluate(MEASURE)
    assert 15 <= len(found) <= 30
    for number, slide in enumerate(found, start=1):
        assert slide["over"] <= 0, number
        assert slide["text"] >= 20 and slide["code"] >= 16, number
    assert opened.page.locator("merror, [data-mml-node=merror]").count() == 0
    assert not opened.problems


def test_a_figure_keeps_its_arrow_keys_and_gives_them_back(open_deck):
    page = open_deck(CHAPTERS["masks"], width=1920, height=1080).page
    page.evaluate(GO_TO, "#figure-masks")
    place = page.evaluate("Reveal.getIndices()")
    slider = page.locator("#figure-masks input[type=range]").first
    before = slider.input_value()
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert int(slider.input_value()) == int(before) - 1
    assert page.evaluate("Reveal.getIndices()") == place
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("Reveal.getIndices()") != place
    page.keyboard.press("ArrowLeft")
    slider.focus()
    page.keyboard.press("PageDown")
    assert page.evaluate("Reveal.getIndices()") != place


def test_a_figure_is_operated_with_the_mouse_on_a_slide_that_is_enlarged(open_deck):
    page = open_deck(CHAPTERS["positions"], width=1920, height=1080).page
    page.evaluate(GO_TO, "#figure-positions")
    figure = page.locator("#figure-positions")
    figure.locator("tbody tr").nth(9).locator("td").nth(2).click()
    assert "Position 9, column 2:" in figure.locator(".note").inner_text()


def test_the_speaker_sees_the_text_of_the_chapter(open_deck):
    page = open_deck(CHAPTERS["masks"], width=1280, height=720).page
    page.keyboard.press("ArrowRight")
    with page.expect_popup() as opening:
        page.keyboard.press("s")
    notes = opening.value.locator(".speaker-controls-notes")
    notes.get_by_text("so completely that changing what").wait_for()


def test_a_deck_prints_a_slide_a_page(open_deck, visit):
    chapter = CHAPTERS["masks"]
    found = open_deck(chapter, width=1280, height=720).page.evaluate(MEASURE)
    page = visit("file", f"slides/{chapter.page}?print-pdf").page
    page.evaluate("window.deckReady")
    page.locator(".pdf-page").last.wait_for()
    assert page.locator(".pdf-page").count() == len(found)
    assert page.evaluate(MEASURE) == found


def test_tab_stays_on_the_slide(open_deck):
    page = open_deck(CHAPTERS["masks"], width=1280, height=720).page
    page.evaluate(GO_TO, ".d2lmini-figure")
    for _ in range(3):
        page.keyboard.press("Tab")
        inside = "Reveal.getCurrentSlide().contains(document.activeElement)"
        assert page.evaluate(inside)
    page.evaluate("Reveal.toggleOverview()")
    assert not page.locator(".slides [inert]").count()


def test_the_zip_has_every_picture_of_the_pages_with_its_caption(built):
    with zipfile.ZipFile(built / "figures.zip") as figures:
        names = figures.namelist()
        files = {n.removeprefix("figures/"): figures.read(n) for n in names}
    rows = [*csv.DictReader(io.StringIO(files.pop("captions.csv").decode()))]
    assert b"CC BY 4.0" in files.pop("LICENSE.txt")
    assert [row["file"] for row in rows] == list(files)
    for row in rows:
        assert len(row["text instead"]) > 40 and row["caption"]
        assert b"<svg " in files[row["file"]]  # not <ns0:svg
        root = ElementTree.fromstring(files[row["file"]])
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert not root.findall(".//{*}text")
        page, _, place = row["in the book"].partition("#")
        page = (built / "slides" / page).read_text(encoding="utf-8")
        assert f'id="{place}"' in page
    for chapter in CHAPTERS.values():
        page = (built / "book" / chapter.page).read_text(encoding="utf-8")
        due = page.count('class="plot-light"') + page.count('class="d2lmini-still"')
        solutions = len(re.findall(r'class="solution.*?class="plot-light"', page, re.S))
        found = sum(row["file"].startswith(f"{chapter.number:02}-") for row in rows)
        assert due - solutions <= found <= due, chapter.file
