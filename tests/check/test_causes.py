"""What a property says where it does not hold: the usual cause, and no raw error."""

import pytest
import torch
from conftest import for_each
from torch import nn

from d2lmini import causal_mask, check


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def as_layer(change):
    """Self-attention in one head whose weights or output are changed."""
    W = normal(8, 8, seed=1) / 8**0.5

    def block(X, mask=None):
        scores = X @ W @ X.mT
        if mask is not None:
            scores = scores.masked_fill(~mask[..., :, :], -1e9)
        return change(scores.softmax(-1), X)

    return block


LEAKS = {
    "an inverted mask": lambda X, mask=None: as_layer(lambda w, X: w @ X)(
        X, None if mask is None else ~mask
    ),
    "off by one": lambda X, mask=None: as_layer(lambda w, X: w @ X)(
        X, None if mask is None else mask | mask.roll(1, -1).triu(1)
    ),
    "not used": lambda X, mask=None: as_layer(lambda w, X: w @ X)(X),
    "over the steps": lambda X, mask=None: as_layer(
        lambda w, X: w @ (X - X.mean(1, True))
    )(X, mask),
    "without a transpose": lambda X, mask=None: as_layer(
        lambda w, X: (w @ X).mT.reshape(X.shape)
    )(X, mask),
}


LEAKS["a norm or a mean"] = lambda X, mask=None: (
    (X - X.mean(1, True)) / X.std(1, keepdim=True)
)


@for_each(LEAKS)
def test_the_usual_cause_of_a_leak_is_said(word):
    result = check.causal(LEAKS[word], normal(2, 5, 8))
    assert not result and word in result.sentence, result


class Remembers(nn.Module):
    """Appends to the one list that it was given as cache."""

    def forward(self, X, memory, memory_mask=None, cache=None):
        cache = [] if cache is None else cache
        cache.append(X)
        return torch.cat(cache, dim=1).cumsum(1)[:, -X.shape[1] :], cache


def test_a_cache_may_be_read_twice():
    X, memory = normal(2, 5, 8), normal(2, 3, 8)
    result = check.incremental(Remembers(), X, memory)
    assert not result and "From one cache" in result.sentence


def test_what_attention_returns_is_named_if_it_cannot_be_compared():
    X = normal(2, 5, 8)
    weights = torch.full((2, 1, 5, 5), 0.2)
    wrong = {
        "in place of weights": lambda q, k, v, mask: (v, None),
        "the output is (2, 8)": lambda q, k, v, mask: (v[:, 0], weights),
        "No output moves": lambda q, k, v, mask: (weights[:, 0] @ k, weights),
        "it raised": lambda q, k, v, mask: (q @ v, weights),
    }
    for said, attention in wrong.items():
        result = check.weights_explain_output(attention, X, X, X + 1)
        assert not result and said.lower() in result.sentence.lower(), result


def test_a_branch_that_starts_silent_is_not_accused():
    class Silent(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.zeros(()))

        def forward(self, X, mask=None):
            return X + self.scale * as_layer(lambda w, X: w @ X)(X, mask)

    assert check.sees_what_it_may(Silent(), normal(2, 4, 8), causal_mask(4))


def test_a_block_whose_gradient_raises_an_error_fails():
    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.kept = nn.Linear(8, 8), None

        def forward(self, X, mask=None):
            self.kept = self.layer(X) if self.kept is None else self.kept
            return self.kept + X

    result = check.every_parameter_trained(Kept(), normal(2, 4, 8))
    assert not result and "With gradients it raised" in result.sentence


def test_imaginary_parts_and_large_numbers_count():
    X = normal(3, 6, 8)
    assert not check.matches(lambda X: X + 0j, lambda X: X + 1j, X)
    leaks = lambda X, mask=None: X + X.mean(1, keepdim=True)  # noqa: E731
    assert not check.causal(lambda X, mask=None: X + 1j * X.mean(1, keepdim=True), X)
    for given in (1e6 * X, (4000 * X).half(), (1000 * X).bfloat16()):
        assert not check.causal(leaks, given), given.dtype
    for wrong in (
        torch.full((2, 3, 4), torch.inf),
        torch.ones(2, 3, 4, dtype=torch.bool),
    ):
        with pytest.raises(ValueError, match="must hold finite numbers"):
            check.causal(leaks, wrong)
    assert not check.rows_sum_to_one(lambda scores, mask: (scores, mask), X)
