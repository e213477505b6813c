"""Measure the speed and size of the built pages: python -m benchmarks.pages _build/html

Needs Chromium and the built book, which is served locally.
"""

import functools
import http.server
import re
import statistics
import sys
import threading
from pathlib import Path

from benchmarks.table import head, row
from d2lmini.support.chapters import CHAPTERS
from tools.browser import chromium

# Time from the request until the first control of the first figure exists, in ms
WATCH = """
new MutationObserver((_, observer) => {
    if (!document.querySelector(".d2lmini-figure :is(input, select, [tabindex='0'])")) return;
    window.firstControl = performance.now();
    observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""
READY = "window.firstControl && !document.querySelector('.d2lmini-still')"
# Time from a keystroke to the end of the layout, in ms, for each of 40 keystrokes
TYPE = """(field) => Array.from({ length: 40 }, (_, i) => {
    field.value = i % 2 ? "Tom doesn't see her." : "Tom doesn't see him.";
    const start = performance.now();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.closest(".d2lmini-figure").getBoundingClientRect();
    return performance.now() - start;
})"""
# The same for a slider moved back and forth
SLIDE = """(slider) => Array.from({ length: 40 }, (_, i) => {
    slider.value = i % 2 ? slider.min : slider.max;
    const start = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    slider.closest(".d2lmini-figure").getBoundingClientRect();
    return performance.now() - start;
})"""

# Time for the larger of a figure's two networks to translate ten words and show the result, in ms,
# and the longest task meanwhile; only tasks over 50 ms are reported.
TRANSLATE = """async (field) => {
    const verdict = field.closest(".d2lmini-figure").querySelector(".verdict");
    const tasks = [0], times = [];
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((e) => e.duration)))
        .observe({ type: "longtask" });
    for (let i = 0; i < 20; i++) {
        const done = new Promise((resolve) => new MutationObserver((_, observer) => {
            observer.disconnect();
            resolve();
        }).observe(verdict, { childList: true }));
        const start = performance.now();
        field.value = `My neighbour's ${i % 2 ? "old" : "small"} dog barks all night in the garden`;
        field.dispatchEvent(new Event("input", { bubbles: true }));
        await done;
        field.closest(".d2lmini-figure").getBoundingClientRect();
        times.push(performance.now() - start);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return [times.slice(2), Math.max(...tasks)]; // the first wait for the network
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def weight(path):
    """Bytes of a page and its pictures, except those for the dark theme."""
    pictures = re.findall(
        r'src="\.\./(_images/[^"]+(?<!-dark)\.svg)"', path.read_text(encoding="utf-8")
    )
    folder = path.parents[1]
    return path.stat().st_size + sum((folder / p).stat().st_size for p in set(pictures))


def main(root):
    """Measure and print, row by row."""
    handler = functools.partial(Quiet, directory=root)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ready, strokes, translations = [], {}, []
    chapters = [
        path
        for path in sorted((root / "book").glob("[0-9]*.html"))
        if "d2lmini-still" in path.read_text(encoding="utf-8")
    ]
    with chromium() as browser:
        for path in chapters:
            for visit in range(5):  # each with an empty cache
                page = browser.new_context().new_page()
                page.add_init_script(WATCH)
                page.goto(f"http://127.0.0.1:{server.server_port}/book/{path.name}")
                page.wait_for_function(READY)
                ready.append(page.evaluate("window.firstControl"))
                if visit < 4:
                    page.context.close()
            for slider in page.locator(
                ".d2lmini-figure input[type=range]:enabled"
            ).all():
                times = strokes.setdefault(path.stem, [])
                times += slider.evaluate(SLIDE)
            for field in page.locator(".d2lmini-figure input[type=text]").all():
                times = field.evaluate(TYPE)
                if path.name == CHAPTERS["maps"].page:
                    translations += times
                    page.get_by_label("Network").select_option("large")
                    large, longest = field.evaluate(TRANSLATE)
                else:
                    strokes.setdefault(path.stem, []).extend(times)
            page.context.close()
    slowest = max(strokes, key=lambda name: statistics.median(strokes[name]))
    sizes = {path.name: weight(path) for path in (root / "book").glob("*.html")}
    largest = max(sizes, key=sizes.get)
    files = [p for p in (root / "_static").rglob("*") if p.is_file()]
    weights = sum(p.stat().st_size for p in files if p.parent.name == "weights")
    shared = sum(p.stat().st_size for p in files) - weights
    median = statistics.median
    head("what", "to reach", "measured here")
    found = (
        f"median {median(ready):.0f} ms, slowest {max(ready):.0f} ms of {len(ready)}"
    )
    row("first control of a page, http, cold", "≤ 500 ms", found)
    found = f"median {median(strokes[slowest]):.1f} ms"
    row(f"one keystroke, slowest page ({slowest})", "≤ 8 ms", found)
    row("one translation, all maps", "≤ 8 ms", f"median {median(translations):.1f} ms")
    found = f"median {median(large):.0f} ms; longest task {longest:.0f} ms"
    row("the large network, ten words, all maps", "≤ 100 ms", found)
    found = f"{sizes[largest] / 1000:.0f} KB"
    row(f"largest page ({largest}) with its pictures", "≤ 500 KB", found)
    front = sizes["index.html"] + weights
    row("the front page with its network", "≤ 3 MB", f"{front / 1e6:.1f} MB")
    row("what all pages share", "≤ 6 MB", f"{shared / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
