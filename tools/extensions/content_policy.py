"""A Sphinx extension: each page says what it may load and run, and a browser lets it do no more.

The policy stands in the page (GitHub Pages sends no headers of ours): files of the book, and no
others; of scripts within the page those whose hash it names; no eval, no handlers in attributes,
and no request to elsewhere. Pages with figures may also import blobs, which is how loader.js runs
the modules whose text the page holds: from the disk there is no other way.
"""

import base64
import hashlib
import re
from pathlib import Path

from tools.whole_files import write_text

# For a page from the disk 'self' is any file there, except in Firefox where a form may lead.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    # Tables and figures have styles of their own, in attributes.
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",  # stills of figures, and signs in style sheets
    "font-src": "'self'",
    "connect-src": "'self'",  # no script of the book asks; tools that look at pages do
    "worker-src": "'self'",  # sw.js, which keeps what has been read
    "form-action": "'self' file:",  # the search
    "base-uri": "'self'",
}
FIGURES = 'type="application/vnd.jupyter.widget-state+json"'
SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<body>.*?)</script>", re.S)
TYPE = re.compile(r'\btype="(?!text/javascript|module)')
# What the theme's buttons do; book.js does it.
HANDLER = re.compile(r' onclick="(?:window\.print|toggleFullScreen)\(\)"')
CHARSET = '<meta charset="utf-8" />'
META = '<meta http-equiv="Content-Security-Policy" content="{}">'
PRESENT = re.compile(re.escape(META).replace(r"\{\}", "[^>]*"))


def policy_of(page):
    """The policy of a page, from its HTML."""
    scripts = [
        match["body"]
        for match in SCRIPT.finditer(page)
        if "src=" not in match["attributes"] and not TYPE.search(match["attributes"])
    ]
    hashes = {
        base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        for body in scripts
        if body.strip()
    }
    allowed = [f"'sha256-{digest}'" for digest in sorted(hashes)]
    if FIGURES in page:
        allowed.append("blob:")
    policy = POLICY | {"script-src": " ".join([POLICY["script-src"], *allowed])}
    return "; ".join(f"{name} {sources}" for name, sources in policy.items())


def with_policy(page):
    """The HTML of a page with its policy, before anything that it applies to."""
    page = HANDLER.sub("", PRESENT.sub("", page))
    return page.replace(CHARSET, CHARSET + META.format(policy_of(page)), 1)


def write_policies(app, exception):
    """Put its policy into each page."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for path in out.rglob("*.html"):
        # Not templates of the theme, nor slides of an earlier build: they bring all in one file.
        if not {"_static", "slides"} & set(path.relative_to(out).parts):
            page = path.read_text(encoding="utf-8")
            write_text(path, with_policy(page))


def setup(app):
    app.connect("build-finished", write_policies, priority=900)  # pages are complete
    return {"parallel_read_safe": True, "parallel_write_safe": True}
