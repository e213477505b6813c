"""The Transformer in small pieces, one module a concept, in the order of the book."""

from d2lmini.attention import MultiHeadAttention, scaled_dot_product_attention
from d2lmini.data import Vocab, batches, encode, load_data_nmt, normalise
from d2lmini.datasets import read_pairs
from d2lmini.layers import AddNorm, PositionWiseFFN
from d2lmini.masks import causal_mask, masked_softmax, padding_mask
from d2lmini.positions import (
    LearnedPositionalEncoding,
    PositionalEncoding,
    sinusoidal_table,
)
from d2lmini.training import (
    masked_cross_entropy,
    shift_right,
    train_seq2seq,
    try_gpu,
    xavier_init,
)
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
from d2lmini.translation import (
    beam_search,
    bleu,
    corpus_bleu,
    greedy_search,
    predict_seq2seq,
)

__version__ = "0.1.0"


def __getattr__(name):
    """Figures are loaded at first use: matplotlib takes ten times as long as all the rest."""
    if name in ("show_heatmaps", "show_curves", "show_flow"):
        from d2lmini import plots

        return getattr(plots, name)
    raise AttributeError(f"module 'd2lmini' has no attribute {name!r}")
