"""Exercises of chapter 17."""

import torch

from d2lmini.check.exercise import Exercise


def _real(valid_lens, steps):
    return torch.arange(steps) < valid_lens[:, None]


def divergence(logits, first_logits, valid_lens):
    """Mean of KL(new || first) over the real positions, in nats; scalar."""
    real = _real(valid_lens, logits.shape[1])
    return _divergences(logits, first_logits)[real].mean().item()


def _divergences(logits, first_logits):
    log_probs, firsts = (x.log_softmax(dim=-1) for x in (logits, first_logits))
    return (log_probs.exp() * (log_probs - firsts)).sum(dim=-1)


def _cross_entropy(logits, first_logits, valid_lens):
    nats = -(logits.softmax(dim=-1) * first_logits.log_softmax(dim=-1)).sum(dim=-1)
    return nats[_real(valid_lens, logits.shape[1])].mean()


def _by_text(logits, first_logits, valid_lens):
    real = _real(valid_lens, logits.shape[1])
    sums = (_divergences(logits, first_logits) * real).sum(dim=1)
    return (sums / valid_lens).mean()


def _as_scores(logits, first_logits, valid_lens):
    apart = (logits.softmax(dim=-1) * (logits - first_logits)).sum(dim=-1)
    return apart[_real(valid_lens, logits.shape[1])].mean()


def _divergence_case(dice):
    batch, steps, tokens = dice.sizes(3)
    lens = dice.lengths(batch, steps)
    return dice.normal(batch, steps, tokens), dice.normal(batch, steps, tokens), lens


def advantages(rewards):
    """Rewards (prompts, texts) less the mean of their row, over its standard deviation."""
    apart = rewards - rewards.mean(dim=1, keepdim=True)
    spread = rewards.std(dim=1, keepdim=True, unbiased=False)
    # by the rewards: rounding may leave equal ones with a small spread
    differ = rewards.amax(dim=1, keepdim=True) > rewards.amin(dim=1, keepdim=True)
    return torch.where(differ, apart / spread, 0.0)


def _over(rewards, dim):
    apart = rewards - rewards.mean(dim=dim, keepdim=True)
    spread = rewards.std(dim=dim, keepdim=True, unbiased=False)
    return torch.where(spread > 0, apart / spread, 0.0)


def _advantages_case(dice):
    prompts, texts = dice.sizes(2, low=3)
    if dice.number(0, 1):
        return (dice.normal(prompts, texts),)
    return (dice.below(3, prompts, texts) / 4,)  # some rows may be equal


def policy_loss(logits, tokens, valid_lens, advantages):
    """Minus the mean over real tokens of the text's advantage times log p(token); scalar."""
    real = _real(valid_lens, tokens.shape[1])
    return -(_log_probs(logits, tokens) * advantages[:, None])[real].mean().item()


def _log_probs(logits, tokens):
    return logits.log_softmax(dim=-1).gather(-1, tokens[..., None])[..., 0]


def _only_good(logits, tokens, valid_lens, advantages):
    return policy_loss(logits, tokens, valid_lens, advantages.clamp(min=0))


def _of_probabilities(logits, tokens, valid_lens, advantages):
    real = _real(valid_lens, tokens.shape[1])
    return -(_log_probs(logits, tokens).exp() * advantages[:, None])[real].mean()


def _last_only(logits, tokens, valid_lens, advantages):
    last = (valid_lens - 1)[:, None]
    return -(_log_probs(logits, tokens).gather(1, last)[:, 0] * advantages).mean()


def _policy_case(dice):
    batch, steps, words = dice.sizes(3)
    tokens, lens = dice.below(words, batch, steps), dice.lengths(batch, steps)
    return dice.normal(batch, steps, words), tokens, lens, dice.normal(batch)


def _logits(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).round(
        decimals=1
    )


def _full(lens, X):
    return torch.full_like(lens, X.shape[1])


EXERCISES = [
    Exercise(
        "reward-1",
        divergence,
        [
            (torch.tensor([[[0.0, 1.0]]]), torch.tensor([[[0.0, 0.0]]]), torch.tensor([1])),
            (_logits(1, 3, 2, seed=0), _logits(1, 3, 2, seed=1), torch.tensor([2])),
            (_logits(2, 3, 4, seed=2), _logits(2, 3, 4, seed=3), torch.tensor([3, 1])),
            (torch.tensor([[[200.0, 0.0]]]), torch.tensor([[[0.0, 60.0]]]), torch.tensor([1]))],
        {
            "the divergence of the first writer from the new one: exchange them": lambda x, y, n: (
                divergence(y, x, n)
            ),
            "padding that counts": lambda x, y, n: divergence(x, y, _full(n, x)),
            "a sum over the positions, where a mean is asked for": lambda x, y, n: (
                divergence(x, y, n) * n.sum()
            ),
            "a mean over the tokens of the vocabulary, where a sum is due": lambda x, y, n: (
                divergence(x, y, n) / x.shape[-1]
            ),
            "a mean of means: a short text counts as much as a long one": _by_text,
            "a cross-entropy, from which the entropy is still to be taken": _cross_entropy,
            "logits, where logarithms of probabilities belong": _as_scores,
            "a divergence with the sign reversed": lambda x, y, n: -divergence(x, y, n),
        },
        (
            "Take log_softmax of both, along the tokens.",
            "Weigh the difference of the two with the new writer's probabilities, and sum.",
            "Pick the positions before each text's length with a mask, and average those.",
        ),
        draw=_divergence_case,
    ),
    Exercise(
        "reward-2",
        advantages,
        [
            (torch.tensor([[0.0, 1.0]]),), (torch.tensor([[1.0, 0.0, 0.0, 0.0]]),),
            (torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]),),
            (torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 1.0]]),),
            (torch.tensor([[1.0, 1.0], [0.0, 1.0]]),), (torch.tensor([[1.0, 0.0, 1.0]]),),
            (torch.tensor([[0.5, 0.51]]),), (torch.tensor([[1.0] + 11 * [0.0]]),)],
        {
            "a mean over all prompts: an easy prompt would look like good writing": lambda r: (
                torch.where(
                    (spread := r.std(unbiased=False)) > 0, (r - r.mean()) / spread, 0.0
                )
            ),
            "means over the prompts, not over the texts of one": lambda r: _over(r, 0),
            "rewards that are not divided by their spread": lambda r: (
                r - r.mean(dim=1, keepdim=True)
            ),
            "rewards that are divided, but not centred": lambda r: torch.where(
                (spread := r.std(dim=1, keepdim=True, unbiased=False)) > 0, r / spread, 0.0
            ),
            "a division by zero where all texts of a prompt have the same reward": lambda r: (
                (r - r.mean(dim=1, keepdim=True))
                / r.std(dim=1, keepdim=True, unbiased=False)
            ),
            "a standard deviation with n - 1 in it": lambda r: advantages(r)
            * ((r.shape[1] - 1) / r.shape[1]) ** 0.5,
            "a variance, of which the root is due": lambda r: torch.where(
                (spread := r.var(dim=1, keepdim=True, unbiased=False)) > 0,
                (r - r.mean(dim=1, keepdim=True)) / spread,
                0.0,
            ),
            "the sign reversed": lambda r: -advantages(r),
        },
        (
            "Subtract from each reward the mean of its own row; keepdim=True helps.",
            "Divide by the row's standard deviation, with unbiased=False.",
            "Where that is 0, nothing was better than the rest. What should its advantage be?",
        ),
        draw=_advantages_case,
    ),
    Exercise(
        "reward-3",
        policy_loss,
        [
            (torch.tensor([[[0.0, 1.0]]]), torch.tensor([[1]]), torch.tensor([1]),
             torch.tensor([2.0])),
            (torch.tensor([[[0.0, 200.0]]]), torch.tensor([[0]]), torch.tensor([1]),
             torch.tensor([1.0])),
            (torch.zeros(1, 1, 2), torch.tensor([[0]]), torch.tensor([1]), torch.tensor([4.0])),
            (_logits(2, 3, 3, seed=4), torch.tensor([[0, 2, 1], [1, 1, 0]]), torch.tensor([3, 2]),
             torch.tensor([1.0, -0.5])),
            (_logits(3, 2, 3, seed=5), torch.tensor([[0, 2], [1, 1], [2, 0]]),
             torch.tensor([2, 1, 2]), torch.tensor([-1.0, 2.0, 0.5]))],
        {
            "the sign reversed: this makes the worst texts likelier": lambda *c: -policy_loss(*c),
            "padding that counts": lambda x, t, n, a: policy_loss(x, t, _full(n, x), a),
            "no advantage: every text counts alike": lambda x, t, n, a: policy_loss(
                x, t, n, torch.ones_like(a)
            ),
            "texts with a negative advantage left out: they should become rarer": _only_good,
            "probabilities, where their logarithms belong": _of_probabilities,
            "the last token alone": _last_only,
            "a sum over the tokens, where a mean is asked for": lambda x, t, n, a: (
                policy_loss(x, t, n, a) * n.sum()
            ),
            "the size of the advantage without its sign": lambda x, t, n, a: policy_loss(
                x, t, n, a.abs()
            ),
        },
        (
            "log_softmax, then gather the entry of each token: (batch, steps).",
            "Multiply each row by the text's advantage; advantages[:, None] has the shape.",
            "Average over the real positions, and mind the sign: a loss goes down.",
        ),
        draw=_policy_case,
    ),
]  # fmt: skip
