"""Plots of paths on the square of data/square.py."""

import matplotlib.pyplot as plt
import torch
from matplotlib.patches import Circle

from d2lmini.data.square import FOUNTAIN, KIOSK
from d2lmini.figures.colours import CYCLE
from d2lmini.figures.plots import STYLE
from d2lmini.support.arguments import check_kind, check_shape

# As in the live figure of chapter 13
FUTURES = {
    "forecast": ("-", CYCLE[0]),
    "ruler": ("--", CYCLE[1]),
    "what happened": (":", CYCLE[2]),
}


def show_square(panels, background=None):
    """Plot walkers on the square, side by side, three per row.

    Args:
        panels: title -> (past, futures): past (steps, 2) is drawn in black, futures is a
            dictionary, a name of FUTURES -> (steps, 2).
        background: (paths, steps, 2), drawn in grey in every panel.
    Source: chapter 13.
    """
    check_kind("panels", panels, dict, "a dictionary, title -> (past, futures)")
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with plt.rc_context(STYLE):
        _, axes = plt.subplots(
            rows, columns, figsize=(2.6 * columns, 2.7 * rows), sharex=True, sharey=True,
            squeeze=False, layout="constrained",
        )  # fmt: skip
        for axis in axes.flat[len(panels) :]:
            axis.axis("off")
        for number, (title, (past, futures)) in enumerate(panels.items()):
            axis = axes.flat[number]
            if background is not None:
                # a single line with gaps keeps the file small
                gaps = torch.full((len(background), 1, 2), torch.nan)
                line = torch.cat([background, gaps], dim=1).flatten(0, 1)
                axis.plot(*line.T, color="#BBBBBB", lw=0.5)
            draw_square(axis, past, futures)
            axis.set_title(title)
            axis.label_outer()
            if number + columns >= len(panels):  # no panel below it
                axis.tick_params(labelbottom=True)
                axis.set_xlabel("x, m")
        axes[0, 0].legend(frameon=False, fontsize=7, loc="upper left")
        plt.show()


def draw_square(axis, past, futures):
    """Draw one walker: the observed path in black, and futures, name -> (steps, 2)."""
    check_shape("past", past, "steps", 2)
    if unknown := {*futures} - {*FUTURES}:
        raise ValueError(f"futures ({[*unknown]}) must be named {[*FUTURES]}")
    axis.add_patch(Circle((0, 0), FOUNTAIN, color="#999999", alpha=0.35))
    axis.plot(*KIOSK, "s", color="#999999", ms=4)
    axis.plot(*past.cpu().T, color="black", lw=2, label="observed")
    for name, future in futures.items():
        dashes, colour = FUTURES[name]
        path = torch.cat([past[-1:], future]).cpu().T
        axis.plot(*path, dashes, color=colour, label=name)
    axis.set(
        xlim=(-18, 18), ylim=(-18, 18), aspect="equal", xlabel="x, m", ylabel="y, m"
    )
