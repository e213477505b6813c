"""The figure of which positions a change affects, for different layers."""

import torch
from torch.nn.functional import batch_norm, layer_norm

from d2lmini.figures.stills import panels
from d2lmini.figures.widget import Figure, as_lists
from d2lmini.support.arguments import check_at_most

TRIES = [
    (
        "The same for all features",
        {"amounts": [2.0, 2.0, 2.0, 2.0]},
        "Nothing changes: layer normalisation subtracts the mean of a position's features.",
    ),
    (
        "Steps and features at once",
        {"layer": "wrong", "amounts": [2.0, 0.0, 0.0, 0.0]},
        "The whole sentence of a2 notices, later positions and earlier ones.",
    ),
    (
        "Batch normalisation",
        {"layer": "batch", "amounts": [2.0, 0.0, 0.0, 0.0]},
        "Both sentences notice, though only a2 has changed.",
    ),
]


def explore_layers(position=2) -> Figure:
    """Show which positions a layer affects if one token changes, in two sentences of three tokens.

    Args:
        position: the token to change, 0 to 5.
    Raises:
        ValueError: there is no such token.
    Source: chapter 7.
    """
    check_at_most("position", position, "the last one", 5)
    state = {"layer": "layer", "position": position, "amounts": [0.0] * 4}
    generator = torch.Generator().manual_seed(0)
    X, Y = torch.randn(2, 6, 4, generator=generator)
    positions = ["a0", "a1", "a2", "b0", "b1", "b2"]
    data = {
        "X": X,
        "Y": Y,
        "positions": positions,
        "sentence": [name[0] for name in positions],
        "W_1": torch.randn(8, 4, generator=generator),
        "b_1": torch.randn(8, generator=generator),
        "W_2": torch.randn(4, 8, generator=generator) * 0.5,
        "b_2": torch.randn(4, generator=generator),
    }
    layers = {
        "layer": lambda X: layer_norm(X + Y, [4]),
        "batch": lambda X: batch_norm(X + Y, None, None, training=True),
        "wrong": lambda X: layer_norm((X + Y).view(2, 3, 4), [3, 4]).view(6, 4),
    }
    changed = X.clone()
    changed[position, 0] += 2
    changes = {
        name: (compute(changed) - compute(X)).abs() for name, compute in layers.items()
    }
    noticed = {
        name: ", ".join(positions[i] for i in (change.amax(1) > 1e-5).nonzero())
        for name, change in changes.items()
    }
    norms = {"layer": "layer", "batch": "batch", "wrong": "both at once"}
    picture = panels([changes[n] for n in norms], norms.values(), positions)
    alt = (
        "Six positions of two sentences with four features each, and how much each number "
        f"changes, under three norms, when 2 is added to a feature of {positions[position]}. "
        "Rows that change: "
        + "; ".join(f"{norms[n]}: {noticed[n]}" for n in norms)
        + "."
    )
    return Figure("layers.js", state, picture, alt, as_lists(data), tries=TRIES)
