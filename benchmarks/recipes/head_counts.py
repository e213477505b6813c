"""Runs of chapter 5: the translator of chapter 9 with one head, two, four and eight."""

import torch

from benchmarks.recipes.common import (
    BATCH_SIZE,
    DROPOUT,
    LR,
    NUM_STEPS,
    held_out_bleu,
    share_right,
)
from d2lmini import (
    EncoderDecoder,
    TransformerDecoder,
    TransformerEncoder,
    load_data_nmt,
    read_pairs,
    train_seq2seq,
    try_gpu,
)

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
    src_vocab, tgt_vocab = vocabs
    sizes = 32, 64, num_heads, 2, DROPOUT
    net = EncoderDecoder(
        TransformerEncoder(len(src_vocab), *sizes),
        TransformerDecoder(len(tgt_vocab), *sizes),
    )
    history = train_seq2seq(net, train_iter, LR, num_epochs, tgt_vocab, try_gpu())
    pairs = read_pairs(split="val")
    score, signature, _ = held_out_bleu(net, vocabs, pairs)
    return {
        "seed": seed,
        "loss": history.loss.iloc[-1],
        "bleu": score,
        "right": share_right(net, vocabs, pairs),
        "signature": signature,
    }
