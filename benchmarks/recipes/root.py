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
}
RECIPES = {"root": {"d_k": 128, "batch_size": 64}}


def run(seed, layer, lr, updates):
    """Train a layer to fetch the value of the word asked for; the weight on that word."""
    torch.set_num_threads(1)
    chapter = from_chapter(CHAPTERS["attention"], "Finder", "learn_to_find")
    torch.manual_seed(seed)
    finder = chapter["Finder"](*LAYERS[layer])
    return {"seed": seed, "right": chapter["learn_to_find"](finder, lr, updates)}
