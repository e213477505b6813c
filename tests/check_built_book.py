"""Check the built pages: python tests/check_built_book.py _build/html

Nothing is loaded from the network, every local link and file exists, every picture has a text.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes by which a page loads something, by tag; a link that a reader may click is none.
LOADING = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
}
LINK_KINDS_THAT_LOAD = {"stylesheet", "icon", "preload", "modulepreload"}


class Page(HTMLParser):
    """Collects what a page loads, links to, and offers as targets."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.ids, self.problems = [], [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.add(attrs["id"])
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag == "img" and not (attrs.get("alt") or "").strip():
            self.problems.append(f"picture without a text: {attrs.get('src')}")
        kinds = set((attrs.get("rel") or "").split())
        loads = tag in LOADING and (tag != "link" or kinds & LINK_KINDS_THAT_LOAD)
        if loads and attrs.get(LOADING[tag]):
            self.loads.append(attrs[LOADING[tag]])


def problems(root):
    """One line for each thing that is wrong."""
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    for path, page in pages.items():
        place = path.relative_to(root)
        if "macros" in path.name:  # templates that the theme leaves behind
            continue
        yield from (f"{place}: {problem}" for problem in page.problems)
        for url in page.loads + page.links:
            parts = urlsplit(url)
            if parts.scheme in ("http", "https") or parts.netloc:
                if url in page.loads:
                    yield f"{place}: loads {url}"
                continue
            if parts.scheme:  # data:, mailto:
                continue
            target = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path
            )
            if not target.exists():
                yield f"{place}: {url} does not exist"
                continue
            ids = pages[target].ids if target in pages else {unquote(parts.fragment)}
            if parts.fragment and unquote(parts.fragment) not in ids:
                yield f"{place}: {url} has no such target"


def main(root):
    """Print what is wrong; exit status 1 if anything is."""
    if not (root / "index.html").exists():
        sys.exit(f"{root} holds no built book")
    found = list(problems(root.resolve()))
    print("\n".join(found) or f"{root}: links, files and picture texts are in order")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
