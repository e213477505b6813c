"""Baselines for chapter 10's translator: the nearest sentence, a GRU with attention, and the
translator itself in 8 bits.
"""

import time

import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from torch import nn

from benchmarks.recipes.translator import (
    RECIPE,
    TRAINING,
    fit,
    make_translator,
    scores,
    split_pairs,
    tested,
)
from d2lmini import EncoderDecoder, scaled_dot_product_attention, try_gpu
from d2lmini.support.ledger import RESULTS
from d2lmini.tasks.translator import SubwordTranslator

EXPERIMENTS = {
    "fra-eng-nearest": [{"name": "fra-eng", "model": "nearest sentence"}],
    "fra-eng-gru": [
        {
            "name": "fra-eng",
            "model": "GRU with attention",
            "num_merges": 3880,
            "num_hiddens": 192,
        }
        | TRAINING,
    ],
    "fra-eng-8-bits": [{"name": "fra-eng", "model": "fra-eng-full.safetensors"}],
}
RECIPES = dict.fromkeys(EXPERIMENTS, RECIPE)


class GRUEncoder(nn.Module):
    """A forward and a backward GRU layer, each of half the width.

    Shapes: as for TransformerEncoder.
    """

    def __init__(self, embedding, dropout):
        super().__init__()
        self.embedding, self.dropout = embedding, nn.Dropout(dropout)
        width = embedding.weight.shape[1]
        self.gru = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)

    def forward(self, tokens, valid_lens):
        X = self.dropout(self.embedding(tokens))  # (batch, steps, num_hiddens)
        # Packed, so that the backward layer starts at the last real token.
        packed = nn.utils.rnn.pack_padded_sequence(
            X, valid_lens.cpu(), batch_first=True, enforce_sorted=False
        )
        outputs, _ = self.gru(packed)
        outputs, _ = nn.utils.rnn.pad_packed_sequence(
            outputs, batch_first=True, total_length=tokens.shape[1]
        )
        return self.dropout(outputs)  # (batch, steps, num_hiddens)


class GRUDecoder(nn.Module):
    """A GRU whose outputs are the queries; the encoder's outputs are keys and values.

    Shapes, Returns: as for TransformerDecoder; the cache is the state of the GRU.
    Source: Luong et al. 2015, section 3.
    """

    def __init__(self, embedding, dropout):
        super().__init__()
        self.embedding, self.dropout = embedding, nn.Dropout(dropout)
        vocab_size, width = embedding.weight.shape
        self.gru = nn.GRU(width, width, batch_first=True)
        self.W_first = nn.Linear(width, width)
        self.W_q = nn.Linear(width, width)
        self.W_o = nn.Linear(2 * width, width)
        self.output = nn.Linear(width, vocab_size)
        self.output.weight = embedding.weight

    def forward(self, tokens, memory, memory_mask, state=None):
        if state is None:  # begin with the mean of the encoder outputs
            # (batch, source steps, 1)
            real = memory_mask[:, 0, 0, :, None].to(memory.dtype)
            mean = (memory * real).sum(dim=1) / real.sum(dim=1)
            state = self.W_first(mean).tanh()[None]  # (1, batch, num_hiddens)
        Y, state = self.gru(self.dropout(self.embedding(tokens)), state)
        queries, keys = self.W_q(Y)[:, None], memory[:, None]  # one head
        found, _ = scaled_dot_product_attention(queries, keys, keys, memory_mask)
        Y = self.W_o(torch.cat([Y, found[:, 0]], dim=-1)).tanh()
        return self.output(self.dropout(Y)), state


def make_gru(vocab_size, num_hiddens, dropout):
    """Create both halves, with one table for both embeddings and the output matrix."""
    embedding = nn.Embedding(vocab_size, num_hiddens)
    nn.init.normal_(embedding.weight, std=num_hiddens**-0.5)
    return EncoderDecoder(
        GRUEncoder(embedding, dropout), GRUDecoder(embedding, dropout)
    )


def nearest(sentences, known):
    """For each sentence, find the known one that shares most words, weighted by rarity.

    Pairs of words count like words, so that word order matters.
    """
    table = TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, 2))
    of_known = table.fit_transform(known)
    similar = table.transform(sentences) @ of_known.T  # (sentences, known)
    return similar.toarray().argmax(axis=1).tolist()


def run(seed, name, model, **setting):
    """Train and test one of them; return the results as a dict for the ledger."""
    splits = split_pairs(name)
    sentences, references = [*splits["test"]], [*splits["test"].values()]
    if model.endswith(".safetensors"):
        return run_file(model, sentences, references)
    if model == "nearest sentence":
        known = [*splits["train"]]
        rows = nearest(sentences, known)
        translations = [splits["train"][known[row]][0] for row in rows]
        return {
            "greedy": scores(translations, references),
            "greedy_translations": translations,
        }
    return run_gru(seed, splits, **setting)


def run_gru(seed, splits, num_merges, num_hiddens, dropout, **training):
    """Train the translator of chapter 10 with a GRU on either side."""
    pairs = [(e, f) for e, french in splits["train"].items() for f in french]
    val, test = (([*splits[s]], [*splits[s].values()]) for s in ("val", "test"))
    start = time.perf_counter()
    torch.manual_seed(seed)
    translator = make_translator(pairs, num_merges, (8, 8, 1, 1, 0.0))  # for its pieces
    torch.manual_seed(seed)
    net = make_gru(len(translator.vocab), num_hiddens, dropout)
    translator.net = net.to(try_gpu())
    found = {
        "parameters": sum(p.numel() for p in net.parameters()),
        "curve": fit(translator, pairs, val, **training),
        "seconds": time.perf_counter() - start,
    }
    translations = translator.translate(test[0])
    return found | {
        "greedy": scores(translations, test[1]),
        "greedy_translations": translations,
    }


def run_file(name, sentences, references):
    """Test the weights in a file of results/; include every hundredth sentence for inspection."""
    translator = SubwordTranslator.load(RESULTS / name)
    found = tested(translator, sentences, references)
    columns = sentences, references, found["greedy_translations"]
    names = "source", "references", "translation"
    rows = [*zip(*columns, strict=True)][::100]
    examples = [dict(zip(names, row, strict=True)) for row in rows]
    return found | {"about": translator.about, "examples": examples}
