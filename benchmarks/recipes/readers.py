"""Runs of chapter 5: what stands behind a head, and heads of other sizes."""

import torch
from torch import nn

from benchmarks.recipes.common import from_chapter
from d2lmini import scaled_dot_product_attention
from d2lmini.support.chapters import CHAPTERS

READERS = (
    "one head, then a matrix",
    "two heads, then a matrix",
    "one head, a matrix for pairs",
    "one head, a tanh, a matrix",
    "one head, a small network, a matrix",
    "one head, another layer of one, a matrix",
    "a layer norm behind",
    "a noun, an adjective",
)
SIZES = (1, 1, 300), (2, 1, 300), (1, 4, 300), (1, 1, 1000)
EXPERIMENTS = {
    "readers": [{"reader": reader} for reader in READERS],
    "head-sizes": [
        {"compares": compares, "carries": carries, "steps": steps}
        for compares, carries, steps in SIZES
    ],
}
RECIPES = {
    "readers": {"lr": 0.02, "batch_size": 128, "steps": 400},
    "head-sizes": {"lr": 0.02, "batch_size": 64, "heads": 8},
}


class SizedHeads(nn.Module):
    """Eight heads on words of eight features, with these sizes for keys and for values."""

    def __init__(self, compares, carries):
        super().__init__()
        self.W_q, self.W_k = (nn.Linear(8, 8 * compares, bias=False) for _ in range(2))
        self.W_v = nn.Linear(8, 8 * carries, bias=False)
        self.W_o = nn.Linear(8 * carries, 8)

    def forward(self, *inputs):
        projections = zip((self.W_q, self.W_k, self.W_v), inputs, strict=True)
        Q, K, V = (W(X).unflatten(2, (8, -1)).transpose(1, 2) for W, X in projections)
        output, _ = scaled_dot_product_attention(Q, K, V)
        return self.W_o(output.transpose(1, 2).flatten(2))


def run(seed, reader=None, **sizes):
    """Shares of words that a reader gets right, or the error of heads of these sizes."""
    torch.set_num_threads(1)
    if reader is None:
        steps = sizes.pop("steps")
        chapter = from_chapter(CHAPTERS["heads"], "learn_wishes")
        torch.manual_seed(seed)
        error = chapter["learn_wishes"](SizedHeads(**sizes), steps)
        return {"seed": seed, "error": error}
    chapter = from_chapter(
        CHAPTERS["heads"], "learn_wishes", "WordReader", "read_words"
    )
    torch.manual_seed(seed)  # what stands behind the head is made here
    both, first, second = chapter["read_words"](seed, **chapter["readers"][reader]())
    return {"seed": seed, "both": both, "first": first, "second": second}
