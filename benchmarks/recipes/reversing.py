"""Runs of chapter 7: blocks that reverse digits, by place of the norm and of the dropout."""

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
    "reversing-dropout": [
        {"net": net, "lr": 0.003, "depth": depth, "dropout": place}
        for net in ("post-norm", "pre-norm")
        for depth in (2, 12)
        for place in ("branch", "sum")
    ],
}
STEPS = 1200
RECIPES = {
    "reversing": {"lr": 0.01, "depth": 12, "warm": 1, "batch_size": 32, "steps": STEPS},
    "reversing-dropout": {"p": 0.1, "batch_size": 32, "steps": STEPS},
}


def run(seed, net, depth=12, lr=0.01, warm=1, dropout=None):
    """Learn to reverse five digits; the losses, means of ten training steps.

    Args:
        dropout: "branch" or "sum": where it strikes, and the loss without it is given, too.
    """
    torch.set_num_threads(1)
    chapter = from_chapter(CHAPTERS["addnorm"], "Block", "Reverser")

    class DroppingBlock(chapter["Block"]):
        def wire(self, X, part, norm):
            def drop(X):
                return F.dropout(X, RECIPES["reversing-dropout"]["p"], self.training)

            Y = part(norm(X) if self.kind == "pre-norm" else X)
            total = X + drop(Y) if dropout == "branch" else drop(X + Y)
            return norm(total) if self.kind == "post-norm" else total

    def draw(number):
        digits = torch.randint(8, (number, 5))
        return F.cross_entropy(reverser(digits).flatten(0, 1), digits.flip(1).flatten())

    if dropout:
        chapter["Block"] = DroppingBlock  # Reverser builds what stands here
    torch.manual_seed(seed)
    reverser = chapter["Reverser"](net, depth)
    optimizer = torch.optim.Adam(reverser.parameters(), lr=lr)
    rise = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / warm)
    )
    losses = []
    for _ in range(STEPS):
        loss = draw(32)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rise.step()
        losses.append(loss.item())
    means = torch.tensor(losses).view(-1, 10).mean(1)
    found = {"seed": seed, "losses": [round(loss, 4) for loss in means.tolist()]}
    if dropout:
        reverser.eval()
        with torch.no_grad():
            found["without_dropout"] = round(draw(2000).item(), 4)
    return found
