"""The colours of the plots and the still pictures; figure.css has the same."""

import matplotlib
from matplotlib.colors import LinearSegmentedColormap

POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
# Of lines and heads, in this order; told apart by colour-blind readers.
CYCLE = [POSITIVE, NEGATIVE, "#009E73", "#CC79A7", "#56B4E9"]

# Of queries, keys, values and an attention's output (Q, K, V and Y), in formulas, code, pictures
# and figures; on a dark page the others. figure.css and book.css have the same.
HUES = {"Q": "#b34d00", "K": "#00659e", "V": "#007a5a", "Y": "#a8348a"}
DARK_HUES = {"Q": "#f0894a", "K": "#56b4e9", "V": "#2fc79a", "Y": "#e29dc4"}

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
