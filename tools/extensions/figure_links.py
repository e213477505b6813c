"""A Sphinx extension: links to a figure, and in lists of figures a small picture of each.

In a notebook or a page such a link is [Masks](02-masks.ipynb#figure-masks): it opens the chapter
where no figure has a place of its own, and leads to the figure in the built page.
"""

import base64
import re
from pathlib import Path

from docutils import nodes

from tools.extensions.addresses import ROOT
from tools.whole_files import write_bytes

LINK = re.compile(r"\[([^]]+)\]\(([\w-]+)\.ipynb#(figure-\w+)\)")
STILL = re.compile(
    r'<div class="d2lmini-still" id="(figure-\w+)">'
    r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]+)">'
)
# A list's entry that begins with such a link
ENTRY = re.compile(
    r'(<li>\s*<p>)(<a class="to-figure" href="([\w-]+)\.html#(figure-\w+)">)'
)


def titles():
    """The titles of the live figures, as the page of all of them has them: (file, id) -> title."""
    links = LINK.findall((ROOT / "book" / "figures.md").read_text(encoding="utf-8"))
    return {(file, figure): title for title, file, figure in links}


def as_html(text):
    """The links of a text, as HTML: Sphinx knows no target within what a cell has printed."""
    return LINK.sub(r'<a class="to-figure" href="\2.html#\3">\1</a>', text)


def still_of(app, chapter, figure):
    """The still picture of a figure, as an element of the page that links to it."""
    doctree = app.env.get_doctree(f"book/{chapter}")
    for node in doctree.findall(nodes.raw):
        for name, alt, data in STILL.findall(node.astext()):
            if name == figure:
                path = Path(app.outdir) / "_images" / f"{chapter}-{figure}.svg"
                path.parent.mkdir(exist_ok=True)
                write_bytes(path, base64.b64decode(data))
                return f'<img alt="{alt}" src="../_images/{path.name}" loading="lazy">'
    raise ValueError(f"{chapter} has no {figure}")


def add_pictures(app, pagename, templatename, context, doctree):
    """To each entry of a list that begins with a link to a figure, its picture."""

    def with_picture(match):
        start, link, chapter, figure = match.groups()
        return f"{start}{link}{still_of(app, chapter, figure)}<span>"

    body, number = ENTRY.subn(with_picture, context.get("body", ""))
    if number:
        # What the link says comes below the picture, and is no beginning of a sentence there.
        body = re.sub(r'(loading="lazy"><span>.*?)</a>[.]? ', r"\1</span></a> ", body)
        context["body"] = body


def setup(app):
    app.connect("html-page-context", add_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
