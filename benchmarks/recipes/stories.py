"""Runs of chapter 15: language models of the book's stories, of several kinds and sizes."""

import functools
import math
import time
from collections import Counter
from unittest import mock

import torch
from torch import nn

from benchmarks.recipes.common import up_and_down
from d2lmini import (
    EncoderStack,
    Vocab,
    causal_mask,
    encode,
    normalise,
    padding_mask,
    shift_right,
    try_gpu,
)
from d2lmini.data import cut_padding
from d2lmini.data.buckets import buckets
from d2lmini.data.texts import PRONOUNS, mistake_in, read_texts
from d2lmini.losses import next_token_loss
from d2lmini.modern import LanguageModel
from d2lmini.speed.batched_search import at_random, extend
from d2lmini.training import evaluate, train_epoch
from d2lmini.transformer import TokenEmbedding

RECIPE = {
    "sizes": [64, 128, 4],  # width, width of the network, heads
    "num_kv_heads": 2,
    "num_layers": 2,
    "max_len": 60,
    "batch_size": 32,
    "warmup_steps": 100,
    "num_epochs": 10,
    "stories": 300,  # to write
    "temperatures": [0.5, 1.0, 1.5],
}
READING = RECIPE | {"lr": 0.003, "hidden": 0.15}  # hidden: share of the words
SCALING = {key: RECIPE[key] for key in ("num_layers", "batch_size", "warmup_steps")}
SCALING |= {"ffn": "2 × width", "num_heads": 4, "num_kv_heads": 2}
RECIPES = {"stories": RECIPE, "reading": READING, "scaling": SCALING}
MAX_LEN, NUM_WRITTEN = RECIPE["max_len"], RECIPE["stories"]
EXPERIMENTS = {
    # Three rates for each network; counting pairs of words has none.
    "stories": [{"name": "stories-mini", "model": "the word before"}]
    + [
        {"name": "stories-mini", "model": model, "lr": lr}
        for lr in (0.003, 0.006, 0.012)
        for model in (
            "blocks of 2017",
            "blocks of today",
            "blocks of today, no positions",
        )
    ],
    # Who guesses a hidden word better? The same blocks, epochs and words; another mask and input.
    "reading": [
        {"name": "stories-mini", "sides": sides, "num_epochs": num_epochs}
        for num_epochs in (8, 14)
        for sides in ("left", "both sides")
    ],
    # Two rates for each width; and two of them three times as long.
    "scaling": [
        {"name": "stories-mini", "width": width, "lr": lr, "num_epochs": 10}
        for width in (8, 16, 32, 64, 128)
        for lr in ((0.01, 0.003) if width < 64 else (0.003, 0.001))
    ]
    + [
        {"name": "stories-mini", "width": width, "lr": 0.003, "num_epochs": 30}
        for width in (16, 64)
    ],
}


class OfTheEncoder(nn.Module):
    """A language model of the blocks of chapter 8: an encoder stack under a causal mask.

    Shapes: as for modern.LanguageModel; its cache is the text so far, which it reads again.
    """

    def __init__(self, vocab_size, num_hiddens, ffn_num_hiddens, num_heads, num_layers):
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, num_hiddens, dropout=0.0)
        self.stack = EncoderStack(
            num_hiddens, ffn_num_hiddens, num_heads, num_layers, 0.0
        )
        self.output = nn.Linear(num_hiddens, vocab_size)

    def forward(self, tokens, so_far=None):
        if so_far is not None:
            tokens = torch.cat([so_far, tokens], dim=1)
        steps = tokens.shape[1]
        mask = causal_mask(steps, steps, tokens.device)
        return self.output(self.stack(self.embedding(tokens), mask)), tokens


class WordBefore(nn.Module):
    """A bigram model, which counts which word follows which."""

    def __init__(self, tokens, valid_lens, bos, vocab_size):
        super().__init__()
        pairs = Counter()
        for row, length in zip(tokens.tolist(), valid_lens.tolist(), strict=True):
            pairs.update(zip([bos, *row], row[:length], strict=False))
        counts = torch.full((vocab_size, vocab_size), 0.1)  # nothing is impossible
        for (before, after), count in pairs.items():
            counts[before, after] += count
        self.register_buffer("logits", counts.log())

    def forward(self, tokens, caches=None):
        return self.logits[tokens], None


def answers_right(net, tokens, valid_lens, vocab):
    """The share of answers at the end of stories that get the largest logit."""
    with torch.no_grad():
        logits, _ = net(shift_right(tokens, vocab.bos))
    asked = tokens[:, :-1] == vocab["?"]  # the answer follows it
    right = logits[:, 1:][asked].argmax(-1) == tokens[:, 1:][asked]
    return right.float().mean().item()


def write(net, vocab, num_stories, choose):
    """Write stories from an empty prompt, as strings; cut those that do not end."""
    device = next(iter(net.state_dict().values())).device
    start = torch.full((num_stories, 1), vocab.bos, device=device)

    tokens, _ = extend(net, start, MAX_LEN - 1, choose, vocab.eos)
    texts = []
    for row in tokens[:, 1:].tolist():
        row = row[: row.index(vocab.eos)] if vocab.eos in row else row
        texts.append(" ".join(vocab.to_tokens(row)))
    return texts


def fit(
    net, loaders, loss, device, num_epochs=RECIPE["num_epochs"], lr=READING["lr"],
    warmup_steps=RECIPE["warmup_steps"],
):  # fmt: skip
    """Train with a rate that falls to 0; return the validation loss by epoch."""
    optimizer = torch.optim.Adam(net.parameters(), lr=lr, fused=True)
    steps = num_epochs * len(loaders["train"])
    schedule = up_and_down(optimizer, warmup_steps, steps)
    val_losses = []
    for _ in range(num_epochs):
        train_epoch(net.train(), loaders["train"], loss, optimizer, schedule, device)
        val_losses.append(round(evaluate(net, loaders["val"], loss, device), 4))
    return val_losses


def loss_of(vocab):
    """The loss of the next token, as the loops of training take it."""
    return functools.partial(next_token_loss, bos=vocab.bos)


def stories_of(name):
    """The vocabulary, and the arrays and batches of each split."""
    texts = {
        split: [normalise(t) for t in read_texts(name, split)]
        for split in ("train", "val", "test")
    }
    vocab = Vocab(texts["train"])
    arrays = {split: encode(texts[split], vocab, MAX_LEN) for split in texts}
    loaders = {
        split: buckets(data, data[1], RECIPE["batch_size"], cut_padding)
        for split, data in arrays.items()
    }
    return vocab, arrays, loaders


def hide(tokens, valid_lens, unk, generator):
    """The tokens with some words hidden, and where; never <eos> or padding."""
    chance = torch.rand(tokens.shape, generator=generator).to(tokens.device)
    words = (
        torch.arange(tokens.shape[1], device=tokens.device) < valid_lens[:, None] - 1
    )
    hidden = words & (chance < READING["hidden"])
    return tokens.masked_fill(hidden, unk), hidden


class BothSides(OfTheEncoder):
    """The same parameters under a padding mask: tokens and lengths to logits."""

    def forward(self, tokens, valid_lens):
        mask = padding_mask(valid_lens, tokens.shape[1])
        return self.output(self.stack(self.embedding(tokens), mask))


def run_reading(seed, name, sides, num_epochs):
    """Train on the next word or on hidden ones; guess the same hidden words of the test stories."""
    device = try_gpu()
    vocab, arrays, loaders = stories_of(name)
    generator = torch.Generator().manual_seed(seed)
    next_loss = loss_of(vocab)

    def hole_loss(net, batch):
        tokens, valid_lens = batch
        seen, hidden = hide(tokens, valid_lens, vocab.unk, generator)
        logits = net(seen, valid_lens)[hidden]
        return nn.functional.cross_entropy(logits, tokens[hidden]), hidden.sum()

    torch.manual_seed(seed)
    sizes = len(vocab), *RECIPE["sizes"], RECIPE["num_layers"]
    left = sides == "left"
    net = (OfTheEncoder if left else BothSides)(*sizes).to(device)
    fit(net, loaders, next_loss if left else hole_loss, device, num_epochs)
    tokens, lens = (array.to(device) for array in arrays["test"])
    fixed = torch.Generator().manual_seed(1)  # the same words for all
    seen, hidden = hide(tokens, lens, vocab.unk, fixed)
    with torch.no_grad():
        net.eval()
        logits = net(shift_right(tokens, vocab.bos))[0] if left else net(seen, lens)
    right = (logits.argmax(-1) == tokens)[hidden]
    return {"right": right.float().mean().item(), "hidden": int(hidden.sum())}


def nats_of(story):
    """Minus the log of a story's probability under the grammar (tools/corpora/make_stories_mini).

    Nothing is hidden in a story but who of the three people is never named.
    """
    sentences = normalise(story).removesuffix(" .").split(" . ")
    named = {word for sentence in sentences for word in sentence.split()} & {*PRONOUNS}
    groups = math.comb(8 - len(named), 3 - len(named)) / math.comb(8, 3)
    p = groups / (8 * 7) / 3**2  # the people; two things; their owners
    num_events = 0
    for i, sentence in enumerate(sentences[2:-2], start=2):
        words = sentence.split()
        if words[1] == "gives":
            p *= 0.7 / 2 / 2  # which thing, to whom
            happy = sentences[i + 1].endswith("is happy")
            p *= 0.4 if happy else 0.6
            num_events += 1
        elif words[1] == "goes":
            p *= 0.3 / 3 / 6 / 4  # who, where, what they do there
            num_events += 1
    return -math.log(p * {1: 1 / 4, 2: 1 / 2, 3: 1 / 4}[num_events] / 2)


def run_scaling(seed, name, width, lr, num_epochs):
    """Train one size of the blocks of today; return its losses beside the least possible one."""
    device = try_gpu()
    vocab, arrays, loaders = stories_of(name)
    loss = loss_of(vocab)
    torch.manual_seed(seed)
    sizes = len(vocab), width, 2 * width, 4, 2, RECIPE["num_layers"], MAX_LEN
    net = LanguageModel(*sizes).to(device)
    found = {"val_losses": fit(net, loaders, loss, device, num_epochs, lr)}
    found["parameters"] = sum(p.numel() for p in net.blocks.parameters())
    found["steps"] = num_epochs * len(loaders["train"])
    for split in ("train", "val", "test"):
        found[f"{split}_loss"] = evaluate(net, loaders[split], loss, device)
        nats = sum(map(nats_of, read_texts(name, split)))
        found[f"{split}_least"] = nats / arrays[split][1].sum().item()
    tokens, lens = (array.to(device) for array in arrays["test"])
    found["answers"] = answers_right(net.eval(), tokens, lens, vocab)
    generator = torch.Generator(device).manual_seed(seed)
    stories = write(net, vocab, NUM_WRITTEN, at_random(1.0, generator=generator))
    found["right_at_1.0"] = (
        sum(mistake_in(each) is None for each in stories) / NUM_WRITTEN
    )
    return found


def run(seed, **setting):
    """Train once; return the results as a dict for the ledger."""
    if "width" in setting:
        return run_scaling(seed, **setting)
    return (run_reading if "sides" in setting else run_writing)(seed, **setting)


def run_writing(seed, name, model, lr=None):
    """Train a model of a kind; return its loss, its answers, and what share it writes is true."""
    if model == "blocks of today, no positions":
        with mock.patch("d2lmini.modern.rotate", lambda X, start: X):
            return run_writing(seed, name, "blocks of today", lr)
    start, device = time.perf_counter(), try_gpu()
    vocab, arrays, loaders = stories_of(name)
    loss = loss_of(vocab)
    torch.manual_seed(seed)
    sizes, found = (len(vocab), *RECIPE["sizes"]), {}
    num_kv_heads, num_layers = RECIPE["num_kv_heads"], RECIPE["num_layers"]
    if model == "the word before":
        net = WordBefore(*arrays["train"], vocab.bos, len(vocab)).to(device)
    else:
        net = (
            LanguageModel(*sizes, num_kv_heads, num_layers, MAX_LEN)
            if model == "blocks of today"
            else OfTheEncoder(*sizes, num_layers)
        )
        found["val_losses"] = fit(net.to(device), loaders, loss, device, lr=lr)
        found["parameters"] = sum(p.numel() for p in net.parameters())
    found["seconds"] = time.perf_counter() - start
    found["loss"] = evaluate(net, loaders["test"], loss, device)
    tokens, lens = (array.to(device) for array in arrays["test"])
    found["answers"] = answers_right(net.eval(), tokens, lens, vocab)
    generator = torch.Generator(device).manual_seed(seed)
    for temperature in RECIPE["temperatures"]:
        choose = at_random(temperature, generator=generator)
        stories = write(net, vocab, NUM_WRITTEN, choose)
        true = sum(mistake_in(story) is None for story in stories)
        found[f"right_at_{temperature}"] = true / NUM_WRITTEN
    return found
