"""What answers are given: models to experiment with, and a block to assemble."""

import torch
from torch import Tensor

from d2lmini.transformer import EncoderBlock


class Subject:
    """Something to experiment with. An answer can call it; a message says what it is."""


class FarSubject:
    """A stand-in for a subject in the process of an answer; all it knows is a number."""

    ask = None  # a function of a number and arguments; set by child.py

    def __init__(self, number: int):
        self.number = number

    def __call__(self, *arguments):
        return FarSubject.ask(self.number, arguments)


class Model(Subject):
    """Mix each position with all earlier ones, and some with later ones as well.

    Args:
        ahead: how many later positions are mixed in.
        since, until: positions from the one to before the other look ahead.
    Shapes:
        X, result: (batch, steps, features)
    """

    def __init__(self, ahead: int, W: Tensor, until: int, since: int = 0):
        self._ahead, self._W, self._until, self._since = ahead, W, until, since

    def __repr__(self):
        places = f"{self._since} to {self._until - 1}"
        return f"<a model whose positions {places} look {self._ahead} ahead>"

    def __call__(self, X):
        steps = X.shape[1]
        positions = torch.arange(steps)
        # the last position that each sees
        looks = (positions >= self._since) & (positions < self._until)
        last = positions + self._ahead * looks
        last = last.clamp(max=steps - 1)
        return torch.tanh((X.cumsum(dim=1) @ self._W / steps)[:, last])


class NextTokens(Subject):
    """A decoder: logits of each sentence's next token, by its last one and their number.

    Args:
        scores: (steps, batch, last token, next token)
    Shapes:
        tokens: (batch, steps so far); result: (batch, vocabulary)
    """

    def __init__(self, scores: Tensor):
        self._scores = scores

    def __repr__(self):
        return f"<a decoder of {self._scores.shape[1]} sentences>"

    def __call__(self, tokens):
        scores = self._scores[tokens.shape[1] - 1]
        return scores[torch.arange(len(tokens)), tokens[:, -1]]


class Block(Subject):
    """norm(X + f(X)), X + f(norm(X)) or norm(f(X)), where f lies in [-1, 1].

    Args:
        kind: "post-norm", "pre-norm" or "no shortcut".
    """

    def __init__(self, kind: str, W: Tensor):
        self._kind, self._W = kind, W

    def __repr__(self):
        return f"<a block: {self._kind}>"

    def __call__(self, X):
        norm = torch.nn.functional.layer_norm
        if self._kind == "pre-norm":
            return X + torch.tanh(norm(X, X.shape[-1:]) @ self._W)
        shortcut = X if self._kind == "post-norm" else 0
        return norm(shortcut + torch.tanh(X @ self._W), X.shape[-1:])


class DroppingAddNorm(Subject):
    """Add and normalise in training mode, with dropout in one place.

    Args:
        place: "branch", "input", "sum" or "result".
        dropout: the probability.
    """

    def __init__(self, place: str, dropout: float):
        self._place, self._dropout = place, dropout

    def __repr__(self):
        return f"<add & norm with a dropout of {self._dropout} on the {self._place}>"

    def __call__(self, X, Y):
        X, Y = self._drop(X, "input"), self._drop(Y, "branch")
        total = self._drop(X + Y, "sum")
        return self._drop(torch.nn.functional.layer_norm(total, X.shape[-1:]), "result")

    def _drop(self, X, place):
        if place != self._place:
            return X
        return torch.nn.functional.dropout(X, self._dropout)


class Net(Subject):
    """Logits for a target, which may depend on the words of the source and on their order.

    Shapes:
        src: (source steps,), tgt: (steps,): token ids below 10; logits: (steps, 10)
    """

    def __init__(self, source: bool, order: bool, table: Tensor):
        self._source, self._order, self._table = source, order, table

    def __repr__(self):
        words = (
            "words and their order"
            if self._order
            else "words"
            if self._source
            else "nothing"
        )
        return f"<a network that reads {words} from the source>"

    def __call__(self, src, tgt):
        logits = self._table[tgt]  # (steps, 10)
        if self._source:
            places = (
                torch.arange(1.0, len(src) + 1) if self._order else torch.ones(len(src))
            )
            logits = logits + places @ self._table[src] / len(src)
        return logits


class Loss(Subject):
    """The loss of a net without some heads: it rises when the last of a group is gone.

    Args:
        groups: heads that can stand in for each other, and how much the loss rises without them.
    """

    def __init__(self, groups: list[tuple[set, float]], base: float):
        self._groups, self._base = groups, base

    def __repr__(self):
        without = [
            f"without {sorted(heads)} {cost:g} more" for heads, cost in self._groups
        ]
        return f"<a network with loss {self._base:g}; {', '.join(without)}>"

    def __call__(self, removed):
        gone = set(removed)
        return self._base + sum(cost for heads, cost in self._groups if heads <= gone)


class Reader(Subject):
    """The mean score of the real words of each text, with or without two faults.

    Args:
        padding: whether padding counts, half as much as a word.
        neighbours: which length each text uses: "" its own, "sorted" that of its place in the
            batch sorted longest first, "longest" and "shortest" that of another text.
        table: the score of each word.
    Shapes:
        tokens: (batch, steps): ids below 10; valid_lens: (batch,); scores: (batch,)
    """

    def __init__(self, padding: bool, neighbours: str, table: Tensor):
        self._padding, self._neighbours, self._table = padding, neighbours, table

    def __repr__(self):
        faults = ["the padding"] * self._padding + ["its neighbours"] * bool(
            self._neighbours
        )
        return f"<a classifier that reads {' and '.join(faults) or 'what it should'}>"

    def __call__(self, tokens, valid_lens):
        lens = {
            "": valid_lens,
            "sorted": valid_lens.sort(descending=True).values,
            "longest": valid_lens.max().expand(len(valid_lens)),
            "shortest": valid_lens.min().expand(len(valid_lens)),
        }[self._neighbours]
        real = torch.arange(tokens.shape[1]) < lens[:, None]  # (batch, steps)
        weights = real + 0.5 * (~real if self._padding else 0 * real)
        return (weights * self._table[tokens]).sum(1) / weights.sum(1)


class Walker(Subject):
    """Predict the next place: the mean of some steps, and sometimes a push by the fountain.

    Args:
        push: where the fountain, at the origin, pushes: "" nowhere, "near" up to
            5 m from the origin, "far" everywhere else.
        steps: which steps are averaged, counted back from the last: [1] = the last.
    Shapes:
        past: (8, 2), metres; result: (2,)
    """

    def __init__(self, push: str, steps: list[int]):
        self._push, self._steps = push, steps

    def __repr__(self):
        place = "the place and " * bool(self._push)
        steps = "the last step" if self._steps == [1] else f"the steps {self._steps}"
        return f"<a predictor that uses {place}{steps}, counted back>"

    def __call__(self, past):
        last = past[-1]
        pushed = self._push == ("near" if last.norm() <= 5 else "far")
        step = past.diff(dim=0)[[-n for n in self._steps]].mean(dim=0)  # (2,)
        return last + step + 0.3 * pushed * torch.sign(last + 0.01)


class Looker(Subject):
    """A language model that reads the tokens at some distances back; nothing else matters.

    Args:
        distances: 0 is the last token.
        table: (distances, tokens, tokens), what a token at a distance adds to each logit.

    Shapes:
        tokens: (steps,), integers below the number of tokens
        result: (tokens,), logits of the next token
    """

    def __init__(self, distances, table: Tensor):
        self._distances, self._table = distances, table

    def __repr__(self):
        back = ", ".join(map(str, self._distances))
        return f"<a model that reads {back} tokens back, and notices one token at each>"

    def __call__(self, tokens):
        logits = torch.zeros(self._table.shape[-1])
        for row, back in zip(self._table, self._distances, strict=True):
            if back < len(tokens):
                logits = logits + row[tokens[len(tokens) - 1 - back]]
        return logits


class Listener(Subject):
    """ln p(putting on) - ln p(taking off), from the words of a German sentence.

    Args:
        terms: a word, where it counts (None = everywhere, a position, or after which word),
            and how much.
        per_word: what each word adds, whichever it is.
    Shapes:
        words: a list of strings; result: a number
    """

    def __init__(
        self, terms: list[tuple[str, int | str | None, float]], per_word: float
    ):
        self._terms, self._per_word = terms, per_word

    def __repr__(self):
        places = {type(None): "anywhere", int: "at place {}", str: "after “{}”"}
        heard = [
            f"“{word}” {places[type(where)].format(where)}"
            for word, where, _ in self._terms
        ]
        return f"<a network that hears {' and '.join(heard) or 'nothing'}>"

    def __call__(self, words):
        score = self._per_word * len(words)
        for i, word in enumerate(words):
            before = words[i - 1] if i else ""
            for heard, where, amount in self._terms:
                score += amount * (word == heard and where in (None, i, before))
        return score


class EncoderBlockInParts(EncoderBlock):
    """A block for answers to assemble: calling it as a whole would do their work."""

    def forward(self, X, mask=None):
        raise RuntimeError(
            "not block(X, mask): call attention, addnorm1, ffn and addnorm2"
        )
