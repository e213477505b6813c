"""Runs of chapter 9: the translator at several learning rates."""

import torch

from benchmarks.recipes.common import BATCH_SIZE, NUM_STEPS, make_net
from d2lmini import (
    load_data_nmt,
    normalise,
    read_pairs,
    train_seq2seq,
    translate_all,
    try_gpu,
)

RATES = 0.0017, 0.005, 0.015, 0.045
EXPERIMENTS = {"learning-rates": [{"num_epochs": 16, "lr": lr} for lr in RATES]}
RECIPES = {"learning-rates": {"batch_size": BATCH_SIZE, "split": "val"}}


def run(seed, num_epochs, lr):
    """The training loss of each epoch, and how many of 200 other sentences come out right."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    train_iter, *vocabs = load_data_nmt(BATCH_SIZE, NUM_STEPS, None, "eng-fra-mini")
    net, device = make_net(*vocabs), try_gpu()
    history = train_seq2seq(net, train_iter, lr, num_epochs, vocabs[1], device)
    english, french = zip(*read_pairs(split="val"), strict=True)
    said = translate_all(net, [*english], *vocabs, 2 * NUM_STEPS, device)
    right = sum(a == normalise(b) for a, b in zip(said, french, strict=True))
    losses = [round(loss, 4) for loss in history.loss]
    return {"seed": seed, "losses": losses, "right": right}
