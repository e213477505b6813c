"""A slide deck for each chapter, from the executed notebooks.

Cell metadata selects what is shown, by Jupyter's own slide types: "slide" and "subslide" begin a
slide, "-" continues it, a "fragment" appears on it at the next key, and "notes" are for the
speaker. Cells without a type are left out.

The text of a chapter is too long for slides. So a slide shows only the headings of a text cell,
each of which begins a slide, its formulas, tables and lists, and the sentences whose beginnings are
listed in "shows"; the speaker's notes have the whole text. For a code cell, "shows" can select only
the "code" or the "output".

A deck is a single file that needs no network: it contains reveal.js and MathJax, and the live
figures work as in the built page, whose fonts it uses. The templates are in slides_template/.
"""

import base64
import functools
import html
import json
import re
from importlib.metadata import distribution
from pathlib import Path

import nbformat
from jupyter_cache import get_cache
from nbconvert import SlidesExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from pygments.formatters import HtmlFormatter

from tools.extensions.addresses import CHAPTERS, ROOT, addresses, settings
from tools.extensions.code_hues import paint_code
from tools.extensions.offline_book import light_state
from tools.extensions.portable import CLOSED, expanded
from tools.kept import kept
from tools.whole_files import write_bytes, write_text

LOOKS = Path(__file__).parent / "slides_template"
FIGURES = ROOT / "d2lmini" / "figures"
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"

# Parts of every chapter -> how they begin on slides
SKELETON = {
    "**The question.** ": "## The question\n\n",
    "**After this chapter you can**": "## After this chapter you can",
    "## Questions\n": "## Question\n",
}
SKELETON_HEADS = {heading.strip() for heading in SKELETON.values()}
PART = re.compile(r"^(?=##* )", re.M)
SHOWN = re.compile(r"#|\$\$|\||- |\d\. |>|```")  # beginnings of blocks to show
NUMBER = re.compile(r"^\*\*(\d)\.\*\* ?")  # of a question
END = re.compile(r"(?<! al)[.?!:][*\"”)]*(?=\s|$)")  # except after "et al."
CONTROLS = re.compile(r"[^{}]*\.controls\b[^{}]*\{[^{}]*\}")
LINK = re.compile(r"\[([^]]+)\]\([^)]*\)")


def sentence(text, start):
    """The sentence of a text with this beginning, or None; a question is kept whole."""
    place = re.search(rf"(?:^|\s){re.escape(start)}", text)
    if not place:
        return None
    if NUMBER.match(start):
        return NUMBER.sub("", text)
    end = END.search(text, place.end())
    while end and end[0][0] == ":" and end.end() < len(text):  # not the end of it
        end = END.search(text, end.end())
    return text[place.start() : end.end() if end else None].strip()


def on_slide(part, shows):
    """The blocks of a part of a text that a slide shows."""
    blocks = []
    for block in CLOSED.sub("", part).strip().split("\n\n"):
        if SHOWN.match(block):
            blocks.append(block)
        else:
            named = (sentence(block, start) for start in shows)
            blocks += [text for text in named if text]
    return LINK.sub(r"\1", "\n\n".join(blocks))


def for_speaker(part, shows):
    """The speaker's notes on a part: everything, or the answers to the questions shown."""
    folds = [(fold["title"], fold["text"]) for fold in CLOSED.finditer(part)]
    if part.startswith("## Question\n"):
        numbers = {f"Answer {match[1]}" for match in map(NUMBER.match, shows) if match}
        text = "\n\n".join(answer for title, answer in folds if title in numbers)
    else:
        text = CLOSED.sub(r"**\g<title>.** \g<text>", part)
    return LINK.sub(r"\1", re.sub(r"^#+ (.*)$", r"**\1**", text, flags=re.M))


def typed(cell, kind):
    """Set the slide type of a cell."""
    cell.metadata = nbformat.from_dict({"slideshow": {"slide_type": kind}})
    return cell


def text_cells(cell, kind, shows):
    """The slides of a text cell, with the speaker's notes."""
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
    """A figure in the form that loader.js expects: its still picture, and a link to its state."""
    view = f'<script type="{VIEW}">{json.dumps(bundle[VIEW])}</script>'
    # Dragging within it must not turn the page.
    return f'<div data-prevent-swipe="">{bundle["text/html"]}{view}</div>'


def code_cell(cell, kind, shows):
    """The slide of a code cell: what the book shows of it, unless shows restricts it."""
    outputs = []
    for output in cell.outputs if shows != "code" else []:
        data = output.get("data", {})
        if VIEW in data:
            output = new_output("display_data", {"text/html": live(data)})
        elif svg := data.get("image/svg+xml"):
            plot = picture(svg, cell.metadata.get("mystnb", {}))
            output = new_output("display_data", {"text/html": plot})
        if output.get("name") != "stderr":  # progress bars
            outputs.append(output)
    slide = typed(new_code_cell(cell.source, outputs=outputs), kind)
    hidden = re.search("hide-|remove-input", str(cell.metadata.get("tags")))
    if hidden or shows == "output":
        slide.metadata.transient = {"remove_source": True}
    return slide


def lecture(notebook):
    """The cells of a chapter's slides, in order."""
    for cell in notebook.cells:
        slideshow = cell.metadata.get("slideshow", {})
        kind, shows = slideshow.get("slide_type", "skip"), slideshow.get("shows", [])
        if kind != "skip" and cell.cell_type == "code":
            yield code_cell(cell, kind, shows)
        elif kind != "skip":
            yield from text_cells(cell, kind, shows)


def kind_of(cell):
    return cell.metadata.slideshow.slide_type


def begins(cell):
    return kind_of(cell) in ("slide", "subslide")


def without_bare_headings(cells):
    """Drop headings with nothing below them on their slide."""
    chosen, after = [], None
    for cell in reversed(list(cells)):
        is_heading = re.fullmatch(r"#+ [^\n]*", cell.source)
        if not is_heading or (after and not begins(after)):
            chosen.append(cell)
        if kind_of(cell) != "notes":
            after = cell
    return reversed(chosen)


def with_running_heads(cells):
    """Repeat the last heading on slides without one."""
    heading = ""
    for cell in cells:
        found = re.match(r"#+ (.*)", cell.source)
        if cell.cell_type == "markdown" and begins(cell) and found:
            heading = "" if found[0] in SKELETON_HEADS else found[1]
        elif begins(cell):
            running = f'<p class="running">{heading}</p>'
            yield typed(new_markdown_cell(running), kind_of(cell))
            cell.metadata.slideshow.slide_type = "-"
        yield cell


def with_notes(cells):
    """Repeat the previous notes on slides without any, which may be a lone figure."""
    slide, leading = [], []
    for cell in [*cells, None]:
        if cell is None or begins(cell):
            own = [c.source for c in slide if kind_of(c) == "notes"]
            yield from slide
            if not own:
                yield from (typed(new_markdown_cell(text), "notes") for text in leading)
            slide, leading = [], own or leading
        slide.append(cell)


def slides_of(notebook):
    """The cells of a chapter's finished slides."""
    return with_notes(with_running_heads(without_bare_headings(lecture(notebook))))


def ran(path, cache):
    """A chapter with its cached outputs, and the state of its figures."""
    notebook = nbformat.read(path, as_version=4)
    _, kept = cache.merge_match_into_notebook(expanded(path))
    outputs = {cell.id: cell.get("outputs") for cell in kept.cells}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = outputs[cell.id]
    return notebook, kept.metadata.get("widgets", {}).get(STATE, {"state": {}})


def package_text(package, name):
    """A text file of an installed package."""
    return Path(distribution(package).locate_file(name)).read_text(encoding="utf-8")


def fonts(pages):
    """The style sheet of the built pages' fonts, with the fonts embedded."""

    def inside(match):
        data = (pages / "_static" / match[1]).read_bytes()
        return f"url(data:font/woff2;base64,{base64.b64encode(data).decode()})"

    css = (pages / "_static" / "fonts.css").read_text(encoding="utf-8")
    return re.sub(r'url\("([^"]+)"\)', inside, css)


def shared(pages):
    """The style sheets and scripts of every deck."""
    reveal = "sphinx_revealjs/_static/revealjs"
    mathjax = "sphinx-mathjax-offline/static/mathjax/tex-svg-full.js"  # needs no fonts
    names = ["dist/reset.css", "dist/reveal.css", "dist/reveal.js"]
    names += ["plugin/notes/notes.js", "plugin/zoom/zoom.js"]
    files = [package_text("sphinx-revealjs", f"{reveal}/{name}") for name in names]
    reset, css, script, *plugins = files
    code = HtmlFormatter(style="a11y-high-contrast-light").get_style_defs(".highlight")
    # The buttons of reveal.js, which no deck has, share a class with those of the figures.
    css = [reset, CONTROLS.sub("", css), fonts(pages), code]
    own = FIGURES / "figure.css", LOOKS / "slides.css"
    css += [path.read_text("utf-8") for path in own]
    return {
        "css": "\n".join(css),
        "mathjax": package_text("sphinx-mathjax-offline", mathjax),
        "loader": (FIGURES / "loader.js").read_text(encoding="utf-8"),
        "reveal": script,
        "plugins": "\n".join(plugins),
        "slides": (LOOKS / "slides.js").read_text(encoding="utf-8"),
    }


def address_of(chapter):
    """The address of a chapter's page, relative to the decks if the site has no address."""
    return f"{addresses()[1] or '..'}/book/{chapter.page}"


def template(name, **fields):
    """A text of slides_template/, filled in."""
    return (LOOKS / name).read_text(encoding="utf-8").format(**fields)


def framed(cells, chapter, config):
    """Add the first slide, with the chapter's title, and the last, with the licence."""
    author = config["author"].removesuffix(".").replace("The ", "the ", 1)
    fields = {"chapter": chapter, "config": config, "author": author}
    first = template("first.md", **fields, address=address_of(chapter))
    yield typed(new_markdown_cell(first), "slide")
    for cell in cells:
        if cell.source != f"# {chapter.number} {chapter.title}":
            yield cell
    yield typed(new_markdown_cell(template("last.md", **fields)), "slide")


def deck(chapter, path, cache, looks, config):
    """The HTML of a deck, in bytes."""
    notebook, state = ran(path, cache)
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
    return paint_code(page).encode()


def made_of(path):
    """A notebook with the key of its outputs, and its file: slides are metadata, left out there."""
    return json.dumps(expanded(path)), path


def main(build):
    """Write one deck per chapter, and a page that lists them."""
    config = settings()
    pages, cache = build / "html", get_cache(build / ".jupyter_cache")
    out, looks, decks = pages / "slides", shared(pages), []
    out.mkdir(exist_ok=True)
    made_by = repr(config), repr(looks), Path(__file__), *sorted(LOOKS.iterdir())
    for chapter in CHAPTERS.values():
        path = ROOT / "book" / f"{chapter.file}.ipynb"
        make = functools.partial(deck, chapter, path, cache, looks, config)
        inputs = *made_of(path), *made_by
        page = kept(f"slides-{chapter.slug}", inputs, make)
        write_bytes(out / chapter.page, page)
        decks.append(f'<li><a href="{chapter.page}">{chapter.title}</a></li>')
    index = template("list.html", book=config["title"], decks="\n".join(decks))
    write_text(out / "index.html", index)
