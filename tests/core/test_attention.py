import copy
import io

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from d2lmini import AttentionPooling, MultiHeadAttention, scaled_dot_product_attention
from d2lmini.masks import causal_mask, padding_mask
from d2lmini.modern import GroupedQueryAttention
from d2lmini.speed.attention import FastMultiHeadAttention, fast_attention

pytestmark = pytest.mark.usefixtures("each_device")


def copy_attention(ours, theirs):
    """Weights of our multi-head attention into PyTorch's."""
    layers = ours.W_q, ours.W_k, ours.W_v
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        theirs.out_proj.weight.copy_(ours.W_o.weight)
        if ours.W_q.bias is not None:  # PyTorch's biases start at 0
            theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in layers]))
            theirs.out_proj.bias.copy_(ours.W_o.bias)


def test_by_hand():
    """Scores 0 and ln 3 after scaling: weights 1/4 and 3/4."""
    queries = torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]])  # sqrt(head_size) = 2
    keys = torch.tensor([[[[0.0, 1, 0, 0], [torch.log(torch.tensor(3.0)), 0, 0, 0]]]])
    values = torch.tensor([[[[4.0], [8.0]]]])
    output, weights = scaled_dot_product_attention(queries, keys, values)
    torch.testing.assert_close(weights, torch.tensor([[[[0.25, 0.75]]]]))
    torch.testing.assert_close(output, torch.tensor([[[[7.0]]]]))


@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(0, 4),
    st.integers(1, 4),
)
def test_equals_pytorch_function(batch, heads, num_queries, more_keys, head_size):
    num_keys = num_queries + more_keys
    Q = torch.randn(batch, heads, num_queries, head_size)
    K, V = torch.randn(2, batch, heads, num_keys, head_size)
    mask = causal_mask(num_queries, num_keys)
    output, weights = scaled_dot_product_attention(Q, K, V, mask)
    expected = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)
    assert weights.shape == (batch, heads, num_queries, num_keys)


@pytest.mark.parametrize("bias", [False, True])
def test_equals_pytorch_module(bias):
    ours = MultiHeadAttention(12, 3, 0.0, bias)
    theirs = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True)
    copy_attention(ours, theirs)
    queries, keys, values = (torch.randn(2, steps, 12) for steps in (4, 5, 5))
    mask = padding_mask(torch.tensor([5, 2]), 5)
    blocked = ~mask[:, 0, 0]  # there, True = may not attend
    settings = {"key_padding_mask": blocked, "average_attn_weights": False}
    expected, weights = theirs(queries, keys, values, **settings)
    output = ours(queries, keys, values, mask)
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours.attention_weights, weights, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_gradients_are_finite_when_a_sequence_is_all_padding(dtype):
    attention = MultiHeadAttention(8, 2, 0.0).to(dtype)
    X = torch.randn(2, 3, 8, dtype=dtype, requires_grad=True)
    output = attention(X, X, X, padding_mask(torch.tensor([3, 0]), 3))
    assert (output[1] == 0).all()
    output.sum().backward()
    gradients = [X.grad, *(p.grad for p in attention.parameters())]
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_dropout_acts_in_training_only_and_not_on_the_kept_weights():
    attention = MultiHeadAttention(8, 2, 0.9)
    X = torch.randn(2, 6, 8)
    attention.train()
    assert not torch.equal(attention(X, X, X), attention(X, X, X))
    torch.testing.assert_close(attention.attention_weights.sum(-1), torch.ones(2, 2, 6))
    attention.eval()
    assert torch.equal(attention(X, X, X), attention(X, X, X))


@given(st.integers(0, 2**31))
def test_arguments_are_not_changed(seed):
    torch.manual_seed(seed)
    attention = MultiHeadAttention(8, 2, 0.5)
    arguments = [*torch.randn(3, 2, 3, 8), torch.rand(2, 1, 3, 3) < 0.5]
    before = [argument.clone() for argument in arguments]
    attention(*arguments)
    assert all(torch.equal(a, b) for a, b in zip(arguments, before, strict=True))


def test_a_batch_of_none():
    X = torch.randn(0, 5, 12)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    for make in MultiHeadAttention, FastMultiHeadAttention:
        ours = make(12, 3, 0.0)
        assert ours(X, X, X).shape == theirs(X, X, X)[0].shape == (0, 5, 12)
        assert ours.attention_weights.shape == (0, 3, 5, 5)
    assert GroupedQueryAttention(12, 2, 1)(X)[0].shape == (0, 5, 12)


def test_a_score_too_large_for_float16():
    """No scaling helps: the score itself is 80,000. A kernel that adds up in float32 does."""
    X = torch.full((1, 1, 3, 64), 100.0, dtype=torch.float16)
    root = 64**0.25
    assert (X / root @ (X / root).mT).isinf().all()
    assert scaled_dot_product_attention(X, X, X)[0].isnan().all()
    assert (fast_attention(X, X, X) == 100).all()


def saved_bytes(module):
    file = io.BytesIO()
    torch.save(module, file)
    return file.tell()


@pytest.mark.parametrize("make", [MultiHeadAttention, FastMultiHeadAttention])
def test_the_last_pass_is_neither_saved_nor_copied(make):
    attention, X = make(64, 4, 0.0), torch.randn(8, 500, 64)
    before = saved_bytes(attention)
    output = attention(X, X, X)
    assert saved_bytes(attention) == saved_bytes(copy.deepcopy(attention)) == before
    copied = copy.deepcopy(attention)
    assert copied.last_pass is None and attention.last_pass is not None
    assert torch.equal(copied(X, X, X), output)


def test_the_weights_of_a_pooling_are_neither_saved_nor_copied():
    pooling = AttentionPooling(8)
    before = saved_bytes(pooling)
    pooling(torch.randn(8, 500, 8))
    assert pooling.weights.shape == (8, 500)
    assert saved_bytes(pooling) == saved_bytes(copy.deepcopy(pooling)) == before


def test_the_weights_of_a_pass_are_there_for_who_asks_and_not_kept():
    """50 x 50 numbers a head would be the largest tensor of the pass."""
    attention, X = MultiHeadAttention(8, 2, 0.1), torch.randn(1, 50, 8)
    attention(X, X, X)
    weights = attention.attention_weights
    assert weights.shape == (1, 2, 50, 50) and not weights.requires_grad
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2, 50))
    kept = []
    for value in vars(attention).values():
        kept += value if isinstance(value, tuple) else [value]
    shapes = [tuple(t.shape) for t in kept if isinstance(t, torch.Tensor)]
    assert shapes == [(1, 2, 50, 4)] * 2  # queries and keys


def test_in_eval_mode_nothing_is_dropped():
    X, layer, plain = (
        torch.randn(2, 5, 8),
        *(MultiHeadAttention(8, 2, p) for p in (0.9, 0.0)),
    )
    plain.load_state_dict(layer.state_dict())
    assert torch.equal(layer.eval()(X, X, X), plain(X, X, X))
