"""Runs of chapter 6: how many facts networks hold that are not one FFN with its ReLU."""

import torch
from torch import nn

from benchmarks.recipes.common import from_chapter
from d2lmini import MultiHeadAttention, PositionWiseFFN
from d2lmini.support.chapters import CHAPTERS


def norm_for_relu(*sizes):
    net = PositionWiseFFN(*sizes)
    net.relu = nn.LayerNorm(net.dense1.out_features)
    return net


class InARow(nn.Module):
    """Networks of 16 units, each adding to its input."""

    def __init__(self, make, number):
        super().__init__()
        self.networks = nn.ModuleList(make(16, 16) for _ in range(number))
        self.output = nn.Linear(16, 16)

    def forward(self, X):
        for network in self.networks:
            X = X + network(X)
        return self.output(X)


class AddThenScore(nn.Module):
    """A part adds to its input, maybe beside a constant token; then scores."""

    def __init__(self, part, company):
        super().__init__()
        self.part, self.company = part, company
        self.end, self.output = torch.randn(16), nn.Linear(16, 16)

    def forward(self, X):
        if self.company:
            S = torch.stack([X, self.end.expand_as(X)], dim=1)  # (facts, 2, features)
            return self.output((S + self.part(S, S, S))[:, 0])
        return self.output(X + self.part(X))


def eight_heads():
    return AddThenScore(MultiHeadAttention(16, 8, 0.0, bias=True), company=True)


NETS = {  # training steps -> name -> how to make it
    1000: {
        "one FFN of 64 units": lambda: PositionWiseFFN(16, 64),
        "four of 16 in a row": lambda: InARow(PositionWiseFFN, 4),
        "sixteen, with norms": lambda: InARow(norm_for_relu, 16),
        "one with a norm, 64 units": lambda: norm_for_relu(16, 64),
        "one linear layer": lambda: nn.Linear(16, 16),
    },
    300: {
        "eight heads, beside a token": eight_heads,
        "an FFN of 33 units": lambda: AddThenScore(PositionWiseFFN(16, 33), False),
    },
}
EXPERIMENTS = {
    "facts": [{"net": net, "steps": steps} for steps in NETS for net in NETS[steps]]
}
RECIPES = {"facts": {"facts": 1000, "lr": 0.01}}


def run(seed, net, steps):
    """Learn a thousand facts; how many are then right."""
    torch.set_num_threads(1)
    chapter = from_chapter(CHAPTERS["ffn"], "learn_facts", "draw_facts")
    facts = chapter["draw_facts"](seed)
    made = NETS[steps][net]()
    return {
        "seed": seed,
        "parameters": sum(parameter.numel() for parameter in made.parameters()),
        "right": chapter["learn_facts"](made, *facts, steps),
    }
