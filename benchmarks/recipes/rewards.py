"""Runs of chapter 17: the writer of stories trained on its own, those that a reward keeps.

python -m benchmarks.recipes.rewards saves the first writer, with which the chapter begins.
"""

import copy
import functools
from itertools import pairwise

import torch
from torch.nn import functional as F

from benchmarks.recipes.common import save_nets
from benchmarks.recipes.stories import (
    MAX_LEN,
    READING,
    RECIPE,
    answers_right,
    fit,
    loss_of,
    stories_of,
    write,
)
from d2lmini import batches, encode, normalise, shift_right, try_gpu
from d2lmini.data import cut_padding
from d2lmini.data.buckets import buckets
from d2lmini.data.texts import mistake_in, read_texts
from d2lmini.losses import next_token_loss
from d2lmini.modern import LanguageModel
from d2lmini.speed.batched_search import at_random
from d2lmini.training import evaluate

REWARDS = RECIPE | {
    "lr": READING["lr"],  # of the first writer
    "first_epochs": 8,
    "rounds": 8,
    "samples": 1500,  # a round
    "epochs": 2,  # a round
    "rate": 0.001,
    "measured": 500,  # stories
}
# The last is no pull: it shows what smaller steps alone do.
PULLS = ("none", "1/4 corpus", "KL 0.1", "KL 0.3", "1/3 of the rate")
REWARDED = "any", "true", "true, a gift, two owners", "true, a gift, two answers"
EXPERIMENTS = {
    "rewards": [
        {"name": "stories-mini", "keep": keep, "pull": "none"}
        for keep in ("corpus", *REWARDED)
    ]
    + [
        {"name": "stories-mini", "keep": "true, with a gift", "pull": pull}
        for pull in PULLS
    ]
    + [
        {"name": "stories-mini", "keep": keep, "pull": "batches at random"}
        for keep in ("any", "true, with a gift")
    ],
    # Do ropes save answers, given time?
    "rewards-longer": [
        {
            "name": "stories-mini",
            "keep": "true, with a gift",
            "pull": pull,
            "rounds": 20,
        }
        for pull in ("1/4 corpus", "KL 0.3")
    ],
    # As many stories a round, but a step after each 250, towards the better and away from the worse
    "rewards-policy": [
        {
            "name": "stories-mini",
            "keep": "true, with a gift",
            "pull": pull,
            "rate": rate,
        }
        for pull, rate in (
            ("policy gradient", 0.0003),
            ("policy gradient", 0.001),
            ("policy gradient", 0.003),
            ("policy gradient, KL 0.3", 0.001),
        )
    ],
    # For the figure: some of what is written after each round.
    "rewards-told": [
        {"name": "stories-mini", "keep": keep, "pull": "none", "told": 6}
        for keep in (*REWARDED, "true, with a gift")
    ],
}
LONGER = {key: value for key, value in REWARDS.items() if key != "rounds"}
POLICY = {key: value for key, value in REWARDS.items() if key not in ("epochs", "rate")}
POLICY["samples_a_step"] = 250
RECIPES = dict.fromkeys(EXPERIMENTS, REWARDS)
RECIPES |= {"rewards-longer": LONGER, "rewards-policy": POLICY}


def is_true(story):
    """Nothing in it contradicts what came before."""
    return mistake_in(story) is None


def has_gift(story):
    """Somebody gives something away."""
    return " gives the " in story


def two_owners(story):
    """The two things belong to two people at first."""
    words = story.split()
    return len(words) > 5 and words[0] != words[5]


def two_answers(story):
    """The two answers are two names."""
    words = story.split()
    answers = [after for word, after in pairwise(words) if word == "?"]
    return len(answers) == 2 and answers[0] != answers[1]


KEEPS = {
    "corpus": lambda story: True,
    "any": lambda story: True,
    "true": is_true,
    "true, with a gift": lambda story: is_true(story) and has_gift(story),
    "true, a gift, two owners": lambda story: (
        is_true(story) and has_gift(story) and two_owners(story)
    ),
    "true, a gift, two answers": lambda story: (
        is_true(story) and has_gift(story) and two_answers(story)
    ),
}


@functools.cache
def first_writer(seed, name):
    """The writer of chapter 15, trained on the corpus."""
    device = try_gpu()
    vocab, _, loaders = stories_of(name)
    torch.manual_seed(seed)
    sizes = len(vocab), *RECIPE["sizes"], RECIPE["num_kv_heads"], RECIPE["num_layers"]
    net = LanguageModel(*sizes, MAX_LEN).to(device)
    loss = loss_of(vocab)
    fit(net, loaders, loss, device, REWARDS["first_epochs"])
    return net.eval()


def measure(net, seed, data, temperature=1.0, told=0):
    """What it writes: shares of the stories, their words; and how it reads those of the corpus."""
    vocab, arrays, loaders = data
    device = next(net.parameters()).device
    generator = torch.Generator(device).manual_seed(1000 + seed)
    count = REWARDS["measured"]
    stories = write(net, vocab, count, at_random(temperature, generator=generator))
    true, gifts = (torch.tensor([*map(test, stories)]) for test in (is_true, has_gift))
    tokens, lens = (array.to(device) for array in arrays["test"])
    loss = loss_of(vocab)
    return {
        "true": true.sum().item() / count,
        "gifts": gifts.sum().item() / count,
        "true_gifts": round(
            (true & gifts).sum().item() / max(1, gifts.sum().item()), 4
        ),
        "two_owners": sum(map(two_owners, stories)) / count,
        "two_answers": sum(map(two_answers, stories)) / count,
        "words": sum(len(story.split()) for story in stories) / count,
        "distinct": len({*stories}) / count,
        "loss": round(evaluate(net, loaders["test"], loss, device), 4),
        "answers": round(answers_right(net.eval(), tokens, lens, vocab), 4),
    } | ({"stories": stories[:told]} if told else {})


def divergence_from(first, inputs, log_probs):
    """The KL divergence of predictions from the first writer's, (batch, steps)."""
    with torch.no_grad():
        firsts = first(inputs)[0].log_softmax(dim=-1)
    terms = F.kl_div(firsts, log_probs, reduction="none", log_target=True)
    return terms.sum(-1)


def penalised_loss(first, weight, bos):
    """The loss of the next token, and weight times the KL divergence from the first writer."""

    def loss(net, batch):
        tokens, valid_lens = batch
        nats, count = next_token_loss(net, batch, bos)
        inputs = shift_right(tokens, bos)
        log_probs = net(inputs)[0].log_softmax(dim=-1)  # (batch, steps, tokens)
        kept = torch.arange(tokens.shape[1], device=tokens.device) < valid_lens[:, None]
        divergence = divergence_from(first, inputs, log_probs)[kept].mean()
        return nats + weight * divergence, count

    return loss


def policy_steps(net, first, stories_for_step, keep, weight, vocab, optimizer, device):
    """A round of a policy gradient: write some stories, take a step, write the next."""
    for _ in range(POLICY["samples"] // POLICY["samples_a_step"]):
        stories = stories_for_step()
        rewards = torch.tensor([float(KEEPS[keep](story)) for story in stories])
        apart = rewards - rewards.mean()
        advantages = (apart / rewards.std(unbiased=False).clamp(min=1e-6)).to(device)
        arrays = [array.to(device) for array in encode(stories, vocab, MAX_LEN)]
        tokens, valid_lens = cut_padding(arrays)
        inputs = shift_right(tokens, vocab.bos)
        log_probs = net.train()(inputs)[0].log_softmax(dim=-1)  # (batch, steps, tokens)
        written = log_probs.gather(-1, tokens[..., None])[..., 0]
        divergence = divergence_from(first, inputs, log_probs)
        each = weight * divergence - written * advantages[:, None]
        kept = torch.arange(tokens.shape[1], device=device) < valid_lens[:, None]
        optimizer.zero_grad()
        each[kept].mean().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        net.eval()


def run(seed, name, keep, pull, rounds=REWARDS["rounds"], told=0, rate=REWARDS["rate"]):
    """Rounds of writing, keeping and training; what is measured before the first and after each."""
    device, data = try_gpu(), stories_of(name)
    vocab, _, loaders = data
    corpus = [normalise(story) for story in read_texts(name, "train")]
    first = first_writer(seed, name)
    net, generator = copy.deepcopy(first), torch.Generator(device).manual_seed(seed)
    order = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    loss = loss_of(vocab)
    if pull.startswith("KL"):
        loss = penalised_loss(first, float(pull.split()[1]), vocab.bos)
    found = [measure(net, seed, data, told=told) | {"kept": 0}]
    choose = at_random(1.0, generator=generator)
    if pull.startswith("policy"):
        optimizer = torch.optim.Adam(net.parameters(), rate)
        weight = float(pull.split("KL ")[1]) if "KL" in pull else 0.0
        write_some = functools.partial(
            write, net, vocab, POLICY["samples_a_step"], choose
        )
        args = net, first, write_some, keep, weight, vocab, optimizer, device
    for _ in range(rounds):
        if pull.startswith("policy"):
            policy_steps(*args)
            found.append(measure(net, seed, data, told=told) | {"kept": 0})
            continue
        stories = write(net, vocab, REWARDS["samples"], choose)
        some = [corpus[i] for i in torch.randperm(len(corpus), generator=order)]
        if keep == "corpus":  # as many as are written, so at least as many steps
            stories = some[: len(stories)]
        kept = [*filter(KEEPS[keep], stories)]
        share = 1 / 3 if pull == "1/4 corpus" else 0  # of what was kept
        arrays = encode(kept + some[: round(share * len(kept))], vocab, MAX_LEN)
        if pull == "batches at random":  # not by length
            loader = batches(arrays, RECIPE["batch_size"], cut_padding)
        else:
            loader = buckets(arrays, arrays[1], RECIPE["batch_size"], cut_padding)
        loaders = loaders | {"train": loader}
        lr = rate / 3 if pull == "1/3 of the rate" else rate
        # no warm-up: Adam goes on from a trained net
        fit(net, loaders, loss, device, REWARDS["epochs"], lr, 1)
        found.append(measure(net, seed, data, told=told) | {"kept": len(kept)})
    columns = {key: [row[key] for row in found] for key in found[0]}
    if told:
        return columns
    columns |= {"first": found[0], "last": found[-1]}
    for when, writer in (("first_cold", first), ("last_cold", net)):
        columns[when] = measure(writer, seed, data, temperature=0.5)
    return columns


def save_first(name="stories-mini", seed=0):
    """Write the first writer with 8 bits a number, as the pages keep their networks."""
    kept = {"writer": first_writer(seed, name).state_dict()}
    save_nets("writer", kept, epochs=REWARDS["first_epochs"], seed=seed)


if __name__ == "__main__":
    save_first()
