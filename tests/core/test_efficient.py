"""Attention at a cost that grows with the length."""

import itertools

import pytest
import torch
from conftest import for_each, generator
from torch.nn import functional as F

from d2lmini import causal_mask, scaled_dot_product_attention
from d2lmini.efficient import linear_attention, windowed_attention

pytestmark = pytest.mark.usefixtures("each_device")


def inputs(steps, seed=0):
    shape = 2, 3, steps, 4
    return [torch.randn(shape, generator=generator(seed + n)) for n in range(3)]


@for_each(itertools.product([1, 2, 5, 8, 9], [1, 2, 3, 8, 20]))
def test_a_window_is_a_mask(sizes):
    steps, window = sizes
    Q, K, V = inputs(steps)
    far = torch.ones(steps, steps, dtype=torch.bool).tril(-window)
    mask = causal_mask(steps, steps, Q.device) & ~far.to(Q.device)
    due, _ = scaled_dot_product_attention(Q, K, V, mask)
    torch.testing.assert_close(windowed_attention(Q, K, V, window), due)


@for_each([1, 2, 7])
def test_sums_of_keys_are_weights_that_are_products(steps):
    Q, K, V = inputs(steps, seed=3)
    weights = (F.elu(Q) + 1) @ (F.elu(K) + 1).mT
    weights = weights.tril()
    due = weights / weights.sum(-1, keepdim=True) @ V
    torch.testing.assert_close(linear_attention(Q, K, V), due)


@for_each(
    [
        (lambda Q, K, V: windowed_attention(Q, K[:, :, :2], V, 2), r"keys .*\(2, 3, 2"),
        (lambda Q, K, V: linear_attention(Q, K, V[:1]), r"values must have .*\(1, 3"),
        (lambda Q, K, V: windowed_attention(Q, K, V, 0), r"window \(0\)"),
        (lambda Q, K, V: linear_attention(Q[0], K, V), "queries"),
        (lambda Q, K, V: linear_attention(Q.long(), K, V), "queries"),
    ]
)
def test_bad_input_is_named(row):
    call, said = row
    with pytest.raises((TypeError, ValueError), match=said):
        call(*inputs(5))
