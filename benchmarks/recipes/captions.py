"""Runs of chapter 14: the book's captions, and Multi30k as in the source."""

import math
import re
import time

import sacrebleu
import torch
from torch import nn

from benchmarks.recipes.translator import fit, make_translator, scores, tested
from d2lmini import (
    EncoderDecoder,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    PositionWiseFFN,
    TransformerDecoder,
    TransformerEncoder,
    Vocab,
    corpus_bleu,
    encode,
    normalise,
    read_pairs,
    seq2seq_loss,
    train,
    translate_all,
    try_gpu,
    xavier_init,
)
from d2lmini.data import cut_padding
from d2lmini.data.buckets import buckets
from d2lmini.data.subwords import START
from d2lmini.tasks.translator import SubwordTranslator
from d2lmini.training import evaluate, train_epoch

NUM_STEPS = 50  # the longest caption has 46 tokens
SMALL = {
    "name": "multi30k",
    "model": "pieces",
    "num_merges": 6000,
    "sizes": [128, 256, 4, 2, 0.1],
    "is_tied": True,
    "label_smoothing": 0.0,
    "batch_size": 128,
    "lr": 0.003,
    "warmup_steps": 400,
    "num_epochs": 8,
    "precision": "bfloat16",
}
TUTORIAL = {  # as in the source
    "sizes": [256, 512, 8, 3, 0.1],
    "max_len": 100,
    "num_steps": NUM_STEPS,
    "batch_size": 128,
    "lr": 5e-4,
    "num_epochs": 10,
}
CHAPTER = {
    "sizes": [64, 128, 4, 2, 0.1],
    "max_len": 100,
    "num_steps": 26,
    "batch_size": 64,
    "lr": 0.002,
    "warmup_steps": 200,
    "num_epochs": 16,
}
PIECES = {"num_steps": NUM_STEPS, "min_freq": 2}
RECIPES = (
    {"deu-eng-mini": CHAPTER}
    | dict.fromkeys(["multi30k", "multi30k-source"], TUTORIAL)
    | dict.fromkeys(["multi30k-steps", "multi30k-wider", "multi30k-reversed"], PIECES)
)
EXPERIMENTS = {
    "deu-eng-mini": [
        {"name": "deu-eng-mini", "model": "small", "positions": positions}
        for positions in ("sinusoidal", "learned", "learned, Xavier")
    ],
    "multi30k": [{"name": "multi30k", "model": "source", "positions": "learned"}],
    "multi30k-source": [
        {
            "name": "multi30k",
            "model": "source",
            "positions": "learned",
            "is_exact": True,
        }
    ],
    # One change at a time; each row also reports beam search.
    "multi30k-steps": [
        SMALL | {"num_merges": None, "is_tied": False},
        SMALL | {"is_tied": False},
        SMALL,
        SMALL | {"label_smoothing": 0.1},
    ],
    # A wider and deeper net and, conversely, a tiny one.
    "multi30k-wider": [
        SMALL
        | {"sizes": [192, 384, 4, 3, 0.2], "label_smoothing": 0.1, "lr": 0.002}
        | {"num_epochs": 12}
    ],
    "multi30k-reversed": [
        SMALL
        | {"is_reversed": True, "num_merges": 10000, "sizes": [128, 256, 4, 4, 0.3]}
        | {"label_smoothing": 0.1, "lr": 0.004, "num_epochs": 40, "beam_size": 5}
    ],
}


def read_splits(name, is_reversed=False):
    """Read the normalised pairs of each split, in file order; swapped if is_reversed."""
    splits = {}
    for split in ("train", "val", "test"):
        pairs = [(normalise(a), normalise(b)) for a, b in read_pairs(name, split)]
        splits[split] = [pair[::-1] for pair in pairs] if is_reversed else pairs
    return splits


def vocabs_and_batches(splits, num_steps, batch_size):
    """A vocabulary per side, of words that occur twice; batches of each split, by length."""
    vocabs, data = [], {split: [] for split in splits}
    for side in (0, 1):
        sentences = {
            split: [pair[side] for pair in pairs] for split, pairs in splits.items()
        }
        vocabs.append(Vocab(sentences["train"], min_freq=2))
        for split in splits:
            data[split] += encode(sentences[split], vocabs[side], num_steps)
    loaders = {
        split: buckets(arrays, arrays[1] + arrays[3], batch_size, cut_padding)
        for split, arrays in data.items()
    }
    return vocabs, loaders


def make_source(vocabs, positions, is_exact=False):
    """Create the source's net, with sinusoidal or learned positions.

    Args:
        is_exact: whether to add what the source's blocks have and ours lack: biases in the
            attention, and dropout inside the feed-forward network.
    """
    sizes, max_len = TUTORIAL["sizes"], TUTORIAL["max_len"]
    width, dropout = sizes[0], sizes[-1]
    net = EncoderDecoder(
        TransformerEncoder(len(vocabs[0]), *sizes),
        TransformerDecoder(len(vocabs[1]), *sizes),
    )
    if positions == "learned":
        for side in (net.encoder, net.decoder):
            side.embedding.positions = LearnedPositionalEncoding(
                width, dropout, max_len
            )
    for module in [*net.modules()] if is_exact else []:
        if isinstance(module, MultiHeadAttention):
            for name in ("W_q", "W_k", "W_v", "W_o"):
                setattr(module, name, nn.Linear(width, width))
        if isinstance(module, PositionWiseFFN):
            module.dense2 = nn.Sequential(nn.Dropout(dropout), module.dense2)
    for parameter in net.parameters():  # including the tables
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    return net


def run_source(seed, splits, positions, is_exact=False):
    """Train by TUTORIAL, at a constant rate; keep the best weights on the validation pairs."""
    torch.manual_seed(seed)
    start, device = time.perf_counter(), try_gpu()
    vocabs, loaders = vocabs_and_batches(splits, NUM_STEPS, TUTORIAL["batch_size"])
    net = make_source(vocabs, positions, is_exact).to(device)
    optimizer = torch.optim.Adam(net.parameters(), TUTORIAL["lr"], fused=True)
    constant = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)

    def loss(net, batch):
        return seq2seq_loss(net, batch, vocabs[1].bos)

    curve, best = [], None
    for epoch in range(1, TUTORIAL["num_epochs"] + 1):
        nats, per_sec = train_epoch(
            net.train(), loaders["train"], loss, optimizer, constant, device
        )
        val = evaluate(net, loaders["val"], loss, device)
        curve.append({"loss": round(nats, 4), "val_loss": round(val, 4)})
        print(f"epoch {epoch}: {curve[-1]}, {per_sec:.0f} tokens/s", flush=True)
        if best is None or val < best[0]:
            best = (
                val,
                {name: tensor.clone() for name, tensor in net.state_dict().items()},
            )
    net.load_state_dict(best[1])
    found = {
        "vocab": [len(vocab) for vocab in vocabs],
        "parameters": sum(p.numel() for p in net.parameters()),
        "curve": curve,
        "seconds": time.perf_counter() - start,
    }
    with torch.no_grad():
        batch_means = [
            loss(net.eval(), [array.to(device) for array in batch])[0].item()
            for batch in loaders["test"]
        ]
    found["perplexity"] = math.exp(evaluate(net, loaders["test"], loss, device))
    # As in the source: the mean of batch means, whatever their lengths.
    found["perplexity_of_batches"] = math.exp(sum(batch_means) / len(batch_means))
    sources, references = map(list, zip(*splits["test"], strict=True))
    translations = translate_all(net, sources, *vocabs, NUM_STEPS, device)
    found["bleu_plain"] = corpus_bleu(translations, references)
    found |= scores(translations, [[reference] for reference in references])
    beam = translate_all(net, sources, *vocabs, NUM_STEPS, device, beam_size=4)
    found["bleu_beam"] = corpus_bleu(beam, references)
    return found | {"translations": translations, "beam_translations": beam}


def run_small(seed, splits, positions):
    """Train the net of chapter 14 on the captions of the book."""
    torch.manual_seed(seed)
    sizes, num_steps, device = CHAPTER["sizes"], CHAPTER["num_steps"], try_gpu()
    vocabs, loaders = vocabs_and_batches(splits, num_steps, CHAPTER["batch_size"])
    net = EncoderDecoder(
        TransformerEncoder(len(vocabs[0]), *sizes),
        TransformerDecoder(len(vocabs[1]), *sizes),
    )
    if positions != "sinusoidal":
        for side in (net.encoder, net.decoder):
            side.embedding.positions = LearnedPositionalEncoding(
                sizes[0], sizes[-1], CHAPTER["max_len"]
            )
    xavier_init(net)
    if positions == "learned, Xavier":
        for side in (net.encoder, net.decoder):
            nn.init.xavier_uniform_(side.embedding.positions.P)

    def loss(net, batch):
        return seq2seq_loss(net, batch, vocabs[1].bos)

    history = train(
        net, loaders["train"], loss, CHAPTER["lr"], CHAPTER["num_epochs"], device,
        warmup_steps=CHAPTER["warmup_steps"], val_batches=loaders["val"],
    )  # fmt: skip
    sources, references = map(list, zip(*splits["test"], strict=True))
    translations = translate_all(net, sources, *vocabs, num_steps, device)
    both = [*zip(translations, references, strict=True)]
    return {
        "parameters": sum(p.numel() for p in net.parameters()),
        "val_loss": history.val_loss.iloc[-1],
        "exact": sum(ours == theirs for ours, theirs in both),
        "bleu": corpus_bleu(translations, references),
        "translations": translations,
    }


class WholeWords:
    """A substitute for Subwords in which each word is one piece."""

    def split(self, sentence):
        """Return the words of a sentence as pieces."""
        return " ".join(START + word for word in sentence.split())


def make_words(pairs, sizes):
    """Like make_translator, but the pieces are whole words that occur twice."""
    words = WholeWords()
    texts = [words.split(text) for pair in pairs for text in pair]
    vocab = Vocab(texts, min_freq=PIECES["min_freq"])
    tokens = vocab.idx_to_token[len(vocab.reserved) :]
    translator = SubwordTranslator([], tokens, sizes, NUM_STEPS)
    translator.subwords = words
    return translator


def run_pieces(seed, splits, num_merges, sizes, beam_size=4, is_tied=True, **training):
    """Train a SubwordTranslator: joint pieces, one table, label smoothing, decaying rate.

    Args:
        num_merges: None for whole words.
        is_tied: False for three separate tables.
    """
    torch.manual_seed(seed)
    start = time.perf_counter()
    if num_merges is None:
        translator = make_words(splits["train"], sizes)
    else:
        translator = make_translator(splits["train"], num_merges, sizes)
    if not is_tied:
        decoder = translator.net.decoder
        for layer in (decoder.embedding.embedding, decoder.output):
            layer.weight = nn.Parameter(layer.weight.detach().clone())
    val, test = (
        ([source for source, _ in splits[s]], [[target] for _, target in splits[s]])
        for s in ("val", "test")
    )
    curve = fit(translator, splits["train"], val, **training)
    return {
        "parameters": sum(p.numel() for p in translator.net.parameters()),
        "curve": curve,
        "seconds": time.perf_counter() - start,
    } | tested(translator, *test, beam_size)


def printed_scores(translations, references):
    """sacreBLEU as usually reported: original references and its own tokenisation.

    Case is ignored, since our translations have no capitals.
    """
    together = [re.sub(r" ([.,!?;:])", r"\1", text) for text in translations]
    metric = sacrebleu.BLEU(lowercase=True)
    score = metric.corpus_score(together, [references]).score
    return {"bleu_printed": score, "signature_printed": str(metric.get_signature())}


def run(seed, name, model, is_reversed=False, **setting):
    """Train once and test once; return the results as a dict for the ledger."""
    found = RUNS[model](seed, read_splits(name, is_reversed), **setting)
    if model == "source":
        references = [english for _, english in read_pairs(name, "test")]
        found |= printed_scores(found["translations"], references)
    if model != "small":
        texts = found["translations" if model == "source" else "greedy_translations"]
        found["with_unk"] = sum("<unk>" in text for text in texts)
        if seed != 0:  # one run's translations are enough to read
            for key in ("translations", "greedy_translations", "beam_translations"):
                found.pop(key, None)
    return found


RUNS = {"small": run_small, "source": run_source, "pieces": run_pieces}
