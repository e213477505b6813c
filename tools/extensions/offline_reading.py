"""A Sphinx extension: pages that were read once can be read again without a network.

sw.js, a service worker, caches the pages that a reader opens, everything they load, and the search.
Not the whole site: that is 15 MB, and a reader who follows a link needs a twentieth of it.
"""

import hashlib
import json
import re
from pathlib import Path

from tools.extensions.html_build import after_html_build
from tools.whole_files import write_text

LOADED = re.compile(r'(?:src|href)="((?:_static/|searchindex\.js)[^"]*)"')


@after_html_build
def write_worker(app, out):
    """Write sw.js next to the pages, with a version that changes whenever any file does."""
    (out / "sw.js").unlink(missing_ok=True)
    digest = hashlib.sha256()
    for path in sorted(out.rglob("*.*")):
        if path.suffix in (".html", ".js", ".css", ".svg"):
            digest.update(path.read_bytes())
    search = LOADED.findall((out / "search.html").read_text(encoding="utf-8"))
    source = Path(__file__).with_name("sw.js").read_text(encoding="utf-8")
    source = source.replace("{version}", digest.hexdigest()[:16])
    # Without repetitions, which Cache.addAll refuses
    search = list(dict.fromkeys(["search.html", *search]))
    source = source.replace("{search}", json.dumps(search))
    write_text(out / "sw.js", source)


def setup(app):
    app.connect("build-finished", write_worker, priority=950)  # after content_policy
