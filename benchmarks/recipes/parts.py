"""Runs of chapter 7: what blocks learn without one of their parts."""

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.recipes.common import from_chapter
from d2lmini.support.chapters import CHAPTERS

EXPERIMENTS = {
    "parts": [
        {"without": part, "depth": depth}
        for depth in (2, 12)
        for part in ("nothing", "attention", "FFN", "shortcuts", "norms")
    ]
}
STEPS = 2000
RECIPES = {"parts": {"lr": 0.003, "batch_size": 64, "steps": STEPS}}


def run(seed, without, depth):
    """Learn to add each of five digits to its mirror image, mod 8; means of fifty losses."""
    torch.set_num_threads(1)
    chapter = from_chapter(CHAPTERS["addnorm"], "Block", "Reverser")

    class Without(chapter["Block"]):
        def wire(self, X, part, norm):
            if without == ("FFN" if part is self.ffn else "attention"):
                return X
            Y = part(X if without == "norms" else norm(X))
            return Y if without == "shortcuts" else X + Y

    chapter["Block"] = Without  # Reverser builds what stands here
    torch.manual_seed(seed)
    net = chapter["Reverser"]("pre-norm", depth)
    if without == "norms":
        net.last = nn.Identity()
    optimizer = torch.optim.Adam(net.parameters(), lr=RECIPES["parts"]["lr"])
    losses = []
    for _ in range(STEPS):
        digits = torch.randint(8, (RECIPES["parts"]["batch_size"], 5))
        sums = (digits + digits.flip(1)) % 8
        loss = F.cross_entropy(net(digits).flatten(0, 1), sums.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    means = torch.tensor(losses).view(-1, 50).mean(1)
    return {"seed": seed, "losses": [round(loss, 4) for loss in means.tolist()]}
