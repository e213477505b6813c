"""A Sphinx extension: colour queries, keys, values and outputs in code as in the figures.

Dictionaries have keys and values too, so only code that names a query, or both K and V, is
coloured. book.css sets the colours of the classes hue-Q, hue-K, hue-V and hue-Y.

Comments for the formatter are removed.
"""

import re

NAMES = {
    "Q": ("Q", "query", "queries", "W_q"),
    "K": ("K", "key", "keys", "W_k"),
    "V": ("V", "value", "values", "W_v"),
    "Y": ("output", "W_o"),
}
HUE = {name: hue for hue, names in NAMES.items() for name in names}
LETTERS = {"q": "Q", "k": "K", "v": "V"}  # a k alone is a counter

CODE = re.compile(r"<pre>.*?</pre>", re.S)
NAME = re.compile(r'(<span class="o">\.</span>)?<span class="n">(\w+)</span>')
COMMENT = re.compile(r'(?<=<span class="c1">)[^<]*')
# Comments for ruff, which mean nothing to a reader
SKIP = re.compile(r'\s*(?:<span class="c1"># fmt: skip</span>|# fmt: skip(?=</span>))')
WORD = re.compile(rf"\b(?:{'|'.join(HUE)})\b")


def painted(name, hue):
    return f'<span class="hue-{hue}">{name}</span>'


def paint(match):
    """Colour the code of a cell."""
    code = SKIP.sub("", match[0])
    names = {name for _, name in NAME.findall(code)}
    has_query = names & set(NAMES["Q"])
    hues = HUE if has_query else {}
    if names >= {"K", "V"}:  # a cache, without an output
        hues = {"K": "K", "V": "V"} | hues
    if names >= {"q", "k"}:
        hues = hues | LETTERS

    def paint_name(match):
        dot, name = match.groups()
        # net.output is a layer and .keys() belongs to a dictionary, but self.W_k is a matrix.
        if name not in hues or (dot and name in ("keys", "values", "output")):
            return match[0]
        return (dot or "") + painted(name, hues[name])

    def paint_comment(comment):
        if not has_query and "quer" not in comment[0]:
            return comment[0]
        return WORD.sub(lambda word: painted(word[0], HUE[word[0]]), comment[0])

    return COMMENT.sub(paint_comment, NAME.sub(paint_name, code))


def paint_code(page):
    """Colour the code in the HTML of a page."""
    return CODE.sub(paint, page)


def paint_page(app, pagename, templatename, context, doctree):
    context["body"] = paint_code(context.get("body", ""))


def setup(app):
    # Before offline_book removes the spans around names
    app.connect("html-page-context", paint_page, priority=800)
