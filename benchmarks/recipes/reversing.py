"""Runs of chapter 7: twelve blocks with norms before or after that reverse digits."""

import torch
from torch.nn import functional as F

from benchmarks.recipes.common import from_chapter
from d2lmini.support.chapters import CHAPTERS

EXPERIMENTS = {
    "reversing": [
        {"net": "pre-norm"},
        *(
            {"net": "post-norm"} | other
            for other in ({}, {"warm": 40}, {"lr": 0.003}, {"depth": 2})
        ),
    ],
}
RECIPES = {
    "reversing": {"lr": 0.01, "depth": 12, "warm": 1, "batch_size": 32, "steps": 1200},
}


def run(seed, net, depth=12, lr=0.01, warm=1):
    """Learn to reverse five digits; the losses, means of ten training steps."""
    torch.set_num_threads(1)
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
