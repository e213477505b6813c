"""Tokens per second of the large setting, by one process or by those that torchrun starts."""

import functools
import sys
from itertools import islice

import torch

from benchmarks.captions import NUM_STEPS, read_splits
from benchmarks.speed import LARGE
from d2lmini import (
    EncoderDecoder,
    TransformerDecoder,
    TransformerEncoder,
    Vocab,
    encode,
    seq2seq_loss,
    train,
    try_gpu,
)
from d2lmini.data import cut_padding
from d2lmini.data.batches import batches
from d2lmini.team import is_first

NUM_BATCHES, NUM_EPOCHS = 4, 3


def main():
    """Print the tokens per second of each epoch but the first."""
    torch.manual_seed(0)
    vocabs, arrays = [], []
    for sentences in zip(*read_splits("multi30k")["train"], strict=True):
        vocabs.append(Vocab([*sentences], min_freq=2))
        arrays += encode([*sentences], vocabs[-1], NUM_STEPS)
    data = [*islice(batches(arrays, 128, cut_padding), NUM_BATCHES)]
    encoder = TransformerEncoder(len(vocabs[0]), *LARGE)
    net = EncoderDecoder(encoder, TransformerDecoder(len(vocabs[1]), *LARGE))
    loss = functools.partial(seq2seq_loss, bos=vocabs[1].bos)
    history = train(net, data, loss, 5e-4, NUM_EPOCHS, try_gpu(), unit="tokens")
    if is_first():
        print(*history.tokens_per_sec[1:])


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(main())
