"""The book as one PDF, printed by a browser: python -m tools.paper.make_pdf _build/html

The chapters form one document, with links, outline and page numbers by the browser. It cannot
write the page number of a link's target, so it prints twice, first to find these pages.
"""

import sys
import tempfile
from pathlib import Path

import pikepdf

from tools.browser import chromium
from tools.extensions.addresses import file_name
from tools.paper import paper
from tools.paper.paper import CSS, NOTE
from tools.whole_files import whole

# The browser rounds fraction bars, roots and hairlines to whole pixels. At a quarter of the pixel
# size, nobody notices.
FINER = 4
PRINT = dict(prefer_css_page_size=True, outline=True, tagged=True, scale=1 / FINER)


def row(name, title):
    """A line of the table of contents."""
    return f'<a class="row with-page" href="#{name}"><span>{title}</span></a>'


def contents(book):
    """The table of contents, with places for the page numbers."""
    lines, part = [], ""
    for chapter in book.chapters:
        if chapter.part != part:
            part = chapter.part
            lines.append(f'<li class="part">{part}</li>')
        below = "".join(f"<li>{row(*section)}</li>" for section in chapter.sections)
        above = row(chapter.body["id"], chapter.title)
        lines.append(f"<li>{above}<ul>{below}</ul></li>")
    inside = f"<h1>Contents</h1><p>{NOTE}</p><ul>{''.join(lines)}</ul>"
    return f'<section class="contents chapter" id="contents">{inside}</section>'


def running_heads(book):
    """CSS that puts the title of each chapter at the top of its pages."""
    head = '@page c{} {{ @top-left {{ content: "{}"; font: 9pt "Book Sans"; color: #555 }} }}'
    rules = []
    for number, chapter in enumerate(book.chapters):
        rules.append(head.format(number, chapter.title.replace('"', r"\"")))
        rules.append(f"#{chapter.body['id']} {{ page: c{number} }}")
    return "\n".join(rules)


def document(book):
    """The HTML to print."""
    chapters = []
    for chapter in book.chapters:
        for image in chapter.body.select("img[src^=_images]"):
            image["src"] = f"{book.built.as_uri()}/{image['src']}"
        chapter.body["class"] = ["chapter"]
        chapters.append(str(chapter.body))
    styles = [paper.code_colours(book.built), paper.styles("pdf.css")]
    return paper.template(
        "pdf.html",
        book=book,
        built=book.built.as_uri(),
        finer=FINER,
        style="\n".join([*styles, running_heads(book)]),
        cover=paper.cover(book),
        contents=contents(book),
        chapters="\n".join(chapters),
    )


def pages_of(pdf):
    """The page number, from 1, of each link target."""
    numbers = {page.objgen: number for number, page in enumerate(pdf.pages, 1)}
    targets = pdf.Root.Dests.items()
    return {name[1:]: numbers[place[0].objgen] for name, place in targets}


def print_book(book, path):
    """Print the book to a file."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file, draft = Path(folder) / "book.html", Path(folder) / "draft.pdf"
        file.write_text(document(book), "utf-8")
        page = browser.new_page()
        page.set_default_timeout(300_000)  # ms
        page.goto(file.as_uri())
        page.add_script_tag(path=CSS.with_name("pdf.js"))
        page.evaluate("prepare()")
        if page.evaluate("lacksChinese()"):
            print("The glossary lacks Chinese: install a font like fonts-noto-cjk.")
        pages = None
        while True:
            page.pdf(path=draft, **PRINT)
            with pikepdf.open(draft) as pdf:
                if pages == (pages := pages_of(pdf)):
                    pdf.docinfo["/Author"] = book.author
                    pdf.Root.PageMode = pikepdf.Name.UseOutlines
                    # Object streams halve the size: a tagged PDF has tens of thousands of objects.
                    packed = pikepdf.ObjectStreamMode.generate
                    with whole(path) as part:
                        pdf.save(part, object_stream_mode=packed)
                    return
            page.evaluate("pages => showPages(pages)", pages)


def print_sheet(built):
    """Print the page On one page, whose styles fit it on one side of A4."""
    path = built / "book/one-page.pdf"
    with chromium() as browser:
        page = browser.new_page()
        page.goto((built / "book/one-page.html").as_uri())
        page.pdf(path=path, prefer_css_page_size=True, print_background=True)
    return path


def main(built):
    """Make the PDFs, next to the pages."""
    book = paper.read_book(Path(built).resolve())
    pdf = book.built / f"{file_name()}.pdf"
    print_book(book, pdf)
    print(pdf, print_sheet(book.built), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
