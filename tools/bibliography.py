"""Write the list in book/bibliography.md from book/references.bib: python -m tools.bibliography

The build replaces the list with {bibliography}. Outside the built pages, readers see this list, and
the notebooks' links lead to its entries.
"""

import re
from pathlib import Path

from pybtex.database import parse_file
from pybtex.plugin import find_plugin

BOOK = Path(__file__).parents[1] / "book"


def entries():
    """The sources of the book by key, in file order."""
    return parse_file(str(BOOK / "references.bib")).entries


def page():
    """The text of bibliography.md."""
    style = find_plugin("pybtex.style.formatting", "plain")()
    backend = find_plugin("pybtex.backends", "markdown")()
    lines = []
    for entry in style.format_entries(entries().values()):
        text = re.sub(r"\s+", " ", entry.text.render(backend))
        text = re.sub(r"\\([.-])", r"\1", text)  # needless escapes
        lines.append(f'- <a id="{entry.key}"></a>{text}\n')
    return "# Bibliography\n\n" + "".join(lines)


if __name__ == "__main__":
    (BOOK / "bibliography.md").write_text(page(), encoding="utf-8", newline="\n")
