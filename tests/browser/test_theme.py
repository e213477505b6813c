"""What is on the pages besides the figures, and what is left of them without scripts."""

import itertools
import re

import numpy as np
import pytest
from contrast import contrast

from d2lmini.figures.colours import DARK_HUES, HUES

KINDS = ("button:not(.copybtn)", "summary", "input:not([type=hidden])", "select")
BUTTONS = ", ".join(f"{kind}:not(.d2lmini-figure *)" for kind in KINDS)
# Groups of controls that are alike, of which the first is tried: hints, and answers to questions.
ALIKE = [
    f"{group} *"
    for group in (
        ".d2lmini-verdict", "#questions", "#questions-that-start-a-discussion",
        "#an-exam-without-code",
    )
]  # fmt: skip
# Gives each a number, by which it is found at once among thousands of elements.
NUMBER = """([kinds, alike]) => {
    const all = [...document.querySelectorAll(kinds)];
    const first = alike.map((group) => all.find((button) => button.matches(group)));
    return all
        .filter((button) => first.includes(button) || !alike.some((g) => button.matches(g)))
        .map((button, n) => {
            button.dataset.number = n;
            return [button.outerHTML.slice(0, 150), !button.closest("article")];
        });
}"""

# Notes whatever happens on the page from now on. What only names a control under the pointer
# (tooltips) is not what the control is for.
WATCH = """async () => {
    // What the pointer's way to the control set off, such as scrolling, comes to rest first.
    for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);
    window.effects = [];
    window.watcher?.disconnect();
    window.watcher = new MutationObserver((changes) => {
        for (const { type, target, attributeName } of changes) {
            if (target.closest?.(".tooltip")) continue;
            if (["aria-describedby", "data-bs-original-title"].includes(attributeName)) continue;
            if (target === document.body && type === "childList") continue;
            window.effects.push(attributeName ?? target.nodeName);
        }
    });
    window.watcher.observe(document, {
        subtree: true, attributes: true, childList: true, characterData: true });
}"""
# Printing and full screen happen outside the page; scrolling and the focus change no element.
NOTE_CALLS = """
    window.print = () => window.effects.push("print");
    Element.prototype.requestFullscreen = async () => window.effects.push("full screen");
    addEventListener("scroll", () => window.effects?.push("scroll"));
    addEventListener("focusin", () => window.effects?.push("focus"));
"""


def is_shown(control):
    return control.is_visible() and control.is_enabled()


def operate(control, how):
    """Use a control; whether anything came of it."""
    page = control.page
    menu = control.locator("xpath=ancestor::*[contains(@class, 'dropdown-menu')]")
    if menu.count() and not control.is_visible():
        menu.locator("xpath=preceding-sibling::button").click()
    if not is_shown(control):
        return None
    if how == "mouse":
        control.hover()
    control.focus()
    page.evaluate(WATCH)
    if control.evaluate("e => e.tagName === 'INPUT'"):
        control.press_sequentially("mask")
        return control.input_value() == "mask"
    if how == "mouse":
        control.click()
    else:
        page.keyboard.press("Enter")
    page.wait_for_function("window.effects.length > 0", timeout=2000)
    return True


tried = set()  # what stands around an article is the same on most pages


@pytest.mark.parametrize("width", [1280, 400])
def test_every_button_outside_the_figures_does_something(visit, width, page_name):
    opened = visit("file", page_name, width, script=NOTE_CALLS)
    page = opened.page
    numbered = page.evaluate(NUMBER, [BUTTONS, ALIKE])
    around = (width, *(what for what, is_around in numbered if is_around))
    assert len(around) > 5
    known = around in tried
    buttons = [
        (n, b) for n, (b, outside) in enumerate(numbered) if not (outside and known)
    ]
    tried.add(around)
    for how, (n, what) in itertools.product(("mouse", "keyboard"), buttons):
        control = page.locator(f"[data-number='{n}']")
        assert operate(control, how) is not False, what
        page.keyboard.press("Escape")  # closes what may have opened over the page
        page.mouse.move(1, 1)  # and no tooltip stays
        page.evaluate("document.activeElement.blur()")
        if control.evaluate("e => e.matches('.sidebar-toggle')") and is_shown(control):
            control.click()  # brings back what was folded away
            page.keyboard.press("Escape")
            page.wait_for_timeout(400)  # a drawer takes its time to close
            page.mouse.move(1, 1)
            page.evaluate("document.activeElement.blur()")
        # One that has faded may stay, unseen, for as long as its button has the focus.
        page.locator(".tooltip.show").first.wait_for(state="detached")
    assert opened.problems == []


def test_without_scripts_each_figure_is_a_picture(browser, addresses, page_name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{addresses['file']}/{page_name}")
    for picture in page.locator(".d2lmini-still img").all():
        assert len(picture.get_attribute("alt")) > 40
        assert picture.bounding_box()["height"] > 100
    context.close()


def test_a_cell_that_ran_networks_moves_without_a_kernel(visit):
    for name in ("04-attention", "05-feed-forward", "09-attention-maps"):
        opened = visit("file", f"book/{name}.html")
        figure = opened.page.locator("#figure-live")
        notes = {figure.locator(".note").inner_text()}
        for chip in figure.locator(".chip").all():
            chip.click()
            notes.add(figure.locator(".note").inner_text())
        assert len(notes) == 4 and not any("Computing" in note for note in notes)
        assert opened.problems == []


WITH_PLOTS = ("02-masks", "04-attention", "11-walking-on", "figures")
# For each plot of a page: is it for the light or the dark theme, and does it show?
SHOWN = """() => [...document.querySelectorAll("article img[class^=plot-]")].map((plot) => {
    plot.closest("details")?.setAttribute("open", "");
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
    shown = page.evaluate(SHOWN)
    for plot in page.locator(f"article .plot-{theme}").all():
        plot.scroll_into_view_if_needed()
    assert len(shown) > 3
    for kind, is_shown, filtered in shown:  # and with it, its text is read or not
        assert (kind == f"plot-{theme}") == is_shown
        assert not is_shown or filtered == "none"
    page.wait_for_load_state("networkidle")
    plots = [url for url in asked if "/_images/" in url]
    assert plots  # and none for the other theme
    assert {url.endswith("-dark.svg") for url in plots} == {theme == "dark"}
    assert opened.problems == []


HUED = ".highlight [class^=hue-], math [mathcolor]"
# Of each the colour of its text, and of the grounds below it, the nearest first.
PAINTED = """(all) => all.map((e) => {
    const grounds = ["rgb(255, 255, 255)"];
    for (let on = e; on; on = on.parentElement) {
        grounds.splice(-1, 0, getComputedStyle(on).backgroundColor);
    }
    return [getComputedStyle(e).color, grounds];
})"""


def laid_over(grounds):
    """The colour that is seen of these, some of which may be half clear."""
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


@pytest.mark.parametrize("name", ["02-masks", "04-attention", "08-training"])
def test_paper_has_the_figures_whole_and_nothing_to_press(visit, name):
    page = visit("file", f"book/{name}.html", width=718, dark=True).page  # A4
    page.emulate_media(media="print", color_scheme="dark")
    printed = page.evaluate(PRINTED)
    figures = printed.pop("figures")
    assert figures and printed.pop("light")
    for height, hidden, beyond in figures:
        assert height > 100 and hidden <= 1 and beyond <= 0
    assert set(printed.values()) == {0}, printed
