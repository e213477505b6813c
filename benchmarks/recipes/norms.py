"""Runs of chapter 7: the translator of chapter 9 with batch instead of layer normalisation."""

import torch

from benchmarks.recipes.common import NUM_STEPS, held_out_bleu, make_net
from d2lmini import AddNorm, load_data_nmt, read_pairs, train_seq2seq, try_gpu
from d2lmini.check.bugs import BatchNormed

EXPERIMENTS = {
    "norms": [
        {"norm": norm, "lr": lr, "batch_size": batch_size}
        for lr, batch_size in ((0.005, 64), (0.001, 64), (0.001, 8))
        for norm in ("layer", "batch")
    ],
}
RECIPES = {"norms": {"num_epochs": 30, "split": "val"}}


def run(seed, norm, lr, batch_size):
    """Train a translator of eng-fra-mini; its last loss, and BLEU on the validation split."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    train_iter, *vocabs = load_data_nmt(batch_size, NUM_STEPS, None, "eng-fra-mini")
    net = make_net(*vocabs)
    if norm == "batch":
        for part in list(net.modules()):
            for name, child in part.named_children():
                if type(child) is AddNorm:
                    setattr(part, name, BatchNormed(child.num_hiddens, child.dropout.p))
    history = train_seq2seq(net, train_iter, lr, 30, vocabs[1], try_gpu())
    score, signature, _ = held_out_bleu(net, vocabs, read_pairs(split="val"))
    loss = history.loss.iloc[-1]
    return {"seed": seed, "loss": loss, "bleu": score, "signature": signature}
