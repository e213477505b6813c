"""Closed parts in a row are one on the page."""

from docutils import nodes
from docutils.utils import new_document

from tools.extensions.fewer_folds import FewerFolds


def cell(title, mode, output=True):
    code = nodes.container(
        "", nodes.Text(f"code of {title}"), nb_element="cell_code_source"
    )
    shown = nodes.container(
        "", nodes.Text(f"output of {title}"), nb_element="cell_code_output"
    )
    made = nodes.container("", code, *[shown] * output, nb_element="cell_code")
    if mode:
        made["hide_mode"], made["prompt_show"], made["prompt_hide"] = mode, title, title
    return made


def folded(*parts):
    document = new_document("page")
    document += parts
    FewerFolds(document).run()
    return document.children


def test_a_closed_cell_moves_into_the_closed_text_before_it():
    text = nodes.admonition("", nodes.title("", "Deeper"), classes=["dropdown"])
    first, second, open_cell = (
        cell("A", "all"),
        cell("B", "input", False),
        cell("C", None),
    )
    assert folded(text, first, second, open_cell) == [text, open_cell]
    assert text.children[1:] == [first, second]
    assert (
        first["hide_mode"] == "input"
    )  # what it prints is in sight, once the text is open


def test_closed_code_joins_the_closed_cell_after_it():
    one, two = cell("Code: one", "input", False), cell("Code: two", "input", False)
    three = cell("Code: three", "input")
    assert folded(one, two, three) == [three]
    assert three["prompt_show"] == three["prompt_hide"] == "Code: one, two, three"
    said = three.astext()
    assert (
        said.index("of Code: one")
        < said.index("of Code: two")
        < said.index("of Code: three")
    )


def test_closed_code_joins_a_closed_cell_that_prints():
    imports, data = cell("Imports", "all"), cell("Code: the data", "input", False)
    assert folded(imports, data) == [imports]
    assert imports["prompt_show"] == "Imports, the data"
    assert imports.astext().index("output of Imports") < imports.astext().index(
        "of Code: the data"
    )


def test_no_code_is_lost_on_the_way():
    imports, data = cell("Imports", "all"), cell("Code: the data", "input", False)
    plot = cell("Code: plot", "input")
    said = "".join(part.astext() for part in folded(imports, data, plot))
    for what in (
        "code of Imports",
        "output of Imports",
        "code of Code: the data",
        "code of Code: plot",
    ):
        assert what in said


def test_what_is_in_sight_stays_where_it_is():
    printed, text, closed = (
        cell("A", "input"),
        nodes.paragraph("", "text"),
        cell("B", "all"),
    )
    other = cell("C", None)
    assert folded(printed, closed, text, other) == [printed, closed, text, other]
