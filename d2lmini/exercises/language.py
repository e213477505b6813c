"""Exercises of chapter 15."""

import torch

from d2lmini.check.exercise import Exercise
from d2lmini.masks import causal_mask, masked_softmax


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


def induction_scores(tokens, weights, ahead=1, which=-1, everywhere=False):
    """The mean weight on the token after the last earlier occurrence of one's own; (heads,)."""
    found = []
    for sentence, of_heads in zip(tokens.tolist(), weights, strict=True):
        for i, token in enumerate(sentence):
            earlier = [j for j in range(i) if sentence[j] == token]
            if earlier:
                found.append(of_heads[:, i, max(0, earlier[which] + ahead)])
            elif everywhere:
                found.append(torch.zeros_like(of_heads[:, 0, 0]))
    return torch.stack(found).mean(dim=0)


def _as_key(tokens, weights):
    return induction_scores(tokens, weights.mT)


def _means_of_means(tokens, weights):
    each = [
        induction_scores(one[None], of_one[None])
        for one, of_one in zip(tokens, weights, strict=True)
        if len({*one.tolist()}) < len(one)
    ]
    return torch.stack(each).mean(dim=0)


def _looking(tokens, heads, seed):
    """A case: sentences, and weights of heads that look at places so far."""
    tokens = torch.tensor(tokens)
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(*tokens.shape, tokens.shape[1], heads, generator=generator)
    return tokens, masked_softmax(scores.movedim(-1, 1), causal_mask(tokens.shape[1]))


def _looking_case(dice):
    batch, heads, steps = dice.number(1, 3), dice.number(1, 4), dice.number(3, 9)
    # more places than tokens, so at least one comes twice
    tokens = dice.below(dice.number(1, steps - 1), batch, steps)
    scores = dice.normal(batch, heads, steps, steps)
    return tokens, masked_softmax(scores, causal_mask(steps))


EXERCISES = [
    Exercise(
        "language-1",
        to_draw_from,
        [
            (torch.tensor([2.0, 1.0, 0.0]), 1.0, 2), (torch.tensor([1.0, 3.0, 2.0]), 0.5, 3),
            (torch.tensor([0.5, -1.0, 0.0, 2.0]), 2.0, 3),
            (torch.tensor([-2.0, -0.5, -1.0]), 1.5, 1),
            (torch.tensor([-40.0, -42.0, -41.0]), 1.0, 2),
            (torch.tensor([-200.0, -201.0, -202.0]), 1.0, 2),
            (torch.tensor([1.0, 3.0, 2.0]), 0.25, 3)],
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
        "language-2",
        nucleus,
        [
            (torch.tensor([0.5, 0.3, 0.2]), 0.7), (torch.tensor([0.1, 0.6, 0.3]), 0.5),
            (torch.tensor([0.25, 0.05, 0.4, 0.3]), 0.9),
            (torch.tensor([0.125, 0.5, 0.375]), 0.25), (torch.tensor([0.125, 0.5, 0.375]), 0.5),
            (torch.tensor([0.2, 0.18, 0.16, 0.14, 0.12, 0.11, 0.09]), 0.95),
            (torch.tensor([0.2, 0.18, 0.16, 0.14, 0.12, 0.11, 0.09]), 0.1),
            (torch.tensor([0.6, 0.012, 0.38, 0.008]), 0.995)],
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
        "language-3",
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
        "language-4",
        induction_scores,
        [
            _looking([[5, 7, 5]], 1, 0), _looking([[1, 2, 3, 1]], 2, 1),
            _looking([[4, 2, 4, 2, 4]], 2, 2), _looking([[1, 2, 1, 4], [3, 3, 3, 1]], 3, 3)],
        {
            "the weight on the earlier occurrence itself; look one further": (
                lambda *case: induction_scores(*case, ahead=0)
            ),
            "the weight on the token before the earlier occurrence": (
                lambda *case: induction_scores(*case, ahead=-1)
            ),
            "the first occurrence of all, instead of the last one before": (
                lambda *case: induction_scores(*case, which=0)
            ),
            "a mean over all positions, also those whose token is new": (
                lambda *case: induction_scores(*case, everywhere=True)
            ),
            "queries and keys exchanged: a row belongs to a query": _as_key,
            "a mean of the sentences' means; each repetition counts alike": _means_of_means,
            "one number for all heads": lambda *case: induction_scores(*case).mean(),
        },
        (
            "Go through each sentence from left to right, and remember where each token last was.",
            "At position i, with the same token last at j, which row and column of weights?",
            "Collect weights[b, :, i, j + 1] for each repetition, and take the mean of all.",
        ),
        draw=_looking_case,
    ),
]  # fmt: skip
