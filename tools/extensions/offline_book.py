"""A Sphinx extension: no page of the built book asks the network for anything.

A default build fetches MathJax, and thebe (which would start a kernel on a server), from a CDN.
Here formulas need no script (formulas.py), and thebe goes. The library that shows widgets, 3.7 MB
from a CDN as well, is replaced in _config.yml by the book's own loader, d2lmini/figures/loader.js;
and a widget's still picture, which MyST-NB would drop, stays beside it.

And the pages are made light: no state of widgets that need a kernel, no source maps of the
theme's scripts, no second set of its icons.
"""

import base64
import hashlib
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from tools.whole_files import write_text

THEBE = re.compile(
    r'<script type="text/x-thebe-config">.*?</script>|<script>kernelName.*?</script>',
    re.S,
)


# Files of thebe, and of sphinx-design, whose cards and tabs the book does not have.
IDLE = ["thebe", "sphinx-design", "design-tabs"]


def remove_idle(app, pagename, templatename, context, doctree):
    """Leave out what extensions add to each page and none needs."""

    def is_idle(script):
        source = str(getattr(script, "filename", "") or "")
        body = getattr(script, "attributes", {}).get("body") or ""
        return any(name in source for name in IDLE) or "THEBE" in body

    scripts = context.get("script_files", [])
    scripts[:] = [script for script in scripts if not is_idle(script)]
    sheets = context.get("css_files", [])
    sheets[:] = [sheet for sheet in sheets if not is_idle(sheet)]
    context["body"] = THEBE.sub("", context.get("body", ""))


# What others need while the page is still read: the theme's settings, the figures, the colours.
EARLY = re.compile(r"documentation_options|loader|book\.js")


def defer_scripts(app, pagename, templatename, context, doctree):
    """Let scripts wait until the page has been read, and can be seen.

    Not on the search page, whose own scripts use those of all pages at once.
    """

    def deferred(script):
        name, attributes = str(script.filename or ""), script.attributes
        if not name or EARLY.search(name) or attributes.keys() & {"defer", "async"}:
            return script
        return type(script)(name, priority=script.priority, **attributes, defer="defer")

    if pagename != "search":
        scripts = context.get("script_files", [])
        scripts[:] = [deferred(script) for script in scripts]


INDENT = re.compile(r"^ +", flags=re.MULTILINE)  # no text of a module has two lines


def light_state(saved, keep=lambda model: True, large=lambda buffer: None):
    """Of the state of widgets that a page saves, keep the figures: the rest need a kernel.

    keep says of which model; large may give a buffer a file of its own.
    """
    saved["state"] = {
        model: widget
        for model, widget in saved["state"].items()
        if widget["model_module"] == "anywidget" and keep(model)
    }
    for widget in saved["state"].values():
        del widget["state"]["_css"]  # all pages share figure.css
        widget["state"]["_esm"] = INDENT.sub("", widget["state"]["_esm"])
        for buffer in widget.get("buffers", []):
            large(buffer)
            pack(buffer)
    # A token may hold "</script>", which would end this script.
    body = json.dumps(saved, ensure_ascii=False, separators=(",", ":"))
    return body.replace("</", "<\\/")


def drop_dead_state(app, pagename, templatename, context, doctree):
    """Make the state light that a page saves."""
    for script in context.get("script_files", []):
        attributes = getattr(script, "attributes", {})
        if attributes.get("type") == "application/vnd.jupyter.widget-state+json":
            attributes["body"] = light_state(
                json.loads(attributes["body"]),
                large=lambda buffer: move_out(app, context, buffer),
            )


LARGE = 1_000_000  # characters


def move_out(app, context, buffer):
    """Give a large buffer a file of its own, which loads when the page can be read.

    A script and no more: a page from the disk may not fetch. Pages with the same share it.
    """
    if len(buffer.get("data", "")) > LARGE:
        data = buffer.pop("data")
        name = f"{hashlib.sha256(data.encode()).hexdigest()[:16]}.js"
        path = Path(app.outdir) / "_static" / "weights" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, f'(window.d2lminiBytes ??= {{}})["{name}"]="{data}";')
        buffer["file"] = context["pathto"](f"_static/weights/{name}", resource=True)


def pack(buffer):
    """Bytes as text of 85 characters, of which a page needs 6 % fewer than of 64."""
    if buffer.get("data"):
        data = base64.b85encode(base64.b64decode(buffer["data"])).decode()
        buffer |= {"data": data, "encoding": "base85"}


# Names, names of modules, punctuation and spaces, which have the colour of the text around them.
PLAIN = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')


def drop_plain_spans(app, pagename, templatename, context, doctree):
    """Leave out the spans of highlighted code that colour nothing: half the weight of code."""
    body = context.get("body", "").replace("<pre><span></span>", "<pre>")
    context["body"] = PLAIN.sub(r"\1", body)


class KeepStillPictures(SphinxPostTransform):
    """Of an output that is a widget and HTML, keep both; MyST-NB would take the first.

    The picture is there for readers without scripts; the loader removes it where it succeeds.
    """

    default_priority = 3  # before MyST-NB selects, which is 4

    def run(self, **kwargs):
        for bundle in list(self.document.findall(nodes.container)):
            if bundle.get("nb_element") != "mime_bundle":
                continue
            kinds = {child["mime_type"]: child.children for child in bundle.children}
            view = kinds.get("application/vnd.jupyter.widget-view+json")
            if view and "text/html" in kinds:
                bundle.replace_self(
                    nodes.container(
                        "", *kinds["text/html"], *view, classes=["figure-live"]
                    )
                )


def make_light(app, exception):
    """Take away what no reader needs."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for path in static.rglob("*.map"):
        path.unlink()  # 3 MB, for those who debug the theme
    # 1.5 MB, which no page asks for (book/_templates/layout.html)
    (static / "scripts" / "fontawesome.js").unlink(missing_ok=True)


def setup(app):
    app.add_post_transform(KeepStillPictures)
    app.connect("html-page-context", remove_idle, priority=900)
    app.connect("html-page-context", defer_scripts, priority=900)
    app.connect("html-page-context", drop_dead_state, priority=900)
    app.connect("html-page-context", drop_plain_spans, priority=900)
    app.connect("build-finished", make_light)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
