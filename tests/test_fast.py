"""The fast path computes what the readable one does."""

import copy

import pytest
import torch
from conftest import DEVICES, tiny_net
from torch.testing import assert_close

from d2lmini import MultiHeadAttention, scaled_dot_product_attention
from d2lmini.fast import FastMultiHeadAttention, fast_attention, use_fast_attention

TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2}
MASKS = {
    "none": None,
    "causal": torch.ones(4, 5).tril().bool(),
    "padding": (torch.arange(5) < torch.tensor([2, 5])[:, None])[:, None, None],
    "nothing allowed": torch.zeros(4, 5, dtype=torch.bool),
    "a row without any": torch.tensor([[1] * 5, [0] * 5, [0, 1, 0, 0, 1], [1] * 5]) > 0,
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64]
)
def test_outputs_and_gradients_agree(mask, dtype, device):
    torch.manual_seed(0)
    mask = MASKS[mask] if MASKS[mask] is None else MASKS[mask].to(device)
    shapes = [(2, 3, n, 8) for n in (4, 5, 5)]
    plain = [
        torch.randn(s, dtype=dtype, device=device, requires_grad=True) for s in shapes
    ]
    fast = [x.detach().clone().requires_grad_() for x in plain]
    due, _ = scaled_dot_product_attention(*plain, mask)
    got = fast_attention(*fast, mask)
    upstream = torch.randn_like(due)
    due.backward(upstream)
    got.backward(upstream)
    close = {"atol": TOLERANCE.get(dtype, 1e-5), "rtol": TOLERANCE.get(dtype, 1e-5)}
    assert_close(got, due, **close)
    for mine, theirs in zip(fast, plain, strict=True):
        assert mine.grad.isfinite().all()
        assert_close(mine.grad, theirs.grad, **close)


def test_a_mask_of_numbers_is_refused():
    Q = torch.zeros(1, 1, 2, 4)
    with pytest.raises(TypeError, match="mask must be a boolean tensor"):
        fast_attention(Q, Q, Q, torch.zeros(2, 2))
    with pytest.raises(ValueError, match="does not broadcast"):
        fast_attention(Q, Q, Q, torch.ones(3, 3).bool())


def test_a_net_computes_the_same_with_the_weights_it_has():
    torch.manual_seed(0)
    net = tiny_net()
    fast = copy.deepcopy(net)
    use_fast_attention(fast)
    kinds = [type(m) for m in fast.modules() if isinstance(m, MultiHeadAttention)]
    assert kinds == [FastMultiHeadAttention] * 6
    assert fast.state_dict().keys() == net.state_dict().keys()
    src, tgt, lens = (
        torch.randint(4, 11, (3, 5)),
        torch.randint(4, 13, (3, 4)),
        torch.tensor([2, 5, 1]),
    )
    assert_close(fast(src, tgt, lens), net(src, tgt, lens))
    for mine, theirs in zip(
        fast.decoder.attention_weights, net.decoder.attention_weights, strict=True
    ):
        assert_close(mine, theirs)


def test_dropout_drops_in_training_only():
    torch.manual_seed(0)
    attention = torch.nn.Sequential(MultiHeadAttention(8, 2, 0.5))
    use_fast_attention(attention)
    X = torch.randn(1, 6, 8)
    assert not attention[0](X, X, X).equal(attention[0](X, X, X))
    attention.eval()
    assert attention[0](X, X, X).equal(attention[0](X, X, X))
