"""Figures under touch, resizing, in hidden tabs, and with reduced motion."""

import pytest

pytestmark = pytest.mark.thorough

FIGURE = ".d2lmini-figure"
# Pages with an animated figure, and the name of its play button.
FILMS = {"book/09-training.html": "Play", "book/index.html": "Write it again"}


class Film:
    """An animated figure, on a clock that only the test advances."""

    def __init__(self, opened, name):
        self.opened, self.page, self.name = opened, opened.page, name
        self.figure = self.page.locator(FIGURE).last  # the whole one
        # The front page starts playing once it is loaded.
        button = self.figure.get_by_role("button", name=name)
        button.wait_for()
        self.button = button.element_handle()  # whose name changes
        self.page.clock.install(time=0)
        self.page.clock.pause_at(1000)
        self.button.click()

    def plays(self):
        return self.button.inner_text() == "Pause"

    def shown(self):
        return self.figure.locator(".parts").first.inner_text()

    def goes_on(self, since=None):
        """Whether it changes within a second."""
        since = since or self.shown()
        for _ in range(10):
            self.page.clock.run_for(100)
            if self.shown() != since:
                return True
        return False


@pytest.fixture(params=FILMS)
def film(visit, request):
    opened = visit("file", request.param, reduced_motion="no-preference")
    film = Film(opened, FILMS[request.param])
    assert film.goes_on() and film.plays()
    yield film
    assert opened.problems == []


def test_a_film_goes_on_in_a_window_that_is_resized(film):
    for width in (400, 1280):
        film.page.set_viewport_size({"width": width, "height": 900})
        assert film.goes_on() and film.plays()
        assert film.figure.evaluate("e => e.scrollWidth <= e.clientWidth")
        assert film.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_film_stops_in_a_tab_that_nobody_sees(film):
    turn = """hidden => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    film.page.evaluate(turn, True)
    assert film.button.inner_text() == film.name and not film.goes_on()
    film.page.evaluate(turn, False)
    assert not film.goes_on()
    film.button.click()
    assert film.goes_on() and film.plays()


def test_a_film_stops_when_no_motion_is_wanted_and_can_be_walked_through(film):
    film.page.emulate_media(reduced_motion="reduce")
    film.button.wait_for_element_state("disabled")
    assert film.button.inner_text() == film.name and not film.goes_on()
    before = film.shown()
    steps = ".controls input[type=range], .controls .chip[aria-pressed=false]"
    step = film.figure.locator(steps).first
    if step.evaluate("e => e.tagName") == "BUTTON":
        step.click()
    else:
        step.press("ArrowRight")
    assert film.goes_on(before)
    assert film.button.inner_text() == film.name and not film.goes_on()


def swipe(page, start, way):
    """Touch, move in ten steps, and lift the finger."""
    finger = page.context.new_cdp_session(page)
    (x, y), (dx, dy) = start, way
    points = [[x + dx * n / 10, y + dy * n / 10] for n in range(11)]
    for kind, point in [
        ("touchStart", points[0]),
        *(("touchMove", p) for p in points[1:]),
    ]:
        touches = [dict(zip("xy", point, strict=True))]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def middle(element):
    """Scroll an element to the middle of the screen; return its centre."""
    element.evaluate("e => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_finger_drags_the_query(visit):
    opened = visit("file", "book/01-from-codes-to-attention.html", 400, has_touch=True)
    plane = opened.page.locator(".plane")
    start = middle(plane)
    before = plane.get_attribute("aria-label"), opened.page.evaluate("scrollY")
    swipe(opened.page, start, (60, -60))
    assert plane.get_attribute("aria-label") != before[0]
    assert opened.page.evaluate("scrollY") == before[1]
    handle = plane.locator(".handle")
    x, y = (float(handle.get_attribute(name)) for name in ("cx", "cy"))
    assert x == pytest.approx(-y, abs=0.1) and x > 0.5  # where the finger was lifted
    assert opened.problems == []


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("01-from-codes-to-attention", ".matrix table"),
        ("03-positions", ".curves svg"),
        ("13-walking-on", ".square"),
    ],
)
def test_a_page_scrolls_under_a_finger_on_a_figure(visit, name, part):
    opened = visit("file", f"book/{name}.html", 400, has_touch=True)
    start = middle(opened.page.locator(part).first)
    before = opened.page.evaluate("scrollY")
    swipe(opened.page, start, (0, -200))
    opened.page.wait_for_function(f"scrollY > {before} + 100", timeout=3000)
    assert opened.problems == []
