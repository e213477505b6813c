"""A Sphinx extension: the fonts of the pages, bundled so that no network is needed.

Source Sans 3 for prose, Source Code Pro for code and STIX Two Math for formulas, all under the SIL
Open Font License, are cut down to the characters of the book; other characters fall back to the
reader's fonts. A cut font gets a new name, as the licence requires for reserved font names.
"""

import functools
import io
import logging
import re
from importlib.metadata import distribution
from pathlib import Path

import fontpkg
from fontTools import subset
from fontTools.ttLib import TTFont

from tools.kept import kept
from tools.whole_files import write_bytes, write_text

# Latin with accents, Greek, punctuation, arrows, mathematical signs
CHARACTERS = "U+20-17F,U+370-3FF,U+2010-2044,U+2190-21FF,U+2200-22FF,U+25A0-25FF,U+2605"
# Latin, Greek, signs, and letters in italic, bold and bold italic
OF_FORMULAS = (
    "U+20-7E,U+A0,U+B7,U+D7,U+391-3C9,U+2016,U+2026,U+203E,U+210E,U+2190-2193,U+2200-222B,U+2248,"
    "U+2260-2265,U+22A4,U+22C5,U+1D400-1D467,U+1D6A8-1D6DB,U+1D6FC-1D755"
)
FONTS = [
    # name in the book, family, style, weights, characters
    ("Book Sans", "Source Sans 3", "normal", "200 900", CHARACTERS),
    ("Book Sans", "Source Sans 3", "italic", "200 900", CHARACTERS),
    ("Book Code", "Source Code Pro", "normal", "200 900", CHARACTERS),
    ("Book Math", "STIX Two Math", "normal", "400", OF_FORMULAS),
]
# In the name table: family, unique name, full name, PostScript name, typographic family
NAMES = (1, 3, 4, 6, 16)
logging.getLogger("fontTools").setLevel(logging.ERROR)  # do not log each table it cuts
FACE = """@font-face {{
  font-family: "{name}";
  font-style: {style};
  font-weight: {weights};
  font-display: swap;
  src: url("fonts/{file}") format("woff2");
}}
"""


def font_file(family, style):
    """The file of a font in its package."""
    if family == "STIX Two Math":
        file = "ziamath/fonts/STIXTwoMath-Regular.ttf"
        return Path(distribution("ziamath").locate_file(file))
    return Path(fontpkg.path(family, style=style))


def font_licence(family):
    """The Open Font License, with the font's makers; ziamath does not include its text."""
    if family != "STIX Two Math":
        return (font_file(family, "normal").parents[1] / "LICENSE").read_text("utf-8")
    makers = TTFont(font_file(family, "normal"))["name"].getDebugName(0)
    return re.sub("^Copyright .*", makers, font_licence("Source Sans 3"), count=1)


def cut_down(source, name, characters, target):
    """Write a web font under a new name, with only these characters."""
    inputs = Path(source), name, repr(sorted(characters)), Path(__file__)
    make = functools.partial(cut, source, name, characters)
    write_bytes(target, kept(f"font-{target.stem}", inputs, make))


def cut(source, name, characters):
    """The bytes of a cut font."""
    font, out = TTFont(source), io.BytesIO()
    if "MATH" in font:
        keep_low_roots(font)
        level_scripts(font)
    options = subset.Options(flavor="woff2", hinting=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID in NAMES:
            record.string = name.replace(" ", "") if record.nameID == 6 else name
    subset.save_font(font, out, options)
    return out.getvalue()


def keep_low_roots(font):
    """Keep two heights of the root sign: Chromium makes every root as wide as the widest one."""
    variants = font["MATH"].table.MathVariants
    place = variants.VertGlyphCoverage.glyphs.index(font.getBestCmap()[ord("√")])
    root = variants.VertGlyphConstruction[place]
    root.MathGlyphVariantRecord, root.VariantCount = root.MathGlyphVariantRecord[:2], 2
    root.GlyphAssembly = None


def level_scripts(font):
    """Put all indices at one height, and all exponents, whatever their letter.

    A browser lowers an index if its letter descends below the line, and raises an exponent if the
    letter is tall. With these values, as in TeX, only bases larger than a letter do this.
    """
    constants = font["MATH"].table.MathConstants
    constants.SubscriptBaselineDropMin.Value = -40  # y reaches 0.22 em down
    constants.SuperscriptBaselineDropMax.Value = 360  # d reaches 0.71 em up


def make_fonts(app):
    """Write fonts and their style sheet to a folder of static files."""
    folder = Path(app.doctreedir).parent / "fonts"
    faces = []
    (folder / "fonts").mkdir(parents=True, exist_ok=True)
    for name, family, style, weights, characters in FONTS:
        plain = name.replace(" ", "-")
        file = f"{plain}-{style}.woff2"
        unicodes = subset.parse_unicodes(characters)
        cut_down(font_file(family, style), name, unicodes, folder / "fonts" / file)
        licence = folder / "fonts" / f"{plain}-LICENSE.txt"
        write_text(licence, font_licence(family))
        faces.append(FACE.format(name=name, style=style, weights=weights, file=file))
    write_text(folder / "fonts.css", "".join(faces))
    app.config.html_static_path.append(str(folder))
    app.add_css_file("fonts.css", priority=100)


def setup(app):
    app.connect("builder-inited", make_fonts)
