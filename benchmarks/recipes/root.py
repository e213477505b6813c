"""Runs of chapter 4: what the root does to the start, and what to the steps."""

import math

import torch

from benchmarks.recipes.common import from_chapter
from d2lmini.support.chapters import CHAPTERS

ROOT = math.sqrt(128)
# divisors of the scores at the start, and of their changes
LAYERS = {
    "A both divided": (ROOT, ROOT),
    "B neither": (1, 1),
    "C start divided": (ROOT, 1),
    "D changes divided": (1, ROOT),
}
UPDATES = 150, 600, 1500, 4000
EXPERIMENTS = {
    "root": [
        {"layer": layer, "lr": lr, "updates": updates}
        for layer in LAYERS
        for lr in (0.001, 0.01)
        for updates in UPDATES
    ],
    # A fifth of the smaller rate, and up to five times the training steps
    "root-slow": [
        {"layer": layer, "lr": 0.0002, "updates": updates}
        for layer in ("A both divided", "B neither", "D changes divided")
        for updates in (4000, 20000)
    ],
}
CONSTANTS = {"d_k": 128, "words": 64, "batch_size": 32}
RECIPES = {name: CONSTANTS for name in EXPERIMENTS}


def run(seed, layer, lr, updates):
    """Train a layer to fetch the value of the word asked for.

    right: the mean weight on that word; stuck: how many of 64 questions give it less than half.
    """
    torch.set_num_threads(1)
    chapter = from_chapter(CHAPTERS["attention"], "Finder", "learn_to_find")
    torch.manual_seed(seed)
    finder = chapter["Finder"](*LAYERS[layer])
    right = chapter["learn_to_find"](finder, lr, updates)
    return {"seed": seed, "right": right, "stuck": stuck(finder)}


@torch.no_grad()
def stuck(finder, draws=50):
    """Count the questions with less than half of the weight on their word, among sixteen."""
    asked = torch.arange(64)[:, None]  # (questions, 1)
    weight = torch.zeros(64)
    for _ in range(draws):
        others = (asked + 1 + torch.rand(64, 63).argsort(dim=1)[:, :15]) % 64
        shown = torch.cat([asked, others], dim=1)  # (questions, 16)
        weight += finder(shown, asked)[:, 0].softmax(dim=-1)[:, 0] / draws
    return (weight < 0.5).sum().item()
