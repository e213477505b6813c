"""Every page of the built book: quiet, within its screen, accessible, and alive."""

import html
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

# Known faults of the theme, by rule and exact selector; the book may add none.
OF_THE_THEME = {
    # The title of the book above the contents lies in no landmark.
    ("region", ".sidebar-primary-items__start > .sidebar-primary-item:nth-child(1)"),
    # "Search" in the button of the dark theme: a contrast of 4.41, where 4.5 is due.
    ("color-contrast", ".search-button__default-text"),
}

FIGURE = ".d2lmini-figure"
# In a line of words, Tab reaches only one.
CONTROLS = "input, select, button:not([tabindex='-1']), [tabindex='0']"
# Choosing the current choice again changes nothing.
USABLE = """e => !e.disabled && e.checkVisibility() && e.getAttribute("aria-pressed") !== "true"
    && e.getAttribute("aria-disabled") !== "true\""""


# Parts of a figure with a scrollbar, or with more in them than is seen. The list of a vocabulary
# lies in a fold, and may be long.
CUT = """(figure) => [...figure.querySelectorAll(".frame *")].filter((e) => {
    const hides = (way) => /auto|scroll|hidden/.test(getComputedStyle(e)[`overflow${way}`]);
    return !e.closest("svg, th, details, input, select") && e.clientHeight
        && ((hides("Y") && e.scrollHeight > e.clientHeight + 1)
            || (hides("X") && e.scrollWidth > e.clientWidth + 1));
}).map((e) => e.className)"""
FITS = 656  # of a screen of 720, below the header
EIGHT_WORDS = "the small animal was very tired and slept"


# Thousands of words of code share a dozen colours; checking the longest word of each is enough.
# (axe takes a word of one letter for a symbol, and skips it.)
HIDE_THE_LIKES = """() => {
    const longest = new Map();
    const words = [...document.querySelectorAll(".highlight span")];
    for (const word of words) {
        const { color, fontSize, fontWeight } = getComputedStyle(word);
        const { backgroundColor } = getComputedStyle(word.closest(".highlight"));
        const look = [color, fontSize, fontWeight, backgroundColor].join();
        if (!(longest.get(look)?.textContent.length >= word.textContent.length)) {
            longest.set(look, word);
        }
    }
    const shown = new Set(longest.values());
    for (const word of words) word.style.visibility = shown.has(word) ? "visible" : "hidden";
}"""


def inaccessible(page):
    """What axe finds on a page in both themes, except for the known faults."""
    contrast, violations = "color-contrast", {"resultTypes": ["violations"]}
    rest = violations | {"rules": {contrast: {"enabled": False}}}
    tried = [Axe().run(page, options=rest)]
    for scheme in ("light", "dark"):  # only this rule depends on colours
        page.emulate_media(color_scheme=scheme)
        page.evaluate(HIDE_THE_LIKES)
        tried.append(Axe().run(page, options=violations | {"runOnly": [contrast]}))
    found = {
        (violation["id"], " ".join(node["target"]))
        for results in tried
        for violation in results.response["violations"]
        for node in violation["nodes"]
    }
    return found - OF_THE_THEME


def width_of(page, width):
    """The width of a page on a screen of a given width."""
    page.set_viewport_size({"width": width, "height": 900})
    return page.evaluate("document.documentElement.scrollWidth")


def test_a_page_asks_for_nothing_complains_about_nothing_and_is_accessible(
    visit, page_name
):
    opened = visit("http", page_name)
    assert opened.problems == []  # axe asks for style sheets on its own
    assert inaccessible(opened.page) == set()


def check_copy_buttons(page):
    """Each copies its cell, and nothing else."""
    copied = page.evaluate("""async () => {
        const pairs = [];
        let text = null;
        document.addEventListener("copy", (event) => {
            text = document.getSelection().toString() || document.activeElement.value;
            event.preventDefault();
        }, true);
        navigator.clipboard.writeText = async (written) => { text = written; };
        for (const button of document.querySelectorAll(".copybtn")) {
            text = null;
            button.click();
            await new Promise((resolve) => setTimeout(resolve, 0));
            pairs.push([text, button.parentElement.querySelector("pre").textContent]);
        }
        return pairs;
    }""")
    for text, cell in copied:
        assert (text or "").strip() == cell.strip()


def test_a_page_from_a_file_is_quiet_as_wide_as_the_screen_and_can_be_copied(
    visit, page_name
):
    opened = visit("file", page_name)
    for width in (1280, 360):
        assert width_of(opened.page, width) <= width
    check_copy_buttons(opened.page)
    assert opened.problems == []


@pytest.mark.parametrize("width", [1280, 400])
def test_a_picture_of_the_page(visit, width, page_name, pytestconfig):
    folder = pytestconfig.getoption("--screenshots")
    if folder is None:
        pytest.skip("asked for with --screenshots FOLDER")
    folder.mkdir(parents=True, exist_ok=True)
    page = visit("file", page_name, width).page
    # Pictures below the fold are loaded lazily.
    page.evaluate(
        """() => Promise.all([...document.images].map((image) => {
            image.loading = "eager";
            return image.decode();
        }))"""
    )
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        name = page_name.removesuffix(".html").replace("/", "-")
        name = f"{name}-{width}-{theme}.jpg"
        page.screenshot(path=folder / name, full_page=True, type="jpeg", quality=80)
        assert (folder / name).stat().st_size > 0


def test_the_translator_writes_what_the_net_of_its_page_wrote(visit, built):
    """From the notebook through the cache and the page to the browser: the same weights."""
    source = (built / "book" / "11-attention-maps.html").read_text(encoding="utf-8")
    said = re.search(r"while the net translates (.*?): a row", html.unescape(source))
    still = said[1]
    page = visit("file", "book/11-attention-maps.html").page
    figure = page.locator("#figure-translator")
    english = figure.get_by_label("English").input_value()
    written = figure.get_by_label("looking").locator("button")
    french = " ".join(written.all_inner_texts())
    assert still == f"'{english}' as '{french.removesuffix(' <eos>')}'"


def seen(figure, control):
    """Everything a figure shows, except the control itself."""
    return figure.evaluate(
        """(figure, control) => [...figure.querySelectorAll("*")]
            .filter((e) => e !== control && !e.contains(control) && e.children.length === 0)
            .map((e) => [e.textContent, e.value, e.getAttribute("style"), e.getAttribute("d"),
              e.getAttribute("x1"), e.getAttribute("x2"), e.getAttribute("cx"),
              e.getAttribute("aria-valuenow")].join("|")).join("\\n")""",
        control,
    )


KIND = """e => e.getAttribute("role") === "button" ? "BUTTON"
    : e.tagName === "INPUT" ? e.type : e.tagName"""


def by_keyboard(control):
    """Operate a control as its kind is operated without a pointer."""
    control.focus()
    kind = control.evaluate(KIND)
    keyboard = control.page.keyboard
    if kind == "checkbox":
        keyboard.press("Space")
    elif kind == "BUTTON":
        keyboard.press("Enter")
    elif kind == "text":
        keyboard.press("End")
        keyboard.type(" so")
    elif kind == "range":
        at_end = control.evaluate("e => e.value === e.max")
        keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    elif kind == "SELECT":
        at_end = control.evaluate("e => e.selectedIndex === e.options.length - 1")
        keyboard.press("ArrowUp" if at_end else "ArrowDown")
    else:  # a matrix or a picture; a marker may begin at the end of its curve
        at_end = control.evaluate(
            "e => e.ariaValueMax && e.ariaValueNow === e.ariaValueMax"
        )
        keyboard.press("ArrowLeft" if at_end else "ArrowRight")
        if kind == "TD" and control.evaluate("e => document.activeElement === e"):
            keyboard.press("ArrowDown")  # the matrix has one column


def changes_the_figure(figure, control):
    """Operate a control; return whether anything else in its figure changes."""
    element = control.element_handle()  # which may disappear when it is used
    before = seen(figure, element)
    by_keyboard(control)
    # Typed text goes through a network, which may still be loading.
    for _ in range(50 if element.evaluate(KIND) == "text" else 1):
        if seen(figure, element) != before:
            # There is no kernel: a page has each run that it offers.
            assert "Computing …" not in figure.inner_text()
            return True
        figure.page.wait_for_timeout(100)
    return False


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_every_control_of_every_figure_does_something(visit, built, scheme, page_name):
    if "d2lmini-still" not in (built / page_name).read_text(encoding="utf-8"):
        pytest.skip("a page without a figure")
    opened = visit(scheme, page_name)
    figures = opened.page.locator(FIGURE)
    assert figures.count()
    for f in range(figures.count()):
        figure = figures.nth(f)
        usable = figure.locator(CONTROLS).evaluate_all(f"all => all.map({USABLE})")
        assert any(usable)
        for c in (c for c, can_be_used in enumerate(usable) if can_be_used):
            control = figure.locator(CONTROLS).nth(c)
            # Earlier operations may have removed a control, or left it without effect.
            if not (
                control.count()
                and control.evaluate(USABLE)
                and changes_the_figure(figure, control)
            ):
                opened.page.goto("about:blank")
                opened.page.goto(opened.address)  # without a state
                control.wait_for()
                name = control.evaluate("""e => (e.closest('label')?.textContent ?? "")
                    + e.outerHTML.slice(0, 120)""")
                assert changes_the_figure(figure, control), f"figure {f}, {name}"
    assert opened.problems == []


def test_a_figure_fits_a_laptop_keeps_its_height_and_cuts_nothing(page_name, visit):
    page = visit("file", page_name).page
    for figure in page.locator(FIGURE).all():
        heights = []

        def look(figure=figure, heights=heights):
            page.wait_for_timeout(150)  # a net may be at work
            heights.append(round(figure.bounding_box()["height"]))
            assert not figure.evaluate(CUT), figure.locator(".title").inner_text()

        look()
        for button in figure.locator(".tries button").all():
            button.click()
            look()
        for field in figure.locator("input[type=text]").all():
            field.fill(EIGHT_WORDS)
            look()
        assert max(heights) - min(heights) <= 2 and max(heights) <= FITS, heights
