"""Matplotlib figures as HTML: for where no script runs."""

import base64
import html
import io
import re

import matplotlib
import matplotlib.figure

from d2lmini.figures.colours import DIVERGING, SEQUENTIAL, hatch


def still(picture, alt: str, name: str = "") -> str:
    """A matplotlib figure as HTML that needs nothing else; name is where links lead."""
    file = io.BytesIO()
    # Without a salt the names in it are random; letters as letters, not as outlines, are small.
    with matplotlib.rc_context({"svg.hashsalt": "d2lmini", "svg.fonttype": "none"}):
        picture.savefig(file, format="svg", metadata={"Date": None})
    data = base64.b64encode(_light(file.getvalue().decode()).encode()).decode()
    image = f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{data}">'
    place = f' id="figure-{name}"' if name else ""
    return f'<div class="d2lmini-still"{place}>{image}</div>'


def _light(svg: str) -> str:
    """Without what nobody sees: who made it, line breaks, and less than 1/100 of a point."""

    def rounded(tag):
        return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", tag[0])

    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<[^>]*>", rounded, svg)  # in tags, not in what a reader reads
    return re.sub(r"\s+", " ", svg)


def panels(matrices, titles, rows=None, columns=None):
    """Matrices side by side, as a matplotlib figure that no notebook shows by itself."""
    figure = matplotlib.figure.Figure(
        figsize=(2.3 * len(matrices), 2.4), layout="constrained"
    )
    figure.set_facecolor("white")
    for axis, matrix, title in zip(
        figure.subplots(1, len(matrices), squeeze=False)[0],
        matrices,
        titles,
        strict=True,
    ):
        largest = matrix[matrix.isfinite()].abs().max().item()
        colours = {"cmap": SEQUENTIAL, "vmin": 0, "vmax": largest}
        if (matrix < 0).any():
            colours = {"cmap": DIVERGING, "vmin": -largest, "vmax": largest}
        axis.imshow(matrix.numpy(), **colours)
        hatch(axis)
        axis.set_title(title, fontsize=9)
        if columns is not None:
            axis.set_xticks(range(len(columns)), columns, rotation=90, fontsize=8)
        if rows is not None:
            axis.set_yticks(range(len(rows)), rows, fontsize=8)
    return figure
