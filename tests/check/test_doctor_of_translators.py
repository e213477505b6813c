"""The doctor on right translators, which it must not accuse, and on translators with one fault."""

import copy
import functools
import math

import pytest
import torch
from conftest import for_each
from faults import check_causes, check_found, seeded
from torch import nn
from torch.nn import functional as F

from d2lmini import EncoderDecoder, TransformerDecoder, TransformerEncoder, check

SRC_VOCAB, VOCAB, WIDTH, HEADS, LONGEST = 40, 50, 32, 4, 32


class Attention(nn.Module):
    def __init__(self, faults=()):
        super().__init__()
        self.faults = faults
        self.query, self.key, self.value, self.out = (
            nn.Linear(WIDTH, WIDTH) for _ in range(4)
        )

    def forward(self, X, memory, mask):
        Q, K, V = (
            layer(Z).unflatten(2, (HEADS, -1)).transpose(1, 2)
            for layer, Z in ((self.query, X), (self.key, memory), (self.value, memory))
        )
        scores = Q @ K.mT / math.sqrt(Q.shape[-1])
        lowest = torch.finfo(scores.dtype).min
        if "softmax before the mask" in self.faults:
            weights = scores.softmax(-1) * mask
        elif "mask added as ones" in self.faults:
            weights = (scores + mask).softmax(-1)
        else:
            weights = scores.masked_fill(~mask, lowest).softmax(-1)
        if "dropout always on" in self.faults:
            weights = F.dropout(weights, 0.1)
        Y = weights @ V
        if "heads not transposed back" not in self.faults:
            Y = Y.transpose(1, 2)
        return self.out(Y.reshape(X.shape))


class BatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, X):
        return self.norm(X.mT).mT


class Block(nn.Module):
    def __init__(self, faults, has_cross):
        super().__init__()
        self.faults, self.has_cross = faults, has_cross
        self.attention = Attention(faults)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        if "batch norm in the encoder" in faults and not has_cross:
            self.norm1 = BatchNorm()
        self.ffn = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, WIDTH))
        if has_cross:
            self.cross, self.norm3 = (
                Attention(() if "heads not transposed back" in faults else faults),
                nn.LayerNorm(WIDTH),
            )

    def forward(self, X, mask, memory=None, memory_mask=None):
        X = X + self.attention(self.norm1(X), self.norm1(X), mask)
        if self.has_cross:
            Z = self.norm3(X)
            if "cross-attention reads the target" in self.faults:
                memory, memory_mask = Z, mask
            Y = self.cross(Z, memory, memory_mask)
            X = X + Y * ("cross-attention lost" not in self.faults)
        return X + self.ffn(self.norm2(X))


class Translator(nn.Module):
    """A small encoder-decoder, and the faults that are named."""

    def __init__(self, *faults):
        super().__init__()
        self.faults = faults
        self.src_tokens, self.tgt_tokens = (
            nn.Embedding(size, WIDTH) for size in (SRC_VOCAB, VOCAB)
        )
        self.src_places, self.tgt_places = (
            nn.Embedding(LONGEST, WIDTH) for _ in range(2)
        )
        for table in self.children():
            nn.init.normal_(table.weight, std=0.2)
        encoder, decoder = ([Block(faults, cross) for _ in range(2)]
                            for cross in (False, True))  # fmt: skip
        if "encoder blocks are clones" in faults:
            encoder = [copy.deepcopy(encoder[0]) for _ in range(2)]
        if "one decoder block twice" in faults:
            decoder = 2 * decoder[:1]
        self.encoder = (
            encoder if "encoder in a list" in faults else nn.ModuleList(encoder)
        )
        self.decoder = nn.ModuleList(decoder)
        self.norm, self.output = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB)
        self.memory_norm = nn.LayerNorm(WIDTH)
        if "a norm never used" in faults:
            self.spare = nn.LayerNorm(WIDTH)

    def places(self, X, table, side):
        places = torch.arange(X.shape[1])
        if f"no positions in the {side}" in self.faults:
            return X
        if f"positions of the {side} thrown away" in self.faults:
            X.add(table(places))
            return X
        if f"positions of the {side} on the batch" in self.faults:
            return X + table(torch.arange(len(X)))[:, None]
        if f"positions of the {side} from the end" in self.faults:
            places = places.flip(0)
        return X + table(places)

    def padding(self, lens, steps, where):
        """True = may attend, (batch, 1, 1, source steps)."""
        if "lengths of the first source for all" in self.faults:
            lens = lens[:1].expand_as(lens)
        if "padding mask one short" in self.faults:
            lens = lens - 1
        if "padding mask one long" in self.faults:
            lens = lens + 1
        mask = torch.arange(steps) < lens[:, None]
        if "inverted padding mask" in self.faults:
            mask = ~mask
        if f"no padding mask in the {where}" in self.faults:
            mask = torch.ones_like(mask)
        return mask[:, None, None]

    def future(self, steps):
        ones = torch.ones(steps, steps, dtype=torch.bool)
        if "no causal mask" in self.faults:
            return ones
        if "inverted causal mask" in self.faults:
            return ~ones.tril(-1)
        return ones.tril(1 if "causal mask off by one" in self.faults else 0)

    def forward(self, src, tgt, src_valid_lens):
        memory = self.places(self.src_tokens(src), self.src_places, "source")
        steps = src.shape[1]
        mask = self.padding(src_valid_lens, steps, "encoder")
        if "causal mask in the encoder" in self.faults:
            mask = mask & torch.ones(steps, steps, dtype=torch.bool).tril()
        for block in self.encoder:
            memory = block(memory, mask)
        if "mean over the source" in self.faults:
            memory = memory + memory.mean(1, keepdim=True)
        if "mean over the batch" in self.faults:
            memory = memory - memory.mean(0, keepdim=True)
        memory = self.memory_norm(memory)
        if "encoder detached" in self.faults:
            memory = memory.detach()
        X = self.places(self.tgt_tokens(tgt), self.tgt_places, "target")
        mask = self.padding(src_valid_lens, steps, "cross-attention")
        for block in self.decoder:
            X = block(X, self.future(tgt.shape[1]), memory, mask)
        if "shifted twice" in self.faults:
            X = F.pad(X, (0, 0, 1, 0))[:, :-1]
        logits = self.output(self.norm(X))
        if "reads its labels" in self.faults:
            logits = logits + 5 * F.one_hot(tgt.roll(-1, 1), VOCAB)
        return logits


# fault -> (the examination that finds it, a word of the cause that must stand first)
FAULTS = {
    "no causal mask": ("future", "no causal mask"),
    "causal mask off by one": ("future", "off by one"),
    "inverted causal mask": ("future", "inverted"),
    "heads not transposed back": ("future", "transposed"),
    "reads its labels": ("future", "labels"),
    "shifted twice": ("past", "shifted twice"),
    # without positions, a causal mask still tells the order: what is not used is found
    "no positions in the target": ("parameters", "built and not used"),
    "positions of the target thrown away": ("parameters", "thrown away"),
    "positions of the target on the batch": ("batch", "batch"),
    "positions of the target from the end": ("length", "from the end"),
    "cross-attention lost": ("source", "lost"),
    "cross-attention reads the target": ("source", "reads the target"),
    "no positions in the source": ("source order", "not added"),
    "positions of the source thrown away": ("parameters", "thrown away"),
    "positions of the source on the batch": ("batch", "batch"),
    "positions of the source from the end": ("source padding", "from the end"),
    "no padding mask in the encoder": ("source padding", "encoder"),
    "no padding mask in the cross-attention": ("source padding", "cross-attention"),
    "inverted padding mask": ("source padding", "inverted"),
    "padding mask one short": ("source", "ends one token early"),
    "padding mask one long": ("source padding", "one token late"),
    "lengths of the first source for all": ("source padding", "padding mask"),
    "softmax before the mask": ("future", "mask"),
    "mask added as ones": ("future", "mask"),
    "mean over the source": ("source padding", "mean"),
    "causal mask in the encoder": ("encoder", "causal mask in the encoder"),
    "mean over the batch": ("batch", "batch"),
    "batch norm in the encoder": ("batch", "batch normalisation"),
    "dropout always on": ("eval mode", "dropout"),
    "encoder in a list": ("parameters", "list"),
    "encoder detached": ("parameters", "detached"),
    "a norm never used": ("parameters", "built and not used"),
    "encoder blocks are clones": ("layers", "deepcopy of one layer"),
    "one decoder block twice": ("layers", "[layer] * N"),
}


class OfPyTorch(nn.Module):
    """nn.Transformer, whose masks are True where nothing may be seen."""

    def __init__(self):
        super().__init__()
        self.source, self.target = (
            nn.Embedding(size, WIDTH) for size in (SRC_VOCAB, VOCAB)
        )
        self.places = nn.Embedding(LONGEST, WIDTH)
        self.net = nn.Transformer(WIDTH, HEADS, 2, 2, 64, batch_first=True)
        self.output = nn.Linear(WIDTH, VOCAB)

    def forward(self, src, tgt, is_padding):
        X, Y = (
            table(tokens) + self.places(torch.arange(tokens.shape[1]))
            for table, tokens in ((self.source, src), (self.target, tgt))
        )
        future = nn.Transformer.generate_square_subsequent_mask(
            tgt.shape[1], dtype=X.dtype
        )
        blocked = torch.zeros_like(is_padding, dtype=X.dtype)
        blocked = blocked.masked_fill(is_padding, float("-inf"))
        return self.output(
            self.net(
                X,
                Y,
                tgt_mask=future,
                tgt_is_causal=True,
                src_key_padding_mask=blocked,
                memory_key_padding_mask=blocked,
            )
        )


class Recurrent(nn.Module):
    """Reads (steps, batch), and takes a mask of real tokens."""

    def __init__(self):
        super().__init__()
        self.source, self.target = (
            nn.Embedding(size, WIDTH) for size in (SRC_VOCAB, VOCAB)
        )
        self.encoder = nn.GRUCell(WIDTH, WIDTH)
        self.decoder, self.output = nn.GRU(WIDTH, WIDTH), nn.Linear(WIDTH, VOCAB)

    def forward(self, src, tgt, is_real):
        h = torch.zeros(src.shape[1], WIDTH, dtype=self.output.weight.dtype)
        for X, real in zip(self.source(src), is_real.T, strict=True):
            h = torch.where(real[:, None], self.encoder(X, h), h)
        return self.output(self.decoder(self.target(tgt), h[None])[0])


def of_the_book():
    sizes = 32, 64, HEADS, 2, 0.1
    return EncoderDecoder(
        TransformerEncoder(SRC_VOCAB, *sizes), TransformerDecoder(VOCAB, *sizes)
    )


RIGHT = {
    "of this test": (Translator, {}),
    "of chapter 8": (of_the_book, {}),
    "of PyTorch": (OfPyTorch, {"mask_means": "block"}),
    "recurrent, steps first": (Recurrent, {"batch_first": False, "mask_means": "keep"}),
}


@functools.cache
def examined(name):
    return check.translator(seeded(Translator, name), SRC_VOCAB, VOCAB)


@for_each(RIGHT)
def test_no_right_translator_is_accused(name):
    make, told = RIGHT[name]
    report = check.translator(seeded(make), SRC_VOCAB, VOCAB, **told)
    assert report, report
    warned = [found.name for found in report.findings if found.verdict == "warning"]
    assert not warned, report


@for_each(FAULTS)
def test_a_fault_is_found(name):
    check_found(examined(name), FAULTS[name])


def test_the_cause_that_stands_first_is_the_right_one_in_four_of_five():
    check_causes(FAULTS, examined)


def test_a_function_is_examined_from_outside():
    net = seeded(Translator).eval()
    report = check.translator(lambda *given: net(*given), SRC_VOCAB, VOCAB)
    assert report
    untried = {f.name for f in report.findings if f.verdict == "not tried"}
    assert untried == {"parameters", "layers", "by heart", "encoder", "cache"}
    broken = seeded(Translator, "no padding mask in the encoder").eval()
    report = check.translator(lambda *given: broken(*given), SRC_VOCAB, VOCAB)
    assert report.findings[0].name == "source padding" and not report


def test_translators_that_cannot_be_examined_are_refused():
    net = seeded(Translator)
    with pytest.raises(ValueError, match=r"the shape \(3, 8, 50\), and must have"):
        check.translator(net, SRC_VOCAB, VOCAB - 1)
    with pytest.raises(ValueError, match=r"num_steps \(4\) must be at least 5"):
        check.translator(net, SRC_VOCAB, VOCAB, num_steps=4)
    with pytest.raises(ValueError, match=r"mask_means \('True'\) must be None"):
        check.translator(net, SRC_VOCAB, VOCAB, mask_means="True")
    with pytest.raises(TypeError, match=r"batch_first \('no'\) must be True or False"):
        check.translator(net, SRC_VOCAB, VOCAB, batch_first="no")
