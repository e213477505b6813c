"""A Sphinx extension: the search finds sections, and shows what they say, without a network.

Sphinx's own index leads to pages, and its search fetches each page that it has found to show an
excerpt, which a page from the disk may not do. Here Sphinx indexes the sections of the built
pages, the exercises and the terms of the glossary, and searchindex.js holds their texts beside the
index. Only search.html loads it (book/_templates/layout.html); book/_static/search.js shows the
results.
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

from tools.kept import kept
from tools.whole_files import write_text

# Not code that is folded away and what cells print, which is half of the text, nor what would give
# an answer away.
NOT_SAID = (
    ".headerlink, script, style, summary .expanded, details .cell_input, "
    ".cell_output .output, .figure-live, .solution"
)
LEFT_OUT = {"book/licences"}
PARTS = "section[id], .exercise[id], p[id^=term-]"
HEADING = ":scope > :is(h1, h2, h3, .admonition-title, strong)"
ARTICLE = re.compile(r"<article.*?</article>", re.S)
CODE = re.compile(r"<pre>(.*?)</pre>", re.S)
TAG = re.compile(r"<[^>]*>")

SIGNS = {
    r"\times": "×", r"\cdot": "·", r"\le": "≤", r"\ge": "≥", r"\dots": "…", r"\to": "→",
    r"\sqrt": "√", r"\alpha": "α", r"\beta": "β", r"\varepsilon": "ε", r"\sigma": "σ",
    r"\ln": "ln", r"\log": "log",
    r"\top": "T", r"\tanh": "tanh", r"\cos": "cos", r"\sin": "sin", r"\,": " ",
}  # fmt: skip


def formula(text):
    """A formula in a line of text; three dots for one that would need more than a line."""
    text = re.sub(r"\\textcolor\{#\w+\}", "", text)
    text = re.sub(r"\\(?:mathbf|mathrm|text)\s*", "", text)
    text = re.sub(r"\\(?:[a-z]+|,)", lambda m: SIGNS.get(m[0], m[0]), text)
    return "…" if "\\" in text else re.sub(r"[{}]", "", text).strip()


def said(element):
    """The text of an element as a reader would say it."""
    for math in element.select(".math"):
        math.replace_with(
            formula(math.math["alttext"]) if math.name == "span" else " … "
        )
    return " ".join(element.get_text().split())


def parts_of(html):
    """(anchor, heading, text) of each part of a page; the anchor of the page itself is empty."""
    html = ARTICLE.search(html)[0]
    # Code without its colours, which are half of what there is to parse.
    html = CODE.sub(lambda m: "<pre>" + TAG.sub("", m[1]) + "</pre>", html)
    article = BeautifulSoup(html, "html.parser")
    for element in article.select(NOT_SAID):
        element.decompose()
    found = []
    for part in reversed(article.select(PARTS)):  # what is inside another comes first
        if part.find_parent(class_="exercise"):
            continue
        heading = part.select_one(HEADING)
        if heading.name != "strong":  # which is a part of its sentence
            heading.extract()
        title = re.sub(r"^(Exercise \S+) \((.*)\)$", r"\1 \2", said(heading))
        anchor = "" if heading.name == "h1" else part["id"]
        # Sentences first, and unbroken: an excerpt is taken from them where it can be.
        code = [said(cell.extract()) for cell in part.select(".cell_input")]
        found.append((anchor, title, " ".join([said(part), *code])))
        part.extract()
    return reversed(found)


def saved(html):
    """parts_of a page, as bytes."""
    return json.dumps([*parts_of(html)]).encode()


def section_index(pages, env):
    """What the search page needs, from (name, HTML) of the pages."""
    # Sphinx keeps its index of pages in the environment; this one has a place of its own.
    fresh = {name: {} for name in vars(env) if name.startswith("_search_index")}
    own = SimpleNamespace(**fresh, domains={}, version=env.version)
    builder = IndexBuilder(own, env.config.language, {}, "")
    builder.lang.stem = functools.cache(builder.lang.stem)
    texts, titles = {}, {}
    for name, html in pages:
        inputs = html, Path(__file__)
        parts = kept(
            f"search-{name.replace('/', '-')}", inputs, lambda html=html: saved(html)
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
    return index | {"pagetitles": titles}


def write_index(app, exception):
    """Put the index of sections in the place of Sphinx's own."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    pages = [
        (name, (out / f"{name}.html").read_text(encoding="utf-8"))
        for name in sorted(app.env.found_docs - LEFT_OUT)
    ]
    body = json.dumps(
        section_index(pages, app.env), ensure_ascii=False, separators=",:"
    )
    write_text(out / "searchindex.js", f"Search.setIndex({body})")


def add_script(app, pagename, templatename, context, doctree):
    """Let the search page have its script."""
    if pagename == "search":
        app.add_js_file("search.js", loading_method="defer")


def setup(app):
    app.connect("html-page-context", add_script)
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
