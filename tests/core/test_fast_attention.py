"""The fast path computes what the readable one does."""

import copy
import itertools
import math

import pytest
import torch
from conftest import DEVICES, SRC, TGT, for_each, random_net, tiny_net
from torch.testing import assert_close

from d2lmini import MultiHeadAttention, greedy_search, scaled_dot_product_attention
from d2lmini.speed import attention as fast_module
from d2lmini.speed.attention import fast_attention, fast_dropout, use_fast_layers
from d2lmini.speed.one_sentence import fast_greedy_search

TOLERANCE = {torch.float16: 4e-3, torch.bfloat16: 3e-2}
MASKS = {
    "none": None,
    "causal": torch.ones(4, 5).tril().bool(),
    "padding": (torch.arange(5) < torch.tensor([2, 5])[:, None])[:, None, None],
    "nothing allowed": torch.zeros(4, 5, dtype=torch.bool),
    "a row without any": torch.tensor([[1] * 5, [0] * 5, [0, 1, 0, 0, 1], [1] * 5]) > 0,
    "of each head": torch.arange(120).view(2, 3, 4, 5) % 7 > 2,
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("is_narrow", [False, True])
@for_each(itertools.product([*TOLERANCE, torch.float32, torch.float64], MASKS))
def test_outputs_and_gradients_agree(case, is_narrow, device):
    dtype, mask = case
    torch.manual_seed(0)
    if is_narrow and torch.device(device).type != "cpu":
        pytest.skip("narrow_attention is for the CPU")
    mask = MASKS[mask] if MASKS[mask] is None else MASKS[mask].to(device)
    shapes = [(2, 3, n, 8) for n in (4, 5, 5)]
    like = {"dtype": dtype, "device": device, "requires_grad": True}
    plain = [torch.randn(shape, **like) for shape in shapes]
    fast = [x.detach().clone().requires_grad_() for x in plain]
    due, _ = scaled_dot_product_attention(*plain, mask)
    attend = fast_module.narrow_attention if is_narrow else fast_attention
    got = attend(*fast, mask, 0.0)
    upstream = torch.randn_like(due)
    due.backward(upstream)
    got.backward(upstream)
    close = {"atol": TOLERANCE.get(dtype, 1e-5), "rtol": TOLERANCE.get(dtype, 1e-5)}
    assert_close(got, due, **close)
    for mine, theirs in zip(fast, plain, strict=True):
        assert mine.grad.isfinite().all()
        assert_close(mine.grad, theirs.grad, **close)


def test_a_net_computes_the_same_with_the_weights_it_has():
    torch.manual_seed(0)
    net = tiny_net()
    fast = copy.deepcopy(net)
    use_fast_layers(fast)
    kinds = [type(m) for m in fast.modules() if isinstance(m, MultiHeadAttention)]
    assert kinds == [fast_module.FastMultiHeadAttention] * 6
    assert fast.state_dict().keys() == net.state_dict().keys()
    src, tgt = torch.randint(4, 11, (3, 5)), torch.randint(4, 13, (3, 4))
    lens = torch.tensor([2, 5, 1])
    assert_close(fast(src, tgt, lens), net(src, tgt, lens))
    assert_close(fast.decoder.attention_weights, net.decoder.attention_weights)


def test_dropout_drops_in_training_only():
    torch.manual_seed(0)
    net = tiny_net(dropout=0.5)
    use_fast_layers(net)
    layers = [m for m in net.modules() if isinstance(m, torch.nn.Dropout)]
    assert layers and {type(layer) for layer in layers} == {fast_module.FastDropout}
    attention, X = net.encoder.stack.blocks[0].attention, torch.randn(1, 6, 8)
    assert attention(X, X, X).equal(attention(X, X, X)) and layers[0](X) is X
    net.train()
    assert not attention(X, X, X).equal(attention(X, X, X))
    assert not layers[0](X).equal(layers[0](X))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("probability", [0.1, 0.3, 0.9])
def test_fast_dropout_drops_as_often_and_keeps_the_mean(probability, dtype, device):
    torch.manual_seed(0)
    X = torch.ones(41, 53, 97, dtype=dtype, device=device, requires_grad=True)
    Y = fast_dropout(X, probability)
    Y.backward(torch.ones_like(Y))
    dropped = Y == 0
    share = dropped.float().mean().item()
    deviation = (probability * (1 - probability) / X.numel()) ** 0.5
    assert abs(share - probability) < 4 * deviation
    assert_close(Y[~dropped], torch.full_like(Y[~dropped], 1 / (1 - probability)))
    assert_close(X.grad, Y)
    for axis in range(3):  # neighbours along each axis are dropped independently
        other = dropped.roll(1, dims=axis)
        both = (dropped & other).float().mean().item()
        assert abs(both - probability**2) < 5 * deviation


def test_fast_dropout_of_nothing_and_of_everything():
    X = torch.randn(3, 5)
    assert fast_dropout(X, 0.0).equal(X) and fast_dropout(X, 1.0).count_nonzero() == 0
    with pytest.raises(ValueError, match=r"probability \(1.5\) must lie in"):
        fast_dropout(X, 1.5)
    with pytest.raises(TypeError, match=r"X \(\[1.0\]\) must be a torch\.Tensor"):
        fast_dropout([1.0], 0.5)


@pytest.mark.parametrize("narrow", [0, math.inf])
@for_each(MASKS)
def test_attention_with_dropout_has_the_same_mean(mask, narrow, monkeypatch):
    """Values of ones: the output is the sum of the weights that are left."""
    monkeypatch.setattr(fast_module, "NARROW", narrow)
    torch.manual_seed(0)
    Q, K = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 5, 8)
    V, mask = torch.ones(2, 3, 5, 8), MASKS[mask]
    due, _ = scaled_dot_product_attention(Q, K, V, mask)
    passes = torch.stack([fast_attention(Q, K, V, mask, 0.2) for _ in range(2000)])
    assert passes.std(dim=0).max() > 0 or not due.any()
    assert_close(passes.mean(dim=0), due, atol=0.08, rtol=0)


@pytest.mark.parametrize("is_fast", [False, True])
@for_each(range(20))
def test_a_search_with_fewer_operations_finds_the_same(seed, is_fast):
    net = random_net(seed)
    if is_fast:
        use_fast_layers(net)
    src = torch.randint(4, len(SRC), (1, 7))
    for length in (1, 4, 7):
        search = src, torch.tensor([length]), TGT.bos, TGT.eos
        for num_steps in (1, 12):
            due = greedy_search(net, *search, num_steps)
            got = fast_greedy_search(net, *search, num_steps)
            assert got.tokens == due.tokens
            assert math.isclose(got.log_prob, due.log_prob, rel_tol=1e-5)


def test_a_search_with_fewer_operations_sees_new_weights_and_drops_nothing():
    net = random_net(0)
    search = torch.tensor([[4, 5, 6]]), torch.tensor([3]), TGT.bos, TGT.eos, 12
    before = fast_greedy_search(net, *search)
    net.load_state_dict(random_net(1).state_dict())
    assert fast_greedy_search(net, *search) != before
    net.load_state_dict(random_net(0).state_dict())
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    assert fast_greedy_search(net.train(), *search) == before
    assert net.training


@pytest.mark.parametrize("device", DEVICES)
def test_a_search_with_fewer_operations_runs_where_the_net_is(device):
    net = random_net(3).to(device)
    src, lens = torch.tensor([[4, 5, 6]], device=device), torch.tensor([3]).to(device)
    search = src, lens, TGT.bos, TGT.eos, 12
    assert fast_greedy_search(net, *search).tokens == greedy_search(net, *search).tokens
