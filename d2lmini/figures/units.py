"""The figure of the hidden units of a small network as lines, and a token that activates them."""

import torch

from d2lmini.figures.colours import CYCLE, SEQUENTIAL
from d2lmini.figures.stills import empty
from d2lmini.figures.widget import Figure

TRIES = [
    (
        "Over the fold",
        {"token": [0.8, 0.7]},
        "Unit 2 wakes and takes away twice its sum: the slopes turn from 1 to −1.",
    ),
    (
        "Two units",
        {"units": [[1.0, -1.0, 0.0, 1.0], [-1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]},
        "Another fold, along a = b: one unit for each side of it, and XOR needs no third.",
    ),
    (
        "Without the ReLU",
        {"relu": False},
        "Every unit counts for every token: one matrix for the whole plane, and no XOR.",
    ),
]

# Units a, b and a + b - 1, which the ReLU turns into "both"
KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
BIASES, VALUES = torch.tensor([0.0, 0.0, -1.0]), torch.tensor([1.0, 1.0, -2.0])


def explore_units(
    keys=KEYS, biases=BIASES, values=VALUES, token=(0.35, 0.3), brief=False
) -> Figure:
    """Show an output of an editable network with two features and three hidden units.

    Args:
        keys: (3, 2), a row per unit; between -3 and 3, as are the others.
        biases, values: (3,), the bias and the output weight of each unit. The default is XOR.
        token: the features a and b, between -0.5 and 1.5.
        brief: show the plane and the answers alone.
    Source: chapter 6.
    """
    units = torch.cat([keys, biases[:, None], values[:, None]], dim=1)  # (3, 4)
    state = {"token": list(token), "units": units.tolist(), "unit": 2, "relu": True}
    side = torch.linspace(-0.5, 1.5, 101)
    plane = torch.stack(torch.meshgrid(side, side, indexing="xy"), dim=-1)
    sums = plane @ keys.T + biases  # (101, 101, 3)
    picture, [[axis]] = empty()
    answer = (torch.relu(sums) @ values).numpy()
    ends = -0.5, 1.5, -0.5, 1.5
    how = {"interpolation": "none", "aspect": "auto", "vmin": 0, "vmax": 2}
    axis.imshow(answer, SEQUENTIAL, origin="lower", extent=ends, **how)
    for unit, colour in zip(sums.unbind(-1), CYCLE, strict=False):
        levels = {"levels": [0], "colors": colour, "linewidths": 3}
        axis.contour(side, side, unit.numpy(), **levels)
    axis.plot(*token, "o", color="black", markersize=11)
    axis.axis("off")
    awake = torch.tensor(token) @ keys.T + biases > 0
    names = ", ".join(f"unit {i}" for i in awake.nonzero().flatten().tolist())
    alt = (
        "The output of a network over the plane of two features, with a line for each of three "
        f"hidden units, and a token at {tuple(token)}, which wakes {names or 'none of them'}."
    )
    data = {"wanted": [0, 1, 1, 0]}
    return Figure("units.js", state, picture, alt, data, tries=TRIES, brief=brief)
