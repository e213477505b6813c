"""Runs of chapter 1: what the two copiers repeat, place by place, and where attention looks."""

import torch

from benchmarks.recipes.common import from_chapter
from d2lmini.support.chapters import CHAPTERS

NETS = {"one code": "Copier", "attention": "LookingBack"}
EXPERIMENTS = {"recall": [{"net": net} for net in NETS]}
RECIPES = {"recall": {"lr": 0.02, "batch_size": 64, "updates": 600}}


def run(seed, net):
    """Train a net once, as the chapter does.

    places: for each length from 2 to 16, the share right at each place; given: the same at 16, if
    the net reads the right digits; fall: that of the first word's influence on the encoder.
    """
    torch.set_num_threads(1)
    chapter = from_chapter(
        CHAPTERS["codes"],
        "Copier",
        "LookingBack",
        "train_copier",
        "right_by_place",
        "right_if_told",
        "looks",
        "influences",
    )
    own, told = chapter["right_by_place"], chapter["right_if_told"]
    trained = chapter["train_copier"](chapter[NETS[net]], seed)
    reach = chapter["influences"](trained, lambda X: trained.encoder(X)[0])
    found = {
        "seed": seed,
        "places": [rounded(own(trained, length)) for length in range(2, 17)],
        "given": rounded(told(trained, 16)),
        "own_32": own(trained, 32).mean().item(),
        "given_32": told(trained, 32).mean().item(),
        "fall": (reach[0] / reach[-1]).item(),
    }
    return found | ({"looks": chapter["looks"](trained)} if net == "attention" else {})


def rounded(shares):
    """As a list, to the thousandth: 500 strings give no more."""
    return [round(share, 3) for share in shares.tolist()]
