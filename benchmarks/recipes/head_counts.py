"""Runs of chapter 5: the translator of chapter 9 with one head, two, four and eight."""

import torch

from benchmarks.recipes.common import (
    BATCH_SIZE,
    LR,
    NUM_STEPS,
    held_out_bleu,
    make_net,
    share_right,
)
from d2lmini import load_data_nmt, read_pairs, train_seq2seq, try_gpu

HEADS = 1, 2, 4, 8
EXPERIMENTS = {
    "head-counts": [{"num_heads": n} for n in HEADS]
    + [{"num_heads": n, "num_examples": 600, "num_epochs": 200} for n in HEADS]
}
RECIPES = {"head-counts": {"num_layers": 2, "split": "val"}}


def run(seed, num_heads, num_examples=None, num_epochs=30):
    """Train a translator of eng-fra-mini; BLEU, and the share of exact translations."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    train_iter, *vocabs = load_data_nmt(
        BATCH_SIZE, NUM_STEPS, num_examples, "eng-fra-mini"
    )
    net = make_net(*vocabs, num_heads=num_heads)
    history = train_seq2seq(net, train_iter, LR, num_epochs, vocabs[1], try_gpu())
    pairs = read_pairs(split="val")
    score, signature, _ = held_out_bleu(net, vocabs, pairs)
    return {
        "seed": seed,
        "loss": history.loss.iloc[-1],
        "bleu": score,
        "right": share_right(net, vocabs, pairs),
        "signature": signature,
    }
