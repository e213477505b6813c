"""A Sphinx extension: the parts of the back matter that describe this build.

<!-- licences -->  third-party work in the pages: names, versions and licence texts, from the
                   installed packages
<!-- citation -->  how to cite the book, from CITATION.cff
<!-- versions -->  the version of the package, and where to find others
<!-- files -->     downloads: notebooks, project, PDF and ePub
"""

import os
import re
import textwrap
from importlib.metadata import distribution

import yaml

from tools.extensions.addresses import ROOT, addresses, file_name, version
from tools.extensions.book_fonts import font_licence
from tools.extensions.take_away import names

# Package -> (what the pages contain of it, its licence). A test compares the list with the pages.
BUNDLED = {
    "ziamath": ("STIX Two Math, from which the font of the formulas is cut", "OFL-1.1"),
    "sphinx": ("scripts and styles of every page, and of the search", "BSD-2-Clause"),
    "pydata-sphinx-theme": ("the theme, with Bootstrap (MIT) and the icons of Font Awesome Free "
                            "(icons CC BY 4.0, font OFL 1.1, code MIT)", "BSD-3-Clause"),
    "sphinx-book-theme": ("the theme's shape for a book", "BSD-3-Clause"),
    "fontpkg-source-sans-3": ("Source Sans 3, from which the font of the text is cut", "OFL-1.1"),
    "fontpkg-source-code-pro": ("Source Code Pro, from which the font of the code is cut",
                                "OFL-1.1"),
    "myst-nb": ("styles of cells and their outputs", "BSD-3-Clause"),
    "pygments": ("colours of the code", "BSD-2-Clause"),
    "sphinx-copybutton": ("the copy button, with clipboard.js (MIT)", "MIT"),
    "sphinx-togglebutton": ("boxes that open", "MIT"),
    "sphinx-design": ("styles of grids and tabs", "MIT"),
    "sphinx-exercise": ("styles of exercises", "MIT"),
    "sphinx-thebe": ("a style sheet", "MIT"),
    "sphinx-mathjax-offline": ("MathJax, which sets the formulas of the slides", "Apache-2.0"),
    "sphinx-revealjs": ("reveal.js (MIT), which shows the slides", "Apache-2.0"),
}  # fmt: skip
# It does not include MathJax's licence; this package has the same one.
TEXT_FROM = {"sphinx-mathjax-offline": "requests"}
PLACE = re.compile(r"<!-- (?P<what>\w+) -->.*?<!-- end -->", re.S)
TEXT = re.compile(r"(^|/)[^/]*(LICEN[CS]E|OFL)[^/]*$", re.I)


def texts(name):
    """The distinct licences in a package: text -> whose it is."""
    if name == "ziamath":  # the book contains none of its code
        return {font_licence("STIX Two Math").strip(): "Its licence"}
    found = {}
    for file in sorted(distribution(TEXT_FROM.get(name, name)).files or [], key=str):
        if TEXT.search(str(file)) and not str(file).endswith((".py", ".pyc")):
            whose = "Its licence"
            if ".dist-info" not in str(file):  # third-party code within the package
                part = re.match(r"(.*?)[._]?LICEN[CS]E", file.name)[1]
                whose = f"The licence of {part or file.parent.name}"
            found.setdefault(file.locate().read_text("utf-8").strip(), whose)
    return found


def listed_licences():
    """Each package, what it contributes and its licence, as MyST."""
    entries = []
    for name, (what, licence) in BUNDLED.items():
        version_of = distribution(name).version
        entries.append(f"**{name}** {version_of} · {licence}\n: {what}\n")
        for text, whose in texts(name).items():
            fence = f"~~~~~{{admonition}} {whose}\n:class: dropdown\n\n```text\n{text}"
            entries.append(textwrap.indent(f"{fence}\n```\n~~~~~\n", "  "))
    return "\n".join(entries)


def citation(year):
    """A citation of the book, as a sentence and in BibTeX."""
    book = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    authors = " and ".join(author["name"] for author in book["authors"])
    repository, site = addresses()
    title, note = book["title"], f"Version {book['version']}"
    sentence = f"{authors} ({year}). *{title}*. {note}."
    fields = {"title": f"{{{title}}}", "author": f"{{{authors}}}", "year": year}
    fields["note"] = note
    if address := site or repository:
        sentence, fields["url"] = f"{sentence} <{address}>", address
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"{sentence}\n\n```bibtex\n@book{{d2lmini,\n{lines}}}\n```"


def versions():
    """This version and, on a site, links to the others: SITE_EDITIONS lists their tags."""
    _, site = addresses()
    text = f"This is version {version()}."
    if site:
        if editions := os.environ.get("SITE_EDITIONS", "").split():
            links = ", ".join(f"[{tag}]({site}/{tag}/)" for tag in editions)
            text += f" Also online: {links}."
        # An edition does not know the later ones.
        newest = f"[The newest version of this page]({site}/book/about.html#versions)"
        text += f" {newest} lists all that are online."
    return text


def files():
    """Downloads: two zips next to the pages and, on a site, the files from `make site`."""
    name, (notebooks, project), (_, site) = file_name(), names(), addresses()
    papers = [
        f'<a href="../{name}.pdf">The book as PDF</a>, for paper.',
        f'<a href="../{name}.epub">The book as ePub</a>, for e-readers.',
        '<a href="one-page.pdf">The sheet *On one page*</a>, one side of A4.',
    ]
    make = "For PDF or ePub, type `make pdf` or `make epub` in the project's folder."
    zips = [
        f'<a href="../{notebooks}">All notebooks</a>, for those who have Jupyter and PyTorch. '
        "Unpack the zip and open its folder; the package is in it, and the first cell of each "
        "notebook installs it.",
        f'<a href="../{project}">The project</a>: text, code and tests. It needs Python 3.11 or '
        "newer, and gets the rest itself. Unpack the zip; in its folder, `make lab` opens the "
        "notebooks and `make book` builds the pages. Its README says how to do without `make`, on "
        "Windows for instance, and its CONTRIBUTING how to change the book.",
    ]
    lines = [*papers, *zips] if site else [*zips, make]
    return "\n".join(f"- {line}" for line in lines)


def fill(app, docname, content):
    """Fill in each marked place of a page, from its mark to the next `<!-- end -->`.

    The text between them is for readers of a copy of the notebooks.
    """
    parts = {
        "licences": listed_licences,
        "citation": lambda: citation(app.config.copyright),
        "versions": versions,
        "files": files,
    }
    content[0] = PLACE.sub(lambda place: parts[place["what"]](), content[0])


def setup(app):
    app.connect("source-read", fill)
