"""Matplotlib figures as HTML, for viewers without scripts."""

import base64
import html

import matplotlib.figure

from d2lmini.figures.colours import CYCLE, DIVERGING, SEQUENTIAL, hatch
from d2lmini.figures.vectors import as_svg

SIZE = 4, 2.5  # inches; 16:10, as on the cards of the front page


def still(picture, alt: str, name: str = "") -> str:
    """Write a matplotlib figure as self-contained HTML; name is the target of links."""
    data = base64.b64encode(as_svg(picture).encode()).decode()
    image = f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{data}">'
    place = f' id="figure-{name}"' if name else ""
    return f'<div class="d2lmini-still"{place}>{image}</div>'


def empty(rows=1, columns=1):
    """Create a matplotlib figure that notebooks do not show automatically; also its axes.

    It is for a card of 280 pixels: few, large elements and text of at least 9 points.
    """
    figure = matplotlib.figure.Figure(figsize=SIZE, layout="constrained")
    figure.set_facecolor("white")
    return figure, figure.subplots(rows, columns, squeeze=False)


def curves(x, lines, xlabel, ylabel, **scales):
    """Draw labelled lines, name -> numbers, as a matplotlib figure."""
    figure, [[axis]] = empty()
    axis.set(xlabel=xlabel, ylabel=ylabel, **scales)
    axis.spines[["top", "right"]].set_visible(False)
    styles = zip(CYCLE, ("-", "--", ":", "-."), strict=False)
    for (name, numbers), (colour, dashes) in zip(lines.items(), styles, strict=False):
        axis.plot(x, numbers, dashes, color=colour, linewidth=2.5, label=name)
    if len(lines) > 1:
        axis.legend(frameon=False, handlelength=2)
    return figure


def panels(matrices, titles, rows=None, columns=None):
    """Draw matrices side by side, as a matplotlib figure."""
    figure, [axes] = empty(columns=len(matrices))
    for axis, matrix, title in zip(axes, matrices, titles, strict=True):
        largest = matrix[matrix.isfinite()].abs().max().item()
        colours = {"cmap": SEQUENTIAL, "vmin": 0, "vmax": largest}
        if (matrix < 0).any():
            colours = {"cmap": DIVERGING, "vmin": -largest, "vmax": largest}
        axis.imshow(matrix.numpy(), interpolation="none", aspect="auto", **colours)
        hatch(axis)
        axis.set_title(title, fontsize=10)
        axis.set(xticks=[], yticks=[])
        axis.tick_params(length=0)
        if columns is not None:
            axis.set_xticks(range(len(columns)), columns, rotation=90, fontsize=9)
    if rows is not None:
        axes[0].set_yticks(range(len(rows)), rows, fontsize=9)
    return figure
