import pytest
import torch
from conftest import generator
from hypothesis import given
from hypothesis import strategies as st

from d2lmini import causal_mask, masked_softmax, padding_mask

pytestmark = pytest.mark.usefixtures("each_device")

shapes = st.tuples(*[st.integers(1, 4)] * 3, st.integers(1, 6))
seeds = st.integers(0, 2**31)


def random_scores_and_mask(shape, seed, spread=5.0):
    own = generator(seed)
    scores = torch.randn(shape, generator=own) * spread
    return scores, torch.rand(shape, generator=own) < 0.5


def test_padding_mask_by_hand():
    mask = padding_mask(torch.tensor([2, 0, 3]), 3)
    assert mask.shape == (3, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [False] * 3, [True] * 3]


def test_causal_mask_by_hand():
    assert causal_mask(2).tolist() == [[True, False], [True, True]]
    # The queries are the last of the positions.
    assert causal_mask(1, 3).tolist() == [[True, True, True]]
    assert causal_mask(2, 3).tolist() == [[True, True, False], [True, True, True]]


@given(shapes, seeds)
def test_masked_weights_are_exactly_zero_and_rows_sum_to_one(shape, seed):
    scores, mask = random_scores_and_mask(shape, seed)
    weights = masked_softmax(scores, mask)
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).float())


@given(shapes, seeds)
def test_masked_scores_do_not_matter(shape, seed):
    scores, mask = random_scores_and_mask(shape, seed)
    other = torch.where(mask, scores, torch.full_like(scores, 1e30))
    assert torch.equal(masked_softmax(scores, mask), masked_softmax(other, mask))


@given(shapes, seeds, st.sampled_from([torch.float32, torch.float16, torch.bfloat16]))
def test_a_row_with_nothing_to_attend_to_gives_zeros_and_finite_gradients(
    shape, seed, dtype
):
    scores, mask = random_scores_and_mask(shape, seed)
    mask[:, :, 0] = False
    scores = scores.to(dtype).requires_grad_()
    weights = masked_softmax(scores, mask)
    assert (weights[:, :, 0] == 0).all() and weights.isfinite().all()
    (weights * torch.arange(shape[-1])).sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[~mask] == 0).all()


def test_a_masked_row_does_not_stop_the_gradient_of_others():
    scores = torch.randn(2, 3, requires_grad=True)
    mask = torch.tensor([[False] * 3, [True] * 3])
    (masked_softmax(scores, mask) * torch.arange(3)).sum().backward()
    assert (scores.grad[1] != 0).any()


def test_large_scores_in_half_precision():
    scores = torch.tensor([60000.0, -60000.0, 0.0], dtype=torch.float16)
    mask = torch.tensor([False, True, True])
    assert masked_softmax(scores, mask).tolist() == [0, 0, 1]
