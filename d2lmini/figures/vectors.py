"""Matplotlib figures as small SVG files, sharp at any size."""

import io
import re
from xml.etree import ElementTree

import matplotlib
from IPython import get_ipython
from matplotlib.figure import Figure

SVG, LINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}href"
ElementTree.register_namespace("", SVG)

# Verdana has the same widths as DejaVu Sans, for readers without it.
ROOT = {
    "font-family": "'DejaVu Sans', Verdana, sans-serif",
    "font-size": "9px",  # the size of most letters
    "stroke-linejoin": "round",  # matplotlib's, which otherwise comes as a rule for the whole page
    "stroke-linecap": "butt",
}
USUAL = re.compile(r"(?:font-family: 'DejaVu Sans'(?:,[^;]*)?|font-size: 9px)(?:; |$)")
NO_TURN = re.compile(r"rotate\(-?0 [^)]*\)")
MOVE = re.compile(r"(?:translate|rotate)\([^)]*\)")
GAP = re.compile(r"\s*\b([MLQCz])\b\s*")
NAME = re.compile(r"\b[a-z][0-9a-f]{10}\b(?=[\"\)])")
LONG = re.compile(r"\d+\.\d{2,}")


def as_svg(picture: Figure, **how) -> str:
    """Write a figure as reproducible SVG; how is passed to savefig.

    Letters stay text, half the size of their outlines, except in rare fonts.
    """
    root = drawn(picture, "none", how)
    if "font-family" in ElementTree.tostring(root, encoding="unicode"):
        root = drawn(picture, "path", how)
    width, height = map(float, root.get("viewBox").split()[2:])
    scale = picture.dpi / 72  # the same size as a bitmap would have
    size = {"width": f"{width * scale:.0f}", "height": f"{height * scale:.0f}"}
    root.attrib.update(ROOT | size)
    text = ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")
    return short_names(text)


def short_names(text: str) -> str:
    """Cut the names of parts, a letter and ten digits of a hash, while they stay different."""
    names = set(NAME.findall(text))
    if len({name[:6] for name in names}) < len(names):
        return text
    return NAME.sub(lambda name: name[0][:6], text)


def drawn(picture, letters, how):
    """Write a figure as SVG with letters as text or as outlines, and parse its root."""
    file = io.StringIO()
    # Without a salt, ids are random.
    with matplotlib.rc_context({"svg.hashsalt": "d2lmini", "svg.fonttype": letters}):
        picture.savefig(file, format="svg", metadata={"Date": None}, **how)
    root = ElementTree.fromstring(file.getvalue())
    make_light(root)
    return root


def two_decimals(number):
    """Round a match of LONG to two decimals."""
    return f"{round(float(number[0]), 2):g}"


def make_light(root):
    """Remove what nobody sees: ids, groups, defaults, digits below 1/100 of a point."""
    text = ElementTree.tostring(root, encoding="unicode")
    used = set(re.findall(r'(?:url\(|href=")#([\w-]+)', text))
    styles = {shape.get("id"): shape.get("style") for shape in root.iter()}

    def lighter(element):
        """Replace a group without attributes by its children."""
        if element.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
            return []
        element.tail, element.text = None, None if len(element) else element.text
        element[:] = [part for child in element for part in lighter(child)]
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        link = element.attrib.pop(LINK, "").replace("\n", "")
        if link:
            element.set("href", link)
            if element.get("style") == styles.get(link[1:], ""):
                # its children already have that style
                element.attrib.pop("style", None)
        for name, value in element.items():
            if name == "transform":  # small factors may scale large numbers
                value = NO_TURN.sub("", value)
                value = MOVE.sub(lambda move: LONG.sub(two_decimals, move[0]), value)
            elif name != "href":
                value = LONG.sub(two_decimals, GAP.sub(r"\1", USUAL.sub("", value)))
                value = value.replace("; ", ";").replace(": ", ":")
            element.set(name, value.strip("; "))
            if not element.get(name):
                element.attrib.pop(name)
        is_plain = element.tag == f"{{{SVG}}}g" and not element.attrib
        return list(element) if is_plain else [element]

    lighter(root)
    for empty in root.findall(f"{{{SVG}}}defs"):
        if not len(empty):
            root.remove(empty)


def show_as_svg():
    """Make notebooks show plots as SVG."""
    shell = get_ipython()
    if shell is not None:
        from matplotlib_inline.backend_inline import set_matplotlib_formats

        set_matplotlib_formats("svg")  # and no PNG as well
        formatter = shell.display_formatter.formatters["image/svg+xml"]
        formatter.for_type(Figure, plot_as_svg)


def plot_as_svg(figure):
    """Write a plot for notebooks: tight margins, and high resolution for embedded bitmaps."""
    return as_svg(figure, bbox_inches="tight", dpi=2 * figure.dpi)
