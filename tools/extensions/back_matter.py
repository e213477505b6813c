"""A Sphinx extension: what the back matter says of this very build.

<!-- licences -->  of third-party work in the pages: names, versions, texts of the licences,
                   from the packages that are installed
<!-- citation -->  how to cite the book, from CITATION.cff
<!-- versions -->  which version of the package this is, and where the others are
<!-- files -->     what can be downloaded: notebooks, project, PDF and ePub
"""

import os
import re
from importlib.metadata import distribution

import yaml

from tools.extensions.addresses import ROOT, addresses, file_name, version
from tools.extensions.book_fonts import font_licence
from tools.extensions.take_away import names

# Package -> (what of it lies in the pages, its licence). A test compares the list with the pages.
BUNDLED = {
    "ziamath": ("STIX Two Math, from which the font of the formulas is cut", "OFL-1.1"),
    "sphinx": ("scripts and styles of every page, and of the search", "BSD-2-Clause"),
    "pydata-sphinx-theme": (
        "the theme, with Bootstrap (MIT) and the icons of Font Awesome Free (icons CC BY 4.0, font "
        "OFL 1.1, code MIT)",
        "BSD-3-Clause",
    ),
    "sphinx-book-theme": ("the theme's shape for a book", "BSD-3-Clause"),
    "fontpkg-source-sans-3": (
        "Source Sans 3, from which the font of the text is cut",
        "OFL-1.1",
    ),
    "fontpkg-source-code-pro": (
        "Source Code Pro, from which the font of the code is cut",
        "OFL-1.1",
    ),
    "myst-nb": ("styles of cells and their outputs", "BSD-3-Clause"),
    "pygments": ("colours of the code", "BSD-2-Clause"),
    "sphinx-copybutton": ("the copy button, with clipboard.js (MIT)", "MIT"),
    "sphinx-togglebutton": ("boxes that open", "MIT"),
    "sphinx-design": ("styles of grids and tabs", "MIT"),
    "sphinx-exercise": ("styles of exercises", "MIT"),
    "sphinx-thebe": ("a style sheet", "MIT"),
    "sphinx-mathjax-offline": (
        "MathJax, which sets the formulas of the slides",
        "Apache-2.0",
    ),
    "sphinx-revealjs": ("reveal.js (MIT), which shows the slides", "Apache-2.0"),
}
# It brings no text of MathJax's licence; this package is under the same.
TEXT_FROM = {"sphinx-mathjax-offline": "requests"}
PLACE = re.compile(r"<!-- (?P<what>\w+) -->.*?<!-- end -->", re.S)
TEXT = re.compile(r"(^|/)[^/]*(LICEN[CS]E|OFL)[^/]*$", re.I)


def texts(name):
    """The licences that a package brings, each once: text -> whose it is."""
    if name == "ziamath":  # whose own code the book does not have
        return {font_licence("STIX Two Math").strip(): "Its licence"}
    said = {}
    for file in sorted(distribution(TEXT_FROM.get(name, name)).files or [], key=str):
        if TEXT.search(str(file)) and not str(file).endswith((".py", ".pyc")):
            whose = "Its licence"
            if ".dist-info" not in str(file):  # of what the package brings of others
                part = re.match(r"(.*?)[._]?LICEN[CS]E", file.name)[1]
                whose = f"The licence of {part or file.parent.name}"
            said.setdefault(file.locate().read_text("utf-8").strip(), whose)
    return said


def listed_licences():
    """Who made what, and by what licence; as MyST."""
    entries = []
    for name, (what, licence) in BUNDLED.items():
        version_of = distribution(name).version
        entries.append(f"**{name}** {version_of} · {licence}\n: {what}\n")
        for text, whose in texts(name).items():
            entries.append(
                f"  ~~~~~{{admonition}} {whose}\n  :class: dropdown\n\n  ```text\n"
                + "".join(f"  {line}".rstrip() + "\n" for line in text.splitlines())
                + "  ```\n  ~~~~~\n"
            )
    return "\n".join(entries)


def citation(year):
    """The book as a sentence and in BibTeX."""
    book = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    authors = " and ".join(author["name"] for author in book["authors"])
    repository, site = addresses()
    address = site or repository
    sentence = f"{authors} ({year}). *{book['title']}*. Version {book['version']}."
    fields = {
        "title": f"{{{book['title']}}}",
        "author": f"{{{authors}}}",
        "year": str(year),
        "note": f"Version {book['version']}",
    }
    if address:
        sentence, fields["url"] = f"{sentence} <{address}>", address
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"{sentence}\n\n```bibtex\n@book{{d2lmini,\n{lines}}}\n```"


def versions():
    """Which version this is. On a site, where the others are: SITE_EDITIONS names their tags."""
    _, site = addresses()
    said = f"This is version {version()}."
    if site:
        editions = os.environ.get("SITE_EDITIONS", "").split()
        if editions:
            links = ", ".join(f"[{tag}]({site}/{tag}/)" for tag in editions)
            said += f" Also online: {links}."
        # An edition does not know those that come after it.
        newest = f"{site}/book/about.html#versions"
        said += (
            f" [The newest version of this page]({newest}) lists all that are online."
        )
    return said


def files():
    """What is one file: two zips beside the pages, and on a site what `make site` puts there."""
    name, (notebooks, project) = file_name(), names()
    said = []
    if addresses()[1]:
        said = [
            f'<a href="../{name}.pdf">The book as PDF</a>, for paper.',
            f'<a href="../{name}.epub">The book as ePub</a>, for e-readers.',
        ]
    said += [
        f'<a href="../{notebooks}">All notebooks</a>, for those who have Jupyter and PyTorch. '
        "Unpack the zip and open its folder; the package is in it, and the first cell of each "
        "notebook installs it.",
        f'<a href="../{project}">The project</a>: text, code and tests. It needs Python 3.11 or '
        "newer, and gets the rest itself. Unpack the zip; in its folder, `make lab` opens the "
        "notebooks and `make book` builds the pages. Its README says how to do without `make`, on "
        "Windows for instance, and its CONTRIBUTING how to change the book.",
    ]
    if not addresses()[1]:
        said.append(
            "For a PDF, type `make pdf` in the project's folder; for an ePub, `make epub`."
        )
    return "\n".join(f"- {what}" for what in said)


def fill(app, docname, content):
    """Put what is asked for where a page asks for it, from a mark to the next `<!-- end -->`.

    What stands there is for readers of a copy of the notebooks.
    """
    said = {
        "licences": listed_licences,
        "citation": lambda: citation(app.config.copyright),
        "versions": versions,
        "files": files,
    }
    content[0] = PLACE.sub(lambda place: said[place["what"]](), content[0])


def setup(app):
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
