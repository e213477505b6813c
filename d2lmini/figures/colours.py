"""The colours of the plots and the still pictures; figure.css has the same."""

import matplotlib
from matplotlib.colors import LinearSegmentedColormap

POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
# Of lines and heads, in this order; told apart by colour-blind readers.
CYCLE = [POSITIVE, NEGATIVE, "#009E73", "#CC79A7", "#56B4E9"]

# Zero is white in both; of two numbers the larger is darker, in grey as well.
SEQUENTIAL = LinearSegmentedColormap.from_list("book", ["white", POSITIVE, "#004A75"])
DIVERGING = LinearSegmentedColormap.from_list(
    "book-diverging", ["#8A3C00", NEGATIVE, "white", POSITIVE, "#004A75"]
)
for scale in (SEQUENTIAL, DIVERGING):  # so that a chapter can name it
    if scale.name not in matplotlib.colormaps:
        matplotlib.colormaps.register(scale)


def hatch(axis):
    """What is hidden, NaN in a matrix, is hatched, as in the figures."""
    axis.patch.set(facecolor="white", hatch="////", edgecolor="#BBBBBB", linewidth=0)
