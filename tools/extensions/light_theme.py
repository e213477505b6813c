"""A Sphinx extension: cut the theme's styles and icons down to those that the pages use.

The theme includes all of Bootstrap and 2,000 icons, most of the download on a first visit. Here a
rule stays if each class and id in its selector is a word of some page or script, and an icon if a
rule draws it. A test checks that the pages look as they do with the whole theme.
"""

import re
from itertools import groupby, pairwise
from pathlib import Path

import tinycss2

from tools.extensions.book_fonts import cut_down
from tools.extensions.html_build import after_html_build
from tools.kept import kept
from tools.whole_files import write_text

SHEETS = ("styles/*.css", "mystnb.*.css")
WORD = re.compile(r"[\w-]+")
NAME = re.compile(r"[.#]([\w-]+)")  # of a class or an id in a style sheet
COMPOSED = {"bs-tooltip-auto"}  # Bootstrap composes it from two words
ICON = re.compile(r"[\ue000-\uf8ff]")
RESERVED = re.compile(r"Font Awesome\\? 6")  # a reserved font name
# An import of another sheet costs a second round trip
IMPORT = re.compile(r'@import "([^"]+)";')
TRUETYPE = re.compile(r',\s*url\([^)]*\.ttf\) format\("truetype"\)')  # for old browsers


def words_of(out):
    """Every word in the pages and their scripts, hence also the classes that scripts set."""
    pages = (path for path in out.rglob("*.html") if "slides" not in path.parts)
    scripts = (p for p in (out / "_static").rglob("*.js") if p.parent.name != "weights")
    texts = (path.read_text(encoding="utf-8") for path in [*pages, *scripts])
    return COMPOSED.union(*map(WORD.findall, texts))


def selectors(prelude):
    """The selectors of a rule, separated by commas, as lists of tokens."""
    groups = groupby(prelude, lambda token: token == ",")
    return [list(tokens) for is_comma, tokens in groups if not is_comma]


def is_used(selector, words):
    """Whether some element may match a selector.

    Conditions in brackets, such as :not(.open), are within one token and ignored.
    """
    ids = {token.value for token in selector if token.type == "hash"}
    classes = {b.value for a, b in pairwise(selector) if a == "." and b.type == "ident"}
    return ids | classes <= words


def used_rules(rules, words):
    """The rules that some page may need, as text."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            used = [one for one in selectors(rule.prelude) if is_used(one, words)]
            if used:
                head = ",".join(map(tinycss2.serialize, used))
                kept.append(f"{head}{{{tinycss2.serialize(rule.content)}}}")
        elif getattr(rule, "at_keyword", None) in ("media", "supports"):
            inner = used_rules(tinycss2.parse_rule_list(rule.content), words)
            if inner:
                head = tinycss2.serialize(rule.prelude)
                kept.append(f"@{rule.at_keyword}{head}{{{inner}}}")
        elif rule.type != "comment" or rule.value.startswith("!"):  # a licence
            kept.append(rule.serialize())
    return "".join(kept)


def with_imports(path):
    """A style sheet with its imports inlined."""

    def imported(match):
        folder = Path(match[1]).parent
        css = (path.parent / match[1]).read_text(encoding="utf-8")
        return css.replace("url(", f"url({folder}/")

    return IMPORT.sub(imported, path.read_text(encoding="utf-8"))


def cut_sheet(css, words):
    """The bytes of a style sheet without the unused rules."""
    css = used_rules(tinycss2.parse_stylesheet(css), words)
    return RESERVED.sub("Book Icons", TRUETYPE.sub("", css)).encode()


@after_html_build
def make_light(app, out):
    """Cut the style sheets, then the icon font to the icons that they still use."""
    static = out / "_static"
    words, icons = words_of(out), set()
    for path in (path for pattern in SHEETS for path in static.glob(pattern)):
        css = with_imports(path)
        inputs = css, repr(sorted(words & {*NAME.findall(css)})), Path(__file__)
        css = kept(path.name, inputs, lambda css=css: cut_sheet(css, words)).decode()
        write_text(path, css)
        icons.update(map(ord, ICON.findall(css)))
    for path in static.glob("vendor/fontawesome/webfonts/*.woff2"):
        cut_down(path, "Book Icons", icons, path)
    for path in static.glob("vendor/fontawesome/webfonts/*.ttf"):
        path.unlink()


def setup(app):
    app.connect("build-finished", make_light, priority=800)  # pages are complete
