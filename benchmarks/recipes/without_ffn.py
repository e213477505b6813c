"""Runs of chapter 6: translators that are trained with and without feed-forward networks."""

import torch
from torch import nn

from benchmarks.recipes.common import NUM_STEPS, held_out_bleu, make_net
from benchmarks.recipes.translator import fit, make_translator
from d2lmini import (
    load_data_nmt,
    normalise,
    read_pairs,
    train_seq2seq,
    try_gpu,
)

KINDS = [
    {"num_layers": 2, "ffn": "as usual"},
    {"num_layers": 2, "ffn": "none"},
    {
        "num_layers": 5,
        "ffn": "none",
    },  # on captions, as many parameters as two with FFNs
]
EXPERIMENTS = {
    "without-ffn-mini": [{"name": "eng-fra-mini"} | kind for kind in KINDS],
    "without-ffn": [{"name": "multi30k"} | kind for kind in KINDS],
}
TRAINING = {
    "label_smoothing": 0.1,
    "batch_size": 128,
    "lr": 0.003,
    "warmup_steps": 400,
    "num_epochs": 6,
}
RECIPES = {
    "without-ffn-mini": {"num_epochs": 30, "split": "val"},
    "without-ffn": {"num_merges": 4000, "split": "val"} | TRAINING,
}


class Nothing(nn.Module):
    """In place of an FFN: the block adds nothing, and only its norm is left."""

    def forward(self, X):
        return torch.zeros_like(X)


def remove_ffns(net):
    for block in [part for part in net.modules() if hasattr(part, "ffn")]:
        block.ffn = Nothing()


def run(seed, name, num_layers, ffn):
    """Train a translator of either corpus; the number of its parameters, and its scores."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    train = train_mini if name == "eng-fra-mini" else train_on_pieces
    net, found = train(num_layers, without=ffn == "none")
    parameters = sum(parameter.numel() for parameter in net.parameters())
    return {"seed": seed, "parameters": parameters} | found


def train_mini(num_layers, without):
    """Train a translator of eng-fra-mini; BLEU on the validation split."""
    train_iter, *vocabs = load_data_nmt(64, NUM_STEPS, None, "eng-fra-mini")
    net = make_net(*vocabs, num_layers)
    if without:
        remove_ffns(net)
    train_seq2seq(net, train_iter, 0.005, 30, vocabs[1], try_gpu())
    score, signature, _ = held_out_bleu(net, vocabs, read_pairs(split="val"))
    return net, {"bleu": score, "signature": signature}


def train_on_pieces(num_layers, without):
    """Train a translator of multi30k, German to English; BLEU on val by epoch."""
    pairs, val = (
        [(normalise(a), normalise(b)) for a, b in read_pairs("multi30k", split)]
        for split in ("train", "val")
    )
    translator = make_translator(pairs, 4000, (64, 256, 4, num_layers, 0.1))
    if without:
        remove_ffns(translator.net)
    sources, references = [german for german, _ in val], [[e] for _, e in val]
    curve = fit(translator, pairs, (sources, references), **TRAINING)
    return translator.net, {"curve": curve, "bleu": curve[-1]["val_bleu"]}
