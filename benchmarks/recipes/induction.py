"""Runs of chapter 15: which heads look for the token after the last occurrence of their own.

The prefix-matching score of Olsson et al. 2022: the weight that a position gives to the token
after an earlier occurrence of its token. Here the second part of a text holds the tokens of the
first in another order, so that no fixed distance finds it.
"""

from unittest import mock

import torch
from torch.nn import functional as F

from benchmarks.recipes.common import from_chapter
from benchmarks.recipes.rewards import first_writer
from d2lmini import attention, try_gpu
from d2lmini.modern import LanguageModel
from d2lmini.support.chapters import CHAPTERS
from d2lmini.support.ledger import RESULTS
from d2lmini.tasks.translator import SubwordTranslator

TEXTS, PART, LONGEST, TOKENS = 256, 8, 16, 60
PIECES = range(12, 512)  # the commonest of the translator, after its marks
REPEATS = {"sizes": [64, 128, 4, 2], "batch_size": 32, "lr": 0.003}
EXPERIMENTS = {
    "induction": [
        {"net": "repeated tokens", "blocks": 1, "steps": 2000},
        {"net": "repeated tokens", "blocks": 1, "steps": 10000},
        {"net": "repeated tokens", "blocks": 2, "steps": 2000},
        {"net": "writer of stories", "blocks": 2, "steps": 1000},
        {"net": "copier of chapter 1", "blocks": 1, "steps": 600},
        {"net": "translator of chapter 11", "blocks": 2, "steps": 0},  # the kept one
    ],
}
RECIPES = {
    "induction": REPEATS
    | {"texts": TEXTS, "part": PART, "longest": LONGEST, "tokens": TOKENS}
}


def different(num_texts, length, words, generator):
    """Texts (num_texts, length) of different random words."""
    order = torch.rand(num_texts, len(words), generator=generator).argsort(dim=-1)
    return torch.as_tensor(words)[order[:, :length]]


def train_on_repeats(seed, blocks, steps):
    """A language model that sees nothing but random tokens, each text repeated once."""
    torch.manual_seed(seed)
    sizes = *REPEATS["sizes"], blocks, 2 * LONGEST
    net = LanguageModel(TOKENS, *sizes).to(try_gpu())
    optimizer = torch.optim.Adam(net.parameters(), lr=REPEATS["lr"])
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        length = torch.randint(PART, LONGEST + 1, (), generator=generator).item()
        half = different(REPEATS["batch_size"], length, range(TOKENS), generator)
        tokens = torch.cat([half, half], dim=1).to(try_gpu())
        logits, _ = net(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


def maps_of(net, tokens):
    """The attention weights (batch, heads, steps, steps) of each block of a language model."""
    maps, real = [], attention.scaled_dot_product_attention

    def watched(*args):
        output, weights = real(*args)
        maps.append(weights)
        return output, weights

    where = "d2lmini.modern.scaled_dot_product_attention"
    with mock.patch(where, watched), torch.no_grad():
        net(tokens)
    return maps


def share_repeated(net, half):
    """How often the repetition is predicted, its first token aside."""
    tokens = torch.cat([half, half], dim=1).to(try_gpu())
    with torch.no_grad():
        guess = net(tokens[:, :-1])[0].argmax(-1)
    return (guess == tokens[:, 1:])[:, half.shape[1] :].float().mean().item()


def run(seed, net, blocks, steps):
    """Train once; the scores of all heads, and how often a repetition is predicted."""
    generator = torch.Generator().manual_seed(1000 + seed)
    order = torch.rand(TEXTS, PART, generator=generator).argsort(dim=-1)
    next_place = order + 1  # after each token's occurrence in the first part
    is_inside = next_place < PART
    if net == "copier of chapter 1":
        chapter = from_chapter(
            CHAPTERS["codes"], "Copier", "LookingBack", "train_copier", "repeat"
        )
        copier = chapter["train_copier"](chapter["LookingBack"], seed, steps)
        half = different(TEXTS, PART, range(10), generator)
        right = (chapter["repeat"](copier, half) == half)[:, 1:].float().mean().item()
        with torch.no_grad():
            copier(half, half.gather(1, order))
        maps = [copier.weights[:, None]]  # (batch, 1, written, read)
    elif net == "translator of chapter 11":  # its decoder's self-attention
        half = different(TEXTS, PART, PIECES, generator)
        translator = SubwordTranslator.load(RESULTS / "fra-eng-full.safetensors").net
        src, lens = half.to(try_gpu()), torch.full((TEXTS,), PART, device=try_gpu())
        translator.to(try_gpu()).eval()
        right = share_repeated(lambda tokens: [translator(src, tokens, lens)], half)
        with torch.no_grad():
            translator(
                src, torch.cat([half, half.gather(1, order)], dim=1).to(src), lens
            )
        own, _ = translator.decoder.attention_weights
        maps = [m[:, :, PART:, :PART].cpu() for m in own]
    else:
        if net == "writer of stories":
            trained, words = first_writer(seed, "stories-mini"), range(12, 28)
        else:
            trained, words = train_on_repeats(seed, blocks, steps), range(TOKENS)
        half = different(TEXTS, PART, [*words], generator)
        right = share_repeated(trained, half)
        tokens = torch.cat([half, half.gather(1, order)], dim=1)
        maps = maps_of(trained, tokens.to(try_gpu()))
        maps = [m[:, :, PART:, :PART].cpu() for m in maps]
    at = next_place.clamp(max=PART - 1)[:, None, :, None]
    scores = []
    for weights in maps:
        found = weights.gather(3, at.expand(-1, weights.shape[1], -1, -1))[..., 0]
        scores.append(found.transpose(1, 2)[is_inside].mean(dim=0).tolist())
    return {
        "scores": [[round(score, 4) for score in heads] for heads in scores],
        "best": max(max(heads) for heads in scores),
        "right": right,
    }
