"""A Sphinx extension: the built book makes no network requests, and its pages are small.

A default build fetches MathJax, and thebe (which would start a kernel on a server), from a CDN.
Here formulas need no script (formulas.py), and thebe is removed. The library that shows widgets,
another 3.7 MB from a CDN, is replaced in _config.yml by the book's own loader,
d2lmini/figures/loader.js. A widget's still picture, which MyST-NB would drop, stays in the page.
"""

import base64
import functools
import hashlib
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from tools.extensions.html_build import after_html_build
from tools.whole_files import write_text

THEBE = re.compile(r"<script(?:[^>]*x-thebe-config.>|>kernelName).*?</script>", re.S)
# Files of thebe, and of sphinx-design, whose cards and tabs the book does not use.
IDLE = ["thebe", "sphinx-design", "design-tabs"]
INDENT = re.compile(r"^ +", re.M)  # safe, as no string in a module spans lines
LARGE = 1_000_000  # characters of a buffer
# Needed while the page is still being parsed: the theme's settings, the figures, the colours.
EARLY = re.compile(r"documentation_options|loader|book\.js")
# Names, modules, punctuation and spaces, which have the colour of the surrounding text.
PLAIN = re.compile(r'<span class="(?:n|nn|p|w)">([^<]*)</span>')


def remove_idle(app, pagename, templatename, context, doctree):
    """Remove the files that extensions add to each page and that no page needs."""

    def is_idle(script):
        source = str(getattr(script, "filename", "") or "")
        body = getattr(script, "attributes", {}).get("body") or ""
        return any(name in source for name in IDLE) or "THEBE" in body

    for files in (context.get("script_files", []), context.get("css_files", [])):
        files[:] = [file for file in files if not is_idle(file)]
    context["body"] = THEBE.sub("", context.get("body", ""))


def defer_scripts(app, pagename, templatename, context, doctree):
    """Defer scripts until the page has been parsed.

    Not on the search page, whose own scripts use the others immediately.
    """

    def deferred(script):
        name, attributes = str(script.filename or ""), script.attributes
        if not name or EARLY.search(name) or attributes.keys() & {"defer", "async"}:
            return script
        return type(script)(name, priority=script.priority, **attributes, defer="defer")

    if pagename != "search":
        scripts = context.get("script_files", [])
        scripts[:] = [deferred(script) for script in scripts]


def light_state(saved, keep=lambda model: True, large=lambda buffer: None):
    """Reduce a page's saved widget state to the figures: other widgets need a kernel.

    Args:
        keep: whether to keep a model.
        large: is called on each buffer and may move it into its own file.
    """
    for model, widget in [*saved["state"].items()]:
        if widget["model_module"] != "anywidget" or not keep(model):
            del saved["state"][model]
    for widget in saved["state"].values():
        del widget["state"]["_css"]  # all pages share figure.css
        widget["state"]["_esm"] = INDENT.sub("", widget["state"]["_esm"])
        for buffer in widget.get("buffers", []):
            large(buffer)
            pack(buffer)
    share_equal_parts(saved["state"])
    # A token may hold "</script>", which would end this script.
    body = json.dumps(saved, ensure_ascii=False, separators=(",", ":"))
    return body.replace("</", "<\\/")


def share_equal_parts(widgets):
    """Let a figure name the one before it that has the same module, or the same bytes."""
    modules, bytes_of = {}, {}
    for model, widget in widgets.items():
        text = widget["state"]["_esm"]
        if modules.setdefault(text, model) != model:
            widget["state"]["_esm"], widget["module"] = "", modules[text]
        for i, buffer in enumerate(widget.get("buffers", [])):
            data, place = buffer.get("data"), [model, i]
            if data and bytes_of.setdefault(data, place) != place:
                del buffer["data"]
                buffer["same"] = bytes_of[data]


def drop_dead_state(app, pagename, templatename, context, doctree):
    """Reduce the widget state in a page."""
    move = functools.partial(move_out, app, context)
    for script in context.get("script_files", []):
        attributes = getattr(script, "attributes", {})
        if attributes.get("type") == "application/vnd.jupyter.widget-state+json":
            attributes["body"] = light_state(json.loads(attributes["body"]), large=move)


def move_out(app, context, buffer):
    """Move a large buffer into its own file, which loads once the page is readable.

    The file is a script, since a page from the disk may not fetch; equal buffers share one file.
    """
    if len(buffer.get("data", "")) > LARGE:
        data = buffer.pop("data")
        name = f"{hashlib.sha256(data.encode()).hexdigest()[:16]}.js"
        path = Path(app.outdir) / "_static" / "weights" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, f'(window.d2lminiBytes ??= {{}})["{name}"]="{data}";')
        buffer["file"] = context["pathto"](f"_static/weights/{name}", resource=True)


def pack(buffer):
    """Encode bytes in base 85, which takes 6 % fewer characters than base 64."""
    if buffer.get("data"):
        data = base64.b85encode(base64.b64decode(buffer["data"])).decode()
        buffer |= {"data": data, "encoding": "base85"}


def drop_plain_spans(app, pagename, templatename, context, doctree):
    """Remove spans that colour nothing from highlighted code: half of its size."""
    body = context.get("body", "").replace("<pre><span></span>", "<pre>")
    context["body"] = PLAIN.sub(r"\1", body)


class KeepStillPictures(SphinxPostTransform):
    """Keep both the widget and the HTML of an output; MyST-NB would drop the second.

    The picture is for readers without scripts; the loader replaces it.
    """

    default_priority = 3  # MyST-NB selects at 4

    def run(self, **kwargs):
        for bundle in list(self.document.findall(nodes.container)):
            if bundle.get("nb_element") != "mime_bundle":
                continue
            kinds = {child["mime_type"]: child.children for child in bundle.children}
            view = kinds.get("application/vnd.jupyter.widget-view+json")
            if view and "text/html" in kinds:
                both = *kinds["text/html"], *view
                bundle.replace_self(nodes.container("", *both, classes=["figure-live"]))


@after_html_build
def make_light(app, out):
    """Delete files that no reader needs."""
    for path in (out / "_static").rglob("*.map"):
        path.unlink()  # 3 MB, only for debugging the theme
    # 1.5 MB that no page loads (book/_templates/layout.html)
    (out / "_static" / "scripts" / "fontawesome.js").unlink(missing_ok=True)


def setup(app):
    app.add_post_transform(KeepStillPictures)
    for change in (remove_idle, defer_scripts, drop_dead_state, drop_plain_spans):
        app.connect("html-page-context", change, priority=900)
    app.connect("build-finished", make_light)
