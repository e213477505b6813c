"""The book as an ePub 3: python -m tools.paper.make_epub _build/html

The formulas are the MathML of the pages; a browser draws the cover.
"""

import base64
import re
import sys
import uuid
import zipfile
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import matplotlib

from tools.browser import chromium
from tools.extensions.addresses import file_name
from tools.extensions.book_fonts import font_file
from tools.paper import paper
from tools.paper.paper import CSS, NOTE, new
from tools.whole_files import whole

MATHML = "http://www.w3.org/1998/Math/MathML"
NO_FORMULA = f'<math xmlns="{MATHML}" display="block"></math>'  # yet
# A path without points in a plot
EMPTY_PATH = re.compile(rb"<path (?![^>]*\bd=)[^>]*/>")
WIDE = ("1em", "2em")  # spaces between two formulas
FIT = 84  # width of the page without margins and indents, vw
BOX = 10  # and how much of it the edges of a box take
SENTENCE = 24  # letters; a longer cell is a sentence and may wrap
CODE_LETTER = 0.602  # em, in the widest of the common fonts
SMALLEST = 1.7  # legible type, vw: 6 pt on 7 inches
TYPES = {".xhtml": "application/xhtml+xml", ".css": "text/css", ".svg": "image/svg+xml",
         ".png": "image/png", ".woff2": "font/woff2"}  # fmt: skip


def put_formulas(chapters):
    """Put formulas into the MathML namespace, and split long ones."""
    for math in [math for chapter in chapters for math in chapter.body.select("math")]:
        math["xmlns"] = MATHML
        if math.parent.name == "div":
            place = math.parent  # has no other child
            place.extend(in_groups(math.extract()))


def in_groups(math):
    """Split a formula where a line may break: between formulas, or else before an equals sign.

    Formulas on one line are separated by a quad or two. Each becomes a span that epub.css keeps on
    one line if the page is wide enough.
    """
    groups = [[math]]
    for child in math.mrow.extract().find_all(recursive=False):
        if child.get_text(strip=True) == "=" and groups[-1][-1].contents:
            groups[-1] += [" ", new(NO_FORMULA)]
        groups[-1][-1].append(child)
        if child.get("width") in WIDE:
            groups.append([new(NO_FORMULA)])
    spans = []
    for group in groups:
        spans += [" ", new('<span class="formula"></span>')]
        spans[-1].extend(group)
    return spans


def fit_tables(chapters, page):
    """Shrink the type of tables on narrow pages until nothing in a cell has to be broken.

    Sentences may wrap between words; numbers, and whatever else a program has printed, may not.
    """
    tables = [table for chapter in chapters for table in chapter.body.select("table")]
    for table in tables:
        for cell in table.select(".dataframe tbody :is(th, td)"):
            if len(cell.get_text(" ", strip=True)) > SENTENCE:
                cell["class"] = "sentence"
    for table, width in zip(tables, least_widths(tables, page), strict=True):
        table["style"] = f"font-size: min(0.88em, {room(table) / width:.2f}vw)"


def room(element):
    """The width that an element may have, vw."""
    return FIT - (BOX if element.find_parent(class_="admonition") else 0)


def least_widths(tables, page):
    """Measure the least width of each table, in em."""
    fonts = Path(matplotlib.get_data_path(), "fonts", "ttf")
    html = paper.template(
        "epub-tables.html",
        fonts=fonts.as_uri(),
        math=font_file("STIX Two Math", "normal").as_uri(),
        style=paper.styles("epub.css"),
        tables="".join(map(str, tables)),
    )
    page.set_content(html)
    page.evaluate("Promise.all([...document.fonts].map((f) => f.load())).then(String)")
    widths = "tables => tables.map((table) => table.offsetWidth / 100)"
    return page.locator("table").evaluate_all(widths)


def fit_outputs(chapters):
    """Shrink the type of printed outputs until no line wraps, if it stays legible."""
    for chapter in chapters:
        for text in chapter.body.select(".cell_output pre"):
            longest = max(map(len, text.get_text().split("\n")))
            share = room(text) / (max(longest, 1) * CODE_LETTER)
            if share >= SMALLEST:
                text["style"] = f"font-size: min(0.66em, {share:.2f}vw)"


def move_pictures(book):
    """Move embedded pictures to files of the ePub: name -> bytes."""
    files = {}
    for chapter in book.chapters:
        for image in chapter.body.find_all("img"):
            if image["src"].startswith("data:"):
                data = base64.b64decode(image["src"].partition(",")[2])
                name = f"{image.parent['id'].removeprefix('page-')}.svg"
            else:
                data = (book.built / image["src"]).read_bytes()
                name = Path(image["src"]).name
            files[f"images/{name}"] = EMPTY_PATH.sub(b"", data)
            image["src"] = f"images/{name}"
            for size in ("class", "style", "height"):
                del image[size]
    return files


def link_files(chapters):
    """Make links name the file of their target."""
    file_of = {
        element["id"]: f"{chapter.name}.xhtml"
        for chapter in chapters
        for element in [chapter.body, *chapter.body.select("[id]")]
    }
    for chapter in chapters:
        for link in chapter.body.select('a[href^="#"]'):
            link["href"] = file_of[link["href"][1:]] + link["href"]


def navigation(book):
    """The table of contents for e-readers: parts, chapters, sections."""
    lines, part = [], ""

    def entry(address, title, below=""):
        return f'<li><a href="{address}">{escape(title)}</a>{below}</li>'

    for chapter in book.chapters:
        file = f"{chapter.name}.xhtml"
        if chapter.part != part:
            lines.append("</ol></li>" if part else "")
            lines.append(f"<li><span>{escape(chapter.part)}</span><ol>")
            part = chapter.part
        below = "".join(entry(f"{file}#{i}", title) for i, title in chapter.sections)
        lines.append(entry(file, chapter.title, below and f"<ol>{below}</ol>"))
    contents = f"<h1>Contents</h1><ol>{''.join(lines)}</ol></li></ol>"
    return f'<nav epub:type="toc" id="toc">{contents}</nav>'


def draw_cover(book, page):
    """The cover as a PNG."""
    page.set_viewport_size({"width": 1200, "height": 1600})
    fields = {"built": book.built.as_uri(), "style": CSS.read_text("utf-8")}
    html = paper.template("epub-cover.html", cover=paper.cover(book), **fields)
    page.set_content(html)
    page.evaluate("document.fonts.ready.then(() => null)")
    return page.screenshot()


def opf(book, files):
    """The package document, which lists the files of the ePub."""
    manifest = []
    for number, (name, data) in enumerate(files.items()):
        properties = {"nav.xhtml": "nav", "cover.png": "cover-image"}.get(name, "")
        if not properties and name.endswith(".xhtml") and b"<math" in data:
            properties = "mathml"
        extra = f' properties="{properties}"' if properties else ""
        item = f'id="f{number}" href="{name}" media-type="{TYPES[Path(name).suffix]}"'
        manifest.append(f"<item {item}{extra}/>")
    pages = [number for number, name in enumerate(files) if name.endswith(".xhtml")]
    return paper.template(
        "epub.opf",
        language=book.language,
        identifier=uuid.uuid5(uuid.NAMESPACE_URL, book.title),
        title=escape(book.title),
        author=escape(book.author),
        now=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        manifest="\n".join(manifest),
        spine="\n".join(f'<itemref idref="f{number}"/>' for number in pages),
    )


def xhtml(book, title, body):
    """A page of the ePub."""
    fields = {"language": book.language, "title": escape(title), "body": body}
    return paper.template("epub.xhtml", **fields).encode()


def files_of(book, page):
    """The files of the ePub in reading order: name -> bytes."""
    draw = draw_cover(book, page)
    put_formulas(book.chapters)
    fit_tables(book.chapters, page)
    fit_outputs(book.chapters)
    pictures = move_pictures(book)
    link_files(book.chapters)
    faces = CSS.with_name("epub-fonts.css").read_text("utf-8")
    styles = [faces, paper.code_colours(book.built), paper.styles("epub.css")]
    style = "\n".join(styles).encode()
    names = re.findall(r"fonts/[\w.-]+", faces)
    fonts = {name: (book.built / "_static" / name).read_bytes() for name in names}
    first = f'<p class="cover"><img src="cover.png" alt="{escape(book.title)}"/></p>'
    files = {
        "cover.xhtml": xhtml(book, book.title, first),
        "nav.xhtml": xhtml(book, "Contents", f"{navigation(book)}<p>{NOTE}</p>"),
    }
    for chapter in book.chapters:
        files[f"{chapter.name}.xhtml"] = xhtml(book, chapter.title, chapter.body)
    return files | {"style.css": style, "cover.png": draw} | fonts | pictures


def write(path, book, files):
    """Write the ePub, a zip whose first file states its type."""
    with whole(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as epub:
        epub.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        epub.writestr("META-INF/container.xml", paper.template("epub-container.xml"))
        epub.writestr("book/package.opf", opf(book, files))
        for name, data in files.items():
            epub.writestr(f"book/{name}", data)


def main(built):
    """Make the ePub, next to the pages."""
    book = paper.read_book(Path(built).resolve())
    path = book.built / f"{file_name()}.epub"
    with chromium() as browser:
        page = browser.new_page()
        page.goto((book.built / "search.html").as_uri())
        files = files_of(book, page)
    write(path, book, files)
    print(path)


if __name__ == "__main__":
    main(sys.argv[1])
