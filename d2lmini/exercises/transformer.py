"""Exercises of chapter 8."""

import torch

from d2lmini.check.exercise import Exercise
from d2lmini.check.subjects import EncoderBlockInParts, Net, NextTokens
from d2lmini.masks import causal_mask, padding_mask
from d2lmini.transformer import (
    EncoderBlock,
    TokenEmbedding,
)


def shapes(batch, src_steps, tgt_steps, width, heads, layers, tgt_vocab, order="lbh"):
    """The shapes of memory, logits, and the weights of encoder, self- and cross-attention."""
    front = tuple({"l": layers, "b": batch, "h": heads}[axis] for axis in order)
    return [
        (batch, src_steps, width),
        (batch, tgt_steps, tgt_vocab),
        (*front, src_steps, src_steps),
        (*front, tgt_steps, tgt_steps),
        (*front, tgt_steps, src_steps),
    ]


def _cross_transposed(*sizes):
    *others, cross = shapes(*sizes)
    return [*others, (*cross[:3], cross[4], cross[3])]


def written(decoder, batch, bos, eos, pad, num_steps, keeps=True, end=torch.all):
    """Greedy decoding of a batch, until all sentences (or any) have ended."""
    tokens, ended = torch.full((batch, 1), bos), torch.zeros(batch) > 0
    while tokens.shape[1] <= num_steps and not end(ended):
        last = torch.where(ended & keeps, pad, decoder(tokens).argmax(-1))
        tokens = torch.cat([tokens, last[:, None]], dim=1)
        ended = ended | (last == eos)
    return tokens[:, 1:]


def _replace(tokens, old, new):
    return torch.where(tokens == old, new, tokens)


def _decoding(batch, size, num_steps, seed=0):
    """A decoder for a vocabulary of this size, and ids of bos, eos and pad."""
    source = torch.Generator().manual_seed(seed)
    bos, eos, pad = torch.randperm(size, generator=source)[:3].tolist()
    scores = torch.randn(num_steps, batch, size, size, generator=source)
    scores[..., bos] -= 9.0  # never the best
    return NextTokens(scores), batch, bos, eos, pad, num_steps


def _blocks():
    """Blocks with input and mask: small, larger, and with all branches dropped."""
    cases = (2, 4, [2], 0.0), (5, 8, [5, 2], 0.0), (3, 4, [3], 1.0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for steps, width, lens, dropped in cases:
            block = EncoderBlockInParts(width, 2 * width, 2, 0.0)
            for addnorm in (block.addnorm1, block.addnorm2):
                # else all norms are equal
                torch.nn.init.normal_(addnorm.norm.weight)
                addnorm.dropout.p = dropped
            X = torch.randn(len(lens), steps, width)
            yield block, X, padding_mask(torch.tensor(lens), steps)


def pre_norm(block, X, mask, before=True, dropped=True, around=True):
    """An encoder block's parts, wired as pre-norm; False makes a mistake."""
    for addnorm, branch in (
        (block.addnorm1, lambda Y: block.attention(Y, Y, Y, mask)),
        (block.addnorm2, block.ffn),
    ):
        normed = addnorm.norm(X)
        update = branch(normed) if before else addnorm.norm(branch(X))
        update = addnorm.dropout(update) if dropped else update
        X = (X if around else normed) + update
    return X


def _norms_after(block, X, mask):
    """The parts of pre-norm in the order of post-norm, without the shortcut's norm."""
    return block.addnorm2.norm(pre_norm(block, X, mask))


def _norms_exchanged(block, X, mask):
    normed = block.addnorm2.norm(X)
    Y = X + block.addnorm1.dropout(block.attention(normed, normed, normed, mask))
    return Y + block.addnorm2.dropout(block.ffn(block.addnorm1.norm(Y)))


def _first_norm_alone(block, X, mask):
    normed = block.addnorm1.norm(X)
    Y = X + block.addnorm1.dropout(block.attention(normed, normed, normed, mask))
    return Y + block.addnorm2.dropout(block.ffn(Y))


def _queries_alone(block, X, mask):
    Y = X + block.addnorm1.dropout(block.attention(block.addnorm1.norm(X), X, X, mask))
    return Y + block.addnorm2.dropout(block.ffn(block.addnorm2.norm(Y)))


def _shapes_case(dice):
    batch, src_steps, tgt_steps, size, heads, layers, tgt_vocab = dice.sizes(7)
    return batch, src_steps, tgt_steps, size * heads, heads, layers, tgt_vocab


def _memory_case(dice):
    """A cyclic order of the first three words, which is not its own inverse."""
    batch, steps, num_hiddens = dice.sizes(3, low=4)
    order = torch.arange(steps)
    order[:3] = torch.tensor([1, 2, 0])
    return dice.normal(batch, steps, num_hiddens), order


def _block_case(dice):
    """A deterministic block with different norms: all of its branches dropped, or none."""
    batch, steps, size, num_heads = dice.sizes(4)
    width = size * num_heads
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(dice.random.getrandbits(32))
        block = EncoderBlockInParts(
            width, 2 * width, num_heads, float(dice.number(0, 1))
        )
    for addnorm in (block.addnorm1, block.addnorm2):
        addnorm.norm.weight.data = dice.normal(width)
    mask = padding_mask(dice.lengths(batch, steps), steps)
    return block, dice.normal(batch, steps, width), mask


def _plain_block_case(dice):
    """Like _block_case, without dropout."""
    block, X, mask = _block_case(dice)
    for addnorm in (block.addnorm1, block.addnorm2):
        addnorm.dropout.p = 0.0
    return block, X, mask


def network_first(block, X, mask):
    """An encoder block with its network before its attention."""
    Y = block.addnorm1(X, block.ffn(X))
    return block.addnorm2(Y, block.attention(Y, Y, Y, mask))


def _network_first_own_norms(block, X, mask):
    Y = block.addnorm2(X, block.ffn(X))
    return block.addnorm1(Y, block.attention(Y, Y, Y, mask))


def _side_by_side(block, X, mask):
    Y = block.addnorm1(X, block.attention(X, X, X, mask))
    return block.addnorm2(Y, block.ffn(X))


def small_gpt(embedding, blocks, output, tokens):
    """The logits of a decoder without an encoder: encoder blocks under a causal mask."""
    X = embedding(tokens)
    for block in blocks:
        X = block(X, causal_mask(tokens.shape[1]))
    return output(X)


def _gpt_case(num_layers, vocab_size, batch, steps, width, seed=0):
    """The parts of a net, and tokens for it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        blocks = tuple(
            EncoderBlock(width, 2 * width, 2, 0.0) for _ in range(num_layers)
        )
        for block in blocks:  # with weights of 1, a second norm would change nothing
            torch.nn.init.normal_(block.addnorm2.norm.weight)
        embedding = TokenEmbedding(vocab_size, width, 0.0)
        output = torch.nn.Linear(width, vocab_size)
        return embedding, blocks, output, torch.randint(vocab_size, (batch, steps))


def _drawn_gpt_case(dice):
    num_layers, batch, steps, half = dice.sizes(4)
    sizes = num_layers, dice.number(20, 30), batch, steps, 2 * half
    return _gpt_case(*sizes, seed=dice.random.getrandbits(32))


def _no_future_hidden(embedding, blocks, output, tokens):
    X = embedding(tokens)
    for block in blocks:
        X = block(X)
    return output(X)


def _first_block_only(embedding, blocks, output, tokens):
    X = embedding(tokens)
    for i, block in enumerate(blocks):
        X = block(X, causal_mask(tokens.shape[1]) if i == 0 else None)
    return output(X)


def _upside_down(embedding, blocks, output, tokens):
    X = embedding(tokens)
    for block in blocks:
        X = block(X, causal_mask(tokens.shape[1]).T)
    return output(X)


def _without_positions(embedding):
    return lambda tokens: (
        embedding.embedding(tokens) * embedding.embedding.embedding_dim**0.5
    )


def _around_each_block(embedding, blocks, output, tokens):
    X = embedding(tokens)
    for block in blocks:
        X = X + block(X, causal_mask(tokens.shape[1]))
    return output(X)


def _strictly_before(embedding, blocks, output, tokens):
    X = embedding(tokens)
    for block in blocks:
        X = block(X, causal_mask(tokens.shape[1]).tril(-1))
    return output(X)


def source_and_order(net):
    """Whether a net uses the source, and whether it uses its order."""
    src, tgt = torch.tensor([1, 2, 3, 4]), torch.tensor([5, 6])
    before = net(src, tgt)
    return [
        not torch.allclose(before, net(torch.tensor([7, 8, 9, 0]), tgt)),
        not torch.allclose(before, net(src.roll(1), tgt), atol=1e-5),
    ]


def _net(source, order, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (Net(source, order, torch.randn(10, 10, generator=generator)),)


def _drawn_net(dice):
    source = dice.number(0, 2) > 0
    return _net(source, source and dice.number(0, 1) > 0, dice.number(0, 10**6))


EXERCISES = [
    Exercise(
        "transformer-1",
        shapes,
        [(3, 9, 5, 16, 4, 2, 50), (1, 2, 3, 4, 2, 1, 5)],
        {
            "a cross-attention with the source as queries": _cross_transposed,
            "weights with the batch first: layers come first": lambda *sizes: shapes(
                *sizes, order="blh"
            ),
            "a memory as long as the target": lambda b, s, t, d, *rest: [
                (b, t, d),
                *shapes(b, s, t, d, *rest)[1:],
            ],
            "weights without the axis of the layers": lambda *sizes: shapes(
                *sizes, order="bh"
            ),
            "logits of width num_hiddens, not one for each word": lambda b, s, t, d, *rest: [
                (b, t, d) if i == 1 else shape
                for i, shape in enumerate(shapes(b, s, t, d, *rest))
            ],
        },
        (
            "Self-attention has as many queries as keys. Whose are they in cross-attention?",
            "Weights are (layers, batch, heads, queries, keys).",
            "The memory keeps the shape of the embedded source; logits end in the vocabulary.",
        ),
        draw=_shapes_case,
    ),
    Exercise(
        "transformer-2",
        lambda memory, order: memory[:, order],
        [
            (torch.arange(12.0).view(2, 2, 3), torch.tensor([1, 0])),
            (torch.arange(24.0).view(3, 2, 4), torch.tensor([1, 0])),
            (torch.arange(120.0).view(5, 4, 6), torch.tensor([3, 1, 0, 2])),
        ],
        {
            "a memory that stays in the old order; each word takes its vector along": (
                lambda m, order: m
            ),
            "the inverse permutation": lambda m, order: m[:, order.argsort()],
            "a permutation of the sentences": lambda m, order: m[order],
            "a permutation of the features": lambda m, order: m[:, :, order],
        },
        (
            "Each position's output depends on its own vector and on the set of all vectors.",
            "The set has not changed. Position i now holds the word order[i].",
            "The same vectors, in the new order along the axis of steps: which index does that?",
        ),
        draw=_memory_case,
    ),
    Exercise(
        "transformer-3",
        written,
        [
            _decoding(1, 5, 4, 1),
            _decoding(2, 6, 9, 2),
            _decoding(4, 7, 9, 5),
            _decoding(5, 9, 6, 4),
            _decoding(6, 6, 12, 3),
        ],
        {
            "sentences that go on after their end: each then gets pad": (
                lambda *x: written(*x, keeps=False)
            ),
            "a batch that stops when the first sentence has ended": (
                lambda *x: written(*x, end=torch.any)
            ),
            "sentences without their eos": lambda d, n, bos, eos, pad, steps: _replace(
                written(d, n, bos, eos, pad, steps), eos, pad
            ),
            "sentences that begin with bos": lambda d, n, bos, *x: torch.cat(
                [torch.full((n, 1), bos), written(d, n, bos, *x)], dim=1
            ),
            "steps that go on when all sentences have ended": lambda *x: written(
                *x, end=lambda ended: False
            ),
            "the least likely token in place of the likeliest": lambda d, *x: written(
                lambda last: -d(last), *x
            ),
        },
        (
            "Keep a boolean (batch,): which sentences have ended? At first none has.",
            "torch.where(ended, pad, best) gives pad to those and the best token to the others.",
            "After each step, ended = ended | (last == eos). When may the loop stop?",
        ),
        draw=lambda dice: _decoding(
            dice.number(2, 5),
            dice.number(5, 9),
            dice.number(3, 9),
            dice.number(0, 10**6),
        ),
    ),
    Exercise(
        "transformer-4",
        lambda d, f: 8 * d * d + 2 * d * f + f + d + 6 * d,
        [(10, 1000), (1, 1), (3, 5), (32, 64)],
        {
            "an encoder block, with one attention": lambda d, f: (
                4 * d * d + 2 * d * f + f + 5 * d
            ),
            "a network without biases": lambda d, f: 8 * d * d + 2 * d * f + 6 * d,
            "norms with a weight and no bias": lambda d, f: (
                8 * d * d + 2 * d * f + f + 4 * d
            ),
            "two norms: a decoder block has three": lambda d, f: (
                8 * d * d + 2 * d * f + f + 5 * d
            ),
            "norms without parameters": lambda d, f: 8 * d * d + 2 * d * f + f + d,
            "attentions without W_o": lambda d, f: 6 * d * d + 2 * d * f + f + 7 * d,
            "attentions with biases": lambda d, f: (
                8 * d * d + 8 * d + 2 * d * f + f + 7 * d
            ),
            "two biases of length d in the network": lambda d, f: (
                8 * d * d + 2 * d * f + 8 * d
            ),
        },
        (
            "Two attentions with four matrices each, a network, three norms.",
            "The network has two layers with biases: d f + f and f d + d.",
            "A norm has a weight and a bias of d numbers each.",
        ),
        draw=lambda dice: tuple(dice.sizes(2)),
    ),
    Exercise(
        "transformer-5",
        pre_norm,
        list(_blocks()),
        {
            "post-norm, the block of this chapter": EncoderBlock.forward,
            "norms on what the branches return instead of on what they read": (
                lambda block, X, mask: pre_norm(block, X, mask, before=False)
            ),
            "branches without their dropout, which one of the blocks has": (
                lambda block, X, mask: pre_norm(block, X, mask, dropped=False)
            ),
            "shortcuts that begin behind the norm: the stream itself is not normalised": (
                lambda block, X, mask: pre_norm(block, X, mask, around=False)
            ),
            "a last norm inside the block: it stands once, above the whole stack": _norms_after,
            "the two norms in each other's place": _norms_exchanged,
            "a network that reads the stream without a norm": _first_norm_alone,
            "an attention whose keys and values are not normalised": _queries_alone,
            "attention without the mask": lambda block, X, _: pre_norm(block, X, None),
        },
        (
            "Draw the stream first: X goes straight through, and two branches add to it.",
            "Each branch begins with its norm, block.addnorm1.norm or block.addnorm2.norm.",
            "What is added is a branch's output, after dropout. To what is the second one added?",
        ),
        draw=_block_case,
    ),
    Exercise(
        "transformer-6",
        network_first,
        list(_blocks())[:2],
        {
            "a block without a mistake": EncoderBlock.forward,
            "the network first, each part with its own norm: the norms keep their places": (
                _network_first_own_norms
            ),
            "attention first, and a network that reads X": _side_by_side,
            "attention without the mask": lambda block, X, mask: network_first(
                block, X, None
            ),
            "the network first, which is right, with the first add & norm twice": (
                lambda block, X, mask: block.addnorm1(
                    Y := block.addnorm1(X, block.ffn(X)), block.attention(Y, Y, Y, mask)
                )
            ),
            "the network first, which is right, with X in the second add & norm": (
                lambda block, X, mask: block.addnorm2(
                    X, block.attention(*[block.addnorm1(X, block.ffn(X))] * 3, mask)
                )
            ),
        },
        (
            "Silence the attention: fill block.attention.W_o.weight with zeros. What is left?",
            "Compare it with what block(X, mask) leaves. Where does the network come in?",
            "With a silent attention, is what the network reads normalised once, or not at all?",
        ),
        draw=_plain_block_case,
        unseen=True,
    ),
    Exercise(
        "transformer-7",
        small_gpt,
        [_gpt_case(2, 5, 1, 2, 4), _gpt_case(3, 9, 2, 5, 8)],
        {
            "a network that sees the future: every block needs the mask": _no_future_hidden,
            "a causal mask in the first block only": _first_block_only,
            "a mask that hides each token from itself": _strictly_before,
            "one block where several are given": lambda embedding, blocks, *rest: (
                small_gpt(embedding, blocks[:1], *rest)
            ),
            "blocks in reverse order": lambda embedding, blocks, *rest: small_gpt(
                embedding, blocks[::-1], *rest
            ),
            "a mask upside down: each position sees what follows": _upside_down,
            "probabilities instead of logits": lambda *parts: small_gpt(*parts).softmax(
                -1
            ),
            "an embedding without positions": lambda embedding, *rest: small_gpt(
                _without_positions(embedding), *rest
            ),
            "one more residual connection around each block": _around_each_block,
        },
        (
            "A decoder block without its cross-attention: which block of this chapter is that?",
            "An encoder block takes any mask. Which one keeps it from reading ahead?",
            "Which layer comes before the blocks, and which after the last?",
        ),
        draw=_drawn_gpt_case,
    ),
    Exercise(
        "transformer-8",
        source_and_order,
        [_net(False, False), _net(True, False), _net(True, True)],
        {
            "two answers that are always the same: the source may count without its order": (
                lambda net: [source_and_order(net)[0]] * 2
            ),
            "the two answers exchanged": lambda net: source_and_order(net)[::-1],
            "the belief that a network uses all it is given": lambda net: [True, True],
        },
        (
            "Change the source and keep the target. Do the logits move?",
            "Then keep the words of the source, and change only their order.",
            "Compare net(src, tgt) with net(other_src, tgt) and with net(src.roll(1), tgt).",
        ),
        draw=_drawn_net,
    ),
]
