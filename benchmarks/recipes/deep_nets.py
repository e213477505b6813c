"""Runs of chapter 7: when deep stacks learn, by wiring, Adam's epsilon and learning rate."""

import torch
from torch.nn import functional as F

from benchmarks.recipes.common import from_chapter
from d2lmini.support.chapters import CHAPTERS

STEPS = 60, 120, 300, 600, 1200, 2400
HUNDRED = {"depth": 100, "eps": 1e-8}
EXPERIMENTS = {
    "deep-nets": [
        {"net": "plain", "depth": depth, "eps": eps}
        for depth in (18, 32)
        for eps in (1e-8, 1e-20)
    ],
    # Shortcuts that turn the token at random, shrink it, or halve it
    "changed": [
        {"net": net, "depth": 32, "eps": 1e-8}
        for net in ("rotated", "times 0.8", "halved")
    ],
    "rates": [
        {"net": net, "depth": depth, "eps": 1e-8, "lr": lr}
        for net, depth in (
            ("good start", 100),
            ("shortcuts", 100),
            ("scaled shortcuts", 100),
            ("post-norm", 100),
            ("smaller additions", 100),
            ("pre-norm", 100),
        )
        for lr in (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03)
    ],
    # Post-norm, without what a layer adds to all points alike
    "rates-shared": [
        {"net": "shared part out", **HUNDRED, "lr": lr} for lr in (0.001, 0.003, 0.01)
    ],
    # Shortcuts, given more training steps, or with clipped gradients; post-norm with a warm-up
    "rates-more": [
        {"net": "post-norm", **HUNDRED, "lr": lr, "steps": 600, "warm": 300}
        for lr in (0.003, 0.01)
    ]
    + [
        {"net": "shortcuts", **HUNDRED, "lr": lr, **how}
        for how, rates in (
            ({"steps": 3000}, (0.0003, 0.001, 0.003)),
            ({"steps": 600, "clip": 1}, (0.0003, 0.001, 0.003, 0.01)),
        )
        for lr in rates
    ],
    # What was learned in 600 training steps, four times as long
    "rates-longer": [
        {"net": "post-norm", **HUNDRED, "lr": 0.003, "steps": 2400, "warm": 300},
        {"net": "post-norm", **HUNDRED, "lr": 0.001, "steps": 2400},
        {"net": "pre-norm", **HUNDRED, "lr": 0.01, "steps": 2400},
    ],
}
RECIPES = {
    "deep-nets": {"lr": 0.003, "steps": [*STEPS]},
    "changed": {"lr": 0.003, "steps": [*STEPS]},
    "rates": {"steps": [600]},
    "rates-shared": {"steps": [600]},
    "rates-more": {"losses": "after each hundred training steps"},
    "rates-longer": {"losses": "after each hundred training steps"},
}


def run(seed, net, depth, eps, lr=None, steps=None, **how):
    """Learn the chapter's function; the loss after so many steps.

    Args:
        lr: None for that of the chapter; runs at others take 600 training steps.
        steps: how many to take instead; the losses are then those after each hundred.
        how: clip, the largest norm of the gradient; or warm, over how many of the steps the
            rate rises to lr.
    """
    torch.set_num_threads(1)
    chapter = from_chapter(
        CHAPTERS["addnorm"], "DeepNet", "points", "wanted", "learn", "last_losses",
        "he_start", "ResidualNet", "NormedNet", "SharedOut",
    )  # fmt: skip

    class DividedPostNorm(chapter["DeepNet"]):
        """Post-norm, where each addition is divided by the root of the depth."""

        def forward(self, X):
            h = self.enter(X)
            for layer in self.layers:
                added = layer(torch.relu(h)) / len(self.layers) ** 0.5
                h = F.layer_norm(h + added, (16,))
            return self.leave(h)[..., 0]

    class ScaledNet(chapter["DeepNet"]):
        """Shortcuts without norms; each addition is divided by the root of the depth."""

        def forward(self, X):
            h = self.enter(X)
            for layer in self.layers:
                h = h + layer(torch.relu(h)) / len(self.layers) ** 0.5
            return self.leave(h)[..., 0]

    class ChangedNet(chapter["DeepNet"]):
        """Shortcuts that turn the token at random, or make it so many times as large."""

        def __init__(self, depth, factor=1.0, turned=False):
            super().__init__(depth)
            self.shortcuts = [factor * torch.eye(16) for _ in range(depth)]
            if turned:
                for shortcut in self.shortcuts:
                    R, _ = torch.linalg.qr(torch.randn(16, 16))
                    R[:, 0] *= torch.linalg.det(R)  # no reflection
                    shortcut.copy_(factor * R)

        def forward(self, X):
            h = self.enter(X)
            for layer, R in zip(self.layers, self.shortcuts, strict=True):
                h = h @ R + layer(torch.relu(h))
            return self.leave(h)[..., 0]

    makers = {
        "plain": chapter["DeepNet"],
        "good start": chapter["he_start"],
        "shortcuts": chapter["ResidualNet"],
        "rotated": lambda depth: ChangedNet(depth, turned=True),
        "times 0.8": lambda depth: ChangedNet(depth, factor=0.8),
        "halved": lambda depth: ChangedNet(depth, factor=0.5),
        "scaled shortcuts": ScaledNet,
        "post-norm": lambda depth: chapter["NormedNet"](depth, "post-norm"),
        "smaller additions": DividedPostNorm,
        "shared part out": chapter["SharedOut"],
        "pre-norm": lambda depth: chapter["NormedNet"](depth, "pre-norm"),
    }
    torch.manual_seed(seed)
    after = STEPS if lr is None else (600,)
    if steps is not None:
        after = range(100, steps + 1, 100)
    made, lr = makers[net](depth), lr or 0.003
    if how:
        losses = learn_otherwise(chapter, made, after[-1], lr, **how)
    else:
        losses = chapter["learn"](made, after[-1], lr, eps)
    return {
        "seed": seed,
        "losses": [losses[n - 1] for n in after],
        "constant": chapter["constant"].item(),
    }


def learn_otherwise(chapter, net, num_steps, lr, clip=None, warm=None):
    """Learn as in the chapter, but clip the norm of the gradient, or warm up."""
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, fused=True)
    losses = []
    for step in range(num_steps):
        if warm is not None:
            optimizer.param_groups[0]["lr"] = lr * min(1, (step + 1) / warm)
        loss = F.mse_loss(net(chapter["points"]), chapter["wanted"])
        optimizer.zero_grad()
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    return losses
