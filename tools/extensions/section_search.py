"""A Sphinx extension: search for sections, with excerpts, without a network.

Sphinx's own index leads to pages, and its search fetches each result to show an excerpt, which a
page from the disk may not do. Here Sphinx indexes the sections of the built pages, the exercises
and the terms of the glossary, and searchindex.js also contains their texts. Only search.html loads
it (book/_templates/layout.html); book/_static/search.js shows the results.
"""

import functools
import json
import re
from pathlib import Path
from types import SimpleNamespace

from bs4 import BeautifulSoup
from docutils import nodes
from docutils.utils import new_document
from sphinx.search import IndexBuilder

from tools.extensions.html_build import after_html_build
from tools.kept import kept
from tools.whole_files import write_text

# Folded code, its titles and printed outputs, half of the text; what would give an answer away; and
# what every chapter says of its exercises and questions
NOT_SAID = (
    ".headerlink, script, style, .hide > summary, details .cell_input, "
    ".cell_output .output, .figure-live, .solution, "
    "section#exercises > h2 + p, section#questions > h2 + p"
)
DULL = "assert ", "print(", "torch.manual_seed("  # checks, and what every example has
STUB = "raise NotImplementedError"  # in a cell that readers are to complete
LEFT_OUT = {"book/licences"}
PARTS = "section[id], .exercise[id], p[id^=term-]"
HEADING = ":scope > :is(h1, h2, h3, .admonition-title, strong)"
ARTICLE = re.compile(r"<article.*?</article>", re.S)
CODE = re.compile(r"<pre>(.*?)</pre>", re.S)
TAG = re.compile(r"<[^>]*>")

SIGNS = {
    r"\times": "×", r"\cdot": "·", r"\le": "≤", r"\ge": "≥", r"\dots": "…", r"\to": "→",
    r"\sqrt": "√", r"\alpha": "α", r"\beta": "β", r"\varepsilon": "ε", r"\sigma": "σ",
    r"\top": "T", r"\,": " ", **{rf"\{name}": name for name in ("ln", "log", "tanh", "cos", "sin")},
}  # fmt: skip


def formula(text):
    """A formula as plain text, or an ellipsis if it does not fit into a line of text."""
    text = re.sub(r"\\textcolor\{#\w+\}", "", text)
    text = re.sub(r"\\(?:mathbf|mathrm|text)\s*", "", text)
    text = re.sub(r"\\(?:[a-z]+|,)", lambda m: SIGNS.get(m[0], m[0]), text)
    return "…" if "\\" in text else re.sub(r"[{}]", "", text).strip()


def said(element):
    """The text of an element, with readable formulas."""
    for math in element.select(".math"):
        is_inline = math.name == "span"
        math.replace_with(formula(math.math["alttext"]) if is_inline else " … ")
    return " ".join(element.get_text().split())


def code_of(cell):
    """The code of a cell without the lines that nobody looks for."""
    lines = cell.get_text().splitlines()
    lines = [line for line in lines if not line.lstrip().startswith(DULL)]
    return " ".join(" ".join(lines).split())


def parts_of(html):
    """(anchor, heading, text) of each part of a page; the page itself has an empty anchor."""
    html = ARTICLE.search(html)[0]
    # Drop the spans in code, which are half of the HTML to parse.
    html = CODE.sub(lambda m: "<pre>" + TAG.sub("", m[1]) + "</pre>", html)
    article = BeautifulSoup(html, "html.parser")
    for element in article.select(NOT_SAID):
        element.decompose()
    found = []
    for part in reversed(article.select(PARTS)):  # inner parts first
        if part.find_parent(class_="exercise"):
            continue
        heading = part.select_one(HEADING)
        if heading.name != "strong":  # part of its sentence
            heading.extract()
        title = re.sub(r"^(Exercise \S+) \((.*)\)$", r"\1 \2", said(heading))
        anchor = "" if heading.name == "h1" else part["id"]
        # Sentences first and unbroken, since excerpts are best taken from them.
        cells = [code_of(cell.extract()) for cell in part.select(".cell_input")]
        code = [text for text in cells if STUB not in text]
        found.append((anchor, title, " ".join([said(part), *code])))
        part.extract()
    return reversed(found)


def section_index(pages, env):
    """Build the search index from (name, HTML) of the pages."""
    # Sphinx keeps its index of pages in the environment; this one must not share it.
    fresh = {name: {} for name in vars(env) if name.startswith("_search_index")}
    own = SimpleNamespace(**fresh, domains={}, version=env.version)
    builder = IndexBuilder(own, env.config.language, {}, "")
    builder.lang.stem = functools.cache(builder.lang.stem)
    texts, titles = {}, {}
    for name, html in pages:
        parts = kept(
            f"search-{name.replace('/', '-')}",
            (html, Path(__file__)),
            lambda html=html: json.dumps([*parts_of(html)]).encode(),
        )
        for anchor, title, text in json.loads(parts):
            titles.setdefault(name, title)
            texts[f"{name}#{anchor}"] = text
            document = new_document("")
            document += nodes.section("", nodes.title(text=title), ids=[anchor])
            document += nodes.paragraph(text=text)
            builder.feed(f"{name}#{anchor}", name, title, document)
    index = builder.freeze()
    index["texts"] = [texts[name] for name in index["docnames"]]
    # The page finds its file by docname. Sphinx asks for envversion when it builds once more.
    return index | {"pagetitles": titles, "filenames": []}


@after_html_build
def write_index(app, out):
    """Replace Sphinx's index by the index of sections."""
    names = sorted(app.env.found_docs - LEFT_OUT)
    pages = [(name, (out / f"{name}.html").read_text("utf-8")) for name in names]
    index = section_index(pages, app.env)
    body = json.dumps(index, ensure_ascii=False, separators=",:")
    write_text(out / "searchindex.js", f"Search.setIndex({body})")


def add_script(app, pagename, templatename, context, doctree):
    """Add the script of the search page."""
    if pagename == "search":
        app.add_js_file("search.js", loading_method="defer")


def setup(app):
    app.connect("html-page-context", add_script)
    app.connect("build-finished", write_index)
