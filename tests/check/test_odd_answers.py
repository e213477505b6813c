"""Answers in other people's styles: wrong ones that passed once, and right ones that did not.

About 1,470 answers to all exercises were graded in one go; those that found something are here.
"""

import math
from random import Random

import torch
from conftest import for_each

from d2lmini import causal_mask
from d2lmini.check.grading import RIGHT, find, grade
from d2lmini.check.process import far
from d2lmini.exercises.heads import shared_keys
from d2lmini.exercises.judging import bleu_of_several
from d2lmini.exercises.positions import read_position
from d2lmini.exercises.training import run, training


def owned(W_q, W_k, W_v, W_o, heads):
    """Of each matrix, what each head owns: (d, d_k)."""
    return [W.chunk(heads, dim=1) for W in (W_q, W_k, W_v, W_o.T)]


def some_copies(parts, heads):
    pairs = [(a, b) for a in range(heads) for b in range(a)]
    return any(all(torch.equal(p[a], p[b]) for p in parts) for a, b in pairs)


def copies_but_for(k):
    def answer(*Ws, part=lambda W: W):
        parts = [[part(W) for W in p] for p in owned(*Ws)]
        return some_copies(parts[:k] + parts[k + 1 :], Ws[-1])

    return answer


def copies_of(part):
    def answer(*Ws):
        return some_copies([[part(W) for W in p] for p in owned(*Ws)], Ws[-1])

    return answer


def copies_by_turns(*Ws):
    return all(some_copies([p], Ws[-1]) for p in owned(*Ws))


def changed_in_place(inputs):
    inputs[-1] -= 1
    inputs[-2] += 2
    return inputs


def from_the_first_output(model):
    X, ahead = torch.zeros(1, 12, 3), 0
    for t in range(1, 12):
        changed = X.clone()
        changed[0, t] = 1.0
        if (model(X) != model(changed))[0, 0].any():
            ahead = t
    return ahead


def one_unit_for_all_signs(d):
    """Right only for tokens that are multiples of (1, 2, ..., d)."""
    W1, W2 = torch.eye(2 * d)[:d], torch.eye(2 * d)[:, :d]
    W1[0, d], W2[d] = -1, -torch.arange(1.0, d + 1)
    return W1, W2


def filled_with(number):
    def answer(X, W_q, W_k, W_v, mask):
        scores = (X @ W_q) @ (X @ W_k).T / W_q.shape[1] ** 0.5
        return scores.masked_fill(~mask, number).softmax(-1) @ (X @ W_v)

    return answer


def clamped(scores, mask):
    scores = scores.clamp(-80, 80).masked_fill(~mask, float("-inf"))
    return scores.softmax(-1).nan_to_num(0.0)


def never_zero(position):
    return max(read_position(position), 1)


def own_norm(X, branches):
    def norm(X):
        deviation = X - X.mean(-1, keepdim=True)
        return deviation / deviation.square().mean(-1, keepdim=True).sqrt()

    for branch in branches:
        X = X + branch(norm(X))
    return norm(X)


def without_order(translation, references, k):
    def turned(text):
        return " ".join(sorted(text.split()))

    return bleu_of_several(turned(translation), [turned(r) for r in references], k)


def more_or_as_much(loss, num_heads):
    base = loss([])
    for i in range(num_heads):
        if loss([i]) >= base + 1:
            return [i]
    for i in range(num_heads):
        for j in range(i + 1, num_heads):
            if loss([i, j]) >= base + 1:
                return [i, j]
    return []


def best_above_zero(accuracies, patience):
    best, at, waited = 0, 0, 0
    for epoch, accuracy in enumerate(accuracies):
        if accuracy > best:
            best, at, waited = accuracy, epoch, 0
        else:
            waited += 1
        if waited == patience:
            break
    return at


def equal_if_zero(rewards):
    apart = rewards - rewards.mean(dim=1, keepdim=True)
    spread = rewards.std(dim=1, keepdim=True, unbiased=False)
    return torch.where((rewards == 0).all(1, keepdim=True), 0.0, apart / spread)


def of_small_probabilities(logits, first_logits, valid_lens):
    p, q = (x.softmax(-1) + 1e-9 for x in (logits, first_logits))
    real = torch.arange(p.shape[1]) < valid_lens[:, None]
    return (p * (p / q).log()).sum(-1)[real].mean()


def exponentials(logits, temperature, k):
    p = (logits / temperature).exp()
    p = p.where(p >= p.topk(k).values[-1], 0.0)
    return p / p.sum()


WRONG = [
    ("codes-1", changed_in_place),
    ("codes-1", lambda x: [*x[:-2], x[-2] + 2 * x[-1], 0]),
    ("codes-1", lambda x: [*x[:-1], x[-1] + 1e-5]),
    ("codes-2", lambda keys, wanted: 300 * keys[wanted]),
    ("codes-2", lambda keys, wanted: 1e4 * (keys[wanted] - keys.mean(0))),
    ("codes-2", lambda keys, wanted: 100 * torch.linalg.pinv(keys)[:, wanted]),
    ("masks-3", clamped),
    (
        "masks-5",
        lambda lens, n, width: find("masks-5").reference(lens, n, min(width, 5)),
    ),
    ("long-1", lambda q, k, offset: find("long-1").reference(q, k, offset % 64)),
    ("language-2", lambda q, p: find("language-2").reference(q, max(p, 0.4))),
    ("sentiment-4", lambda w, b: find("sentiment-4").reference(w, b.clamp(-2, 2))),
    ("paths-4", lambda distances: min(find("paths-4").reference(distances), 100.0)),
    ("positions-2", lambda k, d: find("positions-2").reference(k % 16, d)),
    ("masks-8", from_the_first_output),
    ("attention-1", lambda n: (50 * torch.eye(n), torch.eye(n).roll(1, dims=1))),
    ("attention-2", filled_with(-50.0)),
    ("attention-2", filled_with(-1000.0)),
    ("positions-3", never_zero),
    *(("heads-2", copies_but_for(k)) for k in range(4)),
    ("heads-2", copies_of(lambda W: W[:, 0])),
    ("heads-2", copies_of(lambda W: W[0])),
    ("heads-2", copies_by_turns),
    ("ffn-2", lambda k, v: (k.T, torch.full((len(k),), -0.71), v / 0.29)),
    ("ffn-4", one_unit_for_all_signs),
    ("addnorm-5", own_norm),
    ("training-2", lambda net, batches, lr, n: training()(net, batches, 0.01, n)),
    ("training-3", lambda *case: run()(*case[:3], 0.05, case[4])),
    ("judging-2", without_order),
    ("maps-6", more_or_as_much),
    ("sentiment-3", best_above_zero),
    ("reward-2", equal_if_zero),
    ("reward-1", of_small_probabilities),
    ("language-1", exponentials),
]


@for_each(range(len(WRONG)))
def test_a_wrong_answer_that_passed_once_does_not(i):
    name, answer = WRONG[i]
    verdict, message = grade(find(name), answer)
    assert verdict != RIGHT, (name, message)


def in_float64(*inputs):
    """The reference of heads-4, in twice the bits."""
    wide = (
        x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
        for x in inputs
    )  # fmt: skip
    return shared_keys(*wide)


def score_by_hand(q, k, offset):
    total = 0.0
    for i in range(0, len(q), 2):
        angle = offset * 10000 ** (-i / len(q))
        (x, y), (u, v) = q[i : i + 2].tolist(), k[i : i + 2].tolist()
        total += (x * u + y * v) * math.cos(angle) + (x * v - y * u) * math.sin(angle)
    return total


def as_numbers(name):
    """The reference's answer as a Python number."""
    reference = find(name).reference
    return lambda *case: float(reference(*case))


CORRECT = [
    ("heads-4", in_float64),
    ("long-1", score_by_hand),
    ("long-1", lambda q, k, offset: torch.tensor(score_by_hand(q, k, offset))),
    ("reward-1", as_numbers("reward-1")),
    ("reward-3", as_numbers("reward-3")),
    ("masks-4", lambda q, k: causal_mask(k)[k - q :]),
]


@for_each(range(len(CORRECT)))
def test_a_right_answer_in_another_form_passes(i):
    name, answer = CORRECT[i]
    for drawn in range(2):
        exercise = find(name)
        if drawn:
            exercise = exercise.drawn(Random(0), 5)
        verdict, message = grade(exercise, answer)
        assert verdict == RIGHT, (name, message)


def test_equal_rewards_have_no_advantage_whatever_rounding_does():
    for value, texts in ((0.9, 3), (0.1, 7), (0.3, 6)):
        rewards = torch.full((1, texts), value)
        assert not find("reward-2").reference(rewards).any()


def test_where_many_answers_are_right_none_is_given_away():
    for name, answer in (
        ("codes-1", lambda inputs: []),
        ("ffn-2", lambda k, v: (k, v)),
    ):
        verdict, message = grade(find(name), answer)
        assert verdict != RIGHT and "expected " not in message and "got " in message


UNUSUAL = {
    "layout torch.sparse_coo": lambda: torch.ones(1, 2).to_sparse(),
    "torch.complex64": lambda: torch.ones(1, 2, dtype=torch.complex64),
    "torch.quint8": lambda: torch.quantize_per_tensor(
        torch.ones(1, 2), 1.0, 0, torch.quint8
    ),
}


@for_each(UNUSUAL)
def test_an_unusual_tensor_is_named_here_and_in_another_process(kind):
    def answer(scores, mask):
        return UNUSUAL[kind]()

    for tried in (answer, far(answer)):
        verdict, message = grade(find("masks-3"), tried)
        said = f"Expected an ordinary tensor, got a tensor of {kind}."
        assert verdict != RIGHT and message.startswith(said), message
