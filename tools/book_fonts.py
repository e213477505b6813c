"""A Sphinx extension: the two fonts of the pages, from packages, for readers without a network.

Source Sans 3 for prose and Source Code Pro for code, both under the SIL Open Font License, cut down
to the characters of the languages of the book; for others a reader's own fonts serve.
"""

import shutil
from pathlib import Path

import fontpkg
from fontTools import subset

FONTS = [
    ("Source Sans 3", "normal"),
    ("Source Sans 3", "italic"),
    ("Source Code Pro", "normal"),
]
# Latin with accents, Greek, punctuation, arrows, mathematical signs
CHARACTERS = (
    "U+0020-017F,U+0370-03FF,U+2010-2044,U+2190-21FF,U+2200-22FF,U+25A0-25FF,U+2605"
)
FACE = """@font-face {{
  font-family: "{family}";
  font-style: {style};
  font-weight: 200 900;
  font-display: swap;
  src: url("fonts/{name}") format("woff2");
}}
"""


def make_fonts(app):
    """Write fonts and their style sheet to a folder of static files."""
    folder = Path(app.doctreedir).parent / "fonts"
    faces = []
    (folder / "fonts").mkdir(parents=True, exist_ok=True)
    for family, style in FONTS:
        plain = family.replace(" ", "-")
        name, source = f"{plain}-{style}.woff2", Path(fontpkg.path(family, style=style))
        target = folder / "fonts" / name
        subset.main(
            [str(source), f"--unicodes={CHARACTERS}", "--flavor=woff2",
             f"--output-file={target}"]
        )  # fmt: skip
        licence = source.parents[1] / "LICENSE"
        shutil.copy(licence, folder / "fonts" / f"{plain}-LICENSE.txt")
        faces.append(FACE.format(family=family, style=style, name=name))
    (folder / "fonts.css").write_text("".join(faces), encoding="utf-8")
    app.config.html_static_path.append(str(folder))
    app.add_css_file("fonts.css", priority=100)


def setup(app):
    app.connect("builder-inited", make_fonts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
