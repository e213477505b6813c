"""Two lines of words, and a curve for each weight of attention between them."""

import matplotlib.figure
import matplotlib.path
from matplotlib.patches import PathPatch

from d2lmini.figures.colours import POSITIVE

LEAST = 0.05  # weights below are not drawn


def arcs(read, written, weights):
    """A matplotlib figure: what is read above, what is written below, weights (written, read)."""
    tops, bottoms = places(read), places(written)
    length = max(tops[-1], bottoms[-1]) + 1
    figure = matplotlib.figure.Figure(figsize=(7, 1.9), layout="constrained")
    figure.set_facecolor("white")
    axis = figure.subplots()
    axis.set(xlim=(-2, length + 2), ylim=(0, 1))
    axis.axis("off")
    for y, words, xs in ((0.93, read, tops), (0.02, written, bottoms)):
        for word, x in zip(words, xs, strict=True):
            text = word.replace("▁", "")
            axis.text(x, y, text, ha="center", va="center_baseline", fontsize=11)
    for row, x in zip(weights.tolist(), bottoms, strict=True):
        for weight, top in zip(row, tops, strict=True):
            if weight > LEAST:
                points = [(top, 0.84), (top, 0.5), (x, 0.5), (x, 0.13)]
                add_curve(axis, points, POSITIVE, 4 * weight)
    return figure


def add_curve(axis, points, colour, width):
    """A cubic curve from the first of four points to the last."""
    path = matplotlib.path.Path(points, [1, 4, 4, 4])
    axis.add_patch(PathPatch(path, fill=False, ec=colour, lw=width, clip_on=False))


def places(words):
    """The middles of words that stand side by side, in letters."""
    found, end = [], 0
    for word in words:
        width = len(word.replace("▁", "")) + 2
        found.append(end + width / 2)
        end += width
    return found
