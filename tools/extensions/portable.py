"""A Sphinx extension: turn the notebooks' plain Markdown into directives and roles.

A notebook must read well in every viewer, so its text is plain Markdown. The build translates:

    ### Exercise 2.1 ★ Title, to the end of its cell    {exercise}
    <details><summary>Solution</summary>                a {solution}, whose Python becomes cells
    <details><summary>Another title</summary>           a closed {admonition}
    > **Title**                                         an {admonition}
    [Ba et al. 2016](bibliography.md#ba2016layer)       {cite:t}, or {cite:p} within parentheses
    [exercise 2.1](#masks-1)                            {ref}
    [padded](glossary.md#term-padding)                  {ref}
    [Masks](02-masks.ipynb#figure-masks)                a link in HTML: figure_links.py
    an entry of the list in glossary.md                 a paragraph with that label
    the list in bibliography.md                         {bibliography}

Solution cells run with the notebook's own cells in the build and in the tests; a reader's notebook
does not contain them.
"""

import hashlib
import json
import re
from pathlib import Path
from runpy import run_path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from tools.dependencies import key
from tools.extensions.addresses import EXERCISE_PAGES, ROOT
from tools.extensions.figure_links import as_html

# Run by path, since importing the package would load PyTorch, which takes seconds.
NOTEBOOKS = run_path(str(ROOT / "d2lmini" / "course" / "notebooks.py"))
EXERCISE, SOLUTION = NOTEBOOKS["EXERCISE"], NOTEBOOKS["SOLUTION"]
PYTHON = NOTEBOOKS["PYTHON"]

CLOSED = re.compile(
    r"^<details>\n<summary>(?P<title>[^\n]+)</summary>\n\n(?P<text>.+?)\n\n</details>$",
    re.S | re.M,
)
BOX = re.compile(r"^> \*\*(?P<title>.+)\*\*\n>\n(?P<text>(?:>.*(?:\n|\Z))+)", re.M)
SOURCE = r"\[[^]]+\]\(bibliography\.md#([\w-]+)\)"
SOURCES = re.compile(rf"\(({SOURCE}(?:, {SOURCE})*)\)")
EXERCISE_LINK = re.compile(r"\[([^]]+)\]\(#([a-z]+-\d+)\)")
TERM_LINK = re.compile(r"\[([^]]+)\]\(glossary\.md#(term-[\w-]+)\)")
TERM = re.compile(r'^- <a id="(term-[\w-]+)"></a>(.*)$', re.M)
LIST_OF_SOURCES = re.compile(r'^- <a id="\w+"></a>.*\Z', re.S | re.M)
BIBLIOGRAPHY = "```{bibliography}\n:all:\n:style: plain\n```\n"
# The first line of a closed cell in a notebook; on a page, the title stands beside the cell.
TITLE = "# ▸ "


def directive(name, argument, options, text):
    """Write a MyST directive, fenced by tildes since the title may contain backticks."""
    lines = [f":{key}: {value}" for key, value in options.items()]
    return "\n".join([f"~~~~~{{{name}}} {argument}", *lines, "", text, "~~~~~"])


def expand_markdown(text):
    """Translate the boxes, sources and references of a cell or page."""

    def box(match):
        inside = re.sub(r"^> ?", "", match["text"], flags=re.M).rstrip("\n")
        kind = {"class": "warning"}
        return directive("admonition", match["title"], kind, inside) + "\n"

    def closed(match):
        kind = {"class": "dropdown"}
        return directive("admonition", match["title"], kind, match["text"])

    def in_parentheses(match):
        return "{cite:p}`" + ",".join(re.findall(SOURCE, match[1])) + "`"

    text = as_html(text)
    text = TERM_LINK.sub(r"{ref}`\1 <\2>`", TERM.sub(r"(\1)=\n\2\n", text))
    text = CLOSED.sub(closed, BOX.sub(box, text))
    text = re.sub(SOURCE, r"{cite:t}`\1`", SOURCES.sub(in_parentheses, text))
    text = EXERCISE_LINK.sub(r"{ref}`\1 <\2>`", text)
    return LIST_OF_SOURCES.sub(BIBLIOGRAPHY, text)


def title_of(cell):
    """What a page writes beside a closed cell; None if it is open."""
    return cell.metadata.get("mystnb", {}).get("code_prompt_show")


def untitled(source):
    """The source of a cell without the line that repeats its title."""
    return source.partition("\n")[2] if source.startswith(TITLE) else source


def solution_cells(label, text):
    """The cells of a solution: text and executable code between the two directives."""
    cells = [new_markdown_cell(f"```{{solution-start}} {label}\n:class: dropdown\n```")]
    end = 0
    for fence in PYTHON.finditer(text):
        if between := text[end : fence.start()].strip():
            cells.append(new_markdown_cell(expand_markdown(between)))
        cells.append(new_code_cell(fence["source"].rstrip("\n")))
        cells[-1].metadata.tags = fence["tags"].split()
        end = fence.end()
    rest = expand_markdown(text[end:].strip())
    cells.append(new_markdown_cell(rest + "\n\n```{solution-end}\n```"))
    for number, cell in enumerate(cells):
        cell.id = f"{label}-solution-{number}"  # a random one would look like a change
    return cells


def expand(notebook):
    """Translate a notebook for the build, in place."""
    cells, label = [], None
    for cell in notebook.cells:
        cell.metadata.pop("slideshow", None)  # only for make_slides.py
        if title := title_of(cell):
            cell.metadata.mystnb.code_prompt_hide = title  # also while it is open
            cell.source = untitled(cell.source)
        is_text = cell.cell_type == "markdown"
        if is_text and (solution := SOLUTION.fullmatch(cell.source)):
            cells += solution_cells(label, solution["text"])
            continue
        if is_text and (exercise := EXERCISE.fullmatch(cell.source)):
            label, title = exercise["label"], exercise["title"]
            text = f"{exercise['stars']} {expand_markdown(exercise['text'])}"
            cell.source = directive("exercise", title, {"label": label}, text)
        elif is_text:
            cell.source = expand_markdown(cell.source)
        cells.append(cell)
    for number, cell in enumerate(cells):
        cell.setdefault("id", f"cell-{number}")
    notebook.cells = cells
    return notebook


def expanded(path):
    """Read and translate a notebook, and add the key under which its outputs are cached.

    The cache finds outputs by a notebook's code and kernelspec. So a hash of everything else that
    they depend on goes into the kernelspec, and outputs of another package version don't match.
    """
    notebook = expand(nbformat.read(path, as_version=4))
    code = "\n".join(c.source for c in notebook.cells if c.cell_type == "code")
    page = Path(path).stem
    slug = next((s for s, row in EXERCISE_PAGES.items() if row.file == page), None)
    notebook.metadata.setdefault("kernelspec", {})["depends_on"] = key(code, slug)
    return notebook


def depends_on(notebook):
    """The hash that expanded() put into a notebook."""
    return notebook.metadata.kernelspec["depends_on"]


def pages_with_other_outputs(app, env, added, changed, removed):
    """Pages to read again although their notebooks are unchanged, since the package has changed."""
    outdated = []
    for name in env.found_docs - added - changed:
        path, seen = env.doc2path(name), env.metadata[name].get("depends_on")
        if path.endswith(".ipynb") and seen != depends_on(expanded(path)):
            outdated.append(name)
    return outdated


def on_source_read(app, docname, content):
    """Translate the text of a page, which Sphinx passes in a list."""
    path = app.env.doc2path(docname)
    if path.endswith(".ipynb"):
        notebook = expanded(path)
        app.env.metadata[docname]["depends_on"] = depends_on(notebook)
        content[0] = json.dumps(notebook)
    else:
        content[0] = expand_markdown(content[0])


def number_as_in_the_notebook(app, builder):
    """Number exercises by page, 2.1 instead of 6."""
    for page in EXERCISE_PAGES.values():
        numbers = app.env.toc_fignumbers.get(f"book/{page.file}", {})
        numbers = numbers.get("exercise", {})
        for place, label in enumerate(numbers, 1):
            numbers[label] = (page.number, place)


def setup(app):
    # When an extension or a template changes, all pages are read and written again.
    templates = Path(app.srcdir).glob("book/_templates/*")
    files = sorted([*Path(__file__).parent.glob("*.py"), *templates])
    made_by = hashlib.sha256(b"".join(map(Path.read_bytes, files))).hexdigest()
    app.add_config_value("made_by", made_by, "env", str)
    app.connect("env-get-outdated", pages_with_other_outputs)
    app.connect("source-read", on_source_read)
    app.connect("write-started", number_as_in_the_notebook)
