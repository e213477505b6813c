"""The pages look as with all of the theme's styles, although they load only a quarter."""

import functools
import re
from importlib.metadata import distribution

import pytest
from fontTools.ttLib import TTFont

from tools.extensions.light_theme import RESERVED

pytestmark = pytest.mark.thorough

THEMES = "pydata-sphinx-theme", "sphinx-book-theme"
# One of each kind
PAGES = ["index", "02-masks", "figures", "bug-museum", "about"]
PAGES = [*(f"book/{name}" for name in PAGES), "search"]
# All computed styles of an element, its ::before and its ::after; of elements that are alike, with
# parents that are alike, only the first.
LOOKS = """async () => {
    await document.fonts.ready;
    const looks = {};
    const kind = (e) => (e ? `${e.tagName}.${e.getAttribute("class")}` : "");
    for (const e of document.querySelectorAll("html, body, body *")) {
        const place = [e.parentElement?.parentElement, e.parentElement, e].map(kind).join(" ");
        if (place in looks) continue;
        looks[place] = [null, "::before", "::after"].map((part) => {
            const style = getComputedStyle(e, part);
            return [...style].map((name) => style.getPropertyValue(name)).join("; ");
        });
    }
    return looks;
}"""


def whole(name):
    """A complete style sheet of the theme, with the fonts of the book."""
    module = name.replace("-", "_")
    styles = f"{module}/theme/{module}/static/styles/{name}.css"
    path = distribution(name).locate_file(styles)
    return RESERVED.sub("Book Icons", path.read_text(encoding="utf-8"))


def looks(page):
    """The looks of all elements, with a menu open and a tooltip shown."""
    page.wait_for_function("!document.querySelector('.d2lmini-still')")
    if page.viewport_size["width"] < 992:
        page.locator(".primary-toggle").first.click()
    else:
        menu = page.locator(".dropdown-download-buttons > button")
        if menu.count():
            menu.click()
        page.locator(".theme-switch-button").last.hover()
        page.locator(".tooltip-inner").wait_for()
    page.wait_for_timeout(400)  # until transitions have ended
    return page.evaluate(LOOKS)


def answer(css, route):
    route.fulfill(body=css, content_type="text/css")


@pytest.mark.parametrize("how", [{"width": 1280}, {"width": 400, "dark": True}])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_looks_otherwise_with_all_styles(visit, name, how):
    page = visit("http", f"{name}.html", **how).page
    light = looks(page)
    for name in THEMES:
        page.route(f"**/{name}.css*", functools.partial(answer, whole(name)))
    page.reload()
    full = looks(page)
    assert len(light) > 50 and min(len(own) for own, *_ in light.values()) > 1000
    assert light.keys() == full.keys()
    assert [place for place in full if light[place] != full[place]] == []


def test_each_icon_of_a_page_is_in_a_font(built):
    styles = whole(THEMES[0])
    rules = re.findall(r'([^{}]*)\{content:"\\(\w+)"\}', styles)
    codes = {}
    for selectors, code in rules:
        named = re.findall(r"\.(fa-[\w-]+):before", selectors)
        codes |= dict.fromkeys(named, int(code, 16))
    fonts = (built / "_static").glob("vendor/fontawesome/webfonts/*")
    drawn = {code for font in fonts for code in TTFont(font).getBestCmap()}
    pages = (path.read_text(encoding="utf-8") for path in built.glob("book/*.html"))
    used = {name for page in pages for name in re.findall(r"\bfa-[\w-]+", page)}
    icons = used & codes.keys()
    assert icons >= {"fa-bars", "fa-download", "fa-magnifying-glass"}
    assert {name for name in icons if codes[name] not in drawn} == set()


def test_fonts_that_are_cut_have_names_of_their_own(built):
    fonts = [*(built / "_static").rglob("*.woff2")]
    assert len(fonts) == 7
    for path in fonts:
        names = TTFont(path)["name"]
        assert {names.getDebugName(n)[:4] for n in (1, 3, 4, 6)} == {"Book"}, path.name
