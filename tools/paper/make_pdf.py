"""The book as one PDF, by the browser's print path: python -m tools.paper.make_pdf _build/html

The chapters are put into one document, so that links, outline and page numbers are the browser's
own. It cannot write the number of the page on which a link ends, so the document is printed twice:
the first PDF says where each chapter and section has come to lie, the second has the numbers in it.
"""

import sys
import tempfile
from pathlib import Path

import pikepdf

from tools.browser import chromium
from tools.extensions.addresses import file_name
from tools.paper.paper import CSS, NOTE, code_colours, cover, read_book
from tools.whole_files import whole

# The browser rounds to its pixels: bars of fractions and roots, hairlines. With pixels of a quarter
# of the size, nobody sees it.
FINER = 4
PRINT = {
    "prefer_css_page_size": True,
    "outline": True,
    "tagged": True,
    "scale": 1 / FINER,
}
UNKNOWN = "000"  # as wide as most of the numbers
# Formulas, which a screen reader is told in TeX, and places for the numbers of pages
PREPARE = f"""async () => {{
    await document.fonts.ready;
    for (const formula of document.querySelectorAll("math")) {{
        formula.setAttribute("role", "img");
        formula.setAttribute("aria-label", formula.getAttribute("alttext"));
    }}
    for (const link of document.querySelectorAll("a.with-page"))
        link.insertAdjacentHTML("beforeend", "<span class=page-number>{UNKNOWN}</span>");
}}"""
FILL = """(pages) => {
    for (const link of document.querySelectorAll("a.with-page"))
        link.querySelector(".page-number").textContent = pages[link.hash.slice(1)];
}"""
# Is a Chinese character drawn like one that no font has?
NO_CHINESE = r"""() => {
    const drawn = (character) => {
        const pen = document.createElement("canvas").getContext("2d");
        pen.font = "20px sans-serif";
        pen.fillText(character, 0, 40);
        return pen.canvas.toDataURL();
    };
    return drawn("\u6ce8") === drawn("\uffff");
}"""
DOCUMENT = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<title>{title}</title>
<link rel="stylesheet" href="{built}/_static/fonts.css">
<style>{style} body {{ zoom: {finer} }}</style>
</head>
<body>
{cover}
{contents}
{chapters}
</body>
</html>
"""


def row(name, title):
    """A line of the contents."""
    return f'<a class="row with-page" href="#{name}"><span>{title}</span></a>'


def contents(book):
    """The contents, with places for the numbers of pages."""
    lines, part = [], ""
    for chapter in book.chapters:
        if chapter.part != part:
            part = chapter.part
            lines.append(f'<li class="part">{part}</li>')
        below = "".join(
            f"<li>{row(name, title)}</li>" for name, title in chapter.sections
        )
        lines.append(
            f"<li>{row(chapter.body['id'], chapter.title)}<ul>{below}</ul></li>"
        )
    return (
        f'<section class="contents chapter" id="contents"><h1>Contents</h1>'
        f"<p>{NOTE}</p><ul>{''.join(lines)}</ul></section>"
    )


def running_heads(book):
    """A kind of page for each chapter, with its title at the top."""
    head = '@page c{} {{ @top-left {{ content: "{}"; font: 9pt "Book Sans"; color: #555 }} }}'
    rules = []
    for number, chapter in enumerate(book.chapters):
        rules.append(head.format(number, chapter.title.replace('"', r"\"")))
        rules.append(f"#{chapter.body['id']} {{ page: c{number} }}")
    return "\n".join(rules)


def document(book):
    """The HTML that is printed."""
    chapters = []
    for chapter in book.chapters:
        for image in chapter.body.select("img[src^=_images]"):
            image["src"] = f"{book.built.as_uri()}/{image['src']}"
        chapter.body["class"] = ["chapter"]
        chapters.append(str(chapter.body))
    styles = [path.read_text("utf-8") for path in (CSS, CSS.with_name("pdf.css"))]
    return DOCUMENT.format(
        language=book.language,
        title=book.title,
        built=book.built.as_uri(),
        finer=FINER,
        style="\n".join([code_colours(book.built), *styles, running_heads(book)]),
        cover=cover(book),
        contents=contents(book),
        chapters="\n".join(chapters),
    )


def pages_of(pdf):
    """The number of the page, from 1, on which each target of a link lies."""
    numbers = {page.objgen: number for number, page in enumerate(pdf.pages, 1)}
    return {
        name.removeprefix("/"): numbers[place[0].objgen]
        for name, place in pdf.Root.Dests.items()
    }


def print_book(book, path):
    """Print the book into a file."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file, draft = Path(folder) / "book.html", Path(folder) / "draft.pdf"
        file.write_text(document(book), "utf-8")
        page = browser.new_page()
        page.set_default_timeout(300_000)  # ms
        page.goto(file.as_uri())
        page.evaluate(PREPARE)
        if page.evaluate(NO_CHINESE):
            print(
                "The glossary of the PDF will lack its Chinese terms: no font here has them. "
                "Install one, such as fonts-noto-cjk."
            )
        pages = None
        while True:
            page.pdf(path=draft, **PRINT)
            with pikepdf.open(draft) as pdf:
                if pages == (pages := pages_of(pdf)):
                    pdf.docinfo["/Author"] = book.author
                    pdf.Root.PageMode = pikepdf.Name.UseOutlines
                    # Half the size: the structure of a tagged PDF is tens of thousands of objects.
                    packed = pikepdf.ObjectStreamMode.generate
                    with whole(path) as part:
                        pdf.save(part, object_stream_mode=packed)
                    return
            page.evaluate(FILL, pages)


def main(built):
    """Make the PDF, beside the pages."""
    book = read_book(Path(built).resolve())
    pdf = book.built / f"{file_name()}.pdf"
    print_book(book, pdf)
    print(pdf)


if __name__ == "__main__":
    main(sys.argv[1])
