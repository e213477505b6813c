"""The figures in a browser, on a bare page: twice, with hostile words, with bad input."""

import html
import json
import re
from pathlib import Path
from urllib.parse import quote

import fontpkg
import pytest
import torch
from conftest import for_each, tiny_net
from ipywidgets.embed import dependency_state
from test_figures import FIGURES

from d2lmini import figures

LOADER = Path(__file__).parents[2] / "d2lmini" / "figures" / "loader.js"
CSS = LOADER.with_name("figure.css")
# The font of the built pages: with another, lines break elsewhere.
FONT = f"""
    @font-face {{ font-family: "Source Sans 3"; font-weight: 200 900;
        src: url("{Path(fontpkg.path("Source Sans 3")).as_uri()}"); }}
    body {{ font: 16px "Source Sans 3"; }}
"""
HOSTILE = ["</script>", "<b>bold</b>", "\"quote'", "😀", "<img src=x onerror=alert(1)>"]


@pytest.fixture
def show(browser, tmp_path):
    """show(figures, width) puts figures on a page, as Jupyter and MyST-NB write them."""
    pages = []

    def open_page(figures, width=1280, address=""):
        size = {"width": width, "height": 900}
        page = browser.new_page(viewport=size, reduced_motion="reduce")
        pages.append(page)
        page.problems = []
        page.on("console", lambda m: m.type == "error" and page.problems.append(m.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("dialog", lambda d: page.problems.append(f"dialog {d.message}"))
        state = {"state": dependency_state(figures, drop_defaults=False)}
        ids = [figure.model_id for figure in figures]
        views = [{"version_major": 2, "model_id": name} for name in ids]

        def script(kind, value):
            # Jupyter sorts the keys when it saves a notebook.
            text = json.dumps(value, sort_keys=True).replace("</", "<\\/")
            return f'<script type="application/vnd.jupyter.widget-{kind}+json">{text}</script>'

        shown = (
            (f.still, script("view", v)) for f, v in zip(figures, views, strict=True)
        )
        cells = "".join(f"<div>{still}{view}</div>" for still, view in shown)
        loader = LOADER.read_text(encoding="utf-8")
        text = f"{cells}{script('state', state)}<script>{loader}</script>"
        path = tmp_path / f"{len(pages)}.html"
        css = f"<style>{CSS.read_text(encoding='utf-8')}{FONT}</style>"
        head, body = f"<head>{css}</head>", f"<body>{text}</body>"
        path.write_text(f"<!doctype html><html>{head}{body}</html>", "utf-8")
        page.goto(path.as_uri() + address)
        page.wait_for_function("!document.querySelector('.d2lmini-still')")
        page.evaluate(
            "Promise.all([...document.fonts].map((f) => f.load())).then(() => 0)"
        )
        return page

    yield open_page
    problems = [page.problems for page in pages]
    for page in pages:
        page.close()
    assert not any(problems)


def alone(show, made):
    """Show one figure; return its page and the figure."""
    page = show([made])
    return page, page.locator(".d2lmini-figure")


each_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)


@each_figure
def test_a_figure_works_twice_on_a_page(show, make):
    page = show([make(), make()])
    first, second = (page.locator(".d2lmini-figure").nth(i) for i in (0, 1))
    assert first.inner_text() == second.inner_text()
    before = first.inner_html(), second.inner_html()
    operate(page, first)
    assert first.inner_html() != before[0]
    assert second.inner_html() == before[1]


def operate(page, figure):
    """Use each kind of control that a figure has, once."""
    for control in figure.locator("input[type=range], select, .controls .chip").all():
        if control.evaluate("e => e.tagName") == "BUTTON":
            control.click()
        elif control.evaluate("e => e.tagName") == "SELECT":
            control.select_option(index=control.evaluate("e => e.options.length - 1"))
        else:
            control.focus()
            at_end = control.evaluate("e => e.value === e.max")
            page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    for control in figure.locator("input[type=checkbox]:enabled").all():
        control.click()
    for control in figure.locator("input[type=text]").all():
        control.press_sequentially(" go")


def seen(figure):
    """The text of a figure, except about the last change, and the values of its controls."""
    return figure.evaluate("""(figure) => [
        [...figure.querySelectorAll(".parts, .note")].map((part) =>
            part.innerText.replace(/(Computed just now|Nothing had to)[^.]*[.]/, "")),
        [...figure.querySelectorAll("input, select")].map((e) => e.value + e.checked),
    ]""")


def wait_until_seen(figure, due):
    """A net may still be working."""
    for _ in range(50):
        if seen(figure) == due:
            return
        figure.page.wait_for_timeout(100)
    assert seen(figure) == due


@each_figure
def test_a_figure_can_be_reset(show, make):
    page, figure = alone(show, make())
    reset = figure.get_by_role("button", name="Reset")
    first = seen(figure)
    assert reset.get_attribute("aria-disabled") == "true"
    operate(page, figure)
    assert reset.get_attribute("aria-disabled") == "false" and seen(figure) != first
    reset.click()
    wait_until_seen(figure, first)
    assert reset.evaluate("e => e === document.activeElement")


@each_figure
def test_there_are_things_to_try_and_each_shows_something_else(show, make):
    page = show([made := make()])
    figure, tries = page.locator(".d2lmini-figure"), made.data["tries"]
    first = seen(figure)
    buttons = figure.locator(".tries button, .controls .chip")
    assert made.data["brief"] or (buttons.count() >= 2 and len(tries) in (0, 3))
    empty = ":is(.drawing, .wide, .control):empty, .stack > :only-child"
    assert not figure.locator(empty).count()
    for one in tries:
        button = buttons.get_by_text(one["name"], exact=True)
        button.click()
        said = f"{one['name']}: {one['notice']}"
        assert figure.locator(".explanation").inner_text() == said
        assert button.get_attribute("aria-pressed") == "true"
        assert {**made.state, **one["set"]} != made.state
        assert seen(figure) != first, one["name"]
    assert not any(one["set"].keys() - made.state.keys() for one in tries)


def address_of(page):
    page.wait_for_function("location.search")
    page.wait_for_timeout(400)  # longer than the delay in loader.js
    return page.evaluate("location.search + location.hash")


def heights_while(figure, page):
    """Yield the height of a figure at first, and after each operation."""
    yield figure.bounding_box()["height"]
    for button in figure.locator(".tries button, .controls .chip").all():
        button.click()
        page.wait_for_timeout(50)
        yield figure.bounding_box()["height"]
    for control in figure.locator("input[type=range]").all():
        for key in ("End", "Home"):
            control.press(key)
            yield figure.bounding_box()["height"]
    for control in figure.locator("select:enabled").all():
        for i in range(min(5, control.evaluate("e => e.options.length"))):
            control.select_option(index=i)
            yield figure.bounding_box()["height"]
    for control in figure.locator("input[type=text]").all():
        for typed in ("", "go", "go " * 9):
            control.fill(typed)
            yield figure.bounding_box()["height"]


# In the column of the text, and with the room of the contents
@pytest.mark.parametrize("width", [750, 976])
@each_figure
def test_nothing_below_a_figure_jumps_while_it_is_operated(show, make, width):
    page = show([make()])
    page.add_style_tag(content=f"body {{ width: {width}px; }}")
    figure = page.locator(".d2lmini-figure")
    heights = [round(height) for height in heights_while(figure, page)]
    assert max(heights) - min(heights) <= 1, heights


@each_figure
def test_the_address_of_a_state_shows_that_state_elsewhere(show, make):
    page, figure = alone(show, make())
    operate(page, figure)
    address = address_of(page)
    assert address.endswith(f"#{page.locator('.d2lmini-place').get_attribute('id')}")
    figure.locator(".title").click()
    page.wait_for_timeout(300)
    other = show([make()], address=address)
    wait_until_seen(other.locator(".d2lmini-figure"), seen(figure))
    other.get_by_role("button", name="Reset").click()
    other.wait_for_function("location.search === ''")  # initial values are left out


def test_two_figures_of_a_page_have_their_states_in_one_address(show):
    makers = [FIGURES["explore_masks"], FIGURES["explore_heads"]]
    page = show([make() for make in makers])
    page.get_by_label("Causal mask").uncheck()
    page.locator("select").first.select_option("4")
    other = show([make() for make in makers], address=address_of(page))
    assert not other.get_by_label("Causal mask").is_checked()
    assert other.locator("select").first.input_value() == "4"


VAIN = "", "[", "-77", "null", '"</script>"', '{"a": [1]}', '[[["x"]]]'


@pytest.mark.parametrize("number", range(len(FIGURES)), ids=FIGURES)
def test_what_an_address_asks_for_in_vain_is_ignored_and_said(show, number):
    make = [*FIGURES.values()][number]
    first = show([make()])
    name = first.locator(".d2lmini-place").get_attribute("id").removeprefix("figure-")
    fields = [*make().state]
    for i in range(3):  # each figure three of these, so that all are tried four times
        value = VAIN[(3 * number + i) % len(VAIN)]
        query = "&".join(f"{name}.{field}={quote(value)}" for field in (*fields, "odd"))
        address = f"?{query}&{name}=1&other.thing=2&{name}.=3#nowhere"
        page = show([make()], address=address)
        figure = page.locator(".d2lmini-figure")
        note = figure.locator(".note").first.inner_text()
        assert "The address asks for what this figure does not have" in note
        assert "odd" in note and "thing" not in note
        texts = figure.locator("input[type=text]").count() and value == '"</script>"'
        if not texts:  # which is a text like any other
            assert all(field in note for field in fields if field != "chosen")
        page.close()


@each_figure
def test_a_figure_fits_a_narrow_screen_and_names_its_controls(show, make):
    page = show([make()], width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for control in page.locator("input, select, button, [tabindex='0']:not(td)").all():
        assert control.evaluate(
            """e => (e.getAttribute("aria-label") || e.closest("label")?.textContent
                || e.textContent).trim()"""
        )
    for matrix in page.locator(".matrix").all():
        count = "(m, part) => m.querySelectorAll(part).length"
        rows, columns = (matrix.evaluate(count, p) for p in ("tbody tr", "thead th"))
        assert matrix.locator(".shape").inner_text() == f"({rows}, {columns})"


# figure, field, what is typed, what the figure says about it
TYPED = [
    ("explore_masks", "First sentence", "go " * 9, "First sentence: "),
    ("explore_translator", "English", "", "Type"),
    ("explore_translator", "English", "go <pad> zebra", "zebra"),
    ("explore_machine", "English", "", "Type a sentence"),
    ("explore_machine", "English", "go " * 9, "Only the first 5 words"),
    ("explore_caption", "German", " ", "Type a German caption"),
    ("explore_caption", "German", "stop", "No word of this"),
    ("explore_caption", "German", "go " + "x" * 10_000, f"<unk>: {'x' * 20}."),
    ("explore_sentence", "English", "", "Type an English sentence."),
    ("explore_writer", "Prompt", "go " * 3000, "it reads 5"),
    ("explore_writer", "Prompt", "go zebra", "Not in the vocabulary"),
]


@for_each(TYPED)
def test_what_a_figure_cannot_read_it_says_in_a_line(row, show):
    name, field, typed, said = row
    _, figure = alone(show, FIGURES[name]())
    figure.get_by_label(field).fill(typed)
    note = figure.locator(".note").inner_text()
    assert said in note and len(note) < 300


def test_a_valid_length_follows_its_sentence_until_it_is_set(show):
    page = show([FIGURES["explore_masks"]()])
    text, length = (page.get_by_label(n) for n in ("Second sentence", "Valid length 2"))
    for typed in ("we slept well", "we", ""):
        text.fill(typed)
        assert length.input_value() == str(len(typed.split()))
    length.press("ArrowRight")
    text.fill("we slept for an hour")
    assert length.input_value() == "1"


def test_a_number_that_is_pointed_at_is_found_beside_it_and_explained(show):
    page, figure = alone(show, FIGURES["explore_masks"]())
    first, second = (page.locator(".parts .parts").nth(b) for b in (0, 1))
    row = first.locator(".matrix").nth(2).locator("tbody tr").nth(1)
    row.locator("td").nth(2).hover()
    place = "all => all.map((e) => [e.parentElement.rowIndex, e.cellIndex])"
    assert first.locator("td.at").evaluate_all(place) == [[2, 3]] * 3
    assert second.locator(".at").count() == 0
    said = figure.locator(".explanation").inner_text()
    assert said.endswith("0, since key 2 is later than query 1")
    page.mouse.move(0, 0)
    assert figure.locator(".at").count() == 0


def test_the_table_of_positions_can_be_clicked_and_its_hand_dragged(show):
    page, figure = alone(show, FIGURES["explore_positions"]())
    figure.locator("tbody tr").nth(9).locator("td").nth(2).click()
    assert "Position 9, column 2:" in figure.locator(".note").inner_text()
    figure.get_by_role("button", name="Reset").click()
    box = figure.locator(".dial").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 40)  # straight down: half a turn from 0
    page.mouse.up()
    hand = figure.locator(".dial .after")
    tip = [float(hand.get_attribute(name)) for name in ("x2", "y2")]
    assert abs(tip[0]) < 0.4 and tip[1] > 0.9


def test_a_word_of_a_caption_can_be_exchanged_and_left_out(show):
    _, figure = alone(show, FIGURES["explore_caption"]())
    german = figure.locator(".links ol").first.get_by_role("button")
    leave_out = figure.get_by_role("button", name="Leave it out")
    other = figure.get_by_label("put")
    figure.locator(".links ol").last.get_by_role("button").first.click()
    assert other.is_disabled() and leave_out.is_disabled()  # an English word is chosen
    german.nth(1).click()
    other.select_option("</script>")
    assert german.all_inner_texts() == ["go", "</script>", "<eos>"]
    assert figure.get_by_label("German").input_value() == "go </script>"
    leave_out.click()
    assert german.all_inner_texts() == ["go", "<eos>"]
    german.first.click()
    assert leave_out.is_disabled()  # one word stays


def test_a_hypothesis_of_the_beam_can_be_looked_at(show):
    _, figure = alone(show, FIGURES["explore_translator"]())
    figure.get_by_label("Search").select_option("4")
    figure.get_by_label("Show").select_option("weights")
    hypotheses = figure.locator(".hypotheses button")
    assert hypotheses.count() == 4
    for n in range(4):
        hypotheses.nth(n).click()
        words = hypotheses.nth(n).inner_text().split()
        rows = figure.locator(".matrix").last.locator("tbody th").all_inner_texts()
        reads = ["<bos>", *words[:-1]]
        assert rows == [f"{a} → {b}" for a, b in zip(reads, words, strict=True)]


@for_each(["explore_training", "explore_rounds", "explore_sentence", "explore_machine"])
def test_a_film_pauses_and_comes_to_an_end(name, show):
    page, figure = alone(show, FIGURES[name]())
    button = figure.get_by_role("button", name=re.compile("Play|Write it again"))
    button = button.element_handle()  # whose name changes
    page.emulate_media(reduced_motion="no-preference")
    page.clock.install(time=0)  # which goes only when it is told to
    page.clock.pause_at(1000)
    first = button.inner_text()
    button.click()
    page.clock.run_for(1000)
    assert button.inner_text() == "Pause"
    button.click()
    paused = seen(figure)
    page.clock.run_for(10_000)
    assert button.inner_text() == first and seen(figure) == paused
    button.click()
    page.clock.run_for(100_000)
    assert button.inner_text() == first


def hostile_masks():
    return figures.explore_masks((" ".join(HOSTILE[:4]), "<b>a</b> b"), (4, 1))


def hostile_translator():
    words = ["<pad>", "<unk>", "<bos>", "<eos>", *HOSTILE]
    net = tiny_net(len(words), len(words))
    cross = torch.full((2, 2, 3, 3), 1 / 3)
    examples = [(HOSTILE[1], HOSTILE[2])]
    parts = net.state_dict(), words, words, 2, 6, examples, HOSTILE[3], cross
    return figures.explore_translator(*parts)


@pytest.mark.parametrize("make", [hostile_masks, hostile_translator])
def test_a_word_is_text_whatever_it_holds(show, make):
    page = show([make()])
    assert page.locator(".d2lmini-figure :is(b, img, script)").count() == 0
    text = page.locator(".d2lmini-figure").inner_html()
    assert html.escape("<b>", quote=False) in text


def test_the_writer_writes_and_its_cache_grows(show):
    _, figure = alone(show, FIGURES["explore_writer"]())
    note, text = figure.locator(".note"), figure.locator("p.tokens")
    candidates = figure.locator(".hypotheses li:visible button")

    def cached():
        return figure.locator(".matrix").first.locator("tbody th").all_inner_texts()

    assert cached() == ["<bos>", "go", "go"]
    assert text.inner_text().split() == ["go", "go"]
    assert "holds 3 tokens" in note.inner_text()
    chosen = candidates.nth(1).inner_text()
    candidates.nth(1).click()
    assert text.inner_text().split() == ["go", "go", chosen]
    assert "1 of 4 tokens" in note.inner_text() and len(cached()) == 4
    figure.get_by_role("button", name="Take a word back").click()
    assert len(cached()) == 3 and "Nothing had to be computed" in note.inner_text()
    figure.get_by_label("Top-k").fill("1")  # leaves nothing to chance
    assert candidates.count() == 1
    likeliest = candidates.first.inner_text()
    figure.get_by_role("button", name="Write a word").click()
    assert text.inner_text().split() == ["go", "go", likeliest]
    figure.get_by_role("button", name="Begin again").click()
    assert text.inner_text().split() == ["go", "go"]
    figure.get_by_label("Top-k").fill("20")
    figure.get_by_role("button", name="Write to the end").click()
    assert cached()[-1] == "<eos>" or len(cached()) == 6
    assert figure.get_by_role("button", name="Write a word").is_disabled()


@pytest.mark.parametrize("order", ["project", "own", "split"])
def test_heads_read_what_the_classes_read(show, order):
    """In the figure, the features that a head reads are those that its weights multiply."""
    page = show([figures.explore_heads(num_heads=4, order=order)])
    titles = page.locator(".wire title").evaluate_all(
        "all => all.map((e) => e.textContent)"
    )
    numbers = torch.zeros(4, 8)
    for title in titles:
        head, feature, number = re.findall(r"[\d.]+", title)
        numbers[int(head), int(feature)] = float(number)
    own = torch.eye(4).repeat_interleave(2, dim=1) > 0  # (heads, features)
    if order == "project":
        assert (numbers > 0).all()
        return
    assert (numbers[own] > 0).all() and (numbers[~own] == 0).all()
    blocks = numbers[own].view(4, 2)
    # one matrix
    assert torch.equal(blocks, blocks[:1].expand(4, 2)) == (order == "split")


def test_of_a_sentence_each_line_is_one_stop_and_arrows_walk_in_it(show):
    page, figure = alone(show, FIGURES["explore_sentence"]())
    for name in ("Read, in pieces", "Written, in pieces"):
        words = figure.get_by_label(name).locator("button")
        stops = words.evaluate_all("all => all.filter((b) => b.tabIndex === 0).length")
        assert stops == 1 and words.count() > 1
        words.first.focus()
        page.keyboard.press("ArrowRight")
        assert words.nth(1).evaluate("e => e === document.activeElement")
        faint = "all => all.map((c) => c.classList.contains('faint'))"
        curves = figure.locator(".curve").evaluate_all(faint)
        assert True in curves  # those of other words
        assert "Point at" not in figure.locator(".explanation").inner_text()


NOTEBOOK = """async ([esm, state, data, runs]) => {
    const address = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
    const { default: widget } = await import(address);
    const values = { state, data, runs, asked: {} }, listeners = {};
    window.model = {
        get: (name) => values[name],
        set(name, value) {
            values[name] = value;
            for (const listener of listeners[`change:${name}`] ?? []) listener();
        },
        on: (event, listener) => (listeners[event] ??= []).push(listener),
        save_changes() {}, send() {},  // a page has no send
    };
    const el = document.body.appendChild(document.createElement("div"));
    await widget.render({ model: window.model, el });
}"""


def test_a_kernel_is_asked_for_what_is_not_ready(show):
    """A page offers precomputed runs; a notebook offers all, and shows each once computed."""
    figure = FIGURES["Live, curves"]()
    page = show([figure])
    width = page.get_by_label("Hidden units")
    assert width.locator("option").all_inner_texts() == ["10", "40"]
    page.evaluate("document.body.replaceChildren()")
    data = json.loads(json.dumps(figure.data, sort_keys=True))
    page.evaluate(NOTEBOOK, [figure._esm, figure.state, data, figure.runs])
    assert width.locator("option").all_inner_texts() == ["5", "10", "20", "40"]
    width.select_option("2")
    note = page.locator(".note").first
    assert note.inner_text() == "Computing …"
    figure.state = page.evaluate("window.model.get('state')")  # as a kernel hears it
    page.evaluate("(runs) => window.model.set('runs', runs)", figure.runs)
    assert note.inner_text() == "20 units, seed 0."


@each_figure
def test_curves_and_their_keys_differ_without_colour(show, make):
    page = show([make()])
    for which, look in (
        (" .curve:not(.faint)", "strokeDasharray"),
        (":has(.curve) .key", "backgroundImage"),
    ):
        curves = page.locator(f".d2lmini-figure{which}")
        kinds = curves.evaluate_all(
            """(all, look) => Object.fromEntries(all.map((e) =>
                [e.getAttribute("class").match(/curve-\\d|$/)[0],
                  getComputedStyle(e)[look].replace(/rgba?\\(.*?\\)/g, "")]))""",
            look,
        )
        assert len(set(kinds.values())) == len(kinds)


def test_a_negative_cell_without_a_number_has_a_sign(show):
    page = show([FIGURES["explore_positions"]()])
    cells = page.locator(".dense td[role=gridcell]").evaluate_all(
        """all => all.map((e) =>
            [e.classList.contains("negative"), getComputedStyle(e).backgroundImage !== "none"])"""
    )
    assert {tuple(cell) for cell in cells} == {(True, True), (False, False)}


def test_below_zero_the_plane_of_units_has_signs_and_no_colour_alone(show):
    page = show([FIGURES["explore_units"]()])
    signs = page.locator(".plane path")

    def places():
        return signs.get_attribute("d").count("M")

    above = page.locator(".plane rect.positive").count()
    assert 0 < places() < (25**2 - above) / 4
    page.get_by_role("button", name="Two units").click()  # |a - b|, nowhere below zero
    signs.wait_for(state="hidden")  # nothing is drawn
    assert signs.get_attribute("d") == ""


def test_the_small_plane_of_units_keeps_its_colours_when_a_unit_wakes(show):
    page = show([FIGURES["explore_units"](brief=True)])
    plane = page.locator(".plane")

    def colours():
        return plane.locator("rect").evaluate_all("all => all.map((e) => e.outerHTML)")

    before, awake = colours(), page.locator(".plane .asleep").count()
    plane.focus()
    for _ in range(16):
        page.keyboard.press("ArrowRight")
    assert page.locator(".plane .asleep").count() != awake  # it has crossed a line
    assert colours() == before
