"""Exercises of chapter 6."""

import torch

from d2lmini.check.exercise import Exercise


def by_hand():
    """The output for the token (1, 2).

    W1 = [[1, 1, 0], [1, -1, 2]], b1 = [0, -1, -1], W2 = [[1, 0], [0, 1], [2, -1]], b2 = [1, 0].
    """
    return [10.0, -3.0]  # hidden: (3, -2, 3), of which -2 becomes 0


def network(X, W1, b1, W2, b2):
    """The position-wise network from its four arrays."""
    return torch.relu(X @ W1 + b1) @ W2 + b2


def what_each_unit_adds(X, W1, b1, W2, b2):
    """The terms (batch, steps, hidden, outputs) of which, with b2, the output is the sum."""
    return torch.relu(X @ W1 + b1)[..., None] * W2


def identity(num_hiddens):
    """Weights W1 and W2, without biases, of a network that returns any token unchanged."""
    one = torch.eye(num_hiddens)
    return torch.cat([one, -one], dim=1), torch.cat([one, -one])


def what_comes_out(matrices, num_hiddens):
    """The output of the network for some tokens:"""
    W1, W2 = matrices
    X = torch.randn(6, num_hiddens, generator=torch.Generator().manual_seed(0))
    return torch.relu(X @ W1) @ W2


def _arrays(steps, num_hiddens, ffn_num_hiddens, num_outputs):
    g = torch.Generator().manual_seed(5)
    sizes = [(2, steps, num_hiddens), (num_hiddens, ffn_num_hiddens), (ffn_num_hiddens,),
             (ffn_num_hiddens, num_outputs), (num_outputs,)]  # fmt: skip
    return tuple(torch.randn(*size, generator=g) for size in sizes)


def facts(keys, values):
    """Unit i stays awake for key i alone, with 0.2, which W2 makes up for."""
    return keys.T, torch.full((len(keys),), -0.8), 5 * values


def what_it_answers(matrices, keys, values):
    """The output of the network for each key:"""
    W1, b1, W2 = matrices
    return torch.relu(keys @ W1 + b1) @ W2


def _around(number, outputs, seed=0):
    """This many keys around a circle, and values."""
    g = torch.Generator().manual_seed(seed)
    angles = torch.arange(number) * 2 * torch.pi / number + torch.rand(1, generator=g)
    keys = torch.stack([angles.cos(), angles.sin()], dim=1)
    return keys, torch.randn(number, outputs, generator=g)


def _arrays_case(dice):
    batch, steps, num_hiddens, ffn_num_hiddens, outputs = dice.sizes(5)
    shapes = [(batch, steps, num_hiddens), (num_hiddens, ffn_num_hiddens),
              (ffn_num_hiddens,), (ffn_num_hiddens, outputs), (outputs,)]  # fmt: skip
    return tuple(dice.normal(*shape) for shape in shapes)


def with_the_one_before(X, W1, b1, W2, b2):
    """The network with the hidden units of the previous position added to those of each."""
    hidden = torch.relu(X @ W1 + b1)
    hidden = hidden + torch.nn.functional.pad(hidden, (0, 0, 1, 0))[:, :-1]
    return hidden @ W2 + b2


def with_the_one_after(X, W1, b1, W2, b2):
    """Like with_the_one_before, in the other direction."""
    hidden = torch.relu(X @ W1 + b1)
    hidden = hidden + torch.nn.functional.pad(hidden, (0, 0, 0, 1))[:, 1:]
    return hidden @ W2 + b2


# The network of exercise 6.1, to be computed by hand
_BY_HAND = (
    torch.tensor([[[1.0, 2.0]]]),
    torch.tensor([[1.0, 1, 0], [1, -1, 2]]), torch.tensor([0.0, -1, -1]),
    torch.tensor([[1.0, 0], [0, 1], [2, -1]]), torch.tensor([1.0, 0]),
)  # fmt: skip
_IDENTITY = torch.eye(2), torch.zeros(2), torch.eye(2), torch.zeros(2)


def xor_in_company():
    """W_q, W_k and w_v of a head that computes XOR beside a token of zeros."""
    return torch.tensor([[30.0, -60.0], [-60.0, 30.0]]), torch.eye(2), torch.ones(2)


def answers_in_company(matrices):
    """The answers for (0, 0), (0, 1), (1, 0) and (1, 1), to one decimal:"""
    W_q, W_k, w_v = matrices
    tokens = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    own = (tokens @ W_q * (tokens @ W_k)).sum(-1)  # the score of the <eos> is 0
    return (torch.sigmoid(own) * (tokens @ w_v)).round(decimals=1).tolist()


EXERCISES = [
    Exercise(
        "ffn-1",
        by_hand,
        [()],
        {
            'two layers without the ReLU between them; '
            'see "Without the ReLU"': lambda: [10.0, -5.0],
            "a first bias that is added after the ReLU": lambda: [10.0, -4.0],
            "a ReLU on the outputs, which have none": lambda: [10.0, 0.0],
            "a network without its first bias": lambda: [12.0, -4.0],
            "a network without its second bias": lambda: [9.0, -3.0],
            "the absolute value in place of the ReLU": lambda: [10.0, -1.0],
            "the hidden layer, not the output": lambda: [3.0, 0.0, 3.0],
        },
        (
            "The token has two features, the hidden layer three: one for each column of W1.",
            "Before the ReLU the hidden layer is (1 + 2, 1 - 2 - 1, 4 - 1) = (3, -2, 3).",
            "After it, (3, 0, 3). The first output is 1 * 3 + 0 * 0 + 2 * 3 + 1.",
        ),
    ),
    Exercise(
        "ffn-2",
        facts,
        [
            (torch.eye(2), torch.tensor([[1.0, 0], [3, 2]])),
            (torch.eye(3), torch.tensor([[1.0], [2], [3]])),
            (torch.tensor([[1.0, 0], [0.75, 0.4375**0.5]]), torch.eye(2)),
            _around(3, 2), _around(8, 3),
        ],
        {
            "units without a bias: those of nearby keys answer, too": (
                lambda keys, values: (keys.T, torch.zeros(len(keys)), values)
            ),
            "the right units, which answer with a fifth of the value": (
                lambda keys, values: (*facts(keys, values)[:2], values)
            ),
            "a bias of -0.5, which leaves the neighbours awake": lambda keys, values: (
                keys.T, torch.full((len(keys),), -0.5), 2 * values
            ),
            "a bias of -1, which lets no unit wake": lambda keys, values: (
                keys.T, torch.full((len(keys),), -1.0), values
            ),
            "facts that are mixed up: unit i must add value i": lambda keys, values: (
                *facts(keys, values)[:2], 5 * values.flip(0)
            ),
        },
        (
            "One hidden unit a fact: column i of W1 is key i. For which keys is its product 1?",
            "The other products are at most 0.75. Which bias leaves only key i above zero?",
            "With a bias of -0.8 unit i receives 0.2 from its key. What must row i of W2 be?",
        ),
        tolerance=1e-3,
        effect=what_it_answers,
        draw=lambda dice: _around(
            dice.number(3, 8), dice.number(1, 4), seed=dice.number(0, 10**6)
        ),
    ),
    Exercise(
        "ffn-3",
        what_each_unit_adds,
        [
            _BY_HAND,
            _arrays(1, 2, 3, 2),
            _arrays(4, 3, 5, 3), _arrays(3, 4, 4, 4), _arrays(3, 4, 6, 8)],
        {
            'terms without the ReLU; see "Without the ReLU"': lambda X, W1, b1, W2, b2: (
                (X @ W1 + b1)[..., None] * W2
            ),
            "a first bias that is added after the ReLU": lambda X, W1, b1, W2, b2: (
                (torch.relu(X @ W1) + b1)[..., None] * W2
            ),
            "units without their bias": lambda X, W1, b1, W2, b2: (
                what_each_unit_adds(X, W1, 0 * b1, W2, b2)
            ),
            "the second bias in every term; it belongs to no unit": (
                lambda *arrays: what_each_unit_adds(*arrays) + arrays[-1]
            ),
            "the second bias, shared out among the units; it belongs to no unit": (
                lambda *arrays: what_each_unit_adds(*arrays) + arrays[-1] / len(arrays[2])
            ),
            "a ReLU on the terms, which may be negative": lambda *arrays: (
                torch.relu(what_each_unit_adds(*arrays))
            ),
            "the output itself, once for each unit": lambda X, W1, b1, W2, b2: (
                network(X, W1, b1, W2, b2)[..., None, :].expand(*X.shape[:2], len(b1), -1)
            ),
            "absolute values instead of a ReLU": lambda X, W1, b1, W2, b2: (
                (X @ W1 + b1).abs()[..., None] * W2
            ),
        },
        (
            "Unit i is one number a token, after the ReLU. By which row of W2 is it multiplied?",
            "The hidden layer is (batch, steps, hidden), W2 is (hidden, outputs).",
            "Give the hidden layer a last axis of size 1. With what is it multiplied then?",
        ),
        draw=_arrays_case,
    ),
    Exercise(
        "ffn-4",
        identity,
        [(1,), (2,), (5,)],
        {
            "a network that loses what is negative: d hidden units see x, none sees -x": (
                lambda d: (torch.eye(d), torch.eye(d))
            ),
            "the absolute value: the second half must be subtracted": lambda d: (
                identity(d)[0], torch.cat([torch.eye(d), torch.eye(d)])
            ),
            "twice the same half: the second half of W1 must see -x": lambda d: (
                torch.cat([torch.eye(d), torch.eye(d)], dim=1), identity(d)[1]
            ),
            "twice what is positive: one half must see -x, and be subtracted": lambda d: (
                torch.cat([torch.eye(d)] * 2, dim=1), torch.cat([torch.eye(d)] * 2)
            ),
            "matrices in the wrong order, or transposed: W1 is (d, 2 d), W2 (2 d, d)": lambda d: (
                identity(d)[1], identity(d)[0]
            ),
        },
        (
            "One number first. relu(x) keeps it if it is positive. What keeps it if it is not?",
            "x = relu(x) - relu(-x): two hidden units for each feature.",
            "Which columns of W1 make the two parts of x = relu(x) - relu(-x)? What does W2 do?",
        ),
        effect=what_comes_out,
        draw=lambda dice: (dice.number(3, 9),),
    ),
    Exercise(
        "ffn-5",
        xor_in_company,
        [()],
        {
            "a token that always looks at itself: (1, 1) brings home 2": lambda: (
                30 * torch.eye(2), torch.eye(2), torch.ones(2)),
            "scores of 0: every token takes half of itself": lambda: (
                torch.zeros(2, 2), torch.eye(2), torch.ones(2)),
            "a value that is the first bit minus the second: (0, 1) brings home -1": lambda: (
                *xor_in_company()[:2], torch.tensor([1.0, -1.0])),
            "a token that looks away from itself where the bits differ": lambda: (
                -xor_in_company()[0], *xor_in_company()[1:]),
            "the right signs, with scores too small to decide": lambda: (
                xor_in_company()[0] / 30, *xor_in_company()[1:]),
        },
        (
            "The <eos> is all zeros: its score is 0, and it hands nothing over. So the answer is "
            "what the token keeps of its own value.",
            "Let the value be a + b. What share of it must (0, 1), (1, 0) and (1, 1) keep?",
            "With W_k the identity, the score of a token with itself is a sum over its bits and "
            "their product: reward each bit, and punish both together.",
        ),
        effect=answers_in_company,
    ),
    Exercise(
        "ffn-6",
        with_the_one_before,
        [(torch.tensor([[[1.0, 0], [0, 1], [2, 0]]]), *_IDENTITY),
            _arrays(2, 2, 3, 2), _arrays(4, 3, 5, 3)],
        {
            "a network without a mistake": network,
            "the position before added to the input, not to the hidden layer": (
                lambda X, W1, b1, W2, b2: network(
                    X + torch.nn.functional.pad(X, (0, 0, 1, 0))[:, :-1], W1, b1, W2, b2
                )
            ),
            "a network that adds the previous position's output, and so adds b2 twice": (
                lambda X, *arrays: network(X, *arrays)
                + torch.nn.functional.pad(network(X, *arrays), (0, 0, 1, 0))[:, :-1]
            ),
            "the position after instead of the one before": with_the_one_after,
            "the hidden values of all earlier positions, not just one": (
                lambda X, W1, b1, W2, b2: (
                    torch.relu(X @ W1 + b1).cumsum(dim=1) @ W2 + b2
                )
            ),
        },
        (
            "Does check.permutation_equivariant hold? Does check.causal?",
            "Change one token and see which outputs move. Does the first position behave?",
            "The position before comes in between the layers: before the ReLU, or after it?",
        ),
        draw=_arrays_case,
        unseen=True,
    ),
]  # fmt: skip
