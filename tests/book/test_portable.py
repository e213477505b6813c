"""The notebooks' Markdown reads right anywhere, and the build makes directives of it."""

import functools
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import for_each
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from pybtex.richtext import Text

from tools.bibliography import entries, page
from tools.extensions.portable import expand, expand_markdown, expanded

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
PAGES = sorted((ROOT / "book").glob("*.md"))
every_notebook = for_each(NOTEBOOKS)
every_page = for_each(NOTEBOOKS + PAGES)

# What only MyST knows: directives, roles, options, targets, definition lists, footnotes.
MYST = re.compile(
    r"^ *(?:```+|:::+) *\{|\{[\w:+-]+\}`|^:[\w-]+: |^\([\w-]+\)=$|^: |\[\^|^\+\+\+|^%",
    re.M,
)
SPAN = re.compile(r"```.*?```|\\<|`[^`\n]*`|\$\$.*?\$\$|\$[^$]*\$", re.S)


@functools.cache
def texts(path):
    """The Markdown of a page or of a notebook's cells."""
    if path.suffix == ".md":
        return [path.read_text(encoding="utf-8")]
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


@every_page
def test_no_markup_that_only_the_build_knows(path):
    for text in texts(path):
        assert not MYST.search(text), MYST.search(text)
        prose = SPAN.sub("", text)
        tags = set(re.findall(r"</?(\w+)", prose))
        assert tags <= {"a", "details", "summary"}
        assert "$" not in prose
        assert prose.count("<details>") == prose.count("</details>")


def headings(path):
    """The places of the headings of a page, as MyST names them."""
    if path.suffix not in (".md", ".ipynb"):
        return set()
    found = re.findall(r"^#+ (.+)$", "\n".join(texts(path)), re.M)
    return {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in found}


def anchors(path):
    return set(re.findall(r'<a id="([\w-]+)">', "\n".join(texts(path))))


@every_page
def test_links_lead_somewhere(path):
    for text in texts(path):
        for target in re.findall(r"\]\(([^)]+)\)", SPAN.sub("", text)):
            if target.startswith("http"):
                continue
            name, _, anchor = target.partition("#")
            file = path.with_name(name) if name else path
            assert file.exists(), target
            # Figures and headings have their places in the built pages, which are checked there.
            if not anchor.startswith("figure-") and anchor not in headings(file):
                assert not anchor or anchor in anchors(file), target


def test_the_list_of_sources_is_that_of_the_references():
    path = ROOT / "book" / "bibliography.md"
    assert path.read_text("utf-8") == page(), "run python -m tools.bibliography"


def short_name(entry):
    """Vaswani et al. 2017"""
    people = [" ".join(p.prelast_names + p.last_names) for p in entry.persons["author"]]
    people = [str(Text.from_latex(name)) for name in people]
    named = " and ".join(people) if len(people) < 3 else f"{people[0]} et al."
    return f"{named} {entry.fields['year']}"


@every_page
def test_sources_are_called_by_their_names(path):
    known = entries()
    for text in texts(path):
        for name, key in re.findall(r"\[([^]]+)\]\(bibliography\.md#([\w-]+)\)", text):
            assert name == short_name(known[key])


@every_notebook
def test_everything_becomes_a_directive(path):
    cells = (c for c in expanded(path).cells if c.cell_type == "markdown")
    text = "\n".join(cell.source for cell in cells)
    for left in ("<details", "<summary", "bibliography.md#", "<a id=", "### Exercise"):
        assert left not in text


@every_notebook
def test_what_a_page_hides_a_notebook_closes(path):
    for cell in nbformat.read(path, as_version=4).cells:
        tags = cell.metadata.get("tags", [])
        closed = cell.metadata.get("jupyter", {})
        to_answer = cell.source.startswith("try_it(")  # nothing to see on a page
        hidden = bool(HIDDEN & {*tags}) and not to_answer
        assert closed.get("source_hidden", False) == hidden
        assert closed.get("outputs_hidden", False) == ("hide-cell" in tags)


def test_solutions_keep_the_form_of_code(tmp_path):
    """In notebooks they are text, which ruff does not check."""
    for path in NOTEBOOKS:
        nbformat.write(expanded(path), tmp_path / path.name)
    settings = ["--config", str(ROOT / "pyproject.toml")]
    rules = ["--ignore", "E402,B018,F403,F405,F811,RUF059,D"]  # as for book/*.ipynb
    for command in (["format", "--check"], ["check", *rules]):
        ruff = [sys.executable, "-m", "ruff", *command, *settings, str(tmp_path)]
        done = subprocess.run(ruff, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_an_exercise_and_its_solution():
    exercise = "### Exercise 2.1 ★★ Two $x$\n\nWhy?\n\n$$\n1\n$$"
    exercise = f'<a id="masks-1"></a>\n\n{exercise}'
    solution = (
        "<details>\n<summary>Solution</summary>\n\nFirst\n\n```python\nx = 1\n\ny = 2\n```\n\n"
        "```python remove-stderr\nx\n```\n\nBecause.\n\n</details>"
    )
    answer = new_code_cell("check.exercise('masks-1', x)")
    cells = [new_markdown_cell(exercise), answer, new_markdown_cell(solution)]
    built = expand(new_notebook(cells=cells)).cells
    assert [cell.source for cell in built] == [
        "~~~~~{exercise} Two $x$\n:label: masks-1\n\n★★ Why?\n\n$$\n1\n$$\n~~~~~",
        "check.exercise('masks-1', x)",
        "```{solution-start} masks-1\n:class: dropdown\n```",
        "First",
        "x = 1\n\ny = 2",
        "x",
        "Because.\n\n```{solution-end}\n```",
    ]
    assert [c.metadata.get("tags") for c in built if c.cell_type == "code"] == [
        None, [], ["remove-stderr"],
    ]  # fmt: skip


HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


@pytest.mark.parametrize(
    ("plain", "built"),
    [
        ("a [B 1](bibliography.md#b) c", "a {cite:t}`b` c"),
        ("a ([B 1](bibliography.md#b)).", "a {cite:p}`b`."),
        ("([B 1](bibliography.md#b), [C 2](bibliography.md#c))", "{cite:p}`b,c`"),
        ("(in [B 1](bibliography.md#b))", "(in {cite:t}`b`)"),
        ("[exercise 2.1](#masks-1)", "{ref}`exercise 2.1 <masks-1>`"),
        ("[chapter 2](02-masks.ipynb)", "[chapter 2](02-masks.ipynb)"),
        (
            "> **Title**\n>\n> one\n>\n> two\n\nafter",
            "~~~~~{admonition} Title\n:class: warning\n\none\n\ntwo\n~~~~~\n\nafter",
        ),
        (
            "before\n\n<details>\n<summary>More</summary>\n\n```\nx\n```\n\n</details>",
            "before\n\n~~~~~{admonition} More\n:class: dropdown\n\n```\nx\n```\n~~~~~",
        ),
        (
            "<details>\n<summary>A</summary>\n\na\n\n</details>\n\n"
            "<details>\n<summary>B</summary>\n\nb\n\n</details>",
            "~~~~~{admonition} A\n:class: dropdown\n\na\n~~~~~\n\n"
            "~~~~~{admonition} B\n:class: dropdown\n\nb\n~~~~~",
        ),
    ],
)
def test_boxes_sources_and_references(plain, built):
    assert expand_markdown(plain) == built


def test_a_closed_cell_keeps_its_title_when_it_is_open():
    metadata = {"mystnb": {"code_prompt_show": "A number"}}
    cell = new_code_cell("# ▸ A number\nx = 1", metadata=metadata)
    (found,) = expand(new_notebook(cells=[cell])).cells
    assert found.metadata.mystnb.code_prompt_hide == "A number"
    assert found.source == "x = 1"  # the title stands beside it
