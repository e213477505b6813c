"""A query that can be dragged among keys."""

import math

import matplotlib.figure
import torch

from d2lmini.figures.colours import HUES, POSITIVE
from d2lmini.figures.widget import Figure
from d2lmini.masks import masked_softmax

TRIES = [
    (
        "Another direction",
        {"query": [-1.8, 0.6]},
        "The largest weight goes to the key that the query points at, now “stone”.",
    ),
    (
        "A longer query",
        {"query": [2.4, 2.4]},
        "The same direction, larger scores: “cat” takes more of the weight than before.",
    ),
    (
        "No query at all",
        {"query": [0.0, 0.0]},
        "All scores are 0, all weights equal, and the output is the mean of the values.",
    ),
]
LARGE_AND_PLAIN = (
    "512 features, undivided",
    {"d_k": 512, "scaled": False},
    "One key takes it all. Switch the division on again, and the weights spread.",
)


def explore_attention(query=(1.0, 1.0), similarity="dot", scaled=True, d_k=2) -> Figure:
    """A query that can be dragged among keys in the plane; the values are the keys.

    Args:
        query: (x, y), each between -3 and 3.
        similarity: "dot", "cosine" or "additive".
        scaled: whether the dot product is divided by the square root of d_k.
        d_k: number of features that the dot product stands for, a power of two up to 1024;
            None: the plain dot product of chapter 1, with nothing to divide by.
    Source: chapters 1 and 4.
    """
    is_plain = d_k is None
    if is_plain:
        scaled, d_k = False, 2
    state = {
        "query": list(query),
        "similarity": similarity,
        "scaled": scaled,
        "d_k": d_k,
    }
    words = ["cat", "dog", "bird", "stone", "idea"]
    keys = [[1.8, 1.4], [2.2, 0.4], [0.3, 2.0], [-1.8, 0.6], [-0.9, -1.9]]
    scores = torch.tensor([query]) @ torch.tensor(keys).T * math.sqrt(d_k / 2)
    scores = scores / math.sqrt(d_k) if scaled else scores
    weights = masked_softmax(scores)  # (1, keys)
    picture = matplotlib.figure.Figure(figsize=(3.2, 3.2), layout="constrained")
    axis = picture.subplots()
    axis.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
    for (x, y), word, weight in zip(keys, words, weights[0].tolist(), strict=True):
        axis.scatter(x, y, s=900 * weight + 5, alpha=0.5, color=POSITIVE)
        axis.annotate(f"{word} {weight:.2f}", (x, y), fontsize=8)
    axis.annotate(
        "", query, (0, 0), arrowprops={"arrowstyle": "-|>", "color": HUES["Q"]}
    )
    alt = (
        f"Five keys in the plane and a query at {query}; the area of each key is its weight, "
        "larger the more it points in the direction of the query."
    )
    data = {"words": words, "keys": keys, "plain": is_plain}
    tries = TRIES if is_plain else [*TRIES[1:], LARGE_AND_PLAIN]
    return Figure("attention.js", state, picture, alt, data, tries=tries)
