"""The figure of a query that can be dragged among keys."""

import math

import torch

from d2lmini.figures.choices import check_between, check_one_of
from d2lmini.figures.colours import HUES, POSITIVE
from d2lmini.figures.stills import empty
from d2lmini.figures.widget import Figure
from d2lmini.masks import masked_softmax

MANY = 512  # features
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
    f"{MANY} features, undivided",
    {"d_k": MANY, "scaled": False},
    "One key takes it all. Switch the division on again, and the weights spread.",
)


def explore_attention(
    query=(1.0, 1.0), similarity="dot", scaled=True, d_k=2, brief=False
) -> Figure:
    """Show a query that can be dragged among keys in the plane; the values are the keys.

    Args:
        query: (x, y), each between -3 and 3.
        similarity: "dot", "cosine" or "additive".
        scaled: whether the dot product is divided by the square root of d_k.
        d_k: number of features that the dot product represents, a power of two up to 1024;
            None: the plain dot product of chapter 1, with nothing to divide by.
        brief: show the plane, scores and weights alone.
    Raises:
        ValueError: an argument is none of these.
    Source: chapters 1 and 4.
    """
    for coordinate in query:
        check_between("query", coordinate, -3, 3)
    check_one_of("similarity", similarity, ("dot", "cosine", "additive"))
    check_one_of("d_k", d_k, (None, *(2**n for n in range(1, 11))))
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
    dots = (torch.tensor([query]) @ torch.tensor(keys).T)[0]
    picture, [axes] = empty(columns=1 if is_plain else 2)
    if is_plain:
        weights = masked_softmax(dots).tolist()
        plane(axes[0], query, keys, words, weights)
        alt = (
            f"Five keys in the plane and a query at {query}; the area of each key is its "
            "weight, larger the more it points in the direction of the query."
        )
    else:
        scores = dots * math.sqrt(MANY / 2)
        kinds = {"undivided": scores, f"divided by √{MANY}": scores / math.sqrt(MANY)}
        for axis, (title, scores) in zip(axes, kinds.items(), strict=True):
            axis.barh(words, masked_softmax(scores).tolist(), color=POSITIVE)
            axis.set_title(title, fontsize=11)
            axis.set(xlim=(0, 1.02), xticks=[0, 1])
            axis.tick_params(left=False, labelleft=axis is axes[0], labelsize=11)
            axis.invert_yaxis()
            axis.spines[["top", "right"]].set_visible(False)
        alt = (
            f"The weights of five keys from a dot product of {MANY} features. Undivided, "
            f"{words[0]} gets them all; divided by the square root, they spread."
        )
    data = {"words": words, "keys": keys, "plain": is_plain}
    tries = TRIES if is_plain else [*TRIES[1:], LARGE_AND_PLAIN]
    return Figure("attention.js", state, picture, alt, data, tries=tries, brief=brief)


def plane(axis, query, keys, words, weights):
    """Draw the query as an arrow, and each key as a disc whose size is its weight."""
    axis.axis("off")
    axis.set(xlim=(-3, 3), ylim=(-2.3, 2.7))
    for (x, y), word, weight in zip(keys, words, weights, strict=True):
        axis.scatter(x, y, s=5500 * weight + 30, color=POSITIVE, alpha=0.5, linewidth=0)
        axis.text(x, y, f"{word}\n{weight:.2f}", fontsize=12, ha="center", va="center")
    arrow = {"arrowstyle": "-|>", "linewidth": 4, "mutation_scale": 25}
    axis.annotate("", query, (0, 0), arrowprops=arrow | {"color": HUES["Q"]})
