"""A Sphinx extension: a content security policy in each page.

The policy is a meta element, since GitHub Pages cannot send our headers. It allows the book's own
files and inline scripts with a listed hash; no eval, no event handlers in attributes, no requests
to other hosts. Pages with figures may also import blobs: that is how loader.js runs modules whose
text is in the page, the only way that works from the disk.
"""

import base64
import hashlib
import re

from tools.extensions.html_build import after_html_build
from tools.whole_files import write_text

# For a page opened from the disk, 'self' covers any file, but not form targets in Firefox.
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    # Tables and figures have style attributes.
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",  # stills of figures, and signs in style sheets
    "font-src": "'self'",
    "connect-src": "'self'",  # not for the book's scripts, but for tools that inspect pages
    "worker-src": "'self'",  # sw.js, which caches pages that have been read
    "form-action": "'self' file:",  # the search
    "base-uri": "'self'",
}
FIGURES = 'type="application/vnd.jupyter.widget-state+json"'
SCRIPT = re.compile(r"<script([^>]*)>(.*?)</script>", re.S)
TYPE = re.compile(r'\btype="(?!text/javascript|module)')
# Handlers of the theme's buttons; book.js replaces them.
HANDLER = re.compile(r' onclick="(?:window\.print|toggleFullScreen)\(\)"')
CHARSET = '<meta charset="utf-8" />'
META = '<meta http-equiv="Content-Security-Policy" content="{}">'
PRESENT = re.compile(re.escape(META).replace(r"\{\}", "[^>]*"))


def policy_of(page):
    """The policy of a page, from its HTML."""
    allowed = set()
    for attributes, body in SCRIPT.findall(page):
        if body.strip() and "src=" not in attributes and not TYPE.search(attributes):
            digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
            allowed.add(f"'sha256-{digest}'")
    blobs = ["blob:"] if FIGURES in page else []
    sources = " ".join([POLICY["script-src"], *sorted(allowed), *blobs])
    policy = POLICY | {"script-src": sources}
    return "; ".join(f"{name} {sources}" for name, sources in policy.items())


def with_policy(page):
    """The HTML of a page with its policy, ahead of everything that it governs."""
    page = HANDLER.sub("", PRESENT.sub("", page))
    return page.replace(CHARSET, CHARSET + META.format(policy_of(page)), 1)


@after_html_build
def write_policies(app, out):
    """Put its policy into each page."""
    for path in out.rglob("*.html"):
        # Skip the theme's templates, and slides, which are self-contained.
        if not {"_static", "slides"} & set(path.relative_to(out).parts):
            page = path.read_text(encoding="utf-8")
            write_text(path, with_policy(page))


def setup(app):
    app.connect("build-finished", write_policies, priority=900)  # pages are complete
