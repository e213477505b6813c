"""A Sphinx extension: a site that was read can be read again without a network.

sw.js, a service worker, keeps the pages that a reader opens, with all that they load, and the
search. Not the whole site: that is 15 MB, of which somebody who follows a link wants a twentieth.
"""

import hashlib
import json
import re
from pathlib import Path

from tools.whole_files import write_text

LOADED = re.compile(r'(?:src|href)="((?:_static/|searchindex\.js)[^"]*)"')


def write_worker(app, exception):
    """Write sw.js beside the pages, with a version that is another when anything else is."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    (out / "sw.js").unlink(missing_ok=True)
    digest = hashlib.sha256()
    for path in sorted(out.rglob("*.*")):
        if path.suffix in (".html", ".js", ".css", ".svg"):
            digest.update(path.read_bytes())
    search = LOADED.findall((out / "search.html").read_text(encoding="utf-8"))
    source = Path(__file__).with_name("sw.js").read_text(encoding="utf-8")
    source = source.replace("{version}", digest.hexdigest()[:16])
    # Each once: a cache takes nothing twice.
    search = list(dict.fromkeys(["search.html", *search]))
    source = source.replace("{search}", json.dumps(search))
    write_text(out / "sw.js", source)


def setup(app):
    app.connect("build-finished", write_worker, priority=950)  # after content_policy
    return {"parallel_read_safe": True, "parallel_write_safe": True}
