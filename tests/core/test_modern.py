"""Modern blocks, each against an independent implementation."""

import pytest
import torch
from conftest import for_each, generator
from torch import nn
from torch.nn import functional as F

from d2lmini import at_random, check, modern
from d2lmini.losses import next_token_loss
from d2lmini.modern import GroupedQueryAttention, LanguageModel, RMSNorm, SwiGLU
from d2lmini.speed.batched_search import extend

pytestmark = pytest.mark.usefixtures("each_device")

WIDTH, HEADS = 16, 4


def random(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed))


def tiny_model(num_kv_heads=2, seed=0):
    torch.manual_seed(seed)
    return LanguageModel(11, WIDTH, 24, HEADS, num_kv_heads, 2, max_len=40).eval()


def test_rms_norm_is_pytorch_s():
    mine, theirs = RMSNorm(WIDTH), nn.RMSNorm(WIDTH, eps=1e-5)
    weight = random(WIDTH, seed=1)
    for norm in (mine, theirs):
        norm.load_state_dict({"weight": weight})
    for X in (random(2, 3, WIDTH), 1e-3 * random(4, WIDTH), torch.zeros(1, WIDTH)):
        torch.testing.assert_close(mine(X), theirs(X))


@pytest.mark.parametrize("start", [0, 7])
def test_a_turn_is_a_product_of_complex_numbers(start):
    X = random(2, 3, 5, 8)
    pairs = torch.complex(X[..., 0::2], X[..., 1::2])
    exponents = torch.arange(4, dtype=torch.float64) / 4
    steps = torch.arange(start, start + 5, dtype=torch.float64)
    unit = torch.exp(1j * steps[:, None] * 10000.0**-exponents)
    turned = pairs * unit.to(torch.complex64)
    due = torch.stack([turned.real, turned.imag], dim=-1).flatten(-2)
    torch.testing.assert_close(modern.rotate(X, start), due)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 4])
def test_grouped_queries_are_pytorch_s(num_kv_heads):
    torch.manual_seed(0)
    attention = GroupedQueryAttention(WIDTH, HEADS, num_kv_heads)
    X = random(2, 6, WIDTH)
    projected = (W(X) for W in (attention.W_q, attention.W_k, attention.W_v))
    split = (Z.unflatten(-1, (-1, WIDTH // HEADS)) for Z in projected)
    Q, K, V = (Z.transpose(1, 2) for Z in split)
    how = {"is_causal": True, "enable_gqa": True}
    due = F.scaled_dot_product_attention(modern.rotate(Q), modern.rotate(K), V, **how)
    found, (keys, values) = attention(X)
    torch.testing.assert_close(found, attention.W_o(due.transpose(1, 2).flatten(2)))
    assert keys.shape == values.shape == (2, num_kv_heads, 6, WIDTH // HEADS)


def test_swiglu_is_its_formula():
    torch.manual_seed(0)
    ffn, X = SwiGLU(WIDTH, 24), random(2, 3, WIDTH)
    gate, up = X @ ffn.W_gate.weight.T, X @ ffn.W_up.weight.T
    due = (gate / (1 + (-gate).exp()) * up) @ ffn.W_down.weight.T
    torch.testing.assert_close(ffn(X), due)


def test_a_block_is_two_branches_beside_a_shortcut():
    torch.manual_seed(0)
    block, X = modern.ModernBlock(WIDTH, 24, HEADS, 2), random(2, 5, WIDTH)
    Y = X + block.attention(block.norm1(X))[0]
    torch.testing.assert_close(block(X)[0], Y + block.ffn(block.norm2(Y)))
    for branch in (block.attention.W_o, block.ffn.W_down):
        nn.init.zeros_(branch.weight)
    assert torch.equal(block(X)[0], X)  # nothing stands in the shortcut's way


class Logits(nn.Module):
    """A language model, called as the properties call a block."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, tokens, mask=None):
        return self.net(tokens)[0]


def test_a_model_has_the_properties_of_one():
    block = Logits(tiny_model())
    tokens = torch.randint(10, (2, 6), generator=generator(0))
    for holds in (check.causal, check.batch_independent, check.every_parameter_trained):
        found = holds(block, tokens)
        assert found, found


@pytest.mark.parametrize("num_kv_heads", [1, 2, 4])
def test_a_model_with_a_cache_says_the_same(num_kv_heads):
    net, tokens = tiny_model(num_kv_heads), torch.randint(11, (3, 9))
    whole, _ = net(tokens)
    parts, caches = [], None
    for part in tokens.split([4, 1, 1, 3], dim=1):
        logits, caches = net(part, caches)
        parts.append(logits)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)
    assert caches[0].V.shape == (3, num_kv_heads, 9, WIDTH // HEADS)


def test_writing_on_is_one_token_after_the_other():
    net, tokens = tiny_model(), torch.tensor([[1, 2, 3], [4, 5, 6]])
    found, total = extend(net, tokens, 5)
    assert torch.equal(found[:, :3], tokens)
    due, log_prob = tokens, torch.zeros(2)
    for _ in range(5):
        log_probs = net(due)[0][:, -1].log_softmax(-1)
        log_prob += log_probs.max(-1).values
        due = torch.cat([due, log_probs.argmax(-1, keepdim=True)], dim=1)
    assert torch.equal(found, due)
    torch.testing.assert_close(total, log_prob)
    choices = (at_random(generator=generator(seed)) for seed in (0, 1))
    drawn = [extend(net, tokens, 20, choose)[0] for choose in choices]
    assert not torch.equal(*drawn)


@for_each(
    [
        (lambda: RMSNorm(0), r"num_hiddens \(0\)"),
        (lambda: RMSNorm(8)(torch.zeros(2, 7)), "X"),
        (lambda: modern.rotate(torch.zeros(1, 1, 2, 3)), r"head_size \(3\) must be"),
        (lambda: modern.rotate(torch.zeros(1, 2, 4)), "X"),
        (lambda: modern.rotate(torch.zeros(1, 1, 2, 4), -1), r"start \(-1\)"),
        (lambda: GroupedQueryAttention(16, 4, 3), r"num_heads \(4\) must be divisible"),
        (lambda: GroupedQueryAttention(16, 3, 1), r"num_hiddens \(16\) must be"),
        (lambda: GroupedQueryAttention(12, 4, 2), r"head_size \(3\) must be even"),
        (lambda: GroupedQueryAttention(16, 4, 0), r"num_kv_heads \(0\)"),
        (lambda: SwiGLU(16, 0), r"ffn_num_hiddens \(0\)"),
        (lambda: LanguageModel(11, 16, 24, 4, 2, 0, 9), r"num_layers \(0\)"),
        (lambda: tiny_model()(torch.ones(1, 1).long() * 11), r"tokens \(11\) must"),
        (lambda: tiny_model()(torch.ones(1, 41).long()), r"text length \(41\) must be"),
        (lambda: tiny_model()(torch.tensor([1])), "tokens"),
        (lambda: extend(tiny_model(), torch.tensor([[1]]), 0), r"num_steps \(0\)"),
        (lambda: extend(tiny_model(), [[1]], 3), "tokens"),
    ]
)
def test_bad_input_is_named(row):
    call, text = row
    with torch.device("cpu"), pytest.raises((TypeError, ValueError), match=text):
        call()  # not on CUDA, which does not wait to look at ids


def test_the_loss_is_that_of_the_next_token():
    net, lens = tiny_model(), torch.tensor([3, 2])
    tokens = torch.tensor([[3, 4, 5], [6, 7, 0]])
    nats, count = next_token_loss(net, (tokens, lens), bos=2)
    due = 0.0
    for row, length in zip(tokens.tolist(), lens.tolist(), strict=True):
        for i in range(length):
            log_probs = net(torch.tensor([[2, *row[:i]]]))[0][0, -1].log_softmax(-1)
            due -= log_probs[row[i]]
    torch.testing.assert_close(nats, due / 5)
    assert count == 5
