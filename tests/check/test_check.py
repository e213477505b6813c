"""The properties: each holds for the book's block and fails for a block that breaks it."""

import pytest
import torch
from conftest import generator
from torch import nn
from torch.nn import functional as F

from d2lmini import AddNorm, PositionalEncoding, TransformerDecoder, check
from d2lmini.attention import MultiHeadAttention, scaled_dot_product_attention
from d2lmini.check.bugs import MUSEUM, BatchNormed, NormOverSteps
from d2lmini.losses import masked_cross_entropy, shift_right
from d2lmini.masks import causal_mask, masked_softmax, padding_mask
from d2lmini.transformer import DecoderBlock, EncoderBlock, EncoderStack

pytestmark = pytest.mark.usefixtures("each_device")

STEPS, WIDTH = 6, 8
LENS = torch.tensor([6, 3, 1])
SCORES = torch.tensor([[[[1.0, 2.0], [0.0, 3.0]]], [[[5.0, 1.0], [2.0, 2.0]]]])
SCORES_MASK = padding_mask(torch.tensor([2, 0]), 2)


@pytest.fixture
def X():
    return torch.randn(3, STEPS, WIDTH, generator=generator(0))


class SelfAttention(nn.Module):
    """Any multi-head attention, called as a block."""

    def __init__(self, attention):
        super().__init__()
        self.attention = attention

    def forward(self, X, mask=None):
        return self.attention(X, X, X, mask)


class Normed(nn.Module):
    """Any add & norm, called as a block."""

    def __init__(self, addnorm):
        super().__init__()
        self.addnorm = addnorm

    def forward(self, X, mask=None):
        return self.addnorm(X, X.flip(-1))


class Decoder(nn.Module):
    """Any decoder block, called as a block."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, X, mask=None):
        return self.block(X, torch.ones(len(X), 2, WIDTH))[0]


def with_softmax(softmax):
    """Attention that uses a softmax of one's own."""

    def block(X, mask=None):
        scores = (X @ X.mT)[:, None]
        return softmax(scores, mask)[:, 0] @ X

    return block


def torch_attention(queries, keys, values, mask=None):
    return F.scaled_dot_product_attention(queries, keys, values, mask), None


def predict_from(shift):
    """Target tokens -> something that depends on what the decoder reads to predict each."""

    def block(tgt, mask=None):
        return shift(tgt, bos=0)[..., None].float()

    return block


def as_pytorch_does(attention, X):
    """Equality with nn.MultiheadAttention, whose matrices are copied as far as they fit."""
    ours = attention(WIDTH, 2, 0.0)
    theirs = nn.MultiheadAttention(WIDTH, 2, bias=False, batch_first=True)
    matrices = [*theirs.in_proj_weight.chunk(3), theirs.out_proj.weight]
    layers = ours.W_q, ours.W_k, ours.W_v, ours.W_o
    for layer, matrix in zip(layers, matrices, strict=True):
        rows, columns = layer.weight.shape
        layer.weight.data.copy_(matrix[:rows, :columns])
    return check.matches(lambda X: ours(X, X, X), lambda X: theirs(X, X, X)[0], X)


def tokens():
    return torch.randint(1, 9, (3, STEPS), generator=generator(0))


def loss_is_of_real_tokens(loss, X):
    """A net that knows nothing has the loss log(vocabulary), whatever the padding."""

    def flat(logits):
        return loss(
            logits, torch.zeros(3, STEPS, dtype=torch.long), LENS.to(logits.device)
        )

    due = torch.tensor(WIDTH).log()
    return check.matches(flat, lambda logits: due, torch.zeros_like(X))


def as_two_layers_do(kind, X):
    """A stack with the parameters of two layers gives what these two give."""
    ours, theirs = (stack(WIDTH, 16, 2, 2, 0.0) for stack in (kind, EncoderStack))
    ours.load_state_dict(theirs.state_dict())
    return check.matches(ours, theirs, X)


# For each exhibit: how its property is applied, and what it must hold for.
TRIALS = {
    "swapped_mask": (lambda f, X: check.padding_invariant(check.as_block(f), X, LENS),
        scaled_dot_product_attention),
    "padding_on_queries": (lambda f, X: check.padding_invariant(check.as_block(f), X, LENS),
        scaled_dot_product_attention),
    "MaskedOnce": (lambda stack, X: check.padding_invariant(stack(WIDTH, 16, 2, 2, 0.1), X, LENS),
        EncoderStack),
    "minus_1e9": (lambda f, X: check.finite_gradients(with_softmax(f), X.half()),
        masked_softmax),
    "overwriting_softmax": (lambda f, X: check.rows_sum_to_one(f, SCORES.clone(), SCORES_MASK),
        masked_softmax),
    "softmax_over_queries": (lambda f, X: check.rows_sum_to_one(f, SCORES, SCORES_MASK),
        masked_softmax),
    "unscaled": (
        lambda f, X: check.matches(check.as_block(f), check.as_block(torch_attention), X),
        scaled_dot_product_attention),
    "PositionsOnBatch": (lambda layer, X: check.batch_independent(layer(WIDTH), X),
        lambda width: PositionalEncoding(width, 0.0)),
    "SplitThenProject": (as_pytorch_does, MultiHeadAttention),
    "FreshOutput": (
        lambda layer, X: check.every_parameter_trained(SelfAttention(layer(WIDTH, 2, 0.1)), X),
        MultiHeadAttention),
    "NormOverSteps": (lambda layer, X: check.causal(Normed(layer(STEPS, WIDTH, 0.1)), X),
        lambda steps, width, dropout: AddNorm(width, dropout)),
    "BatchNormed": (lambda layer, X: check.batch_independent(Normed(layer(WIDTH, 0.0)), X),
        AddNorm),
    "not_shifted": (lambda shift, X: check.causal(predict_from(shift), tokens(), strict=True),
        shift_right),
    "CausalInTraining": (lambda block, X: check.causal(Decoder(block(WIDTH, 16, 2, 0.1)), X),
        DecoderBlock),
    "loss_over_padding": (loss_is_of_real_tokens, masked_cross_entropy),
    "PositionsFromZero": (
        lambda decoder, X: check.incremental(decoder(9, WIDTH, 16, 2, 1, 0.1), tokens(), X),
        TransformerDecoder),
    "PositionsDropped": (
        lambda kind, X: check.matches(kind(WIDTH, 0.0), PositionalEncoding(WIDTH, 0.0), X),
        PositionalEncoding),
    "OneLayer": (as_two_layers_do, EncoderStack),
    "ClonedLayers": (lambda stack, X: check.matches(*stack(WIDTH, 16, 2, 2, 0.0).blocks, X),
        EncoderStack),
}  # fmt: skip


@pytest.mark.parametrize("exhibit", MUSEUM, ids=lambda e: e.bug.__name__)
def test_every_bug_is_exposed_by_the_property_meant_for_it(exhibit, X):
    trial, right = TRIALS[exhibit.bug.__name__]
    torch.manual_seed(0)
    results = trial(exhibit.bug, X), trial(right, X)
    wrong_result, right_result = results[::-1] if exhibit.holds else results
    assert wrong_result.name == right_result.name == exhibit.exposed_by
    assert not wrong_result and wrong_result.deviation > check.TOLERANCE
    assert right_result and right_result.deviation <= check.TOLERANCE
    assert "FAILS" in repr(wrong_result) and "holds" in repr(right_result)


def test_the_museum_holds_the_twelve_and_says_how_to_notice_them():
    assert len(MUSEUM) >= 12
    for exhibit in MUSEUM:
        parts = ("Goes wrong:", "Notice:", "Repair:")
        assert all(part in exhibit.bug.__doc__ for part in parts)
        assert hasattr(check, exhibit.exposed_by)
        assert 1 <= exhibit.chapter <= 9


def test_matches_reports_shapes_and_the_largest_deviation(X):
    assert check.matches(lambda X: X + 0.0, lambda X: X, X)
    found = check.matches(lambda X: X + 0.5, lambda X: X, X)
    assert not found and found.deviation == pytest.approx(0.5)
    assert "(3, 6)" in check.matches(lambda X: X.sum(-1), lambda X: X, X).sentence


def test_ids_stay_ids_and_all_of_them_change():
    ids = torch.tensor([[2, 5, 3]])
    seen = []

    def block(X, mask=None):
        seen.append(X)
        return X.flip(1)[..., None].float()

    assert not check.causal(block, ids)
    assert all(X.min() >= 2 and X.max() <= 5 for X in seen)
    with pytest.raises(ValueError, match="at least two different ids, all are 7"):
        check.causal(block, torch.tensor([[7, 7]]))


def test_batch_normalisation_is_found_although_there_is_dropout(X):
    block = Normed(BatchNormed(WIDTH, 0.1))
    means = block.addnorm.norm.running_mean.clone()
    assert not check.batch_independent(block, X)
    # a check leaves no trace
    assert torch.equal(block.addnorm.norm.running_mean, means)
    with pytest.raises(ValueError, match="at least 2 sequences, got 1"):
        check.batch_independent(block, X[:1])


def test_large_numbers_in_the_padding_are_tried(X):
    """Weights set to zero after the softmax, and shared out anew, look right for small scores."""

    def masked_late(X, mask):
        weights = (X @ X.mT).softmax(-1) * mask[:, 0]
        return weights / weights.sum(-1, keepdim=True) @ X

    found = check.padding_invariant(masked_late, X / 4, LENS)
    assert not found and found.sentence.startswith("Large numbers in the padding")


def test_the_length_of_the_padding_counts_too(X):
    def mean_over_all(X, mask=None):
        return X + (X * mask[:, 0, 0, :, None]).mean(1, keepdim=True)

    found = check.padding_invariant(mean_over_all, X, LENS)
    assert not found and found.sentence.startswith("More padding")
    found = check.padding_invariant(Normed(NormOverSteps(STEPS, WIDTH, 0.0)), X, LENS)
    assert not found and "With one more padded position it raised" in found.sentence
    with pytest.raises(ValueError, match="must leave some padding"):
        check.padding_invariant(mean_over_all, X, torch.tensor([STEPS] * 3))


def test_weights_that_no_optimiser_will_find():
    class InAList(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.others = nn.Linear(WIDTH, WIDTH), [nn.Linear(WIDTH, WIDTH)]

        def forward(self, X, mask=None):
            return self.others[0](self.first(X))

    class Detached(InAList):
        def forward(self, X, mask=None):
            return X + self.first(X).detach()

    X = torch.randn(2, 3, WIDTH)
    found = check.every_parameter_trained(InAList(), X)
    assert not found
    assert "(8, 8)" in found.sentence
    assert "not parameters" in found.sentence
    found = check.every_parameter_trained(Detached(), X)
    assert not found
    assert found.sentence == "No gradient reaches first.weight, first.bias."


def test_matches_repeats_dropout_and_infinities(X):
    block = EncoderBlock(WIDTH, 16, 2, 0.5)
    assert check.matches(block, block, X)
    assert check.matches(lambda X: X - torch.inf, lambda X: X - torch.inf, X)
    assert not check.matches(lambda X: X * torch.nan, lambda X: X * torch.nan, X)


def test_a_check_leaves_random_numbers_and_weights_as_they_were(X):
    block = EncoderBlock(WIDTH, 16, 2, 0.5)
    before, weights = torch.get_rng_state(), [p.clone() for p in block.parameters()]
    check.causal(block, X)
    check.padding_invariant(block, X, LENS)
    check.finite_gradients(block, X)
    check.every_parameter_trained(block, X)
    check.matches(block, block, X)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(map(torch.equal, block.parameters(), weights))


def test_matches_compares_the_dtype_and_each_part_of_a_tuple(X):
    found = check.matches(lambda X: X.double(), lambda X: X, X)
    assert not found
    assert found.sentence == "The output is torch.float64 instead of torch.float32."
    assert check.matches(lambda X: (X, [2 * X, None]), lambda X: (X, [2 * X, None]), X)
    one, other = lambda X: (X, [2 * X, None]), lambda X: (X, [3 * X, None])
    assert not check.matches(one, other, X)
    assert not check.matches(lambda X: (X, None), lambda X: (X, X), X)
    found = check.matches(lambda X: (X, X), lambda X: (X,), X)
    assert found.sentence == "The output has 2 parts instead of 1."
    one, other = lambda X: X + 1e-9, lambda X: X
    assert not check.matches(one, other, X.double(), tolerance=1e-12)  # in float64


def test_rounding_in_half_precision_is_no_leak(X):
    def rounded_otherwise(X, mask=None):  # by the batch in which a sentence stands
        return X * (1 + len(X) * torch.finfo(X.dtype).eps)

    for dtype in (torch.float16, torch.bfloat16):
        assert check.batch_independent(rounded_otherwise, X.to(dtype))
        found = check.batch_independent(lambda X: X + 0.5 * len(X), X.to(dtype))
        assert not found and "Taking the other sentences out" in found.sentence


def test_a_block_that_writes_into_its_input_spoils_nothing(X):
    class Writes(nn.Linear):
        def forward(self, X, mask=None):
            return super().forward(X.add_(1.0))

    block, before = Writes(WIDTH, WIDTH), X.clone()
    assert check.causal(block, X) and check.padding_invariant(block, X, LENS)
    assert check.batch_independent(block, X) and check.every_parameter_trained(block, X)
    assert check.matches(block, block, X)
    assert (
        "changes what it is given, in place"
        in check.finite_gradients(block, X).sentence
    )
    assert torch.equal(X, before)


def test_a_picture_of_a_mask():
    assert check.picture(causal_mask(2)) == "■ ·\n■ ■"
    lens = padding_mask(torch.tensor([1, 2]), 2)
    assert check.picture(lens) == "■ ·\n\n■ ■"  # a row of keys for each sentence
    for bad in (torch.ones(2, 2), torch.tensor([True]), [[True]]):
        with pytest.raises(ValueError, match=r"mask \(.*\) must be a boolean tensor"):
            check.picture(bad)


def test_a_mask_that_is_wrong_is_drawn(capsys):
    check.exercise("puzzles-5", lambda n, width, first: torch.eye(n, dtype=torch.bool))
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("expected"))
    assert lines[at : at + 3] == ["expected ■ · ·", "         ■ ■ ·", "         ■ · ■"]
    assert lines[at + 3 :][0] == "got      ■ · ·"
    assert "(■ may attend, · may not)" in lines


class OnlyTogether(nn.Linear):
    """It fails on a single sentence."""

    def forward(self, X, mask=None):
        if mask is not None and len(X) == 1:
            raise IndexError("index 1 is out of bounds")
        return super().forward(X)


def test_a_block_that_fails_on_one_sentence_is_answered():
    X = torch.randn(2, 3, 4)
    block, mask = OnlyTogether(4, 4), torch.ones(2, 1, 1, 3, dtype=torch.bool)
    for found in (
        check.padding_invariant(block, X, torch.tensor([3, 2])),
        check.batch_independent(block, X, mask),
    ):
        assert not found
        assert "With one sentence alone it raised: index 1" in found.sentence


ON_BLOCKS = {
    "causal": check.causal,
    "padding_invariant": lambda block, X: check.padding_invariant(block, X, LENS),
    "batch_independent": check.batch_independent,
    "permutation_equivariant": check.permutation_equivariant,
    "repetition_invariant": check.repetition_invariant,
    "sees_what_it_may": check.sees_what_it_may,
    "finite_gradients": check.finite_gradients,
    "every_parameter_trained": lambda block, X: check.every_parameter_trained(block, X),
}


class Returns(nn.Linear):
    """A linear layer that returns something else than one output for each position."""

    def __init__(self, change):
        super().__init__(WIDTH, WIDTH)
        self.change = change

    def forward(self, X, mask=None):
        return self.change(super().forward(X))


@pytest.mark.parametrize("name", ON_BLOCKS)
def test_an_output_without_a_place_for_each_position_fails(name, X):
    says = r"begin with the batch and the steps of X"
    for change in (lambda Y: Y[:, :-1], lambda Y: Y[:2], lambda Y: Y.transpose(0, 1)):
        found = ON_BLOCKS[name](Returns(change), X)
        assert not found and says in found.sentence and found.name == name
    found = ON_BLOCKS[name](Returns(lambda Y: (Y, None)), X)
    assert not found
    assert found.sentence == "The block returned a tuple instead of a torch.Tensor."


@pytest.mark.parametrize("name", ON_BLOCKS)
def test_an_input_on_which_nothing_can_be_tried_is_refused(name, X):
    block = Returns(lambda Y: Y)
    for bad in (X[0], X[:0], X[:, :0], X[..., :0], X[0, 0]):
        with pytest.raises(ValueError, match=r"X \(.*\) must have the shape"):
            ON_BLOCKS[name](block, bad)
    for bad in (X.to_sparse(), X.to(torch.complex64)):
        with pytest.raises(TypeError, match=r"X \(.*\) must be dense, and not complex"):
            ON_BLOCKS[name](block, bad)


def test_one_step_has_no_future(X):
    with pytest.raises(ValueError, match=r"X \(3, 1, 8\) must have at least 2 steps"):
        check.causal(lambda X, mask: X, X[:, :1])
    # but it may depend on itself
    assert not check.causal(lambda X, mask: X, X[:, :1], strict=True)


def test_dropout_that_is_always_on_hides_nothing(X):
    table = torch.randn(9, WIDTH)

    def on_the_batch(X, mask=None):
        return F.dropout(X + table[: len(X), None], 0.1)

    def from_the_end(X, mask=None):
        return F.dropout(X + table[: X.shape[1]].flip(0), 0.1)

    for found in (
        check.batch_independent(on_the_batch, X),
        check.padding_invariant(from_the_end, X, LENS),
    ):
        assert not found and "random numbers in eval mode" in found.sentence


def test_a_mask_that_is_skipped_once_there_is_a_cache(X):
    class Unmasked(nn.Module):
        """Causal as a whole; with a cache, all new positions see each other."""

        def forward(self, X, memory, memory_mask=None, cache=None):
            past = X if cache is None else torch.cat([cache, X], dim=1)
            mask = causal_mask(X.shape[1]) if cache is None else None
            scores = (X @ past.mT)[:, None]
            return masked_softmax(scores, mask)[:, 0] @ past, past

    found = check.incremental(Unmasked(), X, X)
    assert not found and found.sentence.startswith("Two at a time, the output at")
