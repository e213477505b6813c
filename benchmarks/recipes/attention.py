"""Runs of chapters 16 and 15: the cost of attention by length, and additive attention."""

import ctypes
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.recipes.common import BATCH_SIZE, LR, NUM_STEPS, RECIPE, make_net
from benchmarks.recipes.translator import scores
from d2lmini import (
    MultiHeadAttention,
    causal_mask,
    load_data_nmt,
    masked_softmax,
    normalise,
    read_pairs,
    scaled_dot_product_attention,
    train_seq2seq,
    translate_all,
    try_gpu,
)
from d2lmini.efficient import linear_attention, windowed_attention

LENGTHS = [256, 512, 1024, 2048, 4096, 8192]
HEADS, HEAD_SIZE, WINDOW, PASSES = 4, 32, 128, 5
KINDS = {
    "plain": lambda Q, K, V: scaled_dot_product_attention(
        Q, K, V, causal_mask(Q.shape[2], K.shape[2], Q.device)
    )[0],
    "PyTorch's": lambda Q, K, V: F.scaled_dot_product_attention(
        Q, K, V, is_causal=True
    ),
    "window": lambda Q, K, V: windowed_attention(Q, K, V, WINDOW),
    "linear": linear_attention,
}
# The recipe of chapter 9's small translator; the cost is the best of this many passes.
RECIPES = {"additive": RECIPE, "attention-cost": {"lengths": LENGTHS, "passes": PASSES}}
EXPERIMENTS = {
    "attention-cost": [
        {"kind": kind, "heads": HEADS, "head_size": HEAD_SIZE, "window": WINDOW}
        for kind in KINDS
    ],
    "additive": [
        {"name": "eng-fra-mini", "heads": heads, "num_epochs": 30}
        for heads in ("dot product", "additive")
    ],
}


class LargestTensor(TorchDispatchMode):
    """Records the bytes of the largest tensor computed inside a with block."""

    def __init__(self):
        super().__init__()
        self.num_bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple) else (result,):
            if isinstance(tensor, torch.Tensor):
                self.num_bytes = max(self.num_bytes, tensor.untyped_storage().nbytes())
        return result


class AdditiveHeads(MultiHeadAttention):
    """Multi-head attention whose scores are v · tanh(q + k), one v per head.

    Source: Bahdanau et al. 2015; chapter 15.
    """

    def __init__(self, num_hiddens, num_heads, dropout):
        super().__init__(num_hiddens, num_heads, dropout)
        self.v = nn.Linear(num_hiddens // num_heads, num_heads, bias=False)

    def forward(self, queries, keys, values, mask=None, projected=False):
        Q = self.split_heads(self.W_q(queries))
        K, V = (keys, values) if projected else self.project(keys, values)
        sums = torch.tanh(Q[:, :, :, None] + K[:, :, None])
        # sums: (batch, heads, queries, keys, head_size)
        scores = torch.einsum("bhqkd,hd->bhqk", sums, self.v.weight)
        weights = masked_softmax(scores, mask)
        used = F.dropout(weights, self.dropout, self.training)
        return self.W_o((used @ V).transpose(1, 2).flatten(2))


def keep_memory():
    """Make glibc keep large freed blocks; return whether it does.

    Otherwise it returns them to the system and requests them again, which dominates the times.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, TypeError, OSError):  # another C library
        return False
    m_trim_threshold, m_mmap_max = -1, -4  # from malloc.h
    return bool(mallopt(m_mmap_max, 0) and mallopt(m_trim_threshold, -1))


def run_cost(seed, kind, heads, head_size, window):
    """Measure seconds and the largest tensor of one pass, by length."""
    generator, device = torch.Generator().manual_seed(seed), try_gpu()
    found = {"memory_kept": keep_memory(), "lengths": LENGTHS}
    found |= {"seconds_by_length": [], "bytes": []}
    for steps in LENGTHS:
        inputs = [
            torch.randn(1, heads, steps, head_size, generator=generator).to(device)
            for _ in range(3)
        ]
        with torch.no_grad(), LargestTensor() as largest:
            KINDS[kind](*inputs)
        times = []
        for _ in range(PASSES):
            start = time.perf_counter()
            with torch.no_grad():
                KINDS[kind](*inputs)[0, 0, 0, 0].item()  # waits for the device
            times.append(time.perf_counter() - start)
        found["seconds_by_length"].append(min(times))
        found["bytes"].append(largest.num_bytes)
    return found


def run_translator(seed, name, heads, num_epochs):
    """Train the translator of chapter 9, as it is or with additive scores in all attentions."""
    torch.manual_seed(seed)
    train_iter, *vocabs = load_data_nmt(BATCH_SIZE, NUM_STEPS, None, name)
    net = make_net(*vocabs)
    if heads == "additive":
        for block in (*net.encoder.stack.blocks, *net.decoder.stack.blocks):
            for part, module in [*block.named_children()]:
                if isinstance(module, MultiHeadAttention):
                    sizes = module.num_hiddens, module.num_heads, module.dropout
                    setattr(block, part, AdditiveHeads(*sizes))
    start = time.perf_counter()
    history = train_seq2seq(net, train_iter, LR, num_epochs, vocabs[1], try_gpu())
    seconds = time.perf_counter() - start
    english, french = zip(*read_pairs(name, split="test"), strict=True)
    translations = translate_all(net, [*english], *vocabs, 2 * NUM_STEPS, try_gpu())
    found = scores(translations, [[normalise(sentence)] for sentence in french])
    found |= {"seconds": seconds, "loss": history.loss.iloc[-1]}
    return found | {"translations": translations}


def run(seed, **setting):
    """Run one of the two experiments; return its results as a dict for the ledger."""
    return (run_cost if "kind" in setting else run_translator)(seed, **setting)
