"""Runs of chapter 1: how many updates one code needs to repeat a string, and attention.

python -m benchmarks.recipes.copying saves the two nets of the chapter's first figure.
"""

import torch
from torch import nn

from benchmarks.recipes.common import from_chapter, save_nets
from d2lmini.support.chapters import CHAPTERS

UPDATES = 150, 300, 600, 1800, 5400
NETS = (
    "one code",
    "one code, 4 × as wide",
    "mean of all states",
    "attention",
    "attention, 8 a place",
)
EXPERIMENTS = {
    "copying": [{"net": net, "updates": n} for net in NETS for n in UPDATES],
}
RECIPES = {"copying": {"lr": 0.02, "batch_size": 64, "lengths": [2, 16]}}


def nets():
    """Name -> how to make the net, and the chapter's own training and test."""
    chapter = from_chapter(
        CHAPTERS["codes"],
        "Copier",
        "LookingBack",
        "train_copier",
        "repeat",
        "share_right",
    )
    state = chapter["STATE"]

    class MeanOfStates(chapter["Copier"]):
        """The code is the mean of the encoder's states."""

        def forward(self, digits, written):
            states, _ = self.encoder(self.embedding(digits))
            own, _ = self.decoder(self.embedding(written), states.mean(1)[None])
            return self.output(own)

    class EightAPlace(chapter["Copier"]):
        """Attention to eight numbers a place, 128 in all for sixteen digits; no code."""

        def __init__(self):
            super().__init__()
            self.key, self.query = nn.Linear(state, 8), nn.Linear(state, 8)
            self.output = nn.Linear(state + 8, chapter["NUM_DIGITS"])

        def forward(self, digits, written):
            kept = self.key(self.encoder(self.embedding(digits))[0])  # (batch, read, 8)
            own, _ = self.decoder(self.embedding(written))
            weights = torch.softmax(self.query(own) @ kept.mT, dim=-1)
            return self.output(torch.cat([own, weights @ kept], dim=-1))

    makers = chapter["Copier"], lambda: chapter["Copier"](4 * state), MeanOfStates
    makers = *makers, chapter["LookingBack"], EightAPlace
    return dict(zip(NETS, makers, strict=True)), chapter


def run(seed, net, updates):
    """Train a net once; its accuracy on strings of sixteen digits."""
    torch.set_num_threads(1)
    makers, chapter = nets()
    trained = chapter["train_copier"](makers[net], seed, updates)
    return {"seed": seed, "right": chapter["share_right"](trained, 16)}


def save_two(name="copying"):
    """Save the two nets of the chapter's first figure, after 600 updates, and what they write."""
    makers, chapter = nets()
    read = "3141592653589793"
    digits = torch.tensor([[int(digit) for digit in read]])
    kept, written = {}, {"read": read}
    for net in ("one code", "attention"):
        trained = chapter["train_copier"](makers[net], seed=0)
        kept[net] = trained.state_dict()
        written[net] = "".join(map(str, chapter["repeat"](trained, digits)[0].tolist()))
    save_nets(name, kept, updates=600, seed=0, written=written)


if __name__ == "__main__":
    save_two()
