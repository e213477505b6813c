"""A Sphinx extension: of the theme's styles and icons, what the pages use.

The theme brings all of Bootstrap and 2,000 icons, most of what a first visit would wait for. Here a
rule stays if each class and each id that it asks for is a word of some page or script, and an icon
if a rule draws it. A test holds the looks of the pages to those with all of the theme.
"""

import re
from pathlib import Path

import tinycss2
from book_fonts import cut_down

SHEETS = ("styles/*.css", "mystnb.*.css")
WORD = re.compile(r"[\w-]+")
COMPOSED = {"bs-tooltip-auto"}  # which Bootstrap puts together from two words
ASKED = re.compile(r"[.#]((?:[\w-]|\\.)+)")
# What a selector asks to be absent, or for one of several, and attributes ask for no class.
NOT_ASKED = re.compile(r":(?:not|is|where|has)\([^()]*\)|\[[^]]*\]")
ICON = re.compile(r"[\ue000-\uf8ff]")
RESERVED = re.compile(r"Font Awesome\\? 6")  # the name of what is not cut down
IMPORT = re.compile(
    r'@import "([^"]+)";'
)  # of another sheet, for which a page would wait again
TRUETYPE = re.compile(r',\s*url\([^)]*\.ttf\) format\("truetype"\)')  # for old browsers


def words_of(out):
    """Every word of the pages and of their scripts, so also the classes that a script gives."""
    pages = (path for path in out.rglob("*.html") if "slides" not in path.parts)
    scripts = (p for p in (out / "_static").rglob("*.js") if p.parent.name != "weights")
    texts = (path.read_text(encoding="utf-8") for path in [*pages, *scripts])
    return COMPOSED.union(*map(WORD.findall, texts))


def is_used(selector, words):
    """Whether there may be an element for this selector."""
    while selector != (selector := NOT_ASKED.sub("", selector)):
        pass  # from the innermost brackets to the outermost
    return all(name.replace("\\", "") in words for name in ASKED.findall(selector))


def selectors(prelude):
    """The selectors of a rule, which commas part; those in brackets are tokens within a block."""
    found = [[]]
    for token in prelude:
        if token == ",":
            found.append([])
        else:
            found[-1].append(token)
    return [tinycss2.serialize(tokens).strip() for tokens in found]


def used_rules(rules, words):
    """The rules that may have an effect, as text."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            used = [one for one in selectors(rule.prelude) if is_used(one, words)]
            if used:
                kept.append(f"{','.join(used)}{{{tinycss2.serialize(rule.content)}}}")
        elif getattr(rule, "at_keyword", None) in ("media", "supports"):
            inner = used_rules(tinycss2.parse_rule_list(rule.content), words)
            if inner:
                head = tinycss2.serialize(rule.prelude)
                kept.append(f"@{rule.at_keyword}{head}{{{inner}}}")
        elif rule.type != "comment" or rule.value.startswith("!"):  # a licence
            kept.append(rule.serialize())
    return "".join(kept)


def icons_of(css):
    """The code points of the icons that a style sheet draws."""
    strings = (
        token.value
        for rule in tinycss2.parse_stylesheet(css, True, True)
        for token in flat(getattr(rule, "content", None) or [])
        if token.type == "string"
    )
    return {ord(letter) for text in strings for letter in ICON.findall(text)}


def flat(tokens):
    """Tokens, and those within blocks of them."""
    for token in tokens:
        yield token
        yield from flat(getattr(token, "content", None) or [])


def with_imports(path):
    """A style sheet with those that it imports in their place."""

    def imported(match):
        folder = Path(match[1]).parent
        css = (path.parent / match[1]).read_text(encoding="utf-8")
        return css.replace("url(", f"url({folder}/")

    return IMPORT.sub(imported, path.read_text(encoding="utf-8"))


def make_light(app, exception):
    """Cut the style sheets, then the icons to those that are left."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    words = words_of(out)
    for path in (path for pattern in SHEETS for path in static.glob(pattern)):
        rules = tinycss2.parse_stylesheet(with_imports(path))
        css = TRUETYPE.sub("", used_rules(rules, words))
        path.write_text(RESERVED.sub("Book Icons", css), encoding="utf-8")
    icons = set()
    for path in static.rglob("*.css"):
        icons |= icons_of(path.read_text(encoding="utf-8"))
    for path in static.glob("vendor/fontawesome/webfonts/*.woff2"):
        cut_down(path, "Book Icons", icons, path)
    for path in static.glob("vendor/fontawesome/webfonts/*.ttf"):
        path.unlink()


def setup(app):
    app.connect("build-finished", make_light, priority=800)  # pages are complete
    return {"parallel_read_safe": True, "parallel_write_safe": True}
