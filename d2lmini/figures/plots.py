"""Plots of the book. Functions take arrays, never modules."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from d2lmini.figures.colours import CYCLE, HUES, SEQUENTIAL, hatch
from d2lmini.figures.vectors import show_as_svg
from d2lmini.support.arguments import check_count, check_kind

show_as_svg()

# White background even in dark themes of notebooks; tools/extensions/dark_plots.py repaints it.
STYLE = {
    "figure.facecolor": "white",
    "figure.dpi": 110,
    "savefig.facecolor": "white",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": plt.cycler(color=CYCLE),
    "image.cmap": SEQUENTIAL.name,
    "image.interpolation": "none",  # one pixel per number; the browser scales them up
    "hatch.linewidth": 0.8,
    "path.simplify_threshold": 0.3,  # points: keeps the files of long lines small
}
LINES = "-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1))  # as many as colours
COLOURS = {"plain": "#FFFFFF", "attention": "#F9D5A7", "network": "#BFDCEB", "norm": "#E4E4C9",
           "embedding": "#F3C6CF", "output": "#CFE8CF", "frame": "#F6F6F6"}  # fmt: skip


def show_heatmaps(
    matrices, xlabel, ylabel, titles=None, figsize=None, xticks=None, yticks=None, rows=None,
    digits=None,
):  # fmt: skip
    """Show matrices as images in a grid, one row per leading index, on one colour scale.

    Args:
        matrices: array (rows, columns, queries, keys), on any device; NaN is hatched.
        xlabel, ylabel: what keys and queries are.
        titles, rows: one per column and one per row of the grid.
        figsize: inches; None = from the size of the matrices.
        xticks, yticks: labels of keys and queries, such as tokens.
        digits: decimals of the numbers in the cells; None = no numbers.
    Raises:
        ValueError: matrices is not four-dimensional, or labels do not fit.
    Source: chapter 11.
    """
    if hasattr(matrices, "detach"):  # a tensor, of any dtype, on any device
        matrices = matrices.detach().float().cpu()
    matrices = np.asarray(matrices)
    check_heatmaps(
        matrices, digits, rows=rows, titles=titles, yticks=yticks, xticks=xticks
    )
    num_rows, num_columns, num_queries, num_keys = matrices.shape
    figsize = figsize or (
        1.0 + num_columns * 1.9,
        0.6 + num_rows * (0.5 + 1.6 * num_queries / num_keys),
    )
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            num_rows, num_columns, figsize=figsize, sharex=True, sharey=True, squeeze=False,
            layout="constrained",
        )  # fmt: skip
        for (i, j), axis in np.ndenumerate(axes):
            image = axis.imshow(
                matrices[i, j], SEQUENTIAL, vmin=0, vmax=np.nanmax(matrices)
            )
            hatch(axis)
            axis.spines[:].set(visible=True, color="#BBBBBB")
            if digits is not None:
                write_numbers(
                    axis, matrices[i, j], digits, dark_above=np.nanmax(matrices) * 0.48
                )
            if titles is not None and i == 0:
                axis.set_title(titles[j])
            if rows is not None and j == 0:
                axis.set_ylabel(rows[i])
            for each in (axis.xaxis, axis.yaxis):  # no position 2.5
                each.set_major_locator(MaxNLocator(integer=True))
            if xticks is not None:
                axis.set_xticks(range(num_keys), xticks, rotation=90)
            if yticks is not None:
                axis.set_yticks(range(num_queries), yticks)
        figure.supxlabel(xlabel, fontsize=9)
        figure.supylabel(ylabel, fontsize=9)
        is_mask = np.isin(matrices[~np.isnan(matrices)], (0, 1)).all()
        if not is_mask:  # True and False need no scale
            figure.colorbar(image, ax=axes, shrink=0.7)
        plt.show()


def check_heatmaps(matrices, digits, **labels):
    """Validate the number of axes, and of labels; None = no labels."""
    if matrices.ndim != 4 or not matrices.size:
        shape = "(rows, columns, queries, keys), at least 1 each"
        raise ValueError(f"matrices must have shape {shape}, got {matrices.shape}")
    if digits is not None:
        check_count("digits", digits, least=0)
    for (name, texts), size in zip(labels.items(), matrices.shape, strict=True):
        if texts is not None:
            check_entries(name, texts, size)


def check_entries(name, entries, size):
    """Check the number of entries; a string is not a list of its letters."""
    if isinstance(entries, str) or not hasattr(entries, "__len__"):
        check_kind(name, entries, (), "a list")
    if len(entries) != size:
        raise ValueError(
            f"{name} ({list(entries)}) must have {size} entries, got {len(entries)}"
        )


def write_numbers(axis, matrix, digits, dark_above):
    """Write each number into its cell, in white on dark colours."""
    for (query, key), number in np.ndenumerate(matrix):
        if not np.isnan(number):
            colour = "white" if number > dark_above else "black"
            text = f"{round(number, digits) + 0.0:.{digits}f}"  # no -0.000
            axis.text(key, query, text, ha="center", va="center", color=colour, size=8)


def show_curves(
    x, curves, xlabel, ylabel, figsize=(5.4, 3), yscale="linear", xscale="linear", hues=None
):  # fmt: skip
    """Plot curves, each with its name at its end; several runs become mean and spread.

    Args:
        x: (points,)
        curves: label -> (points,) or (runs, points); the band is one standard deviation,
            limited to the range of the runs.
        xscale, yscale: "linear" or "log"; a logarithmic x axis with few points labels each.
        hues: label -> index in the cycle of colours, where a curve has one in another plot.
    Source: chapter 9.
    """
    check_kind("curves", curves, dict, "a dictionary, label -> numbers")
    for label, y in curves.items():
        check_entries(f"curves[{label!r}]", np.atleast_2d(y)[0], len(x))
    with plt.rc_context(STYLE):
        _, axis = plt.subplots(figsize=figsize, layout="constrained")
        ends = {}
        for i, (label, y) in enumerate(curves.items()):
            runs = np.atleast_2d(y)
            mean = runs.mean(axis=0)
            colour = CYCLE[(hues or {}).get(label, i) % len(CYCLE)]
            (ends[label],) = axis.plot(
                x, mean, color=colour, linestyle=LINES[i % len(LINES)]
            )
            if len(runs) > 1:
                sd = runs.std(axis=0, ddof=1)
                # Not beyond the runs, which may be impossible, such as a negative loss.
                band = np.clip([mean - sd, mean + sd], runs.min(0), runs.max(0))
                axis.fill_between(x, *band, alpha=0.2, color=ends[label].get_color())
        axis.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
        if xscale == "log":
            axis.set_xticks(x, [f"{n:,}" for n in x])
            axis.minorticks_off()
        low, high = axis.get_ylim()
        if (
            yscale == "log" and high < 1000 * low
        ):  # plain numbers, enough of them to read off
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter("{x:g}")
            axis.yaxis.set_minor_formatter(NullFormatter())
        if len(curves) > 1:
            name_at_the_end(axis, ends)
        plt.show()


def name_at_the_end(axis, lines):
    """Write the name of each line where it ends, and lead the line there.

    Args:
        lines: name -> Line2D, each with a finite last point.
    """
    axis.set(xlim=axis.get_xlim(), ylim=axis.get_ylim())  # whatever is drawn beside
    height = axis.figure.get_figheight() * 72 * 0.75  # points, about
    to_axes = axis.transData + axis.transAxes.inverted()
    ends = {
        name: to_axes.transform((line.get_xdata()[-1], line.get_ydata()[-1]))
        for name, line in lines.items()
    }
    names = sorted(ends, key=lambda name: ends[name][1])
    sizes = [12 * (1 + name.count("\n")) / height for name in names]
    places = [ends[name][1] for name in names]
    gaps = [(below + above) / 2 for below, above in pairwise(sizes)]
    for i, gap in enumerate(gaps):  # no name on the one below it
        places[i + 1] = max(places[i + 1], places[i] + gap)
    places[-1] = min(places[-1], 1)  # nor above the plot
    for i, gap in reversed([*enumerate(gaps)]):
        places[i] = min(places[i], places[i + 1] - gap)
    for name, place in zip(names, places, strict=True):
        line = lines[name]
        axis.plot(
            [ends[name][0], 1.05], [ends[name][1], place], transform=axis.transAxes,
            clip_on=False, color=line.get_color(), linestyle=line.get_linestyle(), lw=1,
        )  # fmt: skip
        axis.text(1.06, place, name, transform=axis.transAxes, va="center")


def show_table(frame, digits):
    """Show a pandas table of numbers, with empty cells instead of NaN.

    Args:
        digits: decimals.
    Source: chapter 10.
    """
    from IPython.display import HTML

    return HTML(frame.round(digits).to_html(na_rep=""))


def show_flow(boxes, arrows, figsize):
    """Draw a data-flow diagram: boxes with text, joined by arrows.

    Args:
        boxes: name -> (x, y, width, height, text, kind), in inches, (x, y) the lower left
            corner, kind a key of COLOURS, or "none" for text without a box.
        arrows: (points, text) each: the corners of a path that ends in an arrow head, and the
            label of its first segment. A box or an arrow may end with a key of HUES, for what
            passes through it.
        figsize: inches.
    Source: preface.
    """
    check_kind("boxes", boxes, dict, "a dictionary, name -> box")
    for name, (_, _, _, _, _, kind, *_) in boxes.items():
        if kind not in (*COLOURS, "none"):
            raise ValueError(
                f"boxes[{name!r}]: kind ({kind!r}) must be one of {[*COLOURS, 'none']}"
            )
    with plt.rc_context(STYLE):
        figure = plt.figure(figsize=figsize)
        axis = figure.add_axes((0, 0, 1, 1))
        axis.set(xlim=(0, figsize[0]), ylim=(0, figsize[1]))
        axis.axis("off")
        for x, y, width, height, text, kind, *hue in boxes.values():
            colour = HUES[hue[0]] if hue else "#444444"
            if kind != "none":
                shape = "round,pad=0,rounding_size=0.06"
                style = {"boxstyle": shape, "fc": COLOURS[kind], "ec": colour}
                axis.add_patch(FancyBboxPatch((x, y), width, height, **style))
            # A hue would be illegible on the colours of other kinds.
            ink = colour if hue and kind in ("plain", "none") else "black"
            place = x + width / 2, y + height / 2
            axis.text(*place, text, ha="center", va="center", color=ink)
        for points, text, *hue in arrows:
            colour = HUES[hue[0]] if hue else "#444444"
            (x0, y0), (x1, y1) = points[0], points[1]
            axis.plot(
                *zip(*points, strict=True),
                color=colour,
                lw=1.5 if hue else 1,
                solid_joinstyle="round",
            )
            axis.add_patch(
                FancyArrowPatch(points[-2], points[-1], arrowstyle="-|>", mutation_scale=10,
                                color=colour, shrinkA=0, shrinkB=0)
            )  # fmt: skip
            axis.text(
                (x0 + x1) / 2 + 0.06,
                (y0 + y1) / 2,
                text,
                ha="left",
                va="center",
                size=8,
                color=colour if hue else "black",
            )
        plt.show()
