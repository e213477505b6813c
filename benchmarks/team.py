"""Measure tokens per second in the large setting, with one process or under torchrun.

python -m benchmarks.team FILE writes the gradients of one batch of the small setting instead.
"""

import functools
import sys
from itertools import islice

import torch

from benchmarks.recipes.captions import NUM_STEPS, read_splits
from benchmarks.recipes.common import BATCH_SIZE, SIZES
from benchmarks.speed import LARGE
from d2lmini import (
    EncoderDecoder,
    TransformerDecoder,
    TransformerEncoder,
    Vocab,
    encode,
    load_data_nmt,
    seq2seq_loss,
    train,
    try_gpu,
)
from d2lmini.data import cut_padding
from d2lmini.data.batches import batches
from d2lmini.speed.distributed import is_first

NUM_BATCHES, NUM_EPOCHS = 4, 3


def main():
    """Print the tokens per second of each epoch except the first."""
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


def write_gradients(file):
    """Write the gradients of a batch split over all processes, without dropout, on rank 0."""
    torch.manual_seed(0)
    loader, *vocabs = load_data_nmt(BATCH_SIZE, 10)
    sizes = *SIZES, 2, 0.0  # layers, dropout
    encoder = TransformerEncoder(len(vocabs[0]), *sizes)
    net = EncoderDecoder(encoder, TransformerDecoder(len(vocabs[1]), *sizes))
    loss = functools.partial(seq2seq_loss, bos=vocabs[1].bos)
    batch = next(iter(loader))
    train(net, [batch], loss, 5e-4, 1, try_gpu(), unit="tokens")
    if is_first():
        torch.save([weight.grad.cpu() for weight in net.parameters()], file)


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(write_gradients(*sys.argv[1:]) if sys.argv[1:] else main())
