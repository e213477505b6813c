"""The built book as paper reads it: nothing to operate, nothing folded away, one text throughout.

The PDF (make_pdf.py) and the ePub (make_epub.py) are both made from the pages of _build/html, so
that they say what the pages say. What stands there for a mouse is changed here:

    a live figure                       its still picture, and where the live one is
    a fold (code, going deeper)         open, under its title
    hints, solutions and answers        a chapter of their own near the end, linked both ways
    the front page's cards and lists    gone: a printed book has its contents

Every id gets the name of its page before it (page-02-masks-masks-1), and links lead to these.
"""

import copy
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urldefrag

import yaml
from bs4 import BeautifulSoup

from tools.extensions.addresses import addresses, settings
from tools.extensions.figure_links import titles

ROOT = Path(__file__).parents[2]
CSS = Path(__file__).with_name("paper.css")
# What no reader of paper can use; and of the front page what the contents say.
UNUSABLE = (
    "script, style, .headerlink, img.plot-dark, "
    "#the-transformer-by-running-it > ul, #six-figures, #the-chapters"
)
NOTE = (
    "What the web pages fold away stands open here, code of that kind in smaller print. Hints, "
    "solutions and the answers to questions have a chapter of their own near the end. Each "
    "figure that can be operated on its page is printed in its first state, with "
    "the place of the live one beneath."
)
SHORT = 16  # lines of code that are not parted by the end of a page
SURE_TO_FIT = 40  # characters, on a small e-reader too
HANG = 4  # characters by which a line that goes on is moved to the right


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
        """(id, title) of its sections of the first level."""
        found = self.body.select(":scope > section[id] > h2")
        return [(heading.parent["id"], heading.get_text()) for heading in found]


@dataclass
class Book:
    """What the title page says, and the chapters."""

    title: str
    author: str
    language: str
    address: str | None  # of the site
    built: Path
    chapters: list[Chapter]


def new(markup):
    """The element that some HTML describes."""
    return BeautifulSoup(markup, "html.parser").contents[0].extract()


def read_book(built):
    """The Book from the folder of its built pages."""
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
    return Book(
        config["title"],
        config["author"],
        config["sphinx"]["config"]["language"],
        address,
        built,
        chapters,
    )


def read_page(built, part, file, address):
    """A page, as paper has it."""
    page = (built / f"{file}.html").read_text("utf-8")
    body = BeautifulSoup(page, "html.parser").select_one("article section")
    for element in body.select(UNUSABLE):
        element.decompose()
    for element in body.select(".exercise > section, .solution > section"):
        element.unwrap()  # which all have the same id
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
    for table in body.find_all("table"):
        for element in [table, *table.find_all(True)]:
            for outdated in ("border", "halign", "valign"):
                del element[outdated]
    return Chapter(Path(file).name, part, body)


def open_folds(body):
    """Code, and what it prints, under the title of the fold; hints are seen to elsewhere."""
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
            title["hidden"] = ""  # says nothing that one does not see
    for box in body.select(".dropdown"):
        box["class"].remove("dropdown")


def hang_lines(text):
    """A long line that goes on in the next one does so to the right of where it began.

    The spans of Pygments end with their line, so that a line is a piece of HTML.
    """
    lines = text.decode_contents().split("\n")
    for number, line in enumerate(lines):
        shown = new(f"<pre>{line}</pre>").get_text()
        if len(shown) > SURE_TO_FIT:
            indent = len(shown) - len(shown.lstrip()) + HANG
            lines[number] = (
                f'<span class="line" style="--hang: {indent}ch">{line}</span>'
            )
    text.clear()
    text.extend(new("<pre>" + "\n".join(lines) + "</pre>").contents[:])


def show_stills(body, file, address):
    """Figures with a caption that leads to the live one."""
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
    """Ids that are unique in the book, and links to them, or to a file of the site."""
    found = {}  # what a link of a page says -> the id
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
            if page.startswith("../"):  # a file beside the pages, such as the slides
                if address:
                    link["href"] = address + page.removeprefix("..")
                else:
                    link.unwrap()
            elif "://" not in page:
                link["href"] = "#" + found[Path(page).stem or chapter.name, name]


def gather_answers(chapters, part):
    """The chapter of hints, solutions and answers, which leave their places."""
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
    """Exercise 2.1: Count the pairs."""
    title = copy.copy(exercise.select_one(".admonition-title"))
    number = title.select_one(".caption-number").extract().get_text().strip()
    rest = title.decode_contents().strip().removeprefix("(").removesuffix(")")
    return f"{number}: {rest}"


def start_answer(name, title):
    """The section for what there is to say to an exercise."""
    return new(
        f'<section class="answer" id="{name}-answer">'
        f'<h3><a href="#{name}">{title}</a></h3></section>'
    )


def link_to(answer, text):
    """The line that leads there."""
    link = f'<a class="with-page" href="#{answer["id"]}">{text}</a>'
    return new(f'<p class="to-answer">{link}</p>')


def hints_of(verdict):
    """The hints of an exercise, which its check folds into each other, as a list."""
    hints = [
        "".join(str(child) for child in fold.find_all(["p", "pre"], recursive=False))
        for fold in verdict.find_all("details")
    ]
    entries = "".join(f"<li>{hint}</li>" for hint in hints)
    return new(
        f'<div class="hints"><p class="answer-title">Hints</p><ol>{entries}</ol></div>'
    )


def code_colours(built):
    """The style sheet of code, in the light theme."""
    lines = (built / "_static" / "pygments.css").read_text("utf-8").splitlines()
    light = 'html[data-theme="light"] '
    return "\n".join(
        line.removeprefix(light) for line in lines if line.startswith(light)
    )


def cover(book):
    """The first page: title, author, and the translator of the front page."""
    picture = book.chapters[0].body.select_one("figure.still img")
    return (
        f'<div class="cover"><p class="cover-title">{book.title}</p>{picture}'
        f'<p class="cover-author">{book.author}</p></div>'
    )
