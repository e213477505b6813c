"""A Sphinx extension: formulas as MathML, which browsers render without a script.

latex2mathml translates the TeX. Here its output becomes MathML Core, which browsers implement: it
has no attributes for bold letters (they are separate characters) or for columns. The font is in
book_fonts.py.
"""

import functools
import re
import unicodedata
from html import unescape
from itertools import pairwise
from xml.etree import ElementTree

from docutils.nodes import SkipNode
from latex2mathml.converter import convert_to_element

BAR = "\u2015"  # over letters; browsers stretch a different character
SCRIPTS = ("msub", "msup", "msubsup", "munder", "mover", "munderover")
ROWS = ("math", "mrow", "mstyle", "mtd", "msqrt")
THIN = "0.167em"


def mathml(tex, block=False):
    """Translate a formula into the text of a <math> element with the TeX as its alttext."""
    tex = " ".join(tex.split())
    known = tex.replace("{aligned}", "{split}")
    math = convert_to_element(known, display="block" if block else "inline")
    for element in list(math.iter()):
        element.text = unescape(element.text or "")  # latex2mathml writes &#x003B1;
        if element.text.startswith("\\"):
            raise ValueError(f"no MathML for {element.text!r} in the formula {tex!r}")
        if element.tag == "mo" and re.fullmatch("[a-zA-Z]{2,}", element.text):
            element.tag = "mi"  # a function, such as softmax, not an operator
        if element.text in ("…", "∞", "⊤"):
            element.tag = "mi"  # not operators, which would add space around them
        if element.text == BAR:
            element.text = "\u203e"
        if element.text in ("/", "."):
            element.attrib.update(lspace="0", rspace="0")
        set_style(element, element.attrib.pop("mathvariant", ""))
        if side := element.attrib.pop("columnalign", ""):
            element.set("class", side)
        for old in ("columnspacing", "rowspacing"):
            element.attrib.pop(old, None)
    for scripts in [element for element in math.iter() if element.tag in SCRIPTS]:
        # Like TeX, no space around operators in indices and exponents
        for operator in [mo for script in scripts[1:] for mo in script.iter("mo")]:
            operator.attrib.update(lspace="0", rspace="0")
    for row in [row for row in math.iter() if row.tag in ROWS]:
        pair_bars(row)
        mark_signs(row)
        space_functions(row)
    math.attrib = {"alttext": tex} | ({"display": "block"} if block else {})
    return ElementTree.tostring(math, encoding="unicode")


def set_style(element, variant):
    """Write bold and italic as MathML Core does."""
    if element.tag == "mtext" and variant:
        element.set("class", variant)
    elif variant.startswith("bold"):
        style = variant.upper().replace("-", " ")
        element.text = "".join(letter_of(style, letter) for letter in element.text)


def letter_of(style, letter):
    """The mathematical character for a letter or digit in BOLD or BOLD ITALIC."""
    script, _, name = unicodedata.name(letter).partition(" ")
    if script == "DIGIT":
        return unicodedata.lookup(f"MATHEMATICAL BOLD DIGIT {name}")
    return unicodedata.lookup(f"MATHEMATICAL {style} {name.replace('LETTER ', '')}")


def pair_bars(row):
    """Make bars open and close in turn, as around an absolute value."""
    bars = [element for element in row if element.text in ("|", "\u2016")]
    for place, bar in enumerate(bars if len(bars) % 2 == 0 else []):
        bar.attrib.update(form=("prefix", "postfix")[place % 2], stretchy="false")


def mark_signs(row):
    """Make a minus after a bracket, a comma or an operator a sign, as in (-1, 1).

    And remove the space before an equals sign that begins a formula.
    """
    if len(row) and row[0].text in ("=", "<", ">", "\u2248", "\u2264", "\u2265"):
        row[0].set("lspace", "0")
    spaces = ("mspace", "mtext")
    parts = (part for part in row if part.tag not in spaces or part.text.strip())
    for before, sign in pairwise(parts):
        ends = before.tag != "mo" or before.text in (")", "]", "}", "|", "\u2016")
        if sign.text in ("-", "\u2212", "+") and not ends:
            sign.set("form", "prefix")


def space_functions(row):
    """Add a thin space around function names, as TeX does: browsers write 2lnx."""
    for place, element in reversed(list(enumerate(row))):
        base = element[0] if element.tag in SCRIPTS else element
        if base.tag != "mi" or len(base.text) < 2:
            continue
        after = row[place + 1] if place + 1 < len(row) else None
        if after is not None and after.tag not in ("mo", "mspace"):
            row.insert(place + 1, ElementTree.Element("mspace", width=THIN))
        if place and row[place - 1].tag not in ("mo", "mspace"):
            row.insert(place, ElementTree.Element("mspace", width=THIN))


def visit_math(self, node, tag="span"):
    start = self.starttag(node, tag, "", CLASS="math notranslate nohighlight")
    self.body.append(f"{start}{mathml(node.astext(), block=tag == 'div')}</{tag}>")
    raise SkipNode


def setup(app):
    block = functools.partial(visit_math, tag="div")
    app.add_html_math_renderer("mathml", (visit_math, None), (block, None))
