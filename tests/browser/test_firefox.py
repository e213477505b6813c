"""Every figure of the book, operated once in Firefox, loaded from disk."""

import re
from pathlib import Path

import pytest

from d2lmini.support.ledger import RESULTS
from d2lmini.tasks.translator import SubwordTranslator
from tools import browser as browsers

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]

RIGHT, DOWN = "\ue014", "\ue015"

# What a figure says, and what its controls are set to.
SAID = """
return [...arguments[0].querySelectorAll(".parts *, input, select")].map((e) =>
    [e.children.length ? "" : e.textContent, e.value, e.checked].join("|")).join("\\n");
"""
# Script errors and console errors, each reported once. Warnings do not count, nor do errors of
# Firefox's own scripts, which occur when it is slow to start.
PROBLEMS = """
const { classes, interfaces } = Components;
const service = (name, kind) =>
    classes[`@mozilla.org/${name};1`].getService(interfaces[kind]);
const errors = service("consoleservice", "nsIConsoleService");
const written = service("consoleAPI-storage", "nsIConsoleAPIStorage");
const found = [
    ...errors.getMessageArray()
        .filter((e) => e instanceof interfaces.nsIScriptError && e.flags === 0)
        .filter((e) => !/^(resource|chrome):/.test(e.sourceName))
        .filter((e) => !/^Invalid markup: .* children/.test(e.errorMessage)) // half arrived
        .map((e) => `${e.errorMessage} ${e.sourceName}`),
    ...written.getEvents().filter((e) => e.level === "error")
        .map((e) => e.arguments.join(" ")),
];
errors.reset();
written.clearEvents();
return found;
"""


@pytest.fixture(scope="session")
def firefox(tmp_path_factory, without_browser):
    """The Firefox of this machine."""
    path = browsers.firefox()
    if path is None:
        without_browser(browsers.NO_FIREFOX)
    try:
        from marionette_driver.marionette import Marionette

        driver = Marionette(
            app="fxdesktop",
            bin=path,
            port=0,  # any that is free
            headless=True,
            gecko_log=str(tmp_path_factory.mktemp("firefox") / "log"),
            app_args=["-remote-allow-system-access"],  # to read its console
            prefs={"ui.prefersReducedMotion": 1},
            startup_timeout=60,
        )
    except OSError as error:
        without_browser(f"{path} does not start: {error}")
    driver.start_session()
    yield driver
    driver.cleanup()


@pytest.fixture
def figure_at(firefox, built):
    """figure_at(page, place) opens a page and waits for its figure; no errors at the end."""

    def open_figure(page, place):
        firefox.navigate(f"{built.as_uri()}/book/{page}.html")
        figures = f"#{place}.d2lmini-figure"
        until(firefox, lambda: firefox.find_elements("css selector", figures))
        figure = firefox.find_element("css selector", figures)
        firefox.execute_script("arguments[0].scrollIntoView()", script_args=[figure])
        return figure

    yield open_figure
    assert firefox.execute_script(PROBLEMS, sandbox="system") == []


def until(firefox, condition):
    from marionette_driver.wait import Wait

    Wait(firefox, timeout=20).until(lambda _: condition())


def pytest_generate_tests(metafunc):
    """Run each test that takes place on every figure of every page."""
    if "place" in metafunc.fixturenames:
        folder = metafunc.config.getoption("--built") or Path("_build/html")
        still = re.compile(r'class="d2lmini-still" id="(figure-[\w-]+)"')
        figures = [
            (path.stem, place)
            for path in sorted(folder.glob("book/*.html"))
            for place in still.findall(path.read_text(encoding="utf-8"))
        ]
        metafunc.parametrize(("page", "place"), figures)


def test_a_figure_can_be_operated_in_firefox(firefox, figure_at, page, place):
    figure = figure_at(page, place)
    buttons = figure.find_elements("tag name", "button")
    (reset,) = (button for button in buttons if button.text == "Reset")

    def state():
        said = firefox.execute_script(SAID, script_args=[figure])
        # Its address tells in what a figure differs from its first state.
        return "?" in firefox.get_url(), reset.get_attribute("aria-disabled"), said

    assert figure.find_element("class name", "title").text
    first = state()
    assert first[:2] == (False, "true") and first[2].strip("|\n")
    # On the front page these are chips, one of which is already chosen.
    tries = ".tries button, .controls .chip:not([aria-pressed=true])"
    controls = figure.find_elements("css selector", tries)
    if not controls or place == "figure-first":  # its last control, by a key or a click
        last = ".controls > :last-child :is(input, select)"
        controls = figure.find_elements("css selector", last)
    control = controls[0]
    keys = {"range": RIGHT, "select-one": DOWN}.get(control.get_property("type"))
    control.send_keys(keys) if keys else control.click()
    until(firefox, lambda: state()[:2] == (True, "false") and state()[2] != first[2])
    reset.click()
    until(firefox, lambda: state() == first)


def test_the_front_page_translates_in_firefox(firefox, figure_at):
    english = "My sister has never seen the sea."
    translator = SubwordTranslator.load(RESULTS / "fra-eng-full.safetensors")
    (french,) = translator.translate([english])
    figure = figure_at("index", "figure-sentence")
    field = figure.find_element("css selector", "input[type=text]")
    field.clear()
    field.send_keys(english)
    line = figure.find_element("class name", "translation")
    due = french.replace(" .", ".")  # French has no space before a full stop
    until(firefox, lambda: line.get_property("textContent") == due)
