import pytest
import torch
from conftest import tiny_net
from hypothesis import given
from hypothesis import strategies as st
from test_attention import copy_attention
from torch import nn

from d2lmini import Classifier, MultiHeadAttention, TransformerEncoder, sinusoidal_table
from d2lmini.generation import beam_search, greedy_search
from d2lmini.masks import causal_mask, padding_mask
from d2lmini.speed.attention import use_fast_layers
from d2lmini.speed.batched_search import beam_search_batch, generate
from d2lmini.speed.one_sentence import fast_greedy_search
from d2lmini.transformer import DecoderBlock, EncoderBlock, TokenEmbedding

pytestmark = pytest.mark.usefixtures("each_device")

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
lengths = st.lists(st.integers(1, 6), min_size=1, max_size=3)


def copy_ffn_and_norms(ours, theirs):
    norms = [m for m in ours.children() if hasattr(m, "norm")]
    pairs = [(ours.ffn.dense1, theirs.linear1), (ours.ffn.dense2, theirs.linear2)]
    pairs += [(m.norm, getattr(theirs, f"norm{i}")) for i, m in enumerate(norms, 1)]
    with torch.no_grad():
        for ours_, theirs_ in pairs:
            # Weights of a norm start as ones: other numbers show that each goes to its place.
            ours_.weight.copy_(torch.randn_like(ours_.weight))
            theirs_.weight.copy_(ours_.weight)
            theirs_.bias.copy_(ours_.bias)


def test_encoder_block_equals_pytorch():
    ours = EncoderBlock(8, 16, 2, 0.0)
    theirs = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    copy_attention(ours.attention, theirs.self_attn)
    copy_ffn_and_norms(ours, theirs)
    X, mask = torch.randn(2, 5, 8), padding_mask(torch.tensor([5, 3]), 5)
    expected = theirs(X, src_key_padding_mask=~mask[:, 0, 0])
    torch.testing.assert_close(ours(X, mask), expected, **CLOSE)


def test_decoder_block_equals_pytorch():
    ours = DecoderBlock(8, 16, 2, 0.0)
    theirs = nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True)
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_ffn_and_norms(ours, theirs)
    X, memory = torch.randn(2, 4, 8), torch.randn(2, 5, 8)
    mask = padding_mask(torch.tensor([5, 3]), 5)
    masks = {"tgt_mask": ~causal_mask(4), "memory_key_padding_mask": ~mask[:, 0, 0]}
    expected = theirs(X, memory, **masks)
    output, _ = ours(X, memory, mask)
    torch.testing.assert_close(output, expected, **CLOSE)


@given(lengths, st.integers(0, 2**31))
def test_changing_padding_changes_nothing(lens, seed):
    torch.manual_seed(seed)
    net, valid_lens = tiny_net(), torch.tensor(lens)
    src, tgt = torch.randint(11, (len(lens), 6)), torch.randint(13, (len(lens), 4))
    padded = ~padding_mask(valid_lens, 6)[:, 0, 0]
    other = torch.where(padded, torch.randint_like(src, 11), src)
    longer = torch.cat([other, torch.randint(11, (len(lens), 2))], dim=1)
    expected = net(src, tgt, valid_lens)
    assert torch.equal(net(other, tgt, valid_lens), expected)
    torch.testing.assert_close(net(longer, tgt, valid_lens), expected, **CLOSE)


@given(st.integers(0, 4), st.booleans(), st.integers(0, 2**31))
def test_a_future_token_changes_no_earlier_output(step, training, seed):
    torch.manual_seed(seed)
    net = tiny_net().train(training)
    src, tgt = torch.randint(11, (2, 5)), torch.randint(13, (2, 6))
    lens = torch.tensor([5, 2])
    other = tgt.clone()
    other[:, step + 1 :] = (other[:, step + 1 :] + 1) % 13
    before, after = net(src, tgt, lens), net(src, other, lens)
    assert torch.equal(before[:, : step + 1], after[:, : step + 1])
    assert not torch.allclose(before[:, step + 1 :], after[:, step + 1 :])


@given(lengths, st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**31))
def test_incremental_decoding_equals_the_full_pass(lens, num_steps, chunk, seed):
    torch.manual_seed(seed)
    net, valid_lens = tiny_net(), torch.tensor(lens)
    rows = len(lens)
    src, tgt = torch.randint(11, (rows, 6)), torch.randint(13, (rows, num_steps))
    memory, mask = net.encoder(src, valid_lens), padding_mask(valid_lens, 6)
    full, caches, parts = net(src, tgt, valid_lens), None, []
    for tokens in tgt.split(chunk, dim=1):
        logits, caches = net.decoder(tokens, memory, mask, caches)
        parts.append(logits)
    torch.testing.assert_close(torch.cat(parts, dim=1), full, **CLOSE)


def test_attention_weights_of_the_last_pass():
    net = tiny_net()
    src, tgt = torch.randint(11, (2, 5)), torch.randint(13, (2, 4))
    lens = torch.tensor([5, 3])
    net(src, tgt, lens)
    own, cross = net.decoder.attention_weights
    assert net.encoder.attention_weights.shape == (2, 2, 2, 5, 5)
    assert own.shape == (2, 2, 2, 4, 4) and cross.shape == (2, 2, 2, 4, 5)
    assert (own.triu(1) == 0).all()
    assert (cross[:, 1, ..., 3:] == 0).all()


@pytest.mark.parametrize("fast", [False, True])
def test_a_forward_hook_sees_every_attention(fast):
    net, called = tiny_net(), []
    if fast:
        use_fast_layers(net)
    for name, module in net.named_modules():
        if isinstance(module, MultiHeadAttention):
            module.register_forward_hook(
                lambda *given, name=name: called.append((name, given[-1].shape)))  # fmt: skip
    net(torch.randint(11, (2, 5)), torch.randint(13, (2, 4)), torch.tensor([5, 3]))
    parts = [("encoder", "attention", 5)]
    parts += [("decoder", "self_attention", 4), ("decoder", "cross_attention", 4)]
    names = [(f"{side}.stack.blocks.{{}}.{part}", n) for side, part, n in parts]
    due = [(name.format(i), (2, steps, 8)) for name, steps in names for i in (0, 1)]
    assert sorted(called) == sorted(due)


def test_a_decoder_projects_the_memory_once():
    """Cross-attention keeps the keys and values of the source from step to step."""
    net, calls = tiny_net(), []
    for block in net.decoder.stack.blocks:
        block.cross_attention.W_k.register_forward_hook(lambda *_: calls.append(1))
    memory, caches = torch.randn(1, 5, 8), None
    for _ in range(3):
        _, caches = net.decoder(torch.tensor([[1]]), memory, None, caches)
    assert len(calls) == 2


def test_without_lengths_nothing_is_padding():
    net, src, tgt = tiny_net(), torch.randint(11, (1, 5)), torch.randint(13, (1, 4))
    lens = torch.tensor([5])
    assert torch.equal(net(src, tgt), net(src, tgt, lens))
    assert torch.equal(net(src, tgt, None), net(src, tgt))
    for search in greedy_search, fast_greedy_search, generate:
        assert search(net, src, None, 1, 2, 6) == search(net, src, lens, 1, 2, 6)
    for search in beam_search, beam_search_batch:
        assert search(net, src, None, 1, 2, 6, 3) == search(net, src, lens, 1, 2, 6, 3)
    judge = Classifier(net.encoder, 8, 2, 0.0)
    assert torch.equal(judge(src), judge(src, lens))


def test_an_embedding_is_scaled_and_gets_its_position():
    embedding = TokenEmbedding(11, 8, 0.0)
    tokens = torch.randint(11, (2, 3))
    expected = embedding.embedding.weight[tokens] * 8**0.5 + sinusoidal_table(9, 8)[2:5]
    torch.testing.assert_close(embedding(tokens, start=2), expected)


def test_dropout_reaches_every_part():
    net = tiny_net(dropout=0.3)
    assert {m.p for m in net.modules() if isinstance(m, nn.Dropout)} == {0.3}
    attentions = [m for m in net.modules() if isinstance(m, MultiHeadAttention)]
    assert {attention.dropout for attention in attentions} == {0.3}


def test_dropout_is_on_the_branches_and_not_on_the_shortcuts():
    """With everything dropped, a block applies its norms to its input, one after the other."""
    X, memory = torch.randn(2, 3, 8), torch.randn(2, 4, 8)
    encoder, decoder = EncoderBlock(8, 16, 2, 1.0), DecoderBlock(8, 16, 2, 1.0)
    norm = encoder.addnorm1.norm
    torch.testing.assert_close(encoder(X), norm(norm(X)), **CLOSE)
    torch.testing.assert_close(decoder(X, memory)[0], norm(norm(norm(X))), **CLOSE)


def test_embeddings_start_with_the_scale_of_the_positions():
    embedding = TransformerEncoder(500, 32, 64, 4, 1, 0.0).embedding
    scaled = embedding.embedding.weight * 32**0.5
    assert scaled.std().item() == pytest.approx(1, abs=0.05)


def test_a_sentence_longer_than_the_positions():
    src = torch.zeros(1, 1001, dtype=torch.long)
    with pytest.raises(
        ValueError, match=r"length \(1001\) must be at most max_len \(1000\)"
    ):
        tiny_net()(src, src[:, :1], torch.tensor([1001]))
