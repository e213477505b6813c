"""Runs of chapter 7: when deep stacks learn, by wiring, Adam's epsilon and learning rate."""

import torch
from torch import nn
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
            ("pre-norm", 100),
        )
        for lr in (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03)
    ],
    # Shortcuts, given more training steps, with clipped gradients, or divided once, at the exit;
    # post-norm, whose layers cannot write along the stream
    "rates-more": [
        {"net": net, **HUNDRED, "lr": lr, **how}
        for net, how, rates in (
            ("shortcuts", {"steps": 3000}, (0.0003, 0.001, 0.003)),
            ("shortcuts", {"steps": 600, "clip": 1}, (0.0003, 0.001, 0.003, 0.01)),
            ("right angles", {"steps": 600}, (0.001, 0.003, 0.01)),
            ("divided exit", {"steps": 600}, (0.001, 0.003, 0.01)),
        )
        for lr in rates
    ],
    # Post-norm at 0.003: from the first training step, warmed up, or after steps at 0.001
    "rates-warm": [
        {"net": "post-norm", **HUNDRED, "lr": 0.003, "steps": 600, **how}
        for how in (
            {},
            {"warm": 40},
            {"warm": 200},
            {"gentle": 40},
            {"gentle": 300},
            {"warm": 200, "steps": 2000},
        )
    ],
}
RECIPES = {
    "deep-nets": {"lr": 0.003, "steps": [*STEPS]},
    "changed": {"lr": 0.003, "steps": [*STEPS]},
    "rates": {"steps": [600]},
    "rates-more": {"losses": "after each hundred training steps"},
    "rates-warm": {"losses": "after each hundred training steps"},
}


def run(seed, net, depth, eps, lr=None, steps=None, **how):
    """Learn the chapter's function; the loss after so many steps.

    Args:
        lr: None for that of the chapter; runs at others take 600 training steps.
        steps: how many to take instead; the losses are then those after each hundred.
        how: changes the training; see learn_otherwise.
    """
    torch.set_num_threads(1)
    chapter = from_chapter(
        CHAPTERS["addnorm"], "DeepNet", "points", "wanted", "learn", "last_losses",
        "he_start", "ResidualNet", "NormedNet", "scaled",
    )  # fmt: skip

    def set_layers(net, set_weight):
        """A net whose layers start with these weights, and biases of zero."""
        for layer in net.layers:
            set_weight(layer.weight)
            nn.init.zeros_(layer.bias)
        return net

    class NormAlone(chapter["DeepNet"]):
        """Post-norm without the shortcuts."""

        def forward(self, X):
            h = self.enter(X)
            for layer in self.layers:
                h = F.layer_norm(layer(torch.relu(h)), (16,))
            return self.leave(h)[..., 0]

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

    def divided_exit(depth):
        """Shortcuts; what leaves the last layer is divided by 200, nothing else."""
        made = chapter["ResidualNet"](depth)
        made.leave.register_forward_pre_hook(lambda _, inputs: inputs[0] / 200)
        return made

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

    class RightAngles(chapter["DeepNet"]):
        """Post-norm, where each addition loses its part along the stream."""

        def forward(self, X):
            h = self.enter(X)
            for layer in self.layers:
                added = layer(torch.relu(h))
                length = h.square().sum(-1, keepdim=True)
                along = (added * h).sum(-1, keepdim=True) / length * h
                h = F.layer_norm(h + added - along, (16,))
            return self.leave(h)[..., 0]

    def post_norm(depth):
        return chapter["NormedNet"](depth, "post-norm")

    makers = {
        "plain": chapter["DeepNet"],
        "good start": chapter["he_start"],
        "idle start": lambda depth: set_layers(chapter["DeepNet"](depth), nn.init.eye_),
        "shortcuts": chapter["ResidualNet"],
        "rotated": lambda depth: ChangedNet(depth, turned=True),
        "times 0.8": lambda depth: ChangedNet(depth, factor=0.8),
        "halved": lambda depth: ChangedNet(depth, factor=0.5),
        "silent start": lambda depth: set_layers(
            chapter["ResidualNet"](depth), nn.init.zeros_
        ),
        "scaled shortcuts": ScaledNet,
        "norm alone": NormAlone,
        "post-norm": post_norm,
        "smaller additions": DividedPostNorm,
        "right angles": RightAngles,
        "divided exit": divided_exit,
        "smaller start": lambda depth: chapter["scaled"](post_norm(depth), depth**-0.5),
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


def learn_otherwise(chapter, net, num_steps, lr, warm=1, gentle=0, clip=float("inf")):
    """Learn as in the chapter, with one difference.

    Args:
        warm: training steps in which the rate rises to lr.
        gentle: training steps at a rate of 0.001, before the jump to lr.
        clip: the largest norm of the gradient.
    """
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, fused=True)
    losses = []
    for step in range(num_steps):
        rate = 0.001 if step < gentle else lr * min(1, (step + 1) / warm)
        optimizer.param_groups[0]["lr"] = rate
        loss = F.mse_loss(net(chapter["points"]), chapter["wanted"])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    return losses
