"""A Sphinx extension: in code, queries, keys, values and their output have the hues of the figures.

A dictionary has keys and values too, so only code that asks is painted: code that names a query,
or K and V. The colours of the classes hue-Q, hue-K, hue-V and hue-Y are in book.css.

A comment that only the formatter reads is not shown.
"""

import re

NAMES = {
    "Q": ("Q", "query", "queries", "W_q"),
    "K": ("K", "key", "keys", "W_k"),
    "V": ("V", "value", "values", "W_v"),
    "Y": ("output", "W_o"),
}
HUE = {name: hue for hue, names in NAMES.items() for name in names}
LETTERS = {"q": "Q", "k": "K", "v": "V"}  # a k alone counts something

CODE = re.compile(r"<pre>.*?</pre>", re.S)
NAME = re.compile(r'(<span class="o">\.</span>)?<span class="n">(\w+)</span>')
COMMENT = re.compile(r'(?<=<span class="c1">)[^<]*')
# What ruff is told, which is nothing to a reader
SKIP = re.compile(r'\s*(?:<span class="c1"># fmt: skip</span>|# fmt: skip(?=</span>))')
WORD = re.compile(rf"\b(?:{'|'.join(HUE)})\b")


def painted(name, hue):
    return f'<span class="hue-{hue}">{name}</span>'


def paint_comment(match):
    return WORD.sub(lambda word: painted(word[0], HUE[word[0]]), match[0])


def paint(match):
    """The code of a cell with its hues."""
    code = SKIP.sub("", match[0])
    names = {name for _, name in NAME.findall(code)}
    asks = names & set(NAMES["Q"])
    hues = HUE if asks else {}
    if names >= {"K", "V"}:  # a cache, which has no output
        hues = {"K": "K", "V": "V"} | hues
    if names >= {"q", "k"}:
        hues = hues | LETTERS

    def paint_name(match):
        dot, name = match.groups()
        # net.output is a layer, and .keys() of a dictionary; self.W_k is a matrix of ours.
        if name not in hues or (dot and name in ("keys", "values", "output")):
            return match[0]
        return (dot or "") + painted(name, hues[name])

    code = NAME.sub(paint_name, code)
    return COMMENT.sub(
        lambda said: paint_comment(said) if asks or "quer" in said[0] else said[0],
        code,
    )


def paint_code(page):
    """The HTML of a page with the hues in its code."""
    return CODE.sub(paint, page)


def paint_page(app, pagename, templatename, context, doctree):
    context["body"] = paint_code(context.get("body", ""))


def setup(app):
    # Before offline_book takes the spans of names away
    app.connect("html-page-context", paint_page, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
