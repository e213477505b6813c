"""Two lines of words, joined by a curve for each attention weight."""

import matplotlib.figure
import matplotlib.path
from matplotlib.patches import PathPatch

from d2lmini.figures.colours import POSITIVE

LEAST = 0.05  # smaller weights are not drawn


def arcs(read, written, weights):
    """Draw the source above, the output below, and weights (written, read) as curves."""
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
    """Draw a cubic Bézier curve through its four control points."""
    path = matplotlib.path.Path(points, [1, 4, 4, 4])
    axis.add_patch(PathPatch(path, fill=False, ec=colour, lw=width, clip_on=False))


def places(words):
    """The centres of words in a line, measured in letters."""
    found, end = [], 0
    for word in words:
        width = len(word.replace("▁", "")) + 2
        found.append(end + width / 2)
        end += width
    return found
