"""The built book for paper: nothing interactive, nothing folded, all ids in one document.

The PDF (make_pdf.py) and the ePub (make_epub.py) are made from the pages in _build/html. What needs
a mouse there is replaced here:

    a live figure                       its still picture, and the address of the live one
    a fold (code, going deeper)         open, under its title
    hints, solutions and answers        in a chapter of their own near the end, linked both ways
    the front page's cards and lists    removed: a printed book has a table of contents

Every id is prefixed by its page (page-02-masks-masks-1), and links are adapted.
"""

import copy
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urldefrag

import yaml
from bs4 import BeautifulSoup

from tools.extensions.addresses import ROOT, addresses, settings
from tools.extensions.figure_links import titles

CSS = Path(__file__).with_name("paper.css")
# Elements of no use on paper, and the parts of the front page that repeat the contents
UNUSABLE = (
    "script, style, .headerlink, img.plot-dark, "
    "#the-transformer-by-running-it > ul, #six-figures, #the-chapters"
)
NOTE = (
    "Everything that the web pages fold away is shown here, with folded code in smaller print. "
    "Hints, solutions and the answers to questions have a chapter of their own near the end. "
    "Each interactive figure is printed in its initial state, with the address of the live one "
    "beneath."
)
SHORT = 16  # lines of code that are kept on one page
SURE_TO_FIT = 40  # characters, even on a small e-reader
HANG = 4  # characters by which the continuation of a line is indented


@dataclass
class Chapter:
    """A page of the book."""

    name: str  # of its file, without the ending
    part: str  # the caption above it in the contents
    body: object  # its outermost <section>, of BeautifulSoup

    @property
    def title(self):
        return self.body.h1.get_text()

    @property
    def sections(self):
        """(id, title) of its first-level sections."""
        found = self.body.select(":scope > section[id] > h2")
        return [(heading.parent["id"], heading.get_text()) for heading in found]


@dataclass
class Book:
    """The contents of the title page, and the chapters."""

    title: str
    author: str
    language: str
    address: str | None  # of the site
    built: Path
    chapters: list[Chapter]


def new(markup):
    """Parse some HTML into an element."""
    return BeautifulSoup(markup, "html.parser").contents[0].extract()


def read_book(built):
    """Read the Book from the folder of its built pages."""
    config = settings()
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    address = addresses()[1] or None
    files = [("", contents["root"])]
    for part in contents["parts"]:
        files += [(part["caption"], entry["file"]) for entry in part["chapters"]]
    chapters = [read_page(built, part, file, address) for part, file in files]
    lead_to_ids(chapters, address)
    last_part = [chapter.part for chapter in chapters].index(files[-1][0])
    chapters.insert(last_part, gather_answers(chapters, files[-1][0]))
    language = config["sphinx"]["config"]["language"]
    return Book(config["title"], config["author"], language, address, built, chapters)


def read_page(built, part, file, address):
    """Read a page and prepare it for paper."""
    page = (built / f"{file}.html").read_text("utf-8")
    body = BeautifulSoup(page, "html.parser").select_one("article section")
    for element in body.select(UNUSABLE):
        element.decompose()
    for element in body.select(".exercise > section, .solution > section"):
        element.unwrap()  # they all have the same id
    open_folds(body)
    show_stills(body, file, address)
    for text in body.find_all("pre"):
        if text.get_text().count("\n") <= SHORT:
            text["class"] = [*text.get("class", []), "short"]
        hang_lines(text)
    for text in body.find_all("p"):
        if text.get_text().rstrip().endswith(":"):
            text["class"] = [*text.get("class", []), "leads"]
    for image in body.find_all("img"):
        image["src"] = image["src"].removeprefix("../")
        del image["loading"]
    for element in body.select("table, table *"):
        for outdated in ("border", "halign", "valign"):
            del element[outdated]
    return Chapter(Path(file).name, part, body)


def open_folds(body):
    """Open folded code and outputs, under the title of the fold; hints are handled elsewhere."""
    for fold in body.select("details.hide"):
        title = fold.select_one(".collapsed").get_text()
        fold.summary.replace_with(new(f'<p class="fold-title">{title}</p>'))
        fold.name = "div"
        fold["class"] = ["fold"]
    for title in body.select(".fold-title"):
        cell = title.find_parent(class_="cell")
        before = cell.find_previous_sibling() if cell else None
        again = before and before.select_one(".fold-title")
        if title.string == "Code" or (again and again.string == title.string):
            title["hidden"] = ""  # redundant
    for box in body.select(".dropdown"):
        box["class"].remove("dropdown")


def hang_lines(text):
    """Indent the continuation of long lines beyond their beginning.

    Pygments ends its spans with the line, so that each line is well-formed HTML.
    """
    lines = text.decode_contents().split("\n")
    for number, line in enumerate(lines):
        shown = new(f"<pre>{line}</pre>").get_text()
        if len(shown) > SURE_TO_FIT:
            style = f"--hang: {len(shown) - len(shown.lstrip()) + HANG}ch"
            lines[number] = f'<span class="line" style="{style}">{line}</span>'
    text.clear()
    text.extend(new("<pre>" + "\n".join(lines) + "</pre>").contents[:])


def show_stills(body, file, address):
    """Replace live figures by their stills, with captions that link to the live ones."""
    chapter = Path(file).name
    for still in body.select(".d2lmini-still"):
        name = still["id"]
        place = f"page {chapter}.html"
        if address:
            live = f"{address}/{file}.html#{name}"
            place = f'<a href="{live}">{live.partition("://")[2]}</a>'
        title = titles()[chapter, name]
        caption = f"<em>{title}</em>, as the page first shows it. Live in {place}"
        figure = new(f'<figure class="still" id="{name}"></figure>')
        figure.append(still.img)
        figure.append(new(f"<figcaption>{caption}</figcaption>"))
        still.find_parent(class_="output").replace_with(figure)


def lead_to_ids(chapters, address):
    """Make ids unique in the book, and point links at them or at files of the site."""
    found = {}  # (page, id in the page) -> id in the book
    for chapter in chapters:
        top = f"page-{chapter.name}"
        for element in chapter.body.select("[id]"):
            old = element["id"]
            element["id"] = found[chapter.name, old] = f"{top}-{old.replace('/', '-')}"
        found[chapter.name, ""] = found[chapter.name, chapter.body["id"]] = top
        chapter.body["id"] = top
    for chapter in chapters:
        for link in chapter.body.select("a[href]"):
            page, name = urldefrag(link["href"])
            if page.startswith("../"):  # a file next to the pages, such as the slides
                if address:
                    link["href"] = address + page.removeprefix("..")
                else:
                    link.unwrap()
            elif "://" not in page:
                link["href"] = "#" + found[Path(page).stem or chapter.name, name]


def gather_answers(chapters, part):
    """Move hints, solutions and answers into a chapter of their own."""
    body = new(
        '<section id="page-answers"><h1>Hints, solutions and answers</h1>'
        "<p>The title of each leads back to its exercise, or to the questions.</p></section>"
    )
    for chapter in chapters:
        section = new(f'<section id="page-answers-{chapter.name}"></section>')
        section.append(new(f"<h2>{chapter.title}</h2>"))
        for element in chapter.body.select(".exercise, .d2lmini-verdict, .solution"):
            if "exercise" in element["class"]:
                answer = start_answer(element["id"], title_of(element))
                section.append(answer)
            elif "solution" in element["class"]:
                element.select_one(".admonition-title")["class"] = ["answer-title"]
                answer.extend(element.extract().contents[:])
            else:
                answer.append(hints_of(element))
                output = element.find_parent(class_="cell_output")
                output.replace_with(link_to(answer, "Hints and solution"))
        if questions := chapter.body.find(id=f"page-{chapter.name}-questions"):
            answer = start_answer(questions["id"], "Questions")
            answer.extend(questions.select(".admonition"))
            questions.append(link_to(answer, "Answers"))
            section.append(answer)
        if len(section.contents) > 1:
            body.append(section)
    return Chapter("answers", part, body)


def title_of(exercise):
    """The title of an exercise, as in "Exercise 2.1: Count the pairs"."""
    title = copy.copy(exercise.select_one(".admonition-title"))
    number = title.select_one(".caption-number").extract().get_text().strip()
    rest = title.decode_contents().strip().removeprefix("(").removesuffix(")")
    return f"{number}: {rest}"


def start_answer(name, title):
    """The section for the hints and the solution of an exercise."""
    heading = f'<h3><a href="#{name}">{title}</a></h3>'
    return new(f'<section class="answer" id="{name}-answer">{heading}</section>')


def link_to(answer, text):
    """A line that links to an answer."""
    link = f'<a class="with-page" href="#{answer["id"]}">{text}</a>'
    return new(f'<p class="to-answer">{link}</p>')


def hints_of(verdict):
    """The hints of an exercise, which its check nests in each other, as a list."""
    hints = new('<div class="hints"><p class="answer-title">Hints</p><ol></ol></div>')
    for fold in verdict.find_all("details"):
        hints.ol.append(new("<li></li>"))
        hints.ol.contents[-1].extend(fold.find_all(["p", "pre"], recursive=False))
    return hints


def template(name, **fields):
    """A text file of this folder, filled in."""
    return CSS.with_name(name).read_text("utf-8").format(**fields)


def styles(name):
    """The style sheet of paper, and that of the PDF or the ePub."""
    sheets = [CSS, CSS.with_name(name)]
    return "\n".join(sheet.read_text("utf-8") for sheet in sheets)


def code_colours(built):
    """The style sheet of code in the light theme."""
    css = (built / "_static" / "pygments.css").read_text("utf-8")
    return "\n".join(re.findall('^html\\[data-theme="light"\\] (.*)$', css, re.M))


def cover(book):
    """The first page: title, author, and the front page's figure."""
    picture = book.chapters[0].body.select_one("figure.still img")
    title = f'<p class="cover-title">{book.title}</p>'
    author = f'<p class="cover-author">{book.author}</p>'
    return f'<div class="cover">{title}{picture}{author}</div>'
