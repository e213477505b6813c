"""The pages apart from their figures, and the figures without scripts."""

import re

import numpy as np
import pytest
from contrast import contrast

from d2lmini.figures.colours import DARK_HUES, HUES
from tools.extensions.dark_plots import GROUND


def test_without_scripts_each_figure_is_a_picture(browser, addresses, page_name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{addresses['file']}/{page_name}")
    for picture in page.locator(".d2lmini-still img").all():
        assert len(picture.get_attribute("alt")) > 40
        assert picture.bounding_box()["height"] > 100
    context.close()


def test_buttons_beside_the_text_do_what_they_say(visit):
    opened = visit("file", "book/02-masks.html")
    page, modes = opened.page, set()
    for _ in range(3):
        page.locator(".theme-switch-button").last.click()
        modes.add(page.locator("html").get_attribute("data-mode"))
    assert modes == {"auto", "light", "dark"}
    for closed, button in (
        (".solution pre", ".solution .toggle-button"),
        ("details.hide pre", "details.hide summary"),
        (".d2lmini-verdict details > p", ".d2lmini-verdict summary"),
    ):
        assert not page.locator(closed).first.is_visible(), button
        page.locator(button).first.click()
        page.locator(closed).first.wait_for()
    contents, sections = (
        page.locator(".bd-links"),
        page.locator(".bd-sidebar-secondary"),
    )
    page.locator(".primary-toggle").click()
    contents.wait_for(state="hidden")
    page.set_viewport_size({"width": 400, "height": 900})
    for part, which in ((contents, "primary"), (sections, "secondary")):
        page.locator(f".{which}-toggle").click()
        part.wait_for()
        page.keyboard.press("Escape")
        part.wait_for(state="hidden")
    assert opened.problems == []


def test_links_that_a_figure_writes_lead_somewhere(visit, built):
    """The build checks those of the text."""
    page = visit("file", "book/08-transformer.html").page
    figure, links = page.locator("#figure-machine"), set()
    for block in figure.locator("[role=button]").all():
        block.click()
        links |= {link.get_attribute("href") for link in figure.locator("a").all()}
    assert len(links) > 6
    for link in links:
        name, _, place = link.partition("#")
        text = (built / "book" / name).read_text(encoding="utf-8")
        assert f'id="{place}"' in text or not place, link


def test_what_is_closed_takes_no_part_in_the_page(visit):
    page = visit("file", "book/02-masks.html").page
    page.wait_for_selector(".toggle-hidden > .cell", state="attached")
    shown = "cells => cells.map((cell) => getComputedStyle(cell).display)"
    closed = page.locator(".toggle-hidden > .cell").evaluate_all(shown)
    assert len(closed) > 3 and set(closed) == {"none"}


WITH_PLOTS = ("02-masks", "05-several-heads", "13-walking-on", "figures")
# For each plot of a page: is it for the light or the dark theme, and does it show?
SHOWN = """() => [...document.querySelectorAll("article img[class^=plot-]")].map((plot) => {
    plot.closest("details")?.setAttribute("open", "");
    plot.closest(".toggle-hidden")?.classList.remove("toggle-hidden");
    return [plot.className, plot.checkVisibility(), getComputedStyle(plot).filter];
})"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", WITH_PLOTS)
def test_a_plot_is_as_light_or_dark_as_its_page(visit, name, theme):
    opened = visit("http", f"book/{name}.html", dark=theme == "dark")
    page, asked = opened.page, []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
    ground = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    assert laid_over([ground]) == (GROUND if theme == "dark" else "#ffffff")
    shown = page.evaluate(SHOWN)
    for plot in page.locator(f"article .plot-{theme}").all():
        plot.scroll_into_view_if_needed()
    assert len(shown) > 3
    for kind, is_shown, filtered in shown:  # what shows is also what is read aloud
        assert (kind == f"plot-{theme}") == is_shown
        assert not is_shown or filtered == "none"
    page.wait_for_load_state("networkidle")
    plots = [url for url in asked if "/_images/" in url]
    assert plots  # and none for the other theme
    assert {url.endswith("-dark.svg") for url in plots} == {theme == "dark"}
    assert opened.problems == []


HUED = ".highlight [class^=hue-], math [mathcolor]"
# For each element, the colour of its text and of the backgrounds below it, nearest first.
PAINTED = """(all) => all.map((e) => {
    const grounds = ["rgb(255, 255, 255)"];
    for (let on = e; on; on = on.parentElement) {
        grounds.splice(-1, 0, getComputedStyle(on).backgroundColor);
    }
    return [getComputedStyle(e).color, grounds];
})"""


def laid_over(grounds):
    """Blend backgrounds, some of them translucent, into the colour that is seen."""
    seen = np.zeros(3)
    for ground in reversed(grounds):
        *rgb, clear = map(float, re.findall(r"[\d.]+", f"{ground} 1")[:4])
        seen = seen + clear * (np.array(rgb) - seen)
    return "#" + bytes(seen.round().astype(int).tolist()).hex()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["preface", "01-from-codes-to-attention", "04-attention"]
)
def test_hues_of_formulas_and_code_read_on_their_ground(visit, name, theme):
    page = visit("file", f"book/{name}.html", dark=theme == "dark").page
    hues = HUES if theme == "light" else DARK_HUES
    painted = page.locator(HUED).evaluate_all(PAINTED)
    pairs = {(laid_over([colour]), laid_over(grounds)) for colour, grounds in painted}
    assert {colour for colour, _ in pairs} == set(hues.values())
    for colour, ground in pairs:
        assert contrast(colour, ground) >= 4.5, (colour, ground)
    page.emulate_media(media="print", color_scheme=theme)
    formulas = page.locator("math [mathcolor]").evaluate_all(PAINTED)
    assert {laid_over([colour]) for colour, _ in formulas} == set(HUES.values())


PRINTED = """() => {
    const seen = (selector) => [...document.querySelectorAll(selector)]
        .filter((e) => e.checkVisibility());
    const within = (e) => e.getBoundingClientRect();
    return {
        controls: seen(".d2lmini-figure :is(.controls, .tries, .heading button, input)").length,
        buttons: seen(".copybtn, .toggle-button, .headerlink").length,
        closed: seen("article details:not([open])").length,
        dark: seen(".plot-dark").length,
        light: seen(".plot-light").length,
        figures: seen(".d2lmini-figure").map((figure) => [
            figure.querySelector(".parts").getBoundingClientRect().height,
            figure.scrollHeight - figure.clientHeight,
            figure.getBoundingClientRect().right - document.documentElement.clientWidth]),
        cut: seen("article :is(pre, figure, .output)")
            .filter((e) => getComputedStyle(e).overflow !== "visible").length,
    };
}"""


@pytest.mark.parametrize("name", ["02-masks", "04-attention", "09-training"])
def test_paper_has_the_figures_whole_and_nothing_to_press(visit, name):
    page = visit("file", f"book/{name}.html", width=718, dark=True).page  # A4
    page.emulate_media(media="print", color_scheme="dark")
    printed = page.evaluate(PRINTED)
    figures = printed.pop("figures")
    assert figures and printed.pop("light")
    for height, hidden, beyond in figures:
        assert height > 100 and hidden <= 1 and beyond <= 0
    assert set(printed.values()) == {0}, printed
