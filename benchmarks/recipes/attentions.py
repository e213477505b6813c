"""Runs of chapter 8: the small translator, its decoder trained without one of its attentions."""

import torch

from benchmarks.recipes.common import BATCH_SIZE, LR, NUM_STEPS, make_net, share_right
from d2lmini import load_data_nmt, read_pairs, train_seq2seq, try_gpu

SILENT = "neither", "self_attention", "cross_attention"
EXPERIMENTS = {
    "attentions": [{"silent": silent, "num_epochs": 30} for silent in SILENT],
}


def run(seed, silent, num_epochs):
    """Train with an attention of every decoder block silent; the share of test sentences right."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    train_iter, *vocabs = load_data_nmt(BATCH_SIZE, NUM_STEPS, None)
    net = make_net(*vocabs)
    for block in net.decoder.stack.blocks if silent != "neither" else ():
        matrix = getattr(block, silent).W_o.weight
        matrix.data.zero_()
        matrix.requires_grad_(False)
    train_seq2seq(net, train_iter, LR, num_epochs, vocabs[1], try_gpu())
    return {"seed": seed, "right": share_right(net, vocabs, read_pairs(split="test"))}
