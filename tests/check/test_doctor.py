"""The doctor on right language models, which it must not accuse, and on models with one fault each.

A fault counts as found if its examination does not hold, and as explained if the likely cause that
stands first names it.
"""

import copy
import functools
import json
import math
import re
from pathlib import Path

import pytest
import torch
from conftest import for_each
from faults import check_causes, check_found, seeded
from torch import nn
from torch.nn import functional as F

from d2lmini import check
from d2lmini.modern import LanguageModel

VOCAB, WIDTH, HEADS, LONGEST = 50, 32, 4, 32


def future_mask(faults, queries, keys, cached):
    """True = may attend, (queries, keys)."""
    ones = torch.ones(queries, keys, dtype=torch.bool)
    past = keys - queries
    if "no mask" in faults or (cached and "mask skipped with a cache" in faults):
        return ones
    if "inverted mask" in faults:
        return ~ones.tril(past - 1)
    if "mask not moved on" in faults:
        return ones.tril()
    if "window" in faults:
        return ones.tril(past) & ~ones.tril(past - 3)
    return ones.tril(past + ("mask off by one" in faults))


class Attention(nn.Module):
    def __init__(self, faults):
        super().__init__()
        self.faults = faults
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def weights(self, scores, mask):
        if "softmax before the mask" in self.faults:
            return scores.softmax(-1) * mask
        if "mask added as ones" in self.faults:
            return (scores + mask.to(scores.dtype)).softmax(-1)
        axis = -2 if "softmax over queries" in self.faults else -1
        return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(axis)

    def forward(self, X, cache):
        batch, steps, _ = X.shape
        if "heads by reshape" in self.faults:
            parts = (
                t.reshape(batch, HEADS, steps, -1) for t in self.qkv(X).chunk(3, -1)
            )
        else:
            parts = (
                t.view(batch, steps, HEADS, -1).transpose(1, 2)
                for t in self.qkv(X).chunk(3, -1)
            )
        Q, K, V = parts
        if cache is not None and "cache forgotten" not in self.faults:
            K, V = torch.cat([cache[0], K], 2), torch.cat([cache[1], V], 2)
        mask = future_mask(self.faults, steps, K.shape[2], cache is not None)
        weights = self.weights(Q @ K.mT / math.sqrt(Q.shape[-1]), mask)
        if "dropout always on" in self.faults:
            weights = F.dropout(weights, 0.1)
        Y = weights @ V
        if not {"heads by reshape", "heads not transposed back"} & {*self.faults}:
            Y = Y.transpose(1, 2)
        Y = Y.reshape(batch, steps, WIDTH)
        out = nn.Linear(WIDTH, WIDTH) if "fresh output" in self.faults else self.out
        Y = out(Y) * (0 if "attention lost" in self.faults else 1)
        return (Y.detach() if "detached" in self.faults else Y), (K, V)


class NormOverSteps(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, X):
        X = X - X.mean((1, 2), keepdim=True)
        return X / (X.std((1, 2), keepdim=True) + 1e-5) * self.scale


class BatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, X):
        return self.norm(X.mT).mT


class Block(nn.Module):
    def __init__(self, faults):
        super().__init__()
        norm = {"norm over steps": NormOverSteps, "batch norm": BatchNorm}
        (kind,) = [norm[fault] for fault in faults if fault in norm] or [
            lambda: nn.LayerNorm(WIDTH)
        ]
        self.faults, self.attention = faults, Attention(faults)
        self.norm1, self.norm2, self.dropout = kind(), kind(), nn.Dropout(0.1)
        self.ffn = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))
        if "a layer never used" in faults:
            self.spare = nn.Linear(WIDTH, WIDTH)

    def forward(self, X, cache):
        Y, cache = self.attention(self.norm1(X), cache)
        X = X + self.dropout(Y)
        X = X + self.dropout(self.ffn(self.norm2(X)))
        if "mean over the batch" in self.faults:
            X = X - X.mean(0, keepdim=True)
        if "mean over the steps" in self.faults:
            X = X + X.mean(1, keepdim=True)
        return X, cache


class GPT(nn.Module):
    """A small model with a cache, and the faults that are named."""

    def __init__(self, *faults):
        super().__init__()
        self.faults = faults
        self.tokens, self.positions = (
            nn.Embedding(VOCAB, WIDTH),
            nn.Embedding(LONGEST, WIDTH),
        )
        blocks = [Block(faults) for _ in range(2)]
        if "clones" in faults:
            blocks = [copy.deepcopy(blocks[0]) for _ in blocks]
        if "one layer twice" in faults:
            blocks = 2 * blocks[:1]
        self.blocks = blocks if "layers in a list" in faults else nn.ModuleList(blocks)
        self.norm, self.output = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.02)
        if "large start" in faults:
            nn.init.normal_(self.output.weight, std=2)
        if "all weights zero" in faults:
            for parameter in self.parameters():
                nn.init.zeros_(parameter)

    def embed(self, tokens, past):
        X, places = self.tokens(tokens), torch.arange(tokens.shape[1]) + past
        if "no positions" in self.faults:
            return X
        if "positions thrown away" in self.faults:
            X.add(self.positions(places))
            return X
        if "positions on the batch" in self.faults:
            return X + self.positions(torch.arange(len(tokens)))[:, None]
        if "positions from the end" in self.faults:
            places = places.flip(0)
        X = X + self.positions(places)
        return X / tokens.shape[1] if "scaled by the length" in self.faults else X

    def forward(self, tokens, caches=None):
        past = 0 if caches is None else caches[0][0].shape[2]
        X = self.embed(tokens, 0 if "cache without places" in self.faults else past)
        caches, new = caches or [None] * 2, []
        for block, cache in zip(self.blocks, caches, strict=True):
            X, cache = block(X, cache)
            new.append(cache)
        if "shifted twice" in self.faults:
            X = F.pad(X, (0, 0, 1, 0))[:, :-1]
        logits = self.output(self.norm(X))
        if "reads its labels" in self.faults:
            logits = logits + 5 * F.one_hot(tokens.roll(-1, 1), VOCAB)
        if "not a number" in self.faults:
            logits = logits + (0 * logits.sum() - 1).log()
        return logits, new


# fault -> (the examination that finds it, a word of the cause that must stand first)
FAULTS = {
    "no mask": ("future", "no causal mask"),
    "mask off by one": ("future", "off by one"),
    "inverted mask": ("future", "inverted"),
    "mask added as ones": ("future", "mask"),
    "softmax before the mask": ("future", "mask"),
    "softmax over queries": ("future", "softmax over the queries"),
    "heads not transposed back": ("future", "transposed"),
    "norm over steps": ("future", "norm"),
    "mean over the steps": ("future", "mean over the steps"),
    "reads its labels": ("future", "labels"),
    "heads by reshape": ("length", "heads"),
    "positions from the end": ("length", "positions counted from the end"),
    "scaled by the length": ("length", "scale by the length"),
    "batch norm": ("batch", "batch normalisation"),
    "mean over the batch": ("batch", "batch"),
    "positions on the batch": ("batch", "batch"),
    "no positions": ("parameters", "built and not used"),
    "positions thrown away": ("parameters", "thrown away"),
    "attention lost": ("past", "attention whose output is lost"),
    "shifted twice": ("past", "shifted twice"),
    "window": ("past", "window"),
    "dropout always on": ("eval mode", "dropout"),
    "fresh output": ("eval mode", "weights that are made anew"),
    "layers in a list": ("eval mode", "list"),
    "detached": ("parameters", "detached"),
    "a layer never used": ("parameters", "built and not used"),
    "clones": ("layers", "deepcopy of one layer"),
    "one layer twice": ("layers", "[layer] * N"),
    "large start": ("first loss", "start too large"),
    "all weights zero": ("by heart", "gradients"),
    "not a number": ("numbers", "not finite"),
    "cache forgotten": ("cache", "not used whole"),
    "cache without places": ("cache", "positions that start again"),
    "mask skipped with a cache": ("cache", "skipped"),
    "mask not moved on": ("cache", "mask"),
}


def through_pytorch(norm_first):
    """PyTorch's layers, with a mask and positions."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = (
                nn.Embedding(VOCAB, WIDTH),
                nn.Embedding(64, WIDTH),
            )
            layer = nn.TransformerEncoderLayer(
                WIDTH, HEADS, 64, batch_first=True, norm_first=norm_first
            )
            self.stack = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.output = nn.Linear(WIDTH, VOCAB)

        def forward(self, tokens):
            steps = tokens.shape[1]
            X = self.tokens(tokens) + self.positions(torch.arange(steps))
            mask = nn.Transformer.generate_square_subsequent_mask(steps, dtype=X.dtype)
            return self.output(self.stack(X, mask=mask, is_causal=True))

    return Model()


class Recurrent(nn.Module):
    """Reads (steps, batch), as PyTorch's recurrent layers do."""

    def __init__(self):
        super().__init__()
        self.tokens, self.gru = nn.Embedding(VOCAB, WIDTH), nn.GRU(WIDTH, 64)
        self.output = nn.Linear(64, VOCAB)

    def forward(self, tokens):
        return self.output(self.gru(self.tokens(tokens))[0])


RIGHT = {
    "with a cache": (GPT, {}),
    "of chapter 15": (lambda: LanguageModel(VOCAB, WIDTH, 64, HEADS, 2, 2, 64), {}),
    "of PyTorch": (lambda: through_pytorch(False), {}),
    "of PyTorch, pre-norm": (lambda: through_pytorch(True), {}),
    "recurrent, steps first": (Recurrent, {"batch_first": False}),
}


@functools.cache
def examined(name):
    return check.language_model(seeded(GPT, name), VOCAB)


@for_each(RIGHT)
def test_no_right_model_is_accused(name):
    make, told = RIGHT[name]
    report = check.language_model(seeded(make), VOCAB, **told)
    assert report, report
    # PyTorch's stack begins with copies of one layer: it is said, and no failure.
    warned = [found.name for found in report.findings if found.verdict == "warning"]
    assert warned == (["layers"] if "PyTorch" in name else [])


@for_each(FAULTS)
def test_a_fault_is_found(name):
    check_found(examined(name), FAULTS[name])


def test_the_cause_that_stands_first_is_the_right_one_in_four_of_five():
    check_causes(FAULTS, examined)


def test_a_leak_is_traced_to_the_part_where_it_begins():
    for fault, part in {
        "no mask": "blocks.0.attention (Attention)",
        "norm over steps": "blocks.0.norm1 (NormOverSteps)",
        "mean over the steps": "blocks.0 (Block)",
    }.items():
        report = check.language_model(seeded(GPT, fault), VOCAB)
        assert f"first in {part}." in report.findings[0].sentence


class Inverted(nn.Module):
    """Reads the padding in place of the text."""

    def __init__(self):
        super().__init__()
        self.net = GPT()

    def forward(self, tokens, attention_mask=None):
        hidden = 0 if attention_mask is None else attention_mask
        return self.net(tokens * (1 - hidden))[0]


def test_an_attention_mask_is_tried_where_there_is_one():
    report = check.language_model(seeded(Inverted), VOCAB)
    (found,) = (f for f in report.findings if f.name == "padding")
    assert found.verdict == "FAILS" and "on the right" in found.sentence
    (found,) = (f for f in examined("clones").findings if f.name == "padding")
    assert found.verdict == "not tried"


def test_a_report_can_be_read_and_asserted():
    report = check.language_model(seeded(GPT, "no mask"), VOCAB)
    assert not report
    lines = repr(report).splitlines()
    assert lines[0].startswith("13 examinations: FAILS ")
    assert lines[1].startswith(
        "future: FAILS. Changing token 1 moves the output at position 0"
    )
    assert max(map(len, lines)) <= 88
    assert check.language_model(seeded(GPT), VOCAB)


def test_what_cannot_be_tried_is_said():
    net = seeded(GPT).eval()
    report = check.language_model(lambda tokens: net(tokens)[0], VOCAB)
    assert report
    untried = {f.name for f in report.findings if f.verdict == "not tried"}
    assert untried == {"parameters", "layers", "by heart", "padding", "cache"}


def test_nothing_of_the_model_is_changed():
    net = seeded(GPT).train()
    before = copy.deepcopy(net.state_dict())
    state = torch.get_rng_state()
    check.language_model(net, VOCAB)
    assert net.training and torch.equal(torch.get_rng_state(), state)
    assert all(
        torch.equal(before[name], value) for name, value in net.state_dict().items()
    )
    assert all(p.grad is None for p in net.parameters())
    assert not any(
        part._forward_hooks or part._forward_pre_hooks for part in net.modules()
    )


def test_models_that_cannot_be_examined_are_refused():
    net = seeded(GPT)
    with pytest.raises(
        ValueError, match=r"the shape \(3, 8, 50\), and must have \(3, 8, 51\)"
    ):
        check.language_model(lambda tokens: net(tokens % VOCAB), 51)
    with pytest.raises(
        TypeError, match=r"must return logits, a torch\.Tensor, got a str"
    ):
        check.language_model(lambda tokens: "logits", VOCAB)
    with pytest.raises(ValueError, match=r"num_steps \(2\) must be at least 3"):
        check.language_model(net, VOCAB, num_steps=2)
    with pytest.raises(TypeError, match="must be a function or an instance"):
        check.language_model(GPT, VOCAB)


def test_the_sections_named_in_a_report_exist():
    book, package = Path(__file__).parents[2] / "book", Path(check.__file__).parent
    headings = {
        path.stem.partition("-")[0]: {
            line.lstrip("# ")
            for cell in json.loads(path.read_text("utf-8"))["cells"]
            for line in "".join(cell["source"]).splitlines()
            if line.startswith("#") and cell["cell_type"] == "markdown"
        }
        for path in book.glob("*.ipynb")
    }
    named = re.findall(
        r'"((?:chapter \d|museum, )[^"]*)"',
        "".join(path.read_text("utf-8") for path in package.glob("*.py")),
    )
    assert len(named) > 20
    for section in "; ".join(named).split("; "):
        chapter = re.fullmatch(r"chapter (\d+)(?:, (.+))?", section)
        if chapter:
            of_chapter = headings[f"{int(chapter[1]):02}"]
            assert not chapter[2] or chapter[2] in of_chapter, section
        else:
            exhibits = {line.partition(" ·")[0] for line in headings["bug"]}
            numbers = re.findall(r"\d+", section)
            assert section.startswith("museum, ") and {*numbers} <= exhibits, section
