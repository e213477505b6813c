"""A deck of slides for each chapter, from the notebooks as they ran.

What is shown is said in the metadata of the cells, by Jupyter's own slide types: "slide" and
"subslide" begin a slide, "-" goes on with it, a "fragment" appears on it at the next key, and
"notes" are for the speaker. A cell without a type is not in the lecture.

A text to be read at home is too long for a slide. So of a cell of text a slide has the headings,
each of which begins a slide, formulas, tables and lists, and the sentences that begin as the list
"shows" says; the speaker's notes have it all. Of a cell of code, "shows" may name the "code" or the
"output" alone.

A deck is one file that needs no other and no network: reveal.js and MathJax are in it, and the live
figures work as in the built page, whose fonts it takes. Its looks are in slides_template/.
"""

import base64
import html
import json
import re
import sys
from importlib.metadata import distribution
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from nbconvert import SlidesExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from pygments.formatters import HtmlFormatter

from tools.extensions.addresses import CHAPTERS, addresses, settings
from tools.extensions.code_hues import paint_code
from tools.extensions.offline_book import light_state
from tools.extensions.portable import CLOSED, expanded
from tools.kept import kept
from tools.whole_files import write_bytes, write_text

ROOT = Path(__file__).parents[2]
LOOKS = Path(__file__).parent / "slides_template"
FIGURES = ROOT / "d2lmini" / "figures"
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"

# What chapter and slides call differently: the skeleton that every chapter has.
SKELETON = {
    "**The question.** ": "## The question\n\n",
    "**After this chapter you can**": "## After this chapter you can",
    "## Questions\n": "## Question\n",
}
SKELETON_HEADS = {heading.strip() for heading in SKELETON.values()}
PART = re.compile(r"^(?=##* )", re.M)
SHOWN = re.compile(r"#|\$\$|\||- |\d\. |>|```")  # how a block that is shown begins
NUMBER = re.compile(r"^\*\*(\d)\.\*\* ?")  # of a question
END = re.compile(r"(?<! al)[.?!:][*\"”)]*(?=\s|$)")  # but for "et al."
CONTROLS = re.compile(r"[^{}]*\.controls\b[^{}]*\{[^{}]*\}")
LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")


def sentence(text, start):
    """The sentence of a text that begins so, or None. A question is taken whole."""
    place = re.search(rf"(?:^|\s){re.escape(start)}", text)
    if not place:
        return None
    if NUMBER.match(start):
        return NUMBER.sub("", text)
    end = END.search(text, place.end())
    while end and end[0][0] == ":" and end.end() < len(text):  # which ends no sentence
        end = END.search(text, end.end())
    return text[place.start() : end.end() if end else None].strip()


def on_slide(part, shows):
    """What a slide has of a part of a text, a block a paragraph."""
    blocks = []
    for block in CLOSED.sub("", part).strip().split("\n\n"):
        if SHOWN.match(block):
            blocks.append(block)
        else:
            named = (sentence(block, start) for start in shows)
            blocks += [text for text in named if text]
    return LINK.sub(r"\1", "\n\n".join(blocks))


def for_speaker(part, shows):
    """What the notes have of it: everything, of the questions the answers to those shown."""
    folds = [(fold["title"], fold["text"]) for fold in CLOSED.finditer(part)]
    if part.startswith("## Question\n"):
        numbers = {f"Answer {match[1]}" for match in map(NUMBER.match, shows) if match}
        text = "\n\n".join(answer for title, answer in folds if title in numbers)
    else:
        text = CLOSED.sub(r"**\g<title>.** \g<text>", part)
    return LINK.sub(r"\1", re.sub(r"^#+ (.*)$", r"**\1**", text, flags=re.M))


def typed(cell, kind):
    """A cell with its slide type."""
    cell.metadata = nbformat.from_dict({"slideshow": {"slide_type": kind}})
    return cell


def text_cells(cell, kind, shows):
    """The slides of a cell of text, and what the speaker says."""
    text = cell.source
    for chapters, slides in SKELETON.items():
        text = text.replace(chapters, slides)
    if kind == "notes":
        yield typed(new_markdown_cell(for_speaker(text, shows)), kind)
        return
    for part in filter(str.strip, PART.split(text)):
        if part.startswith("#"):
            kind = "subslide" if part.startswith("###") else "slide"
        if seen := on_slide(part, shows):
            yield typed(new_markdown_cell(seen), kind)
            kind = "-"
        yield typed(new_markdown_cell(for_speaker(part, shows)), "notes")


def picture(svg, settings):
    """A plot with its caption, as HTML."""
    data = base64.b64encode(svg.encode()).decode()
    alt = html.escape(settings.get("image", {}).get("alt", ""))
    image = f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}">'
    caption = settings.get("figure", {}).get("caption", "")
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def live(bundle):
    """A figure as loader.js looks for it: its still picture, and where to find its state."""
    view = f'<script type="{VIEW}">{json.dumps(bundle[VIEW])}</script>'
    # A finger that drags something in it does not turn the page.
    return f'<div data-prevent-swipe="">{bundle["text/html"]}{view}</div>'


def code_cell(cell, kind, shows):
    """The slide of a cell of code: what is seen of it in the book, unless shows says less."""
    outputs = []
    for output in cell.outputs if shows != "code" else []:
        if output.get("name") == "stderr":  # progress bars
            continue
        data = output.get("data", {})
        if VIEW in data:
            data = {"text/html": live(data)}
        elif "image/svg+xml" in data:
            settings = cell.metadata.get("mystnb", {})
            data = {"text/html": picture(data["image/svg+xml"], settings)}
        outputs.append(new_output("display_data", data) if data else output)
    slide = typed(new_code_cell(cell.source, outputs=outputs), kind)
    hidden = {"hide-input", "hide-cell"} & set(cell.metadata.get("tags", []))
    if hidden or shows == "output":
        slide.metadata.transient = {"remove_source": True}
    return slide


def lecture(notebook):
    """The cells of a chapter's slides, in their order."""
    for cell in notebook.cells:
        said = cell.metadata.get("slideshow", {})
        kind, shows = said.get("slide_type"), said.get("shows", [])
        if kind is None or kind == "skip":
            continue
        if cell.cell_type == "code":
            yield code_cell(cell, kind, shows)
        else:
            yield from text_cells(cell, kind, shows)


def begins(cell):
    return cell.metadata.slideshow.slide_type in ("slide", "subslide")


def is_heading(cell):
    return re.fullmatch(r"#+ [^\n]*", cell.source)


def without_bare_headings(cells):
    """A heading stays where something follows it on its slide."""
    cells = list(cells)
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        rest = cells[cells.index(after) :] if after else []
        shown = next(
            (c for c in rest if c.metadata.slideshow.slide_type != "notes"), None
        )
        if not is_heading(cell) or (shown and not begins(shown)):
            yield cell


def with_running_heads(cells):
    """A slide without a heading says to which it belongs."""
    heading = ""
    for cell in cells:
        found = re.match(r"#+ (.*)", cell.source)
        if cell.cell_type == "markdown" and begins(cell) and found:
            heading = "" if found[0] in SKELETON_HEADS else found[1]
        elif begins(cell):
            running = f'<p class="running">{heading}</p>'
            kind = cell.metadata.slideshow.slide_type
            yield typed(new_markdown_cell(running), kind)
            cell.metadata.slideshow.slide_type = "-"
        yield cell


def with_notes(cells):
    """A slide without notes, which may be a figure alone, repeats those that led to it."""
    slide, leading = [], []
    for cell in [*cells, None]:
        if cell is None or begins(cell):
            own = [
                c.source for c in slide if c.metadata.slideshow.slide_type == "notes"
            ]
            yield from slide
            if not own:
                yield from (typed(new_markdown_cell(text), "notes") for text in leading)
            slide, leading = [], own or leading
        slide.append(cell)


def slides_of(notebook):
    """The cells of a chapter's slides, as they are shown."""
    return with_notes(with_running_heads(without_bare_headings(lecture(notebook))))


def ran(path, cache):
    """A chapter with the outputs that the build has kept, and the state of its figures."""
    notebook = nbformat.read(path, as_version=4)
    _, kept = cache.merge_match_into_notebook(expanded(path))
    outputs = {cell.id: cell.get("outputs") for cell in kept.cells}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = outputs[cell.id]
    return notebook, kept.metadata.get("widgets", {}).get(STATE, {"state": {}})


def package_text(package, name):
    """A text file of an installed package."""
    path = Path(distribution(package).locate_file(name))
    return path.read_text(encoding="utf-8")


def fonts(pages):
    """The fonts of the built pages, within their style sheet."""

    def inside(match):
        data = (pages / "_static" / match[1]).read_bytes()
        return f"url(data:font/woff2;base64,{base64.b64encode(data).decode()})"

    css = (pages / "_static" / "fonts.css").read_text(encoding="utf-8")
    return re.sub(r'url\("([^"]+)"\)', inside, css)


def shared(pages):
    """Style sheets and scripts of every deck."""
    reveal = "sphinx_revealjs/_static/revealjs"
    mathjax = "sphinx-mathjax-offline/static/mathjax/tex-svg-full.js"  # needs no fonts
    css = [
        package_text("sphinx-revealjs", f"{reveal}/dist/reset.css"),
        # Its buttons, which no deck has, share their class with the controls of the figures.
        CONTROLS.sub("", package_text("sphinx-revealjs", f"{reveal}/dist/reveal.css")),
        fonts(pages),
        HtmlFormatter(style="a11y-high-contrast-light").get_style_defs(".highlight"),
        (FIGURES / "figure.css").read_text(encoding="utf-8"),
        (LOOKS / "slides.css").read_text(encoding="utf-8"),
    ]
    return {
        "css": "\n".join(css),
        "mathjax": package_text("sphinx-mathjax-offline", mathjax),
        "loader": (FIGURES / "loader.js").read_text(encoding="utf-8"),
        "reveal": package_text("sphinx-revealjs", f"{reveal}/dist/reveal.js"),
        "plugins": "\n".join(
            package_text("sphinx-revealjs", f"{reveal}/plugin/{name}/{name}.js")
            for name in ("notes", "zoom")
        ),
        "slides": (LOOKS / "slides.js").read_text(encoding="utf-8"),
    }


TITLE = """<p class="running">Chapter {number} of {book}</p>

# {title}

The chapter: [{page}]({address})

Keys: <kbd>→</kbd> goes on, <kbd>S</kbd> opens the speaker's notes, <kbd>O</kbd> an overview,
<kbd>?</kbd> names the other keys. A click with <kbd>Alt</kbd> (on Linux with <kbd>Ctrl</kbd>) makes
what is there larger, and the next one small again. A figure that has been clicked keeps the arrow
keys until <kbd>Esc</kbd>; <kbd>Page Down</kbd> always goes on.
"""
END_OF_DECK = """## Where this is from

*{title}* is chapter {number} of *{book}* by {author}, © {year}. Text and figures may be used under
CC BY 4.0 (<https://creativecommons.org/licenses/by/4.0/>), the code under the MIT licence.

These slides are shown by reveal.js (MIT licence), their formulas set by MathJax (Apache licence
2.0), in Source Sans 3 and Source Code Pro (SIL Open Font License).
"""


def address_of(chapter):
    """Of a chapter's page: beside the decks, until the site has an address."""
    _, site = addresses()
    return f"{site or '..'}/book/{chapter.page}"


def framed(cells, chapter, config):
    """The slides with the first, which names the chapter, and the last, which names the licence."""
    said = {
        "title": chapter.title,
        "number": chapter.number,
        "page": chapter.page,
        "address": address_of(chapter),
        "book": config["title"],
        "author": config["author"].removesuffix(".").replace("The ", "the ", 1),
        "year": config["copyright"],
    }
    yield typed(new_markdown_cell(TITLE.format(**said)), "slide")
    for cell in cells:
        if cell.source != f"# {chapter.number} {chapter.title}":
            yield cell
    yield typed(new_markdown_cell(END_OF_DECK.format(**said)), "slide")


def deck(chapter, notebook, state, looks, config):
    """The HTML of a deck."""
    cells = framed(slides_of(notebook), chapter, config)
    slides = nbformat.v4.new_notebook(cells=list(cells))
    shown = json.dumps(slides)
    exporter = SlidesExporter(
        template_name=LOOKS.name,
        extra_template_basedirs=[str(LOOKS.parent)],
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    figures = light_state(state, keep=lambda model: model in shown)
    resources = {"deck": looks | {"title": chapter.title, "figures": figures}}
    page, _ = exporter.from_notebook_node(slides, resources)
    return paint_code(page)


INDEX = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Slides: {book}</title>
<link rel="icon" href="data:,">
<style>
body {{ font: 1.1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 2rem auto; }}
</style>
</head>
<body>
<main>
<h1>{book}: slides</h1>
<p>One file a chapter, which works without a network. How to use and print them:
<a href="../book/teaching.html#slides-and-figures">Teaching with this book</a>.</p>
<ol>
{decks}
</ol>
</main>
</body>
</html>
"""


def main(build):
    """Write a deck a chapter, and a page that lists them."""
    config = settings()
    pages, cache = build / "html", get_cache(build / ".jupyter_cache")
    out, looks, decks = pages / "slides", shared(pages), []
    out.mkdir(exist_ok=True)
    made_by = repr(config), repr(looks), Path(__file__), *sorted(LOOKS.iterdir())
    for chapter in CHAPTERS.values():
        path = ROOT / "book" / f"{chapter.file}.ipynb"

        def make(chapter=chapter, path=path):
            return deck(chapter, *ran(path, cache), looks, config).encode()

        inputs = json.dumps(expanded(path)), *made_by
        page = kept(f"slides-{chapter.slug}", inputs, make)
        write_bytes(out / chapter.page, page)
        decks.append(f'<li><a href="{chapter.page}">{chapter.title}</a></li>')
    index = INDEX.format(book=config["title"], decks="\n".join(decks))
    write_text(out / "index.html", index)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build")
