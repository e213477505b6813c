"""The Transformer in small pieces, one module per concept, in the order of the book."""

from importlib import import_module

from d2lmini.attention import MultiHeadAttention, scaled_dot_product_attention
from d2lmini.data import (
    Vocab,
    batches,
    encode,
    label_batches,
    load_data_nmt,
    normalise,
    read_labelled,
    read_pairs,
)
from d2lmini.generation import beam_search, greedy_search
from d2lmini.layers import AddNorm, PositionWiseFFN
from d2lmini.losses import masked_cross_entropy, seq2seq_loss, shift_right
from d2lmini.masks import causal_mask, masked_softmax, padding_mask
from d2lmini.positions import (
    LearnedPositionalEncoding,
    PositionalEncoding,
    sinusoidal_table,
)
from d2lmini.speed.batched_search import (
    at_random,
    beam_search_batch,
    generate,
    translate_all,
)
from d2lmini.support.devices import try_gpu
from d2lmini.tasks.classification import (
    AttentionPooling,
    Classifier,
    classification_accuracy,
    classification_loss,
    classify,
)
from d2lmini.training import evaluate, train, train_seq2seq, xavier_init
from d2lmini.transformer import (
    DecoderBlock,
    DecoderStack,
    EncoderBlock,
    EncoderDecoder,
    EncoderStack,
    TokenEmbedding,
    TransformerDecoder,
    TransformerEncoder,
)
from d2lmini.translation import bleu, corpus_bleu, predict_seq2seq

__version__ = "0.1.0"

# Loaded on first use: matplotlib takes ten times as long to import as all the rest.
PLOTS = (
    "show_curves", "show_flow", "show_heatmaps", "show_part", "show_square", "show_table",
    "show_transformer",
)  # fmt: skip
MODULES = {
    "bugs": "d2lmini.check.bugs", "check": "d2lmini.check", "figures": "d2lmini.figures"
}  # fmt: skip
__all__ = [
    *(n for n, value in globals().items() if getattr(value, "__module__", "")[:7] == "d2lmini"),
    *PLOTS,
]  # fmt: skip


def __getattr__(name):
    if name in MODULES:
        return import_module(MODULES[name])
    if name in PLOTS:
        return getattr(import_module("d2lmini.figures"), name)
    raise AttributeError(f"module 'd2lmini' has no attribute {name!r}")
