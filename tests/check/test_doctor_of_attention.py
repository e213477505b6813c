"""The doctor on right attention layers, which it must not accuse, and on layers with one fault."""

import functools
import math

import pytest
import torch
from conftest import for_each
from faults import check_causes, check_found
from torch import nn
from torch.nn import functional as F

import d2lmini
from d2lmini import check

WIDTH, HEADS = 16, 4


class Attention(nn.Module):
    """A layer with the faults that are named."""

    def __init__(self, *faults):
        super().__init__()
        self.faults = faults
        layers = [nn.Linear(WIDTH, WIDTH) for _ in range(4)]
        self.layers = layers if "layers in a list" in faults else nn.ModuleList(layers)
        if "a layer never used" in faults:
            self.spare = nn.Linear(WIDTH, WIDTH)

    def weights(self, scores, mask):
        has = self.faults.__contains__
        if has("inverted mask"):
            mask = ~mask
        if has("first mask for all"):
            mask = mask[:1].expand_as(mask)
        if has("mask shifted by one key"):
            mask = mask.roll(1, -1)
        if has("no mask"):
            return scores.softmax(-1)
        if has("softmax before the mask"):
            return scores.softmax(-1) * mask
        if has("mask added as ones"):
            return (scores + mask).softmax(-1)
        if has("no softmax"):
            return scores.masked_fill(~mask, 0)
        axis = -2 if has("softmax over queries") else -1
        weights = scores.masked_fill(~mask, -1e9).softmax(axis)
        return F.dropout(weights, 0.1) if has("dropout always on") else weights

    def forward(self, queries, keys, values, mask):
        query, key, value, out = self.layers
        has = self.faults.__contains__
        if has("keys as values"):
            values = keys
        if has("scores of keys with themselves"):
            queries = keys[:, : queries.shape[1]]
        Q, K, V = (
            layer(X).unflatten(2, (HEADS, -1)).transpose(1, 2)
            for layer, X in ((query, queries), (key, keys), (value, values))
        )
        scores = Q @ K.mT / math.sqrt(Q.shape[-1])
        if has("positions inside"):
            scores = scores + torch.arange(scores.shape[-1])
        Y = self.weights(scores, mask) @ V
        if not has("heads not transposed back"):
            Y = Y.transpose(1, 2)
        Y = out(Y.reshape(queries.shape))
        if has("norm over steps"):
            Y = Y - Y.mean(1, keepdim=True)
        if has("mean over the batch"):
            Y = Y - Y.mean(0, keepdim=True)
        return Y * 0 if has("output lost") else Y


def function(scale=math.sqrt, swapped=False):
    def attention(queries, keys, values, mask):
        if swapped:
            keys, values = values, keys
        scores = queries @ keys.mT / scale(queries.shape[-1])
        return scores.masked_fill(~mask, -1e9).softmax(-1) @ values

    return attention


# fault -> (the examination that finds it, a word of the cause that must stand first)
FAULTS = {
    "inverted mask": ("mask", "inverted"),
    "no mask": ("mask", "not used"),
    "first mask for all": ("mask", "one sequence's mask"),
    "mask shifted by one key": ("mask", "shifted"),
    "softmax before the mask": ("mean", "softmax over the wrong axis"),
    "mask added as ones": ("mask", "not used"),
    "no softmax": ("mean", "softmax"),
    "softmax over queries": ("queries", "softmax over the queries"),
    "heads not transposed back": ("queries", "heads"),
    "norm over steps": ("queries", "a norm or a mean"),
    "keys as values": ("roles", "keys used as values"),
    "scores of keys with themselves": ("queries", "keys with themselves"),
    "positions inside": ("order", "positions inside"),
    "mean over the batch": ("batch", "batch"),
    "output lost": ("mask", "lost"),
    "dropout always on": ("eval mode", "dropout"),
    "layers in a list": ("parameters", "list"),
    "a layer never used": ("parameters", "not used"),
    "no root": ("formula", "not divided"),
    "divided by d": ("formula", "divided by d"),
    "keys and values exchanged": ("formula", "exchanged"),
}
FUNCTIONS = {
    "no root": lambda: function(scale=lambda d: 1),
    "divided by d": lambda: function(scale=lambda d: d),
    "keys and values exchanged": lambda: function(swapped=True),
}
RIGHT = {
    "of this test": (Attention, {}),
    "of chapter 5": (lambda: d2lmini.MultiHeadAttention(WIDTH, HEADS, 0.1), {}),
    "of chapter 4": (lambda: d2lmini.scaled_dot_product_attention, {}),
    "of PyTorch": (lambda: nn.MultiheadAttention(WIDTH, HEADS, 0.1), {}),
    "of PyTorch, batch first": (
        lambda: nn.MultiheadAttention(WIDTH, HEADS, batch_first=True),
        {},
    ),
    "PyTorch's function": (lambda: F.scaled_dot_product_attention, {}),
    "True blocks": (
        lambda: lambda q, k, v, mask: function()(q, k, v, ~mask),
        {"mask_means": "block"},
    ),
}


@functools.cache
def examined(name):
    torch.manual_seed(0)
    layer = FUNCTIONS[name]() if name in FUNCTIONS else Attention(name)
    return check.attention(layer)


@for_each(RIGHT)
def test_no_right_layer_is_accused(name):
    make, told = RIGHT[name]
    torch.manual_seed(0)
    report = check.attention(make(), **told)
    assert report, report
    assert not [found.name for found in report.findings if found.verdict == "warning"]


@for_each(FAULTS)
def test_a_fault_is_found(name):
    check_found(examined(name), FAULTS[name])


def test_the_cause_that_stands_first_is_the_right_one_in_four_of_five():
    check_causes(FAULTS, examined)


def test_a_mask_with_the_wrong_meaning_is_told_from_an_inverted_one():
    report = check.attention(lambda q, k, v, mask: function()(q, k, v, ~mask))
    assert not report and 'mask_means="block"' in report.findings[0].cause


def test_layers_that_cannot_be_examined_are_refused():
    with pytest.raises(
        ValueError, match=r"must return \(3, 5, 8\) for num_hiddens \(8\)"
    ):
        check.attention(nn.MultiheadAttention(16, 2), num_hiddens=8)
    with pytest.raises(ValueError, match=r"must be \"keep\" or \"block\""):
        check.attention(function(), mask_means="True")
    with pytest.raises(TypeError, match="must be a function or an instance"):
        check.attention(nn.MultiheadAttention)
