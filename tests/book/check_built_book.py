"""Check the built pages: python tests/book/check_built_book.py _build/html

Nothing is loaded from the network, and each page says so in its policy; every local link and file
exists, every picture has a text, every plot a partner for the dark theme, the code of each shown
cell is there, exercises have the numbers of the notebooks, and no page is too heavy.
"""

import html
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from fontTools.ttLib import TTFont

from d2lmini.support.chapters import EXERCISE_PAGES

# Attributes by which a page loads something, by tag; links to click do not count.
SOURCES = ["script", "img", "iframe", "source", "video", "audio", "embed"]
SOURCES = dict.fromkeys(SOURCES, "src")
LOADING = SOURCES | {"link": "href", "object": "data"}
LINK_KINDS_THAT_DO_NOT = {
    *["next", "prev", "search", "index", "canonical", "author", "license"]
}
# What a style sheet or an inline script would fetch from elsewhere.
REMOTE = re.compile(
    r"""url\(\s*['"]?(?:https?:)?//|@import\s+['"](?:https?:)?//|(?:import|fetch)\(\s*['"]https?:"""
)


# A widget whose state is saved, but which needs a kernel to do anything.
DEAD_WIDGET = re.compile(r'"model_module": "@jupyter-widgets/(?:controls|output)"')
# What is not for readers: a directive that was not understood, a word for the formatter.
DIRECTIVE = re.compile(r"\{(?:admonition|exercise|solution|bibliography)\}|# fmt: \w+")
# Bold type inside a link, which becomes two asterisks; it has to be around the link.
ASTERISKS = re.compile(r"<span[^>]*>\*[^<]+\*</span>")
# A formula whose full stop may begin the next line.
LOOSE_MARK = re.compile(
    r'(?<!<span class="unbroken">)<span class="math [^>]*>(?:(?!</math>).)*</math></span>[.,;:]'
)


class Page(HTMLParser):
    """Collects what a page loads, links to, and offers as targets."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.ids, self.problems = [], [], set(), []
        text = path.read_text(encoding="utf-8")
        self.feed(text)
        code = re.findall(r"<(script|style)[^>]*>(.*?)</\1>", text, flags=re.S)
        fetched = (m[0] for _, body in code for m in REMOTE.finditer(body))
        self.problems += [f"fetches: {what}" for what in fetched]
        # A deck of slides is one file, which has all in it, as text of its own.
        has_policy = 'http-equiv="Content-Security-Policy"' in text
        if path.parent.name != "slides" and not has_policy:
            self.problems.append("has no policy of what it may load")
        for what in (DEAD_WIDGET, DIRECTIVE, ASTERISKS, LOOSE_MARK):
            self.problems += [f"must not hold {m[0]}" for m in what.finditer(text)]

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.add(attrs["id"])
        # Forbidden by the policy
        self.problems += [f"{name} on a {tag}" for name in attrs if name[:2] == "on"]
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag == "img" and not (attrs.get("alt") or "").strip():
            self.problems.append(f"picture without a text: {attrs.get('src')}")
        kinds = set((attrs.get("rel") or "").split())
        loads = tag in LOADING
        loads &= tag != "link" or not kinds <= LINK_KINDS_THAT_DO_NOT
        if loads and attrs.get(LOADING[tag]):
            self.loads.append(attrs[LOADING[tag]])


def problems(root):
    """One line for each thing that is wrong."""
    for path in root.rglob("*.css"):
        for match in REMOTE.finditer(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(root)}: fetches {match[0]}"
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    for path, page in pages.items():
        place = path.relative_to(root)
        if "macros" in path.name:  # templates left behind by the theme
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
            target = path.parent / unquote(parts.path) if parts.path else path
            target = target.resolve()
            if not target.exists():
                yield f"{place}: {url} does not exist"
                continue
            ids = pages[target].ids if target in pages else {unquote(parts.fragment)}
            if parts.fragment and unquote(parts.fragment) not in ids:
                yield f"{place}: {url} has no such target"


LINK = re.compile(r"\]\(([\w-]+)\.(?:ipynb|md)(?:#([\w-]+))?\)")


def lost_from_notebooks(root):
    """One line for each link in a notebook whose target is missing from the pages.

    On a site, the links of a notebook that is downloaded lead to the pages.
    """
    pages = sorted((root / "book").glob("*.html"))
    places = {path.stem: Page(path).ids for path in pages}
    for path in sorted((root / "_sources" / "book").glob("*.ipynb")):
        for page, place in LINK.findall(path.read_text(encoding="utf-8")):
            if page not in places or (place and place not in places[page]):
                yield f"{path.name}: no page has {page}#{place}"


def lost_code(root):
    """One line for each shown cell of a notebook whose code is not on its page."""
    for path in sorted((root / "_sources" / "book").glob("*.ipynb")):
        text = (root / "book" / f"{path.stem}.html").read_text(encoding="utf-8")
        shown = "".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            tags = {*cell["metadata"].get("tags", ())}
            if cell["cell_type"] == "code" and not tags & {
                "remove-cell",
                "remove-input",
            }:
                lines = [line for line in cell["source"] if not line.startswith("# ▸")]
                code = "".join("".join(lines).split())
                if code[:100] not in shown:
                    yield f"{path.stem}: the cell {cell['id']} is not on the page"


def misnumbered(root):
    """One line for each page whose exercises are not numbered as its notebook's are."""
    for page in EXERCISE_PAGES.values():
        text = (root / "book" / page.page).read_text(encoding="utf-8")
        found = re.findall(r'<span class="caption-number">Exercise (\S+) </span>', text)
        due = [f"{page.number}.{n}" for n in range(1, page.exercises + 1)]
        if found != due:
            yield f"{page.page}: has the exercises {found} instead of {due}"


# What browsers know of MathML (MathML Core), as far as formulas need it.
CORE = {
    "math": {"alttext", "display"},
    "mo": {"form", "fence", "stretchy", "minsize", "maxsize", "lspace", "rspace", "accent"},
    "mstyle": {"mathcolor", "displaystyle", "scriptlevel"},
    "mspace": {"width"},
    "mtd": {"class"},
    "mtext": {"class"},
    "mtable": {"displaystyle"},
}  # fmt: skip
NO_ATTRIBUTES = {"mi", "mn", "mrow", "mfrac", "msqrt", "mroot", "mtr"} | {
    f"m{script}" for script in ("sub", "sup", "subsup", "under", "over", "underover")
}


def unknown_formulas(root):
    """One line for each formula that some browser would not set, or not in the book's font."""
    font = TTFont(root / "_static" / "fonts" / "Book-Math-normal.woff2")
    letters = set(map(chr, font.getBestCmap()))
    for path in sorted((root / "book").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        formulas = re.findall(r"<math .*?</math>", text, re.S)
        if len(formulas) != text.count('class="math notranslate'):
            yield f"{path.name}: has formulas that are not MathML"
        for formula in map(ElementTree.fromstring, formulas):
            place = f"{path.name}: the formula {formula.get('alttext')}"
            for part in formula.iter():
                for name in set(part.attrib) - CORE.get(part.tag, set()):
                    yield f"{place} has a {part.tag} with {name}"
                if part.tag not in CORE.keys() | NO_ATTRIBUTES:
                    yield f"{place} has a {part.tag}"
            for letter in set("".join(formula.itertext())) - letters:
                yield f"{place} has {letter!r}, which is missing from the font (book_fonts.py)"


# A plot, and the same with light colours for the dark theme.
PAIR = re.compile(
    r'<img (alt="[^"]*") class="plot-light" [^>]*src="([^"]*)\.svg" loading="lazy">'
    r'<img \1 class="plot-dark" [^>]*src="\2-dark\.svg" loading="lazy">'
)


def unpaired(root):
    """One line for each page with a picture for one theme only."""
    for path in sorted((root / "book").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        single = text.count('src="../_images/') - 2 * len(PAIR.findall(text))
        if single:
            yield f"{path.name}: {single} pictures exist for one theme only"


# What a reader loads, in bytes: a page with its pictures, those of one theme; with the network that
# loads when the page can be read; and what all pages share.
PAGE, WITH_NET, SHARED = 500_000, 3_000_000, 6_000_000


def too_heavy(root):
    """One line for each page that is larger than it should be."""
    for path in sorted((root / "book").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        pictures = set(re.findall(r'src="\.\./(_images/[^"]+)"', text))
        nets = set(re.findall(r'"file":"\.\./(_static/weights/[^"]+)"', text))
        dark = {name for name in pictures if name.endswith("-dark.svg")}
        for what, names, most in (
            ("its pictures in the light theme", pictures - dark, PAGE),
            ("its pictures in the dark theme", dark, PAGE),
            ("its pictures and its network", pictures | nets, WITH_NET),
        ):
            size = sum((root / name).stat().st_size for name in names)
            size += path.stat().st_size
            if size > most:
                yield (f"{path.name}: {size:,} bytes with {what}, more than {most:,}")
    files = [p for p in (root / "_static").rglob("*") if p.is_file()]
    shared = sum(p.stat().st_size for p in files if p.parent.name != "weights")
    if shared > SHARED:
        yield f"_static: {shared:,} bytes, more than {SHARED:,}"


def main(root):
    """Print what is wrong; exit status 1 if anything is."""
    if not (root / "index.html").exists():
        sys.exit(f"{root} holds no built book")
    root = root.resolve()
    checks = problems, lost_from_notebooks, lost_code, misnumbered, unknown_formulas
    checks += unpaired, too_heavy
    found = [problem for check in checks for problem in check(root)]
    in_order = "links, files, code, numbers, formulas, sizes and pictures are in order"
    print("\n".join(found) or f"{root}: {in_order}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
