"""A Sphinx extension: a second version of each plot, for the dark theme.

A plot is drawn once, dark on white. Here each colour of its SVG is replaced by one that is legible
on a dark page, whose background shows through; in a heat-map, larger numbers become lighter.
book.css chooses between the two; print is always white.
"""

import base64
import functools
import io
import re
from pathlib import Path
from runpy import run_path

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from PIL import Image

from tools.extensions.addresses import ROOT
from tools.whole_files import write_text

# Run by path, since importing the package would load PyTorch, which takes seconds.
SCALES = run_path(str(ROOT / "d2lmini" / "figures" / "colours.py"))

GROUND, TEXT = "#121212", "#e8e8e8"  # background and text of the dark theme
PARTNER = {
    "#000000": TEXT, "#444444": "#c6c6c6", "#888888": "#a0a0a0", "#999999": "#868686",
    "#bbbbbb": "#626262", "#cccccc": "#525252", "#eeeeee": "#2a2a2a", "#f6f6f6": "#1d1d1d",
    # lines; the first four are those of figure.css, the last two matplotlib's
    "#0072b2": "#56b4e9", "#d55e00": "#f0894a", "#009e73": "#3fc79a", "#cc79a7": "#e29dc4",
    "#56b4e9": "#f0e442", "#1f77b4": "#56b4e9", "#ff7f0e": "#f0894a",
    # boxes of the architecture diagram
    "#f9d5a7": "#5a4120", "#bfdceb": "#1f465b", "#e4e4c9": "#43432c", "#f3c6cf": "#5c303b",
    "#cfe8cf": "#2c4a2f",
    # queries, keys, values, output
    **{hue: SCALES["DARK_HUES"][name] for name, hue in SCALES["HUES"].items()},
}  # fmt: skip
# From the background upwards. In the middle, where numbers in cells change from light to dark, both
# are legible.
BLUE = [GROUND, "#1f75b0", "#56b4e9", "#94d0f6"]
ORANGE = [GROUND, "#a9531a", "#f0894a", "#f8bd92"]
PLACES = np.array([0, 0.5, 0.75, 1])
BOTH = [*(1 - PLACES[::-1]) / 2, *(1 + PLACES[1:]) / 2], [*ORANGE[::-1], *BLUE[1:]]
colormap = functools.partial(LinearSegmentedColormap.from_list, "dark")
SEQUENTIAL = colormap([*zip(PLACES, BLUE, strict=True)])
DIVERGING = colormap([*zip(*BOTH, strict=True)])


def as_bytes(scale):
    """The 256 colours of a scale, (256, 3)."""
    return scale(np.arange(256), bytes=True)[:, :3].astype(int)


LIGHT = SCALES["SEQUENTIAL"], SCALES["DIVERGING"]
LIGHT_COLOURS = np.concatenate([*map(as_bytes, LIGHT)])
DARK_COLOURS = np.concatenate([as_bytes(SEQUENTIAL), as_bytes(DIVERGING)])

TAG = re.compile(r"<(\w+)[^>]*>")
COLOUR = re.compile(r'(fill|stroke)(:|=")(#[0-9a-f]{6})')
PLOT = re.compile(r'<img (alt="[^"]*") src="([./]*_images/)([\w-]+)\.svg"[^>]*>')
SIZE = re.compile(r'width="(\d+)" height="\d+"')
DOTS = re.compile(r"data:image/png;base64,([^\"]+)")


def on_scale(colours):
    """Map colours (n, 3) to the dark scales; also return their distance from the light scales."""
    off = np.abs(colours[:, None].astype(int) - LIGHT_COLOURS).max(-1)
    return DARK_COLOURS[off.argmin(1)], off.min(1)


def partner(colour):
    """The dark picture's colour for a colour of the light one."""
    if colour not in PARTNER:
        rgb = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        (found,), (off,) = on_scale(np.array([rgb]))
        if off > 3:
            raise ValueError(
                f"colour ({colour}) of a plot must have a partner for the dark theme: add it to "
                "PARTNER in tools/extensions/dark_plots.py"
            )
        return "#" + bytes(found.tolist()).hex()
    return PARTNER[colour]


def dark_dots(match):
    """Recolour a heat-map embedded in a plot, one pixel per number, or its colour bar."""
    dots = np.array(Image.open(io.BytesIO(base64.b64decode(match[1]))).convert("RGBA"))
    pixels = dots[..., :3].reshape(-1, 3)
    colours, places = np.unique(pixels, axis=0, return_inverse=True)
    dots[..., :3] = on_scale(colours)[0][places].reshape(dots[..., :3].shape)
    file = io.BytesIO()
    Image.fromarray(dots).save(file, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def dark(svg):
    """Recolour the SVG of a plot for a dark page."""

    def repaint(tag):
        is_text = tag[1] in ("text", "tspan")

        def change(match):
            what, sign, colour = match.groups()
            if colour != "#ffffff":
                new = partner(colour)
            elif is_text:  # on a cell that was dark and is now light
                new = "#000000"
            else:
                new = "none" if what == "fill" else GROUND
            return what + sign + new

        return COLOUR.sub(change, tag[0])

    svg = DOTS.sub(dark_dots, TAG.sub(repaint, svg))
    # A default for elements without a colour
    return svg.replace("<svg ", f'<svg fill="{TEXT}" ', 1)


def pair(app, pagename, templatename, context, doctree):
    """Add the dark version of each plot to the page, and its file to the images."""
    images = Path(app.outdir) / "_images"
    sources = {name: source for source, name in app.builder.images.items()}

    def both(match):
        alt, folder, name = match.groups()
        source = images / f"{name}.svg"
        if source.name in sources:  # Sphinx copies it only after all pages are written
            source = Path(app.srcdir) / sources[source.name]
        svg = source.read_text("utf-8")
        images.mkdir(exist_ok=True)
        write_text(images / f"{name}-dark.svg", dark(svg))
        size, width = SIZE.search(svg).group(0, 1)  # reserves the space on the page
        size += f' style="--width: {width}px"'  # for book.css, on phones
        return "".join(  # lazy: the hidden one is not loaded
            f'<img {alt} class="{theme}" {size} src="{folder}{file}.svg" loading="lazy">'
            for theme, file in (("plot-light", name), ("plot-dark", f"{name}-dark"))
        )

    context["body"] = PLOT.sub(both, context.get("body", ""))


def setup(app):
    app.connect("html-page-context", pair, priority=900)  # after figure_links
