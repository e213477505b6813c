"""The figure of two sentences under a padding and a causal mask."""

import math

import torch

from d2lmini.figures.stills import panels
from d2lmini.figures.widget import Figure
from d2lmini.masks import causal_mask, masked_softmax, padding_mask

TRIES = [
    (
        "No masks",
        {"padding": False, "causal": False},
        "In the second sentence every word gives weight to <pad>; and every word of the first "
        "sees those that come later.",
    ),
    (
        "The causal mask alone",
        {"padding": False},
        "Padding stands at the end, in the future of each real word: their rows are as before. "
        "Only the rows of <pad> look at <pad>.",
    ),
    (
        "Nothing left",
        {"valid_lens": [4, 0]},
        "Every key of the second sentence is hidden. Its weights are zeros, by a rule of this "
        "chapter: a plain softmax would divide 0 by 0.",
    ),
]


def explore_masks(
    sentences=("the animal was tired", "it slept"), valid_lens=(4, 2), brief=False
) -> Figure:
    """Show two sentences under a padding and a causal mask.

    A score is the number of letters that two words have in common.

    Args:
        sentences: two, at most eight words each.
        valid_lens: the number of real words in each.
        brief: show the weights and the two switches alone, both off.
    Source: chapter 2.
    """
    state = {
        "sentences": list(sentences),
        "valid_lens": list(valid_lens),
        "padding": not brief,
        "causal": not brief,
    }
    steps = max(len(sentence.split()) for sentence in sentences)
    words = sentences[0].split()
    words += ["<pad>"] * (steps - len(words))
    scores = torch.tensor([[float(len({*q} & {*k})) for k in words] for q in words])
    mask = causal_mask(steps) & padding_mask(torch.tensor(valid_lens[:1]), steps)[0, 0]
    masked = scores.masked_fill(~mask, math.nan)
    picture = panels(
        [masked, masked_softmax(scores, mask)],
        ["masked scores", "weights"],
        words,
        words,
    )
    alt = (
        f"Two matrices for the sentence '{sentences[0]}': its scores, where what the masks "
        "hide is hatched, and the weights, which are zero there."
    )
    return Figure("masks.js", state, picture, alt, tries=TRIES, brief=brief)
