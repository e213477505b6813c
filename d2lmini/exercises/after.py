"""Exercises of chapter 12."""

import torch

from d2lmini.checking.exercise import Exercise
from d2lmini.checking.subjects import Looker


def cache_by_hand():
    """3 layers, 8 heads of queries, 2 of keys and values, head size 16, 100 tokens."""
    return [2 * 3 * 2 * 16 * 100, 2 * 3 * 8 * 16 * 100]


def to_draw_from(logits, temperature, k):
    """Softmax of logits / temperature over the k largest, 0 elsewhere; (tokens,)."""
    kept = logits >= logits.topk(k).values[-1]
    return torch.softmax((logits / temperature).masked_fill(~kept, float("-inf")), dim=-1)


def _not_rescaled(logits, temperature, k):
    p = torch.softmax(logits / temperature, dim=-1)
    return p * (logits >= logits.topk(k).values[-1])


def _least_likely(logits, temperature, k):
    kept = logits <= logits.topk(k, largest=False).values[-1]
    return torch.softmax((logits / temperature).masked_fill(~kept, float("-inf")), dim=-1)


def _zero_logits(logits, temperature, k):
    kept = logits >= logits.topk(k).values[-1]
    return torch.softmax((logits / temperature) * kept, dim=-1)


def _draw_case(dice):
    tokens = dice.number(4, 9)
    return dice.normal(tokens), dice.number(3, 25) / 10, dice.number(1, tokens)


def nucleus(probabilities, p):
    """The fewest of the likeliest tokens that together have at least p; (tokens,), sum 1."""
    return _nucleus(probabilities, lambda before, own: before < p)


def _nucleus(probabilities, keeps, descending=True):
    """keeps(before, own): of a token, by what is before it in the order, and its own."""
    ordered, order = probabilities.sort(descending=descending)
    before = ordered.cumsum(dim=-1) - ordered
    kept = torch.zeros_like(probabilities)
    kept[order] = torch.where(keeps(before, ordered), ordered, 0.0)
    return kept / kept.sum()


def _first_is_kept(before, own):
    return torch.arange(len(own)) == 0


def _nucleus_case(dice):
    return dice.weights(dice.number(4, 9)), dice.number(20, 95) / 100


def patches(images, size):
    """(batch, height, width) to (batch, patches, size * size), row by row."""
    blocks = images.unfold(1, size, size).unfold(2, size, size)
    return blocks.flatten(1, 2).flatten(2)


def _sliced(images, size):
    return images.reshape(len(images), -1, size * size)


def _columns_first(images, size):
    blocks = images.unfold(1, size, size).unfold(2, size, size)
    return blocks.transpose(1, 2).flatten(1, 2).flatten(2)


def _scattered(images, size):
    """Every patch takes pixels from all over the image."""
    rows, columns = images.shape[1] // size, images.shape[2] // size
    spread = images.view(len(images), size, rows, size, columns)
    return spread.permute(0, 2, 4, 1, 3).flatten(1, 2).flatten(2)


def _images_case(dice):
    batch, rows, columns, size = dice.sizes(4)
    return dice.normal(batch, rows * size, columns * size), size


def _images(batch, height, width, size):
    return torch.arange(float(batch * height * width)).view(batch, height, width), size


def shared_in_turn(queries, keys):
    """Scores in which head h of the queries uses head h % num_kv_heads of the keys."""
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
    return dice.normal(batch, heads, steps, size), dice.normal(batch, kv_heads, steps, size)


NUM_TOKENS, NUM_STEPS = 5, 12


def furthest(net, values=range(NUM_TOKENS), places=range(NUM_STEPS)):
    """The largest distance back at which another token changes the logits."""
    return max(_distances(net, values, places), default=0)


def _distances(net, values=range(NUM_TOKENS), places=range(NUM_STEPS)):
    """All distances at which one of the values instead of 0 changes the logits."""
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
    """Leaves tokens out at the beginning, and compares with the text one token shorter."""
    tokens = torch.zeros(NUM_STEPS, dtype=torch.long)
    for length in range(1, NUM_STEPS):
        if torch.allclose(net(tokens[-length:]), net(tokens[-length - 1 :])):
            return length - 1
    return NUM_STEPS - 1


def _looker(distances, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = len(distances), NUM_TOKENS, NUM_TOKENS
    # Fractions of few digits: their sums are exact, in any order.
    table = torch.randint(-(2**12), 2**12, shape, generator=generator) / 2**12
    table[:, 1] = table[:, 0]  # nobody can tell token 1 from token 0
    return (Looker(distances, table),)


def _drawn_looker(dice):
    distances = sorted(dice.random.sample(range(NUM_STEPS), dice.number(1, 4)))
    return _looker(distances, dice.number(0, 10**6))


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
            "bytes, where numbers are asked for": lambda: [76800, 307200],
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
            (torch.tensor([-2.0, -0.5, -1.0]), 1.5, 1)],
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
            "logits, where probabilities are asked for": lambda logits, t, k: logits / t,
        },
        (
            "Divide the logits by the temperature first.",
            "logits.topk(k).values[-1] is the smallest logit that stays.",
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
            (torch.tensor([0.125, 0.5, 0.375]), 0.25)],
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
            "one token too many": lambda q, p: _nucleus(
                q, lambda before, own: before - own.roll(1).where(before > 0, 0.0) < p
            ),
            "all tokens": lambda q, p: q,
            "the likeliest token alone": lambda q, p: _nucleus(q, _first_is_kept),
        },
        (
            "Sort the probabilities, the largest first, and add them up with cumsum.",
            "A token stays if those before it have less than p together.",
            "Put the kept ones back in their places, and divide by their sum.",
        ),
        draw=_nucleus_case,
    ),
    Exercise(
        "after-4",
        patches,
        [
            _images(1, 4, 4, 2), _images(2, 4, 6, 2), _images(2, 6, 9, 3)],
        {
            "pieces of rows: a patch is a square": _sliced,
            "patches whose rows and columns are exchanged": lambda images, size: (
                patches(images, size).unflatten(2, (size, size)).mT.flatten(2)
            ),
            "patches column by column": _columns_first,
            "patches that overlap": lambda images, size: (
                images.unfold(1, size, 1).unfold(2, size, 1).flatten(1, 2).flatten(2)
            ),
            "pixels from all over the image in each patch": _scattered,
            "the axes of patches and pixels exchanged": lambda images, size: (
                patches(images, size).mT
            ),
        },
        (
            "images.unfold(1, size, size) cuts the rows: what is its shape?",
            "Cut the columns in the same way: (batch, rows, columns, size, size).",
            "flatten(1, 2) puts the patches in a row, and flatten(2) then the pixels of each.",
        ),
        draw=_images_case,
    ),
    Exercise(
        "after-5",
        shared_in_turn,
        [
            _heads(2, 4, 2, 3, 5), _heads(1, 6, 2, 4, 3), _heads(1, 6, 3, 2, 4)],
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
            _looker([0]), _looker([0, 1, 2]), _looker([0, 4]), _looker([0, 1, 11]),
            _looker([3]), _looker([2, 7]), _looker([0, 1, 2, 3, 4, 5])],
        {
            "a stop at the first distance that does not count: there may be gaps": _until_a_gap,
            "one other token alone, which the net may not tell from the first": lambda net: (
                furthest(net, values=[1])
            ),
            "the number of distances, not the largest": lambda net: len(_distances(net)),
            "the smallest distance that counts": lambda net: min(_distances(net), default=0),
            "a count of tokens: the last one is at distance 0": lambda net: furthest(net) + 1,
            "the place in the text, counted from its beginning": lambda net: (
                NUM_STEPS - 1 - furthest(net)
            ),
            "a first token that is never changed": lambda net: (
                furthest(net, places=range(1, NUM_STEPS))
            ),
            "a text that gets shorter, until something changes: there may be gaps": (
                _shorter_texts
            ),
        },
        (
            "Start from a text of twelve tokens, and change one token at a time.",
            "Try every other token at every place: the net may take two of them for the same.",
            "Place i is at distance 11 - i. Return the largest that ever changes the logits.",
        ),
        draw=_drawn_looker,
    ),
]  # fmt: skip
