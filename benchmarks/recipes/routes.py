"""Runs of chapter 14: by which route a particle reaches the verb, in other networks."""

import torch

from benchmarks.recipes.common import from_chapter
from d2lmini import train, try_gpu
from d2lmini.support.chapters import CHAPTERS

TRAINING = {"lr": 0.004, "warmup_steps": 150}  # as in the chapter
EXPERIMENTS = {
    "routes": [{"name": "deu-eng-mini", "epochs": epochs} for epochs in (10, 30)]
}
RECIPES = {"routes": TRAINING}


def run(seed, name, epochs):
    """Train the chapter's translator; block the routes of the particle, one after the other."""
    torch.set_num_threads(1)
    chapter = from_chapter(
        CHAPTERS["german"],
        "caption_batches",
        "make_translator",
        "halves",
        "preference",
        "by_route",
    )
    torch.manual_seed(seed)
    net, device = chapter["make_translator"](), try_gpu()
    batches, loss = chapter["train_iter"], chapter["loss"]
    train(net, batches, loss, num_epochs=epochs, device=device, **TRAINING)
    chapter["net"] = net.eval()  # which preference asks
    return chapter["by_route"]()
