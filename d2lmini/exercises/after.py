"""Exercises of chapter 13."""

import torch

from d2lmini.check.exercise import Exercise
from d2lmini.check.subjects import Looker


def cache_by_hand():
    """3 layers, 8 heads of queries, 2 of keys and values, head size 16, 100 tokens."""
    return [2 * 3 * 2 * 16 * 100, 2 * 3 * 8 * 16 * 100]


def to_draw_from(logits, temperature, k):
    """Softmax of logits / temperature over the k largest, 0 elsewhere; (tokens,)."""
    kept = logits >= logits.topk(k).values[-1]
    return torch.softmax(
        (logits / temperature).masked_fill(~kept, float("-inf")), dim=-1
    )


def _not_rescaled(logits, temperature, k):
    p = torch.softmax(logits / temperature, dim=-1)
    return p * (logits >= logits.topk(k).values[-1])


def _least_likely(logits, temperature, k):
    kept = logits <= logits.topk(k, largest=False).values[-1]
    return torch.softmax(
        (logits / temperature).masked_fill(~kept, float("-inf")), dim=-1
    )


def _zero_logits(logits, temperature, k):
    kept = logits >= logits.topk(k).values[-1]
    return torch.softmax((logits / temperature) * kept, dim=-1)


def _mixed_scales(logits, temperature, k):
    scores = logits / temperature
    kept = scores >= logits.topk(k).values[-1]
    return torch.softmax(scores.masked_fill(~kept, float("-inf")), dim=-1)


def _without_the_kth(logits, temperature, k):
    kept = logits > logits.topk(k).values[-1]
    return torch.softmax(
        (logits / temperature).masked_fill(~kept, float("-inf")), dim=-1
    )


def _draw_case(dice):
    tokens = dice.number(4, 9)
    return dice.normal(tokens), dice.number(3, 25) / 10, dice.number(1, tokens)


def nucleus(probabilities, p):
    """The likeliest tokens with a total probability of at least p, renormalised; (tokens,)."""
    return _nucleus(probabilities, lambda before, own: before < p)


def _nucleus(probabilities, keeps, descending=True):
    """keeps(before, own): whether to keep a token, by the sum before it and its own probability."""
    ordered, order = probabilities.sort(descending=descending)
    before = ordered.cumsum(dim=-1) - ordered
    kept = torch.zeros_like(probabilities)
    kept[order] = torch.where(keeps(before, ordered), ordered, 0.0)
    return kept / kept.sum()


def _first_is_kept(before, own):
    return torch.arange(len(own)) == 0


def _nucleus_case(dice):
    return dice.weights(dice.number(4, 9)), dice.number(20, 95) / 100


def put_together(pieces, height, width, size):
    """(batch, height, width), from (batch, patches, size * size), row by row."""
    blocks = pieces.view(-1, height // size, width // size, size, size)
    return blocks.transpose(2, 3).reshape(-1, height, width)


def _side_by_side(pieces, height, width, size):
    return pieces.reshape(-1, height, width)


def _turned_patches(pieces, height, width, size):
    turned = pieces.unflatten(2, (size, size)).mT.flatten(2)
    return put_together(turned, height, width, size)


def _columns_first(pieces, height, width, size):
    blocks = pieces.view(-1, width // size, height // size, size, size)
    return blocks.permute(0, 2, 3, 1, 4).reshape(-1, height, width)


def _scattered(pieces, height, width, size):
    """Put pixel i of each patch into block i, which scatters the patches over the image."""
    rows, columns = height // size, width // size
    spread = pieces.view(-1, rows, columns, size, size)
    return spread.permute(0, 3, 1, 4, 2).reshape(-1, height, width)


def _upside_down(pieces, height, width, size):
    return put_together(pieces.flip(1), height, width, size)


def _pieces_case(dice):
    batch, rows, columns, size = dice.sizes(4)
    if len({batch, rows * columns, size * size}) < 3:
        return _pieces_case(dice)
    pieces = dice.normal(batch, rows * columns, size * size)
    return pieces, rows * size, columns * size, size


def _pieces(batch, height, width, size):
    number = height * width // size**2
    pieces = torch.arange(float(batch * height * width)).view(
        batch, number, size * size
    )
    return pieces, height, width, size


def shared_in_turn(queries, keys):
    """Scores in which query head h uses key head h % num_kv_heads."""
    return _scores(queries, keys.repeat(1, queries.shape[1] // keys.shape[1], 1, 1))


def _scores(queries, keys):
    return queries @ keys.mT / queries.shape[-1] ** 0.5


def _in_groups(queries, keys):
    return keys.repeat_interleave(queries.shape[1] // keys.shape[1], dim=1)


def _heads(batch, heads, kv_heads, steps, size):
    generator = torch.Generator().manual_seed(heads)
    shapes = (batch, heads, steps, size), (batch, kv_heads, steps, size)
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def _heads_case(dice):
    batch, kv_heads, steps, size = dice.sizes(4, low=3)
    heads = kv_heads * dice.number(2, 3)
    return dice.normal(batch, heads, steps, size), dice.normal(
        batch, kv_heads, steps, size
    )


NUM_TOKENS, NUM_STEPS = 5, 12


def furthest(net, values=range(NUM_TOKENS), places=range(NUM_STEPS)):
    """The largest distance back at which a different token changes the logits."""
    return max(_distances(net, values, places), default=0)


def _distances(net, values=range(NUM_TOKENS), places=range(NUM_STEPS)):
    """All distances at which replacing 0 by one of the values changes the logits."""
    tokens = torch.zeros(NUM_STEPS, dtype=torch.long)
    before, found = net(tokens), set()
    for place in places:
        for value in values:
            other = tokens.clone()
            other[place] = value
            if not torch.allclose(net(other), before):
                found.add(NUM_STEPS - 1 - place)
    return found


def _until_a_gap(net):
    found, distance = _distances(net), 0
    while distance in found:
        distance += 1
    return max(distance - 1, 0)


def _shorter_texts(net):
    """Drop tokens at the beginning, and compare with the text one token shorter."""
    tokens = torch.zeros(NUM_STEPS, dtype=torch.long)
    for length in range(1, NUM_STEPS):
        if torch.allclose(net(tokens[-length:]), net(tokens[-length - 1 :])):
            return length - 1
    return NUM_STEPS - 1


def _looker(distances, odd, cancels=False, seed=0):
    """A net that distinguishes one token at each distance; at the furthest, it is odd.

    Args:
        cancels: whether it moves two logits in opposite directions, leaving the first unchanged.
    """
    generator, number = torch.Generator().manual_seed(seed), len(distances)
    # Fractions with few digits, whose sums are exact in any order
    steps = torch.randint(1, 2**12, (number, NUM_TOKENS), generator=generator) / 2**12
    if cancels:
        steps = steps[:, :1] * torch.tensor([0.0, 1.0, 0.0, 0.0, -1.0])
    tokens = (odd + torch.arange(number).flip(0)) % NUM_TOKENS
    table = torch.zeros(number, NUM_TOKENS, NUM_TOKENS)
    table[torch.arange(number), tokens] = steps
    return (Looker(distances, table),)


def _drawn_looker(dice):
    distances = sorted(dice.random.sample(range(NUM_STEPS), dice.number(1, 4)))
    odd, cancels = dice.number(0, NUM_TOKENS - 1), dice.number(0, 1) > 0
    return _looker(distances, odd, cancels, dice.number(0, 10**6))


def _never_put_back(net):
    """Change the same text cumulatively, from its end."""
    tokens = torch.zeros(NUM_STEPS, dtype=torch.long)
    before, found = net(tokens), 0
    for place in reversed(range(NUM_STEPS)):
        for value in range(NUM_TOKENS):
            tokens[place] = value
            if not torch.allclose(net(tokens), before):
                found = NUM_STEPS - 1 - place
    return found


EXERCISES = [
    Exercise(
        "after-1",
        cache_by_hand,
        [()],
        {
            "keys alone, without the values": lambda: [9600, 38400],
            "one layer of the three": lambda: [6400, 25600],
            "the two numbers exchanged: sharing makes the cache smaller": (
                lambda: [76800, 19200]
            ),
            "four times too many: bytes, or a head size of 128 / 2": lambda: [76800, 307200],
            "keys and values for every head in both cases": lambda: [76800, 76800],
            "queries, which are never needed again": lambda: [57600, 115200],
            "one head, without the others": lambda: [9600, 9600],
            "the cache of one token": lambda: [192, 768],
            "a share of the head for each query that uses it": lambda: [4800, 76800],
        },
        (
            "What is kept for one token, in one layer, for one head of keys and values?",
            "A key and a value of 16 numbers each.",
            "2 × 16 numbers, times heads of keys and values, layers, and tokens.",
        ),
    ),
    Exercise(
        "after-2",
        to_draw_from,
        [
            (torch.tensor([2.0, 1.0, 0.0]), 1.0, 2), (torch.tensor([1.0, 3.0, 2.0]), 0.5, 3),
            (torch.tensor([0.5, -1.0, 0.0, 2.0]), 2.0, 3),
            (torch.tensor([-2.0, -0.5, -1.0]), 1.5, 1),
            (torch.tensor([-40.0, -42.0, -41.0]), 1.0, 2)],
        {
            "logits that are multiplied by the temperature": lambda logits, t, k: (
                to_draw_from(logits, 1 / t, k)
            ),
            "no temperature": lambda logits, t, k: to_draw_from(logits, 1.0, k),
            "no top-k": lambda logits, t, k: to_draw_from(logits, t, len(logits)),
            "probabilities of the k likeliest that do not add up to 1": _not_rescaled,
            "the k least likely tokens": _least_likely,
            "logits of 0 for what is left out, which is a score like any other": _zero_logits,
            "one token fewer than k": lambda logits, t, k: to_draw_from(logits, t, max(1, k - 1)),
            "divided logits that are compared with one that is not": _mixed_scales,
            "a comparison that leaves out the k-th token itself": _without_the_kth,
            "logits, where probabilities are asked for": lambda logits, t, k: logits / t,
        },
        (
            "Divide the logits by the temperature first.",
            "scores.topk(k).values[-1], of the divided scores, is the smallest that stays.",
            "Set the others to minus infinity, as a mask does, and take the softmax.",
        ),
        draw=_draw_case,
    ),
    Exercise(
        "after-3",
        nucleus,
        [
            (torch.tensor([0.5, 0.3, 0.2]), 0.7), (torch.tensor([0.1, 0.6, 0.3]), 0.5),
            (torch.tensor([0.25, 0.05, 0.4, 0.3]), 0.9),
            (torch.tensor([0.125, 0.5, 0.375]), 0.25), (torch.tensor([0.125, 0.5, 0.375]), 0.5)],
        {
            "the token that reaches p left out": lambda q, p: _nucleus(
                q, lambda before, own: (before + own <= p) | _first_is_kept(before, own)
            ),
            "the tokens that have p each": lambda q, p: _nucleus(
                q, lambda before, own: (own >= p) | _first_is_kept(before, own)
            ),
            "the least likely tokens first": lambda q, p: _nucleus(
                q, lambda before, own: before < p, descending=False
            ),
            "probabilities that do not add up to 1": lambda q, p: q * (nucleus(q, p) > 0),
            "one more token, although those before it have exactly p": lambda q, p: _nucleus(
                q, lambda before, own: before <= p
            ),
            "sorted probabilities, which are not put back": lambda q, p: (
                nucleus(q, p).sort(descending=True).values
            ),
            "nothing at all where the likeliest has more than p": lambda q, p: _nucleus(
                q, lambda before, own: before + own <= p
            ),
            "one token too many": lambda q, p: _nucleus(
                q, lambda before, own: before - own.roll(1).where(before > 0, 0.0) < p
            ),
            "all tokens": lambda q, p: q,
            "the likeliest token alone": lambda q, p: _nucleus(q, _first_is_kept),
        },
        (
            "Sort the probabilities, the largest first, and add them up with cumsum.",
            "A token stays if those before it add up to less than p.",
            "Put the kept ones back in their places, and divide by their sum.",
        ),
        draw=_nucleus_case,
    ),
    Exercise(
        "after-4",
        put_together,
        [
            _pieces(1, 4, 4, 2), _pieces(1, 2, 4, 2), _pieces(1, 4, 6, 2), _pieces(2, 6, 9, 3)],
        {
            "patches laid side by side as rows: a patch is a square": _side_by_side,
            "patches whose rows and columns are exchanged": _turned_patches,
            "patches that are put in column by column": _columns_first,
            "patches that are scattered over the image": _scattered,
            "the last patch put in first": _upside_down,
            "height and width exchanged": lambda pieces, height, width, size: (
                put_together(pieces, width, height, size)
            ),
            "images with an axis for channels": lambda *case: put_together(*case)[:, None],
        },
        (
            "How many patches lie side by side, and how many below each other?",
            "View the pieces as (batch, rows of patches, columns of patches, size, size).",
            "Exchange the two middle axes, then reshape to (batch, height, width).",
        ),
        draw=_pieces_case,
    ),
    Exercise(
        "after-5",
        shared_in_turn,
        [
            _heads(1, 4, 2, 1, 2), _heads(2, 4, 2, 3, 5),
            _heads(1, 6, 2, 4, 3), _heads(1, 6, 3, 2, 4)],
        {
            "scores without a mistake": lambda Q, K: _scores(Q, _in_groups(Q, K)),
            "the first head of keys for all": lambda Q, K: _scores(Q, K[:, :1]),
            "the last head of keys for all": lambda Q, K: _scores(Q, K[:, -1:]),
            "groups in the opposite order": lambda Q, K: _scores(Q, _in_groups(Q, K).flip(1)),
            "heads in turn, beginning with the last": lambda Q, K: shared_in_turn(Q, K.flip(1)),
            "the mean of all heads of keys": lambda Q, K: _scores(Q, K.mean(1, keepdim=True)),
            "scores that are not divided by the root of the head size": lambda Q, K: (
                shared_in_turn(Q, K) * Q.shape[-1] ** 0.5
            ),
            "queries and keys exchanged": lambda Q, K: shared_in_turn(Q, K).mT,
        },
        (
            "Give each head of the keys a number of its own: 1 everywhere in head 0, 2 in head 1.",
            "Let all queries be alike, with four heads of queries and two of keys.",
            "Which keys does head 1 of the queries use? And head 2?",
        ),
        draw=_heads_case,
        unseen=True,
    ),
    Exercise(
        "after-6",
        furthest,
        [
            _looker([0], 2), _looker([0, 1, 2], 3, cancels=True), _looker([0, 4], 4),
            _looker([0, 1, 11], 1), _looker([3], 0), _looker([2, 7], 2),
            _looker([0, 1, 2, 3, 4, 5], 3), _looker([0, 11], 4), _looker([5, 6, 8], 1)],
        {
            "a stop at the first distance that does not count: there may be gaps": _until_a_gap,
            "one other token alone, which the net may not tell from the first": lambda net: (
                furthest(net, values=[1])
            ),
            "a last token that is never tried": lambda net: furthest(net, values=range(4)),
            "the number of distances, not the largest": lambda net: len(_distances(net)),
            "the smallest distance that counts": lambda net: min(_distances(net), default=0),
            "a count of tokens: the last one is at distance 0": lambda net: furthest(net) + 1,
            "the place in the text, counted from its beginning": lambda net: (
                NUM_STEPS - 1 - furthest(net)
            ),
            "a change that is not undone: the places after it inherit it": _never_put_back,
            "a first token that is never changed": lambda net: (
                furthest(net, places=range(1, NUM_STEPS))
            ),
            "a text that gets shorter, until something changes: there may be gaps": (
                _shorter_texts
            ),
        },
        (
            "Start from a text of twelve tokens, and change one token at a time.",
            "Try every other token at every place: the network may treat two of them alike.",
            "Place i is at distance 11 - i. Return the largest that ever changes the logits.",
        ),
        draw=_drawn_looker,
    ),
]  # fmt: skip
