"""The front page, the page of figures, and what links lead to a figure."""

import re
from pathlib import Path

import pytest

from d2lmini.support.ledger import RESULTS
from d2lmini.tasks.translator import SubwordTranslator

BOOK = Path(__file__).parents[2] / "book"
FRONT = "book/index.html"


def french_of(figure, due):
    """Wait until the figure shows it; French has no space before a full stop."""
    figure.page.wait_for_function(
        "([p, due]) => p.textContent === due",
        arg=[figure.locator(".translation").element_handle(), due.replace(" .", ".")],
    )


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_the_front_page_translates_what_is_typed_as_pytorch_does(visit, scheme):
    translator = SubwordTranslator.load(RESULTS / "fra-eng-full.safetensors")
    opened = visit(scheme, FRONT)
    figure = opened.page.locator(".d2lmini-figure")
    chips = figure.locator(".controls .chip").all_inner_texts()
    typed = ["My sister has never seen the sea.", "He's reading a book."]
    for english, french in zip(
        [*chips, *typed], translator.translate([*chips, *typed]), strict=True
    ):
        if english in chips:
            figure.get_by_role("button", name=english).click()
        else:
            figure.get_by_label("English").fill(english)
        french_of(figure, french)
        written = figure.get_by_label("Written, in pieces").locator("button")
        assert written.all_inner_texts()[-1] == "<eos>"
        assert figure.locator(".curve").count() >= written.count()
    assert opened.problems == []


def test_the_front_page_is_there_before_its_network(browser, addresses):
    """The weights have a file of their own; without it, the first translation is shown."""
    page = browser.new_page(reduced_motion="reduce")
    asked = []
    weights = "**/_static/weights/*"
    page.route(weights, lambda route: asked.append(route) or route.abort())
    page.goto(f"{addresses['http']}/{FRONT}")
    figure = page.locator(".d2lmini-figure")
    figure.locator(".curve").first.wait_for(state="attached")
    assert figure.locator(".translation").inner_text().lower().startswith("où est")
    # can be operated, and asks for the network
    figure.get_by_label("English").fill("Go!")
    page.wait_for_function("document.readyState === 'complete'")
    assert len(asked) <= 1
    page.close()


def test_a_card_leads_to_its_figure_which_has_its_name(visit):
    opened = visit("file", "book/figures.html")
    page = opened.page
    cards = page.locator("li > p > a.to-figure")
    assert cards.count() == 22
    for card in cards.all():
        is_there = "e => e.complete || e.loading === 'lazy'"
        assert card.locator(".plot-light").evaluate(is_there)
    links = cards.evaluate_all("all => all.map((a) => a.getAttribute('href'))")
    text = (BOOK / "figures.md").read_text(encoding="utf-8")
    names = re.findall(r"^- \[(.+?)\]", text, flags=re.MULTILINE)
    for name, link in zip(names, links, strict=True):
        page.goto(f"{opened.address.rpartition('/')[0]}/{link}")
        page.wait_for_function("!document.querySelector('.d2lmini-still')")
        place = page.locator(f"#{link.partition('#')[2]}")
        page.wait_for_function(
            "e => { const { top } = e.getBoundingClientRect(); return top > -50 && top < 500; }",
            arg=place.element_handle(),
        )
        assert "d2lmini-figure" in place.get_attribute("class")
        assert place.locator(".title").inner_text() == name
    assert opened.problems == []


def test_code_is_large_enough_and_fits(visit):
    """88 characters fit beside both bars of a laptop's screen, at 0.82 of the prose or more."""
    page = visit("file", "book/08-transformer.html", width=1280).page
    size = "e => parseFloat(getComputedStyle(e).fontSize)"
    prose = page.locator(".bd-article > section > p").first.evaluate(size)
    code = page.locator(".cell_input pre:visible").first
    assert code.evaluate(size) / prose >= 0.82
    widest = code.evaluate(
        """e => {
            e.textContent = "m".repeat(88);
            return [e.scrollWidth, e.clientWidth];
        }"""
    )
    assert widest[0] <= widest[1]
    families = page.evaluate(
        """async () => {
            await document.fonts.ready;
            return [...document.fonts].filter((f) => f.status === "loaded").map((f) => f.family);
        }"""
    )
    assert {name.strip('"') for name in families} >= {"Book Sans", "Book Code"}
