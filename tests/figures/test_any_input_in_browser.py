"""Strings of any kind in the text fields of figures: no error, no hang, and figures go on."""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from test_any_input import RESULTS, SLOW, STRING
from test_figures import FIGURES
from test_figures_in_browser import seen, show, wait_until_seen  # noqa: F401

from d2lmini import figures
from d2lmini.tasks.translator import SubwordTranslator

pytestmark = pytest.mark.thorough


def front_page():
    """The network of the front page, with the pieces that it has learned."""
    translator = SubwordTranslator.load(RESULTS / "fra-eng-full.safetensors")
    example = "Where is the library?"
    look = translator.look(example)
    return figures.explore_sentence(translator.parts(), [example], look)


# Figure -> how many strings it gets, unless more are asked for
OFTEN = "explore_caption", "explore_sentence", "explore_verdict", "explore_writer"
TYPED_INTO = dict.fromkeys(OFTEN, 120) | {"explore_machine": 40, "explore_masks": 80}
TYPED_INTO |= {"explore_recall": 60, "explore_translator": 60, "front page": 15}
MAKE = {**FIGURES, "front page": front_page}

# Types each text, as lists of UTF-16 units, into the field; a net that works in portions gets its
# time. Returns [text, what is wrong with it], and how long the longest took, in ms.
TYPE = """async ([input, all, slow]) => {
    const wrong = [], errors = [];
    const note = (event) => errors.push(String(event.reason ?? event.message));
    addEventListener("error", note);
    addEventListener("unhandledrejection", note);
    let longest = 0;
    for (const units of all) {
        const text = String.fromCharCode(...units);
        const start = performance.now();
        input.value = text;
        input.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((resolve) => setTimeout(resolve));
        const took = performance.now() - start;
        longest = Math.max(longest, took);
        if (took > slow) errors.push(`took ${took} ms`);
        if (document.querySelector("img[src=x]")) errors.push("became markup");
        if (errors.length) wrong.push([JSON.stringify(text), errors.splice(0).join()]);
    }
    return [wrong, longest];
}"""


def strings(count):
    """count strings, the same each time, and a few very long ones."""
    found = []

    settings_ = {"phases": [Phase.generate], "suppress_health_check": list(HealthCheck)}

    @settings(max_examples=count, **settings_)
    @given(STRING)
    def draw(text):
        found.append(text)

    draw()
    letters = "etaoinshrdlu" * 200
    return [*found, letters, " ".join(letters), "go " * 9000, "\ud83d" * 3000]


@pytest.mark.parametrize("name", TYPED_INTO)
def test_any_string_may_be_typed(show, name):  # noqa: F811
    page = show([MAKE[name]()])
    figure = page.locator(".d2lmini-figure")
    fields = figure.locator("input[type=text]")

    def type_all(texts, field):
        coded = (text.encode("utf-16-le", "surrogatepass") for text in texts)
        units = [memoryview(text).cast("H").tolist() for text in coded]
        return field.evaluate(f"(input, rest) => ({TYPE})([input, ...rest])",
                              [units, 1000 * SLOW])  # fmt: skip

    count = int(os.environ.get("D2LMINI_EXAMPLES", TYPED_INTO[name]))
    hard = strings(count)
    for n, field in enumerate(fields.all()):
        field.fill("go 12")
        page.wait_for_timeout(500)
        before = seen(figure)
        wrong, longest = type_all(hard[n :: fields.count()], field)
        print(f"{name}: {len(hard)} strings, the slowest took {longest:.0f} ms")
        assert wrong == []
        field.fill("go 12")
        wait_until_seen(figure, before)
