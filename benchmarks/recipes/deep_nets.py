"""Runs of chapter 7: how late deep stacks start to learn, and where their norms stand."""

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
    "rates": [
        {"net": net, "depth": depth, "eps": 1e-8, "lr": lr}
        for net, depth in (
            ("plain", 32),
            ("good start", 100),
            ("shortcuts", 100),
            ("post-norm", 100),
            ("pre-norm", 100),
        )
        for lr in (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03)
    ],
    "reversing": [
        {"net": "pre-norm"},
        {"net": "no norms"},
        *(
            {"net": "post-norm"} | other
            for other in ({}, {"warm": 40}, {"lr": 0.003}, {"depth": 2})
        ),
    ],
}
RECIPES = {
    "deep-nets": {"lr": 0.003, "steps": [*STEPS]},
    "rates": {"steps": [*STEPS[:4]]},
    "reversing": {"lr": 0.01, "depth": 12, "warm": 1, "batch_size": 32, "steps": 1200},
}


def run(seed, **setting):
    """Train one net of either experiment."""
    torch.set_num_threads(1)
    return (fit if "eps" in setting else reverse)(seed, **setting)


def fit(seed, net, depth, eps, lr=None):
    """Learn the chapter's function; the loss after so many steps."""
    chapter = from_chapter(
        CHAPTERS["addnorm"], "DeepNet", "points", "wanted", "learn", "last_losses",
        "good_start", "ResidualNet", "NormedNet",
    )  # fmt: skip
    makers = {
        "plain": chapter["DeepNet"],
        "good start": chapter["good_start"],
        "shortcuts": chapter["ResidualNet"],
        "post-norm": lambda depth: chapter["NormedNet"](depth, "post-norm"),
        "pre-norm": lambda depth: chapter["NormedNet"](depth, "pre-norm"),
    }
    torch.manual_seed(seed)
    steps = STEPS if lr is None else STEPS[:4]
    losses = chapter["learn"](makers[net](depth), steps[-1], lr or 0.003, eps)
    return {
        "seed": seed,
        "losses": [losses[n - 1] for n in steps],
        "constant": chapter["constant"].item(),
    }


def reverse(seed, net, depth=12, lr=0.01, warm=1):
    """Learn to reverse five digits; the losses, means of ten training steps."""
    chapter = from_chapter(CHAPTERS["addnorm"], "Block", "Reverser")
    torch.manual_seed(seed)
    reverser = chapter["Reverser"](net, depth)
    optimizer = torch.optim.Adam(reverser.parameters(), lr=lr)
    rise = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / warm)
    )
    losses = []
    for _ in range(RECIPES["reversing"]["steps"]):
        digits = torch.randint(8, (32, 5))
        scores = reverser(digits).flatten(0, 1)
        loss = F.cross_entropy(scores, digits.flip(1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rise.step()
        losses.append(loss.item())
    means = torch.tensor(losses).view(-1, 10).mean(1)
    return {"seed": seed, "losses": [round(loss, 4) for loss in means.tolist()]}
