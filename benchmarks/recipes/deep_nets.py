"""Runs of chapter 7: when deep stacks learn, by wiring, Adam's epsilon and learning rate."""

import torch
from torch.nn import functional as F

from benchmarks.recipes.common import from_chapter
from d2lmini.support.chapters import CHAPTERS

STEPS = 60, 120, 300, 600, 1200, 2400
EXPERIMENTS = {
    "deep-nets": [
        {"net": "plain", "depth": depth, "eps": eps}
        for depth in (18, 32)
        for eps in (1e-8, 1e-20)
    ],
    "rates": [
        {"net": net, "depth": depth, "eps": 1e-8, "lr": lr}
        for net, depth in (
            ("plain", 32),
            ("good start", 100),
            ("idle start", 100),
            ("shortcuts", 100),
            ("silent start", 100),
            ("scaled shortcuts", 100),
            ("norm alone", 32),
            ("norm alone", 100),
            ("post-norm", 100),
            ("smaller additions", 100),
            ("smaller start", 100),
            ("smaller steps", 100),
            ("free path", 100),
            ("pre-norm", 100),
        )
        for lr in (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03)
    ],
}
RECIPES = {
    "deep-nets": {"lr": 0.003, "steps": [*STEPS]},
    "rates": {"steps": [600]},
}


def run(seed, net, depth, eps, lr=None):
    """Learn the chapter's function; the loss after so many steps.

    Args:
        lr: None for that of the chapter; runs at others take 600 training steps.
    """
    torch.set_num_threads(1)
    chapter = from_chapter(
        CHAPTERS["addnorm"], "DeepNet", "points", "wanted", "learn", "last_losses",
        "he_start", "identity_start", "zero_start", "ResidualNet", "ScaledNet",
        "NormedNet", "DirectLinesNet", "scaled",
    )  # fmt: skip

    class NormAlone(chapter["DeepNet"]):
        """Post-norm without the shortcuts."""

        def forward(self, X):
            h = self.enter(X)
            for layer in self.layers:
                h = F.layer_norm(layer(torch.relu(h)), (16,))
            return self.leave(h)[..., 0]

    def post_norm(depth, divide, factor):
        """Post-norm; divided additions make steps smaller, a factor the start larger."""
        return chapter["scaled"](
            chapter["NormedNet"](depth, "post-norm", divide), factor
        )

    makers = {
        "plain": chapter["DeepNet"],
        "good start": chapter["he_start"],
        "idle start": chapter["identity_start"],
        "shortcuts": chapter["ResidualNet"],
        "silent start": chapter["zero_start"],
        "scaled shortcuts": chapter["ScaledNet"],
        "norm alone": NormAlone,
        "post-norm": lambda depth: chapter["NormedNet"](depth, "post-norm"),
        "smaller additions": lambda depth: post_norm(depth, depth**0.5, 1),
        "smaller start": lambda depth: post_norm(depth, 1, depth**-0.5),
        "smaller steps": lambda depth: post_norm(depth, depth**0.5, depth**0.5),
        "free path": chapter["DirectLinesNet"],
        "pre-norm": lambda depth: chapter["NormedNet"](depth, "pre-norm"),
    }
    torch.manual_seed(seed)
    steps = STEPS if lr is None else (600,)
    losses = chapter["learn"](makers[net](depth), steps[-1], lr or 0.003, eps)
    return {
        "seed": seed,
        "losses": [losses[n - 1] for n in steps],
        "constant": chapter["constant"].item(),
    }
