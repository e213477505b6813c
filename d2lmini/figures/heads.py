"""The figure of the input features that each head reads."""

import torch

from d2lmini.figures.choices import check_one_of
from d2lmini.figures.stills import panels
from d2lmini.figures.widget import Figure, as_lists
from d2lmini.support.arguments import check_at_most

TRIES = [
    (
        "Split first",
        {"order": "split", "amount": 2.0},
        "Each head reads a slice of its own. A change of feature 0 never reaches the others.",
    ),
    (
        "Eight heads, split first",
        {"order": "split", "num_heads": 8, "amount": 2.0},
        "Each head reads a single feature.",
    ),
    (
        "Eight heads",
        {"num_heads": 8, "amount": 2.0},
        "Heads of size 1, and each still reads all eight features: it was projected first.",
    ),
]


def explore_heads(num_heads=2, order="project", feature=0, amount=2.0) -> Figure:
    """Show which features of its input each head reads, in multi-head attention of width 8.

    Args:
        num_heads: 1, 2, 4 or 8.
        order: "project", as MultiHeadAttention does; "split", as bugs.SplitThenProject, whose
            heads share one small matrix; "own", the same with a matrix for each head.
        feature, amount: the feature of the first word to change, and by how much.
    Raises:
        ValueError: an argument is none of these.
    Source: chapter 5.
    """
    check_one_of("num_heads", num_heads, (1, 2, 4, 8))
    check_one_of("order", order, ("project", "split", "own"))
    check_at_most("feature", feature, "the last one", 7)
    state = {
        "num_heads": num_heads,
        "order": order,
        "feature": feature,
        "amount": amount,
    }
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(3, 8, generator=generator)
    W_q, W_k, W_v = torch.randn(3, 8, 8, generator=generator) * 0.5
    words = ["it", "was", "tired"]
    data = {"words": words, "X": X, "W_q": W_q, "W_k": W_k, "W_v": W_v}
    rows = torch.stack([W_q, W_k, W_v]).view(3, num_heads, -1, 8)
    reads = rows.square().sum((0, 2)).sqrt()  # (heads, features)
    own = torch.eye(num_heads).repeat_interleave(8 // num_heads, dim=1)
    picture = panels(
        [reads, reads * own],
        ["project, then split", "split, then project"],
        [f"head {h}" for h in range(num_heads)],
    )
    alt = (
        "Two matrices of heads by features of the input. If one projects first, each head reads "
        "all features; if one splits first, each reads its own slice only."
    )
    return Figure("heads.js", state, picture, alt, as_lists(data), tries=TRIES)
