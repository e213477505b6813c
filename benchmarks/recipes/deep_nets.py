"""Runs of chapter 7: how late deep stacks start to learn, by wiring and by Adam's epsilon."""

import torch
from torch.nn import functional as F

from benchmarks.recipes.common import from_chapter
from d2lmini.support.chapters import CHAPTERS

STEPS = 60, 120, 300, 600, 1200, 2400
EXPERIMENTS = {
    "deep-nets": [
        *(
            {"net": "plain", "depth": depth, "eps": eps}
            for depth in (18, 32)
            for eps in (1e-8, 1e-20)
        ),
        *(
            {"net": net, "depth": 100, "eps": 1e-8}
            for net in ("good start", "shortcuts", "post-norm", "pre-norm")
        ),
    ],
}
RECIPES = {"deep-nets": {"lr": 0.003, "steps": [*STEPS]}}


def run(seed, net, depth, eps):
    """Train one net; its loss after so many steps, and that of the best constant answer."""
    torch.set_num_threads(1)
    chapter = from_chapter(
        CHAPTERS["addnorm"], "DeepNet", "points", "train_together", "seeded",
        "final_losses", "good_start", "ResidualNet", "NormedNet",
    )  # fmt: skip
    makers = {
        "plain": chapter["DeepNet"],
        "good start": chapter["good_start"],
        "shortcuts": chapter["ResidualNet"],
        "post-norm": lambda depth: chapter["NormedNet"](depth, "post-norm"),
        "pre-norm": lambda depth: chapter["NormedNet"](depth, "pre-norm"),
    }
    torch.manual_seed(seed)
    nets = [makers[net](depth)]
    points, heights = (part[:1] for part in chapter["data"])
    losses = chapter["train_together"](
        nets, lambda: (points, heights), F.mse_loss, STEPS[-1], 0.003, eps=eps
    )
    return {
        "seed": seed,
        "losses": [losses[0, n - 1].item() for n in STEPS],
        "constant": chapter["constant"].item(),
    }
