"""A bad call is refused where it is made, in words that name what is wrong.

A call is *clear* if it ends in a TypeError, a ValueError or an OSError of this package whose
message names the argument, its value or kind, and the rule; *silent* if it ends in no error;
*raw* if the error is one of PyTorch, of Python, or of a line that did not expect it.
"""

import functools
import re
import traceback
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import tiny_net
from torch import nn

import d2lmini
from d2lmini import *
from d2lmini import check
from d2lmini.data import cut_padding, find_paths, read_labelled, within_one_word
from d2lmini.data.buckets import buckets
from d2lmini.data.labelled import label_batches
from d2lmini.data.paths import path_windows, read_tracks
from d2lmini.data.square import simulate_paths
from d2lmini.data.subwords import Subwords, learn_merges
from d2lmini.tasks.classification import *
from d2lmini.tasks.trajectories import *
from d2lmini.tasks.translator import SubwordTranslator
from d2lmini.training import train_step, warmup
from d2lmini.translation import encode_source, ngrams

PACKAGE = Path(d2lmini.__file__).parent
CPU = torch.device("cpu")
X, SHORT, FLAT = torch.randn(2, 3, 8), torch.randn(1, 3, 8), torch.randn(3, 8)
WIDE, WHOLE = torch.randn(2, 3, 6), torch.ones(2, 3, 8).long()
ARRAY = np.ones((2, 3, 8))
IDS, LENS = torch.tensor([[4, 5, 3], [6, 3, 0]]), torch.tensor([3, 2])
LOGITS = torch.randn(2, 3, 13)
VOCAB = Vocab(["he is calm .", "she is here"])
ROW = IDS[:1], LENS[:1]
SEARCH = *ROW, 2, 3  # source, its length, <bos>, <eos>
PAST = torch.rand(2, 4, 2)  # metres
LONG = torch.zeros(2, 7, 2)  # a future of seven positions
FORECASTER = Forecaster(PathEncoder(4, 4, 2, 1, 0.1), 4, 3)
ANY = torch.ones(2, 3, dtype=torch.bool)
MAPS, BOX = np.ones((1, 1, 4, 4)), (0, 0, 1, 1, "text")
BLOCK = functools.cache(lambda: EncoderBlock(8, 16, 2, 0.0))
DECODER_BLOCK = functools.cache(lambda: DecoderBlock(8, 16, 2, 0.0))
ATTENTION = functools.cache(lambda: MultiHeadAttention(8, 2, 0.0))
NET = functools.cache(lambda: tiny_net(10, 10))
SUBWORDS = functools.cache(lambda: SubwordTranslator([], [], (8, 16, 2, 1, 0.1)))
LOSS = functools.partial(seq2seq_loss, bos=2)


def pairs():
    return batches([IDS, LENS, IDS, LENS], 2, cut_padding)


def fit(lr=0.01, num_epochs=1, device=CPU, net=None, data=None, loss=LOSS, **settings):
    """train with one argument wrong."""
    net, data = net or tiny_net(), pairs() if data is None else data
    return train(net, data, loss, lr, num_epochs, device, **settings)


def translate(text="he is", src=VOCAB, tgt=VOCAB, num_steps=4, device=CPU, beam=None):
    return predict_seq2seq(NET(), text, src, tgt, num_steps, device, beam)


def translate_many(sentences, batch_size=2):
    return translate_all(NET(), sentences, VOCAB, VOCAB, 4, CPU, batch_size=batch_size)


def maps(*labels, **settings):
    return show_heatmaps(MAPS, "keys", "queries", *labels, **settings)


def score(labels=IDS, lens=LENS, share=0.0):
    return masked_cross_entropy(LOGITS, labels, lens, share)


def fit_pairs(vocab, net=None, **settings):
    return train_seq2seq(net or tiny_net(), pairs(), 0.01, 1, vocab, CPU, **settings)


def reader(num_classes=2):
    return Classifier(NET().encoder, 8, num_classes, 0.1)


def rate(batch):
    return classification_accuracy(reader(), batch)


def classified(text, vocab=VOCAB, num_steps=4, device=CPU):
    return classify(reader(), text, vocab, num_steps, device)


# where, what the message has to name, what is wrong, the call
BAD = [
    # masks
    ("padding_mask", "valid_lens", "list", lambda: padding_mask([3, 2], 3)),
    ("padding_mask", "valid_lens", "floats", lambda: padding_mask(LENS.float(), 3)),
    ("padding_mask", "valid_lens", "booleans", lambda: padding_mask(LENS > 2, 3)),
    ("padding_mask", "valid_lens", "2-d", lambda: padding_mask(LENS[None], 3)),
    ("padding_mask", "valid_lens", "too long", lambda: padding_mask(LENS, 2)),
    ("padding_mask", "valid_lens", "negative", lambda: padding_mask(-LENS, 3)),
    ("padding_mask", "num_steps", "float", lambda: padding_mask(LENS, 3.5)),
    ("padding_mask", "valid_lens", "wrong order", lambda: padding_mask(3, LENS)),
    ("causal_mask", "num_queries", "shape", lambda: causal_mask((3, 3))),
    ("causal_mask", "num_keys", "too few", lambda: causal_mask(3, 2)),
    ("causal_mask", "device", "no such", lambda: causal_mask(3, 3, "gpu")),
    ("masked_softmax", "scores", "list", lambda: masked_softmax([0.0, 1.0])),
    ("masked_softmax", "scores", "integers", lambda: masked_softmax(IDS)),
    ("masked_softmax", "mask", "array", lambda: masked_softmax(X, ARRAY > 0)),
    ("masked_softmax", "mask", "shape", lambda: masked_softmax(X, ANY)),
    # positions
    ("sinusoidal_table", "num_steps", "zero", lambda: sinusoidal_table(0, 8)),
    ("sinusoidal_table", "num_hiddens", "odd", lambda: sinusoidal_table(9, 7)),
    ("PositionalEncoding", "num_hiddens", "odd", lambda: PositionalEncoding(7, 0.1)),
    ("PositionalEncoding", "dropout", "bool", lambda: PositionalEncoding(8, True)),
    ("PositionalEncoding", "max_len", "zero", lambda: PositionalEncoding(8, 0.1, 0)),
    ("PositionalEncoding", "start", "negative", lambda: PositionalEncoding(8, 0.0)(X, -2)),
    ("PositionalEncoding", "X", "integers", lambda: PositionalEncoding(8, 0.0)(WHOLE)),
    ("PositionalEncoding", "max_len", "long", lambda: PositionalEncoding(8, 0.0, 2)(X)),
    ("Learned...", "max_len", "negative", lambda: LearnedPositionalEncoding(8, 0.0, -1)),
    ("Learned...", "dropout", "too large", lambda: LearnedPositionalEncoding(8, 1.5)),
    ("Learned...", "X", "width", lambda: LearnedPositionalEncoding(8, 0.0)(WIDE)),
    ("Learned...", "start", "negative", lambda: LearnedPositionalEncoding(8, 0.0)(X, -1)),
    # attention
    ("scaled...", "keys", "width", lambda: scaled_dot_product_attention(X, WIDE, X)),
    ("scaled...", "values", "fewer", lambda: scaled_dot_product_attention(X, X, X[:, 1:])),
    ("scaled...", "queries", "integers", lambda: scaled_dot_product_attention(WHOLE, X, X)),
    ("scaled...", "mask", "lengths", lambda: scaled_dot_product_attention(X, X, X, LENS)),
    ("scaled...", "dropout", "large", lambda: scaled_dot_product_attention(X, X, X, None, 2)),
    ("MultiHeadAttention", "num_heads", "not fitting", lambda: MultiHeadAttention(8, 3, 0.1)),
    ("MultiHeadAttention", "dropout", "negative", lambda: MultiHeadAttention(8, 2, -0.1)),
    ("MultiHeadAttention", "dropout", "None", lambda: MultiHeadAttention(8, 2, None)),
    ("MultiHeadAttention", "bias", "number", lambda: MultiHeadAttention(8, 2, 0.1, 1)),
    ("MultiHeadAttention", "queries", "2-d", lambda: ATTENTION()(FLAT, X, X)),
    ("MultiHeadAttention", "keys", "width", lambda: ATTENTION()(X, WIDE, WIDE)),
    ("MultiHeadAttention", "keys", "batch", lambda: ATTENTION()(X, SHORT, SHORT)),
    ("MultiHeadAttention", "values", "None", lambda: ATTENTION()(X, X, None)),
    ("MultiHeadAttention", "mask", "(batch, steps)", lambda: ATTENTION()(X, X, X, ANY)),
    ("MultiHeadAttention", "mask", "as many sentences as heads", lambda: ATTENTION()(
        X[:2], X[:2], X[:2], torch.ones(2, 3, 3, dtype=torch.bool))),
    ("MultiHeadAttention", "attention_weights", "no pass",
     lambda: MultiHeadAttention(8, 2, 0.0).attention_weights),
    ("MultiHeadAttention", "dropout", "classic sizes",
     lambda: MultiHeadAttention(8, 8, 8, 8, 2, 0.5)),
    # layers
    ("PositionWiseFFN", "ffn_num_hiddens", "zero", lambda: PositionWiseFFN(8, 0)),
    ("PositionWiseFFN", "num_outputs", "dropout", lambda: PositionWiseFFN(8, 16, 0.1)),
    ("PositionWiseFFN", "X", "width", lambda: PositionWiseFFN(8, 16)(WIDE)),
    ("AddNorm", "num_hiddens", "classic shape", lambda: AddNorm([3, 8], 0.5)),
    ("AddNorm", "dropout", "text", lambda: AddNorm(8, "0.5")),
    ("AddNorm", "Y", "other shape", lambda: AddNorm(8, 0.0)(X, X[:, :1])),
    ("AddNorm", "Y", "a layer", lambda: AddNorm(8, 0.0)(X, nn.Identity())),
    ("AddNorm", "X", "integers", lambda: AddNorm(8, 0.0)(WHOLE, WHOLE)),
    # blocks and stacks
    ("EncoderBlock", "num_hiddens", "zero", lambda: EncoderBlock(0, 16, 2, 0.1)),
    ("EncoderBlock", "num_heads", "wrong order", lambda: EncoderBlock(8, 2, 16, 0.1)),
    ("EncoderBlock", "ffn_num_hiddens", "None", lambda: EncoderBlock(8, None, 2, 0.1)),
    ("EncoderBlock", "dropout", "layers there", lambda: EncoderBlock(8, 16, 2, 2)),
    ("EncoderBlock", "norm_shape", "classic sizes",
     lambda: EncoderBlock(8, 8, 8, 8, [3, 8], 8, 16, 2, 0.5)),
    ("EncoderBlock", "X", "ids", lambda: BLOCK()(IDS)),
    ("EncoderBlock", "mask", "classic lengths", lambda: BLOCK()(X, LENS)),
    ("DecoderBlock", "X", "width", lambda: DECODER_BLOCK()(WIDE, X)),
    ("DecoderBlock", "memory", "classic state", lambda: DECODER_BLOCK()(X, [X, LENS, [None]])),
    ("DecoderBlock", "mask", "lengths", lambda: DECODER_BLOCK()(X, X, LENS)),
    ("DecoderBlock", "cache", "True", lambda: DECODER_BLOCK()(X, X, None, True)),
    ("EncoderStack", "num_layers", "wrong order", lambda: EncoderStack(8, 16, 2, 0.1, 2)),
    ("EncoderStack", "X", "array", lambda: EncoderStack(8, 16, 2, 1, 0.1)(ARRAY)),
    ("DecoderStack", "num_layers", "zero", lambda: DecoderStack(8, 16, 2, 0, 0.1)),
    ("DecoderStack", "caches", "empty", lambda: DecoderStack(8, 16, 2, 1, 0.1)(X, X, None, [])),
    # whole nets
    ("TokenEmbedding", "vocab_size", "vocabulary", lambda: TokenEmbedding(VOCAB, 8, 0.1)),
    ("TokenEmbedding", "num_hiddens", "zero", lambda: TokenEmbedding(9, 0, 0.1)),
    ("TokenEmbedding", "tokens", "floats", lambda: TokenEmbedding(9, 8, 0.1)(IDS.float())),
    ("TokenEmbedding", "tokens", "without a row", lambda: TokenEmbedding(6, 8, 0.1)(IDS)),
    ("Encoder", "dropout", "too large", lambda: TransformerEncoder(9, 8, 16, 2, 1, 1.5)),
    ("Encoder", "num_layers", "bool", lambda: TransformerEncoder(9, 8, 16, 2, True, 0.1)),
    ("Encoder", "tokens", "array", lambda: NET().encoder(IDS.numpy(), LENS)),
    ("Encoder", "valid_lens", "mask", lambda: NET().encoder(IDS, padding_mask(LENS, 3))),
    ("Decoder", "vocab_size", "float", lambda: TransformerDecoder(9.0, 8, 16, 2, 1, 0.1)),
    ("Decoder", "memory", "lengths", lambda: NET().decoder(IDS, LENS)),
    ("Decoder", "mask", "lengths", lambda: NET().decoder(IDS, X, LENS)),
    ("Decoder", "caches", "classic", lambda: NET().decoder(IDS, X, None, [None, None])),
    ("EncoderDecoder", "encoder", "None", lambda: EncoderDecoder(None, NET().decoder)),
    ("EncoderDecoder", "decoder", "a class", lambda: EncoderDecoder(NET(), DecoderStack)),
    ("EncoderDecoder", "valid_lens", "one for two", lambda: NET()(IDS, IDS, LENS[:1])),
    ("EncoderDecoder", "memory", "rows", lambda: NET()(IDS[:1], IDS, LENS[:1])),
    # text and batches
    ("normalise", "sentence", "list", lambda: normalise(["He is", "calm"])),
    ("Vocab", "sentences", "None", lambda: Vocab(None)),
    ("Vocab", "min_freq", "classic tokens", lambda: Vocab(["he is"], ["<pad>", "<eos>"])),
    ("Vocab[]", "tokens", "number", lambda: VOCAB[3]),
    ("Vocab[]", "tokens", "ids", lambda: VOCAB[[3, 4]]),
    ("to_tokens", "ids", "too large", lambda: VOCAB.to_tokens([4, 99])),
    ("to_tokens", "ids", "one number", lambda: VOCAB.to_tokens(4)),
    ("encode", "sentences", "wrong order", lambda: encode(VOCAB, ["he is"], 4)),
    ("encode", "vocab", "dictionary", lambda: encode(["he is"], {"he": 4}, 4)),
    ("encode", "num_steps", "text", lambda: encode(["he is"], VOCAB, "4")),
    ("batches", "arrays", "empty", lambda: batches([], 2)),
    ("batches", "arrays", "unequal", lambda: batches([IDS, LENS[:1]], 2)),
    ("batches", "arrays", "NumPy", lambda: batches([IDS.numpy()], 2)),
    ("batches", "batch_size", "zero", lambda: batches([IDS, LENS], 0)),
    ("batches", "collate", "text", lambda: batches([IDS, LENS], 2, "cut")),
    ("cut_padding", "batch", "odd", lambda: cut_padding((IDS, LENS, IDS))),
    # files
    ("read_pairs", "num_examples", "float", lambda: read_pairs(num_examples=2.5)),
    ("read_pairs", "name", "unknown", lambda: read_pairs("eng-ger")),
    ("read_pairs", "name", "number", lambda: read_pairs(600)),
    ("read_pairs", "name", "None", lambda: read_pairs(None)),
    ("read_pairs", "name", "folder", lambda: read_pairs(PACKAGE)),
    ("read_pairs", "UTF-8", "no text", lambda: read_pairs(__import__("sys").executable)),
    ("read_pairs", "line 1", "no pairs", lambda: read_pairs(__file__)),
    ("read_pairs", "split", "unknown", lambda: read_pairs(split="dev")),
    ("read_pairs", "split", "number", lambda: read_pairs("eng-fra-mini", 600)),
    ("read_pairs", "split", "list", lambda: read_pairs(split=["train", "val"])),
    ("load_data_nmt", "batch_size", "zero", lambda: load_data_nmt(0, 5, 9)),
    ("load_data_nmt", "num_steps", "negative", lambda: load_data_nmt(2, -5, 9)),
    ("load_data_nmt", "num_examples", "name there", lambda: load_data_nmt(2, 5, "fra-eng")),
    ("load_data_nmt", "min_freq", "float", lambda: load_data_nmt(2, 5, 9, min_freq=1.5)),
    ("read_labelled", "name", "pairs", lambda: read_labelled("eng-fra-mini")),
    ("read_labelled", "split", "dev", lambda: read_labelled(split="dev")),
    ("read_labelled", "num_examples", "float", lambda: read_labelled(num_examples=0.5)),
    ("buckets", "lengths", "floats", lambda: buckets([IDS, LENS], LENS / 2, 2)),
    ("buckets", "batch_size", "zero", lambda: buckets([IDS, LENS], LENS, 0)),
    ("learn_merges", "sentences", "one string", lambda: learn_merges("he is", 5)),
    ("learn_merges", "num_merges", "negative", lambda: learn_merges(["he is"], -1)),
    ("Subwords", "merges", "a number", lambda: Subwords(5)),
    ("split", "sentence", "a list", lambda: Subwords([]).split(["he"])),
    ("translate", "sentences", "one string", lambda: SUBWORDS().translate("he is")),
    ("load", "path", "None", lambda: SubwordTranslator.load(None)),
    ("save", "path", "None", lambda: SUBWORDS().save(None)),
    ("save", "about", "a set", lambda: SUBWORDS().save("none", licence={"MIT"})),
    ("save", "about", "no number", lambda: SUBWORDS().save("none", loss=float("nan"))),
    # classification
    ("AttentionPooling", "num_hiddens", "zero", lambda: AttentionPooling(0)),
    ("AttentionPooling", "X", "2-d", lambda: AttentionPooling(4)(torch.ones(2, 4))),
    ("AttentionPooling", "mask", "lengths", lambda: AttentionPooling(4)(torch.ones(2, 3, 4), LENS)),
    ("Classifier", "encoder", "a class", lambda: Classifier(TransformerEncoder, 8, 2, 0.1)),
    ("Classifier", "num_classes", "zero", lambda: reader(num_classes=0)),
    ("loss", "batch", "two parts", lambda: classification_loss(reader(), (IDS, LENS))),
    ("loss", "labels", "floats", lambda: classification_loss(reader(), (IDS, LENS, LENS / 2))),
    ("loss", "labels", "too large", lambda: classification_loss(reader(), (IDS, LENS, LENS + 2))),
    ("accuracy", "labels", "too few", lambda: rate((IDS, LENS, LENS[:1]))),
    ("classify", "text", "unknown words", lambda: classified("xyzzy plugh")),
    ("classify", "text", "a list", lambda: classified(["he is"])),
    ("classify", "num_steps", "zero", lambda: classified("he is", num_steps=0)),
    ("classify", "num_steps", "one", lambda: classified("he is", num_steps=1)),
    ("classify", "vocab", "None", lambda: classified("he is", vocab=None)),
    ("classify", "device", "unknown", lambda: classified("he is", device="abacus")),
    # trajectories
    ("constant_velocity", "past", "one point", lambda: constant_velocity(PAST[:, :1], 3)),
    ("constant_velocity", "past", "NaN", lambda: constant_velocity(0 / (0 * PAST), 3)),
    ("constant_velocity", "past", "infinite", lambda: constant_velocity(PAST / 0, 3)),
    ("constant_velocity", "num_steps", "zero", lambda: constant_velocity(PAST, 0)),
    ("motion_features", "past", "integers", lambda: motion_features(PAST.long())),
    ("displacement_errors", "predicted", "3-d", lambda: displacement_errors(MAPS[0], PAST)),
    ("steps_between", "future", "NaN", lambda: steps_between(PAST, 0 * PAST / 0)),
    ("displacement_errors", "future", "NaN", lambda: displacement_errors(PAST, 0 * PAST / 0)),
    ("roll_out", "net", "a class", lambda: roll_out(PathEncoder, PAST, 3)),
    ("roll_out", "num_steps", "float", lambda: roll_out(PathEncoder(4, 4, 2, 1, 0.1), PAST, 2.5)),
    ("Forecaster", "encoder", "a class", lambda: Forecaster(PathEncoder, 4, 3)),
    ("Forecaster", "num_steps", "zero", lambda: Forecaster(PathEncoder(4, 4, 2, 1, 0.1), 4, 0)),
    ("gaussian_loss", "future", "NaN", lambda: gaussian_loss(PAST, PAST[..., 0], PAST / 0)),
    ("gaussian_loss", "log_sigmas", "two each", lambda: gaussian_loss(PAST, PAST, PAST)),
    ("forecasting_loss", "future", "longer", lambda: forecasting_loss(FORECASTER, (PAST, LONG))),
    ("coverage", "log_sigmas", "shorter", lambda: coverage(PAST, PAST[:, 1:, 0], PAST, 0.9)),
    ("coverage", "probability", "90", lambda: coverage(PAST, PAST[..., 0], PAST, 90)),
    ("simulate_paths", "num_paths", "zero", lambda: simulate_paths(0, 1)),
    ("simulate_paths", "seed", "negative", lambda: simulate_paths(5, -1)),
    ("read_tracks", "name", "pairs", lambda: read_tracks("fra-eng")),
    ("path_windows", "num_steps", "one", lambda: path_windows([], 1)),
    ("path_windows", "num_steps", "no tracks", lambda: path_windows([], 3)),
    ("show_square", "panels", "a tensor", lambda: show_square(PAST)),
    ("show_square", "past", "a batch", lambda: show_square({"a": (PAST, {})})),
    (
        "show_square",
        "futures",
        "a name without a line",
        lambda: show_square({"a": (PAST[0], {"guess": PAST[0]})}),
    ),
    ("find_paths", "name", "bytes", lambda: find_paths(b"fra-eng")),
    # losses
    ("cross_entropy", "logits", "order", lambda: masked_cross_entropy(IDS, LOGITS, LENS)),
    ("cross_entropy", "labels", "floats", lambda: score(X[..., 0])),
    ("cross_entropy", "labels", "no row", lambda: score(IDS + 9)),
    ("cross_entropy", "labels", "ignored", lambda: score(IDS - 104)),
    ("cross_entropy", "valid_lens", "none", lambda: score(IDS, 0 * LENS)),
    ("cross_entropy", "valid_lens", "one", lambda: score(IDS, LENS[:1])),
    ("cross_entropy", "label_smoothing", "1.5", lambda: score(share=1.5)),
    ("shift_right", "labels", "floats", lambda: shift_right(X[..., 0], 2)),
    ("shift_right", "bos", "None", lambda: shift_right(IDS, None)),
    ("seq2seq_loss", "batch", "two parts", lambda: seq2seq_loss(NET(), (IDS, LENS), 2)),
    ("TokenEmbedding", "tokens", "bytes", lambda: TokenEmbedding(9, 8, 0.1)(IDS.byte())),
    ("within_one_word", "sentences", "one string", lambda: within_one_word("he is", ["he"])),
    ("within_one_word", "training", "one string", lambda: within_one_word(["he is"], "he")),
    ("Subwords", "pair", "three pieces", lambda: Subwords([("a", "b", "c")])),
    ("label_batches", "label", "negative", lambda: label_batches([("he", -1)], VOCAB, 2, 4)),
    ("label_batches", "label", "a word", lambda: label_batches([("he", "good")], VOCAB, 2, 4)),
    ("label_batches", "texts", "strings", lambda: label_batches(["he", "is"], VOCAB, 2, 4)),
    # training
    ("warmup", "warmup_steps", "negative", lambda: warmup(-5)),
    ("xavier_init", "net", "None", lambda: xavier_init(None)),
    ("train", "batches", "one tensor", lambda: fit(data=IDS)),
    ("train", "batch", "two parts", lambda: fit(data=[IDS, LENS])),
    ("train", "batches", "empty", lambda: fit(data=[])),
    ("train", "lr", "text", lambda: fit("0.01")),
    ("train", "lr", "infinite", lambda: fit(float("inf"))),
    ("train", "num_epochs", "float", lambda: fit(num_epochs=2.5)),
    ("train", "device", "None", lambda: fit(device=None)),
    ("train", "loss", "None", lambda: fit(loss=None)),
    ("train", "loss", "a number", lambda: fit(loss=lambda net, batch: 1.5)),
    ("train", "warmup_steps", "negative", lambda: fit(warmup_steps=-5)),
    ("train", "val_batches", "generator", lambda: fit(val_batches=iter(pairs()))),
    ("train", "batch", "dictionaries", lambda: fit(data=[{"src": IDS}])),
    ("train", "batch", "lists inside", lambda: fit(data=[([1, 2], [3, 4])])),
    ("train", "tokens", "val ids", lambda: fit(val_batches=batches([IDS + 9, LENS, IDS, LENS], 2))),
    ("train", "loss", "no count", lambda: fit(loss=lambda *given: LOSS(*given)[0])),
    ("train", "loss", "a vector", lambda: fit(loss=lambda *given: (LOSS(*given)[0][None], 2))),
    ("train", "loss", "detached", lambda: fit(loss=lambda *given: (LOSS(*given)[0].detach(), 2))),
    ("train", "net", "no parameters", lambda: fit(net=nn.Identity())),
    ("evaluate", "loss", "no count", lambda: evaluate(NET(), pairs(), lambda *_: LENS[0], CPU)),
    ("train", "keep_best", "no val_batches", lambda: fit(keep_best=True)),
    ("train", "unit", "number", lambda: fit(unit=3)),
    ("train_step", "loss", "None", lambda: train_step(NET(), (IDS, LENS), None, None)),
    ("train_seq2seq", "label_smoothing", "2", lambda: fit_pairs(VOCAB, label_smoothing=2)),
    ("train_seq2seq", "tgt_vocab", "a list", lambda: fit_pairs(["he", "is"])),
    ("train_seq2seq", "tokens", "no row", lambda: fit_pairs(VOCAB, net=tiny_net(5, 5))),
    ("evaluate", "net", "None", lambda: evaluate(None, pairs(), LOSS, CPU)),
    ("evaluate", "device", "no such", lambda: evaluate(NET(), pairs(), LOSS, "gpu")),
    ("evaluate", "batches", "wrong order", lambda: evaluate(NET(), LOSS, pairs(), CPU)),
    ("try_gpu", "device", "classic number", lambda: try_gpu(0)),
    # generation
    ("greedy_search", "num_steps", "zero", lambda: greedy_search(NET(), *SEARCH, 0)),
    ("greedy_search", "src", "two rows", lambda: greedy_search(NET(), IDS, LENS, 2, 3, 4)),
    ("greedy_search", "bos", "its word", lambda: greedy_search(NET(), *ROW, "<bos>", 3, 4)),
    ("greedy_search", "eos", "no token", lambda: greedy_search(NET(), *ROW, 2, 99, 4)),
    ("generate", "choose", "None", lambda: generate(NET(), *SEARCH, 4, None)),
    ("beam_search", "beam_size", "zero", lambda: beam_search(NET(), *SEARCH, 4, 0)),
    ("beam_search", "beam_size", "huge", lambda: beam_search(NET(), *SEARCH, 4, 10**6)),
    ("beam_search", "num_steps", "zero", lambda: beam_search(NET(), *SEARCH, 0, 2)),
    ("beam_search", "src", "two rows", lambda: beam_search(NET(), IDS, LENS, 2, 3, 4, 2)),
    ("generate", "num_steps", "zero", lambda: generate(NET(), *SEARCH, 0)),
    ("generate", "src", "one row", lambda: generate(NET(), IDS[0], LENS, 2, 3, 4)),
    ("beam_search_batch", "beam_size", "zero", lambda: beam_search_batch(NET(), *SEARCH, 4, 0)),
    ("at_random", "temperature", "zero", lambda: at_random(0)),
    ("at_random", "top_k", "zero", lambda: at_random(top_k=0)),
    ("translate_all", "sentences", "one string", lambda: translate_many("he is")),
    ("translate_all", "sentences", "empty one", lambda: translate_many(["he is", " "])),
    ("translate_all", "batch_size", "zero", lambda: translate_many(["he is"], 0)),
    # translation
    ("predict_seq2seq", "beam_size", "classic True", lambda: translate(beam=True)),
    ("predict_seq2seq", "src_sentence", "list", lambda: translate(["he is"])),
    ("predict_seq2seq", "src_vocab", "list", lambda: translate(src=["he", "is"])),
    ("predict_seq2seq", "tgt_vocab", "None", lambda: translate(tgt=None)),
    ("predict_seq2seq", "src_vocab", "exchanged",
     lambda: predict_seq2seq(tiny_net(10, 4), "he", Vocab([]), VOCAB, 4, CPU)),
    ("predict_seq2seq", "tgt_vocab", "another", lambda: translate(tgt=Vocab([]))),
    ("translate_all", "src_vocab", "exchanged",
     lambda: translate_all(tiny_net(10, 4), ["he"], Vocab([]), VOCAB, 4, CPU)),
    ("predict_seq2seq", "num_steps", "zero", lambda: translate(num_steps=0)),
    ("predict_seq2seq", "device", "no such", lambda: translate(device="gpu")),
    ("predict_seq2seq", "net", "text", lambda: predict_seq2seq("net", "he", VOCAB, VOCAB, 4, CPU)),
    ("encode_source", "src_sentence", "ids", lambda: encode_source(IDS, VOCAB, 4, CPU)),
    ("ngrams", "tokens", "one string", lambda: ngrams("he is", 2)),
    ("ngrams", "n", "zero", lambda: ngrams(["he", "is"], 0)),
    ("bleu", "k", "zero", lambda: bleu("he is", "he is", 0)),
    ("bleu", "pred_seq", "words", lambda: bleu(["he", "is"], "he is", 2)),
    ("bleu", "label_seq", "empty", lambda: bleu("he is", "", 2)),
    ("corpus_bleu", "references", "lists of them", lambda: corpus_bleu(["he"], [["he"]])),
    ("corpus_bleu", "references", "no words", lambda: corpus_bleu(["he"], [""])),
    ("corpus_bleu", "references", "fewer", lambda: corpus_bleu(["he", "is"], ["he"])),
    ("corpus_bleu", "predictions", "empty", lambda: corpus_bleu([], [])),
    ("corpus_bleu", "k", "negative", lambda: corpus_bleu(["he"], ["he"], -1)),
    # properties
    ("causal", "block", "a class", lambda: check.causal(EncoderBlock, X)),
    ("causal", "X", "a list", lambda: check.causal(BLOCK(), [[1.0]])),
    ("padding_invariant", "valid_lens", "a list",
     lambda: check.padding_invariant(BLOCK(), X, [3, 2])),
    ("matches", "reference", "None", lambda: check.matches(BLOCK(), None, X)),
    ("rows_sum_to_one", "scores", "a list", lambda: check.rows_sum_to_one(masked_softmax, [0.0])),
    ("rows_sum_to_one", "mask", "numbers", lambda: check.rows_sum_to_one(masked_softmax, X, X)),
    ("report", "path", "a number", lambda: check.report(3)),
    # plots
    ("show_heatmaps", "matrices", "2-d", lambda: show_heatmaps(MAPS[0, 0], "k", "q")),
    ("show_heatmaps", "matrices", "words", lambda: show_heatmaps("maps", "k", "q")),
    ("show_heatmaps", "matrices", "empty", lambda: show_heatmaps(MAPS[:0], "k", "q")),
    ("show_heatmaps", "titles", "too few", lambda: maps([])),
    ("show_heatmaps", "titles", "string", lambda: maps("T")),
    ("show_heatmaps", "xticks", "classic cmap", lambda: maps(None, None, "Reds")),
    ("show_heatmaps", "yticks", "a number", lambda: maps(yticks=4)),
    ("show_heatmaps", "digits", "float", lambda: maps(digits=1.5)),
    ("show_curves", "curves", "list", lambda: show_curves([1, 2], [[3, 4]], "x", "y")),
    ("show_curves", "curves", "length", lambda: show_curves([1, 2], {"a": [3]}, "x", "y")),
    ("show_flow", "kind", "no such", lambda: show_flow({"a": (*BOX, "red")}, [], (2, 2))),
    ("show_flow", "boxes", "list", lambda: show_flow([(*BOX, "plain")], [], (2, 2))),
]  # fmt: skip


def judge(named, call):
    """("clear" | "raw" | "silent", what was said)."""
    try:
        call()
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error}"
        clear = (
            isinstance(error, TypeError | ValueError | OSError)
            and PACKAGE in Path(place.filename).parents
            and re.search(rf"\b{named}\b", said)
            and re.search(r"\bmust\b|\bneeds\b|\bexpected\b", said)
            and re.search(r"\(.+\)|\bgot\b|: ", str(error))
        )
        return "clear" if clear else "raw", f"{said} ({place.name})"
    return "silent", ""


# What is left to Python and PyTorch, and why.
RAW = {
    # Python counts the arguments before the first line runs.
    "MultiHeadAttention: dropout, classic sizes",
    "EncoderBlock: norm_shape, classic sizes",
    "try_gpu: device, classic number",
    # PyTorch lists the names of devices by itself.
    "causal_mask: device, no such",
    # Passed from step to step by a loop; nobody writes it by hand.
    "DecoderBlock: cache, True",
    "DecoderStack: caches, empty",
    "Decoder: caches, classic",
    "cut_padding: batch, odd",
    "train_step: loss, None",
    # Ids are checked once per data set (net_arguments.check_token_ids), not in each step.
    "cross_entropy: labels, no row",
    "cross_entropy: labels, ignored",
}


def name_of(where, named, what, call):
    return f"{where}: {named}, {what}"


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    monkeypatch.setenv("CI", "1")  # no progress bar


def test_a_bad_call_is_refused_clearly():
    wrong = []
    for case in BAD:
        verdict, said = judge(case[1], case[3])
        if verdict != ("raw" if name_of(*case) in RAW else "clear"):
            wrong.append(f"{name_of(*case)}: {verdict} {said}")
    assert not wrong, "\n".join(wrong)


def test_there_are_many_and_few_are_raw():
    names = [name_of(*case) for case in BAD]
    assert len(set(names)) == len(names) >= 133 and set(names) >= RAW and len(RAW) <= 12


def test_a_refused_training_has_changed_nothing():
    net = tiny_net()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    unknown = batches([IDS + 9, LENS, IDS, LENS], 2)  # without a row in the tables
    for call in (
        lambda: fit(net=net, warmup_steps=-5),
        lambda: fit(net=net, device="gpu"),
        lambda: fit(net=net, val_batches=unknown),
    ):
        assert judge("warmup_steps|device|tokens", call)[0] == "clear"
    assert all(torch.equal(before[name], t) for name, t in net.state_dict().items())
