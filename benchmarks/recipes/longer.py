"""Runs of chapter 16: which word stood three places back, on sentences longer than in training."""

from functools import partial

import torch

from benchmarks.recipes.common import from_chapter
from d2lmini import LearnedPositionalEncoding, PositionalEncoding, causal_mask
from d2lmini.support.chapters import CHAPTERS

LENGTHS = [*range(4, 21), 55, 100]
STARTS = {"learned, random starts": 50, "sinusoidal, random starts": 50}
ADDED = "none", "learned", "sinusoidal", *STARTS, "rotary", "rotary, causal"
HANDS = "one hand of 0.3", "one hand of 1.0", "one hand of 0.03", "32 sines"
FADING = (
    "linear",
    "linear, decay",
    "linear, turned",
    "linear, turned, decay",
)
EXPERIMENTS = {
    "longer": [{"net": net, "batches": 400} for net in (*ADDED, *HANDS, *FADING)]
    + [
        {"net": net, "batches": 4000}
        for net in ("sinusoidal", "rotary", "rotary, causal", *FADING)
    ],
}
RECIPES = {"longer": {"lengths": LENGTHS, "sentences": 400}}


def causal(kind):
    """The same network, but no position looks ahead."""

    class OnlyBack(kind):
        def scores(self, Q, K):
            ahead = ~causal_mask(Q.shape[1])
            return super().scores(Q, K).masked_fill(ahead, float("-inf"))

    return OnlyBack


def run(seed, net, batches):
    """Train once; the share of right words at the last place, for each length."""
    torch.set_num_threads(1)
    chapter = from_chapter(
        CHAPTERS["long"],
        "LookBack",
        "trained",
        "Rotary",
        "Table",
        "hands",
        "fading_attention",
        "Fading",
    )
    look_back, width = chapter["LookBack"], chapter["WIDTH"]
    makers = {
        "none": partial(look_back, None),
        "learned": lambda: look_back(
            LearnedPositionalEncoding(width, 0.0, max_len=100)
        ),
        "sinusoidal": lambda: look_back(PositionalEncoding(width, 0.0)),
        "rotary": partial(chapter["Rotary"], None),
        "rotary, causal": partial(causal(chapter["Rotary"]), None),
        "linear": partial(chapter["Fading"], decays=(1.0,) * 2, turned=False),
        "linear, decay": partial(chapter["Fading"], decays=(0.8, 0.95), turned=False),
        "linear, turned": partial(chapter["Fading"], decays=(1.0,) * 2, turned=True),
        "linear, turned, decay": partial(
            chapter["Fading"], decays=(0.8, 0.95), turned=True
        ),
    }
    for name, rows in chapter["hands"]().items():
        makers[name] = lambda rows=rows: look_back(chapter["Table"](rows))
    make = makers[net.removesuffix(", random starts")]
    trained = chapter["trained"](make, seed, batches, STARTS.get(net, 1))
    back, found = chapter["BACK"], []
    for length in LENGTHS:
        tokens = torch.randint(chapter["NUM_WORDS"], (400, length))
        with torch.no_grad():
            guess = trained(tokens)[:, -1].argmax(-1)
        found.append((guess == tokens[:, -1 - back]).float().mean().item())
    return {"lengths": LENGTHS, "right": found}
