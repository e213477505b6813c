"""Queries, keys, values and output have the same hues wherever they are shown."""

import re
from pathlib import Path

import nbformat
import pytest
from contrast import contrast

from d2lmini.figures.colours import DARK_HUES, HUES
from d2lmini.figures.widget import HERE
from tools.extensions.code_hues import paint
from tools.extensions.dark_plots import GROUND, PARTNER

BOOK = Path(__file__).parents[2] / "book"
BOOK_CSS = (BOOK / "_static" / "book.css").read_text(encoding="utf-8")
FIGURE_CSS = (HERE / "figure.css").read_text(encoding="utf-8")
CODE_GROUNDS = "#f3f4f5", "#29313d"  # of the theme; a browser test sees the real ones
JUPYTER_DARK = "#111111"


@pytest.mark.parametrize("name", HUES)
def test_a_hue_can_be_read(name):
    assert min(contrast(HUES[name], on) for on in ("#ffffff", CODE_GROUNDS[0])) >= 4.5
    assert min(contrast(DARK_HUES[name], on) for on in (GROUND, CODE_GROUNDS[1])) >= 4.5
    # JupyterLab shows a formula as it is written, whatever its theme.
    assert contrast(HUES[name], JUPYTER_DARK) >= 3
    assert PARTNER[HUES[name]] == DARK_HUES[name]


VARIABLE = {"Q": "query", "K": "key-hue", "V": "value", "Y": "output"}


@pytest.mark.parametrize("name", HUES)
def test_the_style_sheets_have_the_same_hues(name):
    both = [HUES[name], DARK_HUES[name]]
    assert re.findall(rf"--{VARIABLE[name]}: (\S+);", FIGURE_CSS) == both
    assert f".hue-{name} {{ color: var(--{VARIABLE[name]}); }}" in FIGURE_CSS
    assert re.findall(rf"--{VARIABLE[name]}: (\S+);", BOOK_CSS) == both[:1]  # on paper
    assert f".highlight .hue-{name} {{ color: {HUES[name]}; }}" in BOOK_CSS
    of_both = f'.highlight .hue-{name}, math [mathcolor="{HUES[name]}"]'
    assert f"{of_both}) {{ color: {DARK_HUES[name]} !important; }}" in BOOK_CSS


FORMULA = re.compile(r"\$\$.+?\$\$|\$[^$\n]+\$", re.S)
COLOURED = re.compile(r"\\textcolor\{(#\w+)\}\{((?:[^{}]|\{[^{}]*\})*)\}")
# Their letters, without indices and styles; W_o makes the output.
LETTER = {"q": "Q", "k": "K", "v": "V", "o": "Y"}
WORDS = {"queries": "Q", "keys": "K", "values": "V", "output": "Y"}
BLACK = re.compile(r"\\mathbf W_[qkvo]|\\mathbf [qkvQKV](?![a-zA-Z])|\\text\{output\}")


def meant(symbol):
    """What is meant by "\\mathbf W_q^{(i)}", "k_j" or "\\text{output}"."""
    word = re.fullmatch(r"\\text\{(\w+)\}", symbol)
    if word:
        return WORDS[word[1]]
    letter = re.fullmatch(r"(?:\\mathbf )?(?:W_)?([qkvoQKV])(?:_\w)?(?:\^.*)?", symbol)
    return LETTER[letter[1].lower()]


def test_formulas_have_the_hues():
    seen = set()
    for path in BOOK.glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for formula in FORMULA.findall(cell.source) * (
                cell.cell_type == "markdown"
            ):
                for colour, symbol in COLOURED.findall(formula):
                    assert HUES[meant(symbol)] == colour, formula
                    seen.add((path.stem, meant(symbol)))
                assert not BLACK.search(COLOURED.sub("", formula)), formula
    for stem in ("01-from-codes-to-attention", "04-attention", "preface"):
        assert {name for of, name in seen if of == stem} == set(HUES)


def code(*parts):
    """Parts as Pygments writes them: a name "n keys", an operator "o .", a comment "c1 # ..."."""
    kinds = (part.partition(" ") for part in parts)
    spans = (f'<span class="{kind}">{text}</span>' for kind, _, text in kinds)
    return f"<pre>{''.join(spans)}</pre>"


def hues_in(html):
    painted = re.sub(r"(?s)<pre>.*?</pre>", paint, html)
    return re.findall(r'<span class="hue-(.)">(\w+)</span>', painted)


def test_code_that_asks_has_the_hues():
    cell = code("n queries", "o @", "n keys", "c1 # (values, nothing)", "n keyed")
    assert hues_in(cell) == [("Q", "queries"), ("K", "keys"), ("V", "values")]
    cell = code("bp self", "o .", "n W_o", "o (", "n output", "o )", "n W_q")
    assert hues_in(cell) == [("Y", "W_o"), ("Y", "output"), ("Q", "W_q")]
    assert hues_in(code("n K", "n V", "n output")) == [("K", "K"), ("V", "V")]
    assert hues_in(code("n q", "n k", "n v")) == [("Q", "q"), ("K", "k"), ("V", "v")]
    cell = code("n X", "c1 # (queries, keys)")
    assert hues_in(cell) == [("Q", "queries"), ("K", "keys")]


def test_other_code_stays_as_it_is():
    for cell in (
        code("n keys", "o =", "n values", "n output", "c1 # keys and values"),
        code("n V", "n k", "n v"),  # a vocabulary's size, an item of a dictionary
        code("n query_name", "s queries", "n num_queries"),
    ):
        assert hues_in(cell) == []
    cell = code("n query", "n table", "o .", "n keys", "n net", "o .", "n output")
    assert hues_in(cell) == [("Q", "query")]
