"""The colours of plots and still pictures; figure.css uses the same."""

import matplotlib
from matplotlib.colors import LinearSegmentedColormap

POSITIVE, NEGATIVE = "#0072B2", "#D55E00"
# Lines and heads, in this order; distinguishable for colour-blind readers
CYCLE = [POSITIVE, NEGATIVE, "#009E73", "#CC79A7", "#56B4E9"]

# Queries, keys, values and outputs of attention (Q, K, V and Y) in formulas, code and figures, on
# light and on dark pages; figure.css and book.css use the same.
HUES = {"Q": "#b34d00", "K": "#00659e", "V": "#007a5a", "Y": "#a8348a"}
DARK_HUES = {"Q": "#f0894a", "K": "#56b4e9", "V": "#2fc79a", "Y": "#e29dc4"}

# Zero is white in both; larger numbers are darker, even in greyscale.
SEQUENTIAL = LinearSegmentedColormap.from_list("book", ["white", POSITIVE, "#004A75"])
DIVERGING = LinearSegmentedColormap.from_list(
    "book-diverging", ["#8A3C00", NEGATIVE, "white", POSITIVE, "#004A75"]
)
for scale in (SEQUENTIAL, DIVERGING):  # so that chapters can refer to it by name
    if scale.name not in matplotlib.colormaps:
        matplotlib.colormaps.register(scale)


def hatch(axis):
    """Hatch the background, which shows where a matrix is NaN, as in the interactive figures."""
    axis.patch.set(facecolor="white", hatch="////", edgecolor="#BBBBBB", linewidth=0)
