"""All plots and pictures of the chapters as SVG files, in one zip.

They are for other people's slides, so they look the same everywhere: letters become outlines, the
pixels of a heat-map become squares that no program blurs, and links are written as in SVG 1.1. A
live figure is included as its still picture. captions.csv describes each file, and LICENSE.txt says
how it may be used.
"""

import base64
import csv
import html
import io
import json
import re
import zipfile
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from fontTools.pens.svgPathPen import SVGPathPen
from fontTools.pens.transformPen import TransformPen
from fontTools.ttLib import TTFont
from jupyter_cache import get_cache
from matplotlib.font_manager import FontProperties, findfont
from PIL import Image

from tools.extensions.addresses import CHAPTERS, ROOT, settings
from tools.extensions.figure_links import STILL, titles
from tools.extensions.portable import depends_on, expanded
from tools.kept import kept
from tools.slides.make_slides import VIEW, address_of, ran
from tools.whole_files import write_bytes

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
ElementTree.register_namespace("", SVG[1:-1])
ElementTree.register_namespace("xlink", LINK[1:].partition("}")[0])
PNG = "data:image/png;base64,"
LICENCE = """Figures of "{title}", (c) {copyright} {author}

You may use, change and share them: name the authors and the book, link to the licence, and say what
you changed. The licence is CC BY 4.0, https://creativecommons.org/licenses/by/4.0/.

"""


@cache
def font(style, weight):
    """The font of the plots, from matplotlib."""
    properties = FontProperties(family="DejaVu Sans", style=style, weight=weight)
    return TTFont(findfont(properties))


def outlines(text, style):
    """A path for a line of text, placed at the origin according to its anchor."""
    size = float(style.get("font-size", "9px").removesuffix("px"))
    face = font(style.get("font-style", "normal"), style.get("font-weight", "normal"))
    glyphs, names, x = face.getGlyphSet(), face.getBestCmap(), 0
    pen = SVGPathPen(glyphs)
    for character in text:
        glyph = glyphs[names[ord(character)]]  # a KeyError names a missing letter
        glyph.draw(TransformPen(pen, (1, 0, 0, 1, x, 0)))
        x += glyph.width
    scale = size / face["head"].unitsPerEm
    share = {"middle": 0.5, "end": 1}.get(style.get("text-anchor"), 0)
    place = f"translate({-share * x * scale:.2f} 0) scale({scale:.6f} {-scale:.6f})"
    path = ElementTree.Element(f"{SVG}path", d=pen.getCommands(), transform=place)
    if "fill" in style:
        path.set("fill", style["fill"])
    return path


def styles_of(element):
    """The CSS properties in an element's style attribute."""
    pairs = re.findall(r"([^:;]+):([^;]+)", element.get("style", ""))
    return {name.strip(): value.strip() for name, value in pairs}


def draw_letters(text):
    """Turn a text element into a group of outlines, in place."""
    style, drawn = styles_of(text), []
    for part in list(text) or [text]:
        place = f"translate({part.get('x', 0)} {part.get('y', 0)})"
        drawn.append(ElementTree.Element(f"{SVG}g", transform=place))
        drawn[-1].append(outlines(part.text or "", style | styles_of(part)))
    text[:] = drawn
    text.tag, text.text = f"{SVG}g", None
    for name in ("x", "y", "style"):
        text.attrib.pop(name, None)


def with_large_dots(link):
    """Enlarge a heat-map of one pixel per number."""
    dots = Image.open(io.BytesIO(base64.b64decode(link.removeprefix(PNG))))
    times = max(1, 800 // max(dots.size))
    large = dots.resize([times * n for n in dots.size], Image.Resampling.NEAREST)
    file = io.BytesIO()
    large.save(file, "png", optimize=True)
    return PNG + base64.b64encode(file.getvalue()).decode()


def standalone(svg, title="", description=""):
    """Make a plot from a page a file of its own, without fonts and with a description."""
    root = ElementTree.fromstring(svg)
    for element in list(root.iter()):
        if element.tag == f"{SVG}text":
            draw_letters(element)
        if link := element.attrib.pop("href", None):
            element.set(LINK, with_large_dots(link) if link.startswith(PNG) else link)
    root.attrib.pop("font-family", None)
    for tag, text in (("desc", description), ("title", title)):
        root.insert(0, ElementTree.Element(f"{SVG}{tag}"))
        root[0].text = text
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True)


def pictures(notebook):
    """(name, SVG, caption, alternative text) of each picture of a chapter, in order."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if VIEW in data:
                name, alt, still = STILL.search(data["text/html"]).groups()
                yield name, base64.b64decode(still).decode(), "", html.unescape(alt)
            elif svg := data.get("image/svg+xml"):
                figure, alt = (cell.metadata.mystnb[key] for key in ("figure", "image"))
                yield figure["name"], svg, figure["caption"], alt["alt"]


def files(build):
    """The contents of the zip: name -> text."""
    config, cache, found = settings(), get_cache(build / ".jupyter_cache"), {}
    rows = io.StringIO()
    table = csv.writer(rows)
    head = ["file", "chapter", "kind", "caption", "text instead", "in the book"]
    table.writerow(head)
    for chapter in CHAPTERS.values():
        notebook, _ = ran(ROOT / "book" / f"{chapter.file}.ipynb", cache)
        for number, (name, svg, caption, alt) in enumerate(pictures(notebook), 1):
            caption = re.sub(r"[*$`]", "", caption or titles()[chapter.file, name])
            caption = " ".join(caption.split())  # plain text, for a spreadsheet
            short = name.replace("figure-", "live-").removeprefix("fig-")
            file = f"{chapter.number:02}-{chapter.slug}-{number}-{short}.svg"
            where = f"{address_of(chapter)}#{name}"
            credit = f"From {config['title']}, {where}, CC BY 4.0."
            found[file] = standalone(svg, caption, f"{alt} {credit}")
            kind = "still of a live figure" if name.startswith("figure-") else "plot"
            name = f"{chapter.number} {chapter.title}"
            table.writerow([file, name, kind, caption, alt, where])
    licence = (ROOT / "LICENSE-TEXT").read_text(encoding="utf-8")
    found["LICENSE.txt"] = LICENCE.format(**config) + licence
    return found | {"captions.csv": rows.getvalue()}


def main(build):
    """Write the zip; it is made again only if a chapter has changed."""
    inputs = [repr(settings()), repr(titles()), Path(__file__)]
    for chapter in CHAPTERS.values():
        notebook = expanded(ROOT / "book" / f"{chapter.file}.ipynb")
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        inputs.append(json.dumps([code, depends_on(notebook)]))
    data = kept("figures", inputs, lambda: zipped(build))
    write_bytes(build / "html" / "figures.zip", data)


def zipped(build):
    """The bytes of the zip; equal files give equal bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        for name, text in files(build).items():
            entry = zipfile.ZipInfo(f"figures/{name}")  # dated 1980
            entry.external_attr = 0o644 << 16
            out.writestr(entry, text, zipfile.ZIP_DEFLATED, 9)
    return file.getvalue()
