"""A Sphinx extension: links to figures, and thumbnails in lists of figures.

In the source such a link is [Masks](02-masks.ipynb#figure-masks): in a notebook it opens the
chapter, in the built page it leads to the figure.
"""

import base64
import re
from pathlib import Path

from docutils import nodes

from tools.extensions.addresses import ROOT
from tools.whole_files import write_bytes

LINK = re.compile(r"\[([^]]+)\]\(([\w-]+)\.ipynb#(figure-[\w-]+)\)")
STILL = re.compile(
    r'<div class="d2lmini-still" id="(figure-[\w-]+)">'
    r'<img alt="([^"]*)" src="data:image/svg\+xml;base64,([^"]+)">'
)
# A list entry that begins with such a link
ENTRY = re.compile(
    r'<li>\s*<p><a class="to-figure" href="([\w-]+).html#(figure-[\w-]+)">'
)


def titles():
    """The titles of the live figures from the page that lists them all: (file, id) -> title."""
    links = LINK.findall((ROOT / "book" / "figures.md").read_text(encoding="utf-8"))
    listed = {(file, figure): title for title, file, figure in links}
    first = {(file, "figure-first"): "Predict, then try" for file, _ in listed}
    return listed | first


def as_html(text):
    """Write links to figures as HTML: Sphinx knows no targets within cell outputs."""
    return LINK.sub(r'<a class="to-figure" href="\2.html#\3">\1</a>', text)


def still_of(app, chapter, figure):
    """An <img> of a figure's still picture, for a page that links to the figure."""
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
    """Add its picture to each list entry that begins with a link to a figure."""

    def with_picture(match):
        return f"{match[0]}{still_of(app, *match.groups())}<span>"

    body, number = ENTRY.subn(with_picture, context.get("body", ""))
    if number:
        # The link text goes below the picture, where it no longer begins a sentence.
        body = re.sub(r'(loading="lazy"><span>.*?)</a>[.]? ', r"\1</span></a> ", body)
        context["body"] = body


def setup(app):
    app.connect("html-page-context", add_pictures)
