"""Matplotlib figures as HTML: for where no script runs."""

import base64
import html

import matplotlib.figure

from d2lmini.figures.colours import DIVERGING, SEQUENTIAL, hatch
from d2lmini.figures.vectors import as_svg


def still(picture, alt: str, name: str = "") -> str:
    """A matplotlib figure as HTML that needs nothing else; name is where links lead."""
    data = base64.b64encode(as_svg(picture).encode()).decode()
    image = f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{data}">'
    place = f' id="figure-{name}"' if name else ""
    return f'<div class="d2lmini-still"{place}>{image}</div>'


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
        axis.imshow(matrix.numpy(), interpolation="none", **colours)
        hatch(axis)
        axis.set_title(title, fontsize=9)
        if columns is not None:
            axis.set_xticks(range(len(columns)), columns, rotation=90, fontsize=8)
        if rows is not None:
            axis.set_yticks(range(len(rows)), rows, fontsize=8)
    return figure
