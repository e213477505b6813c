"""Runs of chapter 10: sentences of two clauses, some of them held out at random."""

import random
import tempfile
from pathlib import Path

import torch

from benchmarks.recipes.common import BATCH_SIZE, LR, NUM_STEPS, make_net, share_right
from d2lmini import load_data_nmt, normalise, read_pairs, train_seq2seq, try_gpu

JOINTS = {"and": "et", "but": "mais", "because": "parce"}
HELD_OUT, SWAPPED, EPOCHS = 35, 100, 30
EXPERIMENTS = {"clauses": [{"num_epochs": EPOCHS}]}
RECIPES = {"clauses": {"held_out": HELD_OUT, "swapped": SWAPPED}}


def joint_of(pair):
    """The word that joins two clauses, or None."""
    return next((word for word in pair[0].split() if word in JOINTS), None)


def swapped_clauses(pairs, dice):
    """New pairs: the first clause of one, the second of another with the same joint."""
    found, known = [], {english for english, _ in pairs}
    longest = [max(len(normalise(p[side]).split()) for p in pairs) for side in (0, 1)]
    while len(found) < SWAPPED:
        one, other = dice.sample(pairs, 2)
        joint = joint_of(one)
        if joint != joint_of(other):
            continue
        cuts = f" {joint} ", f" {JOINTS[joint]}"
        new = tuple(
            one[side].split(cut)[0] + cut + other[side].split(cut)[1]
            for side, cut in enumerate(cuts)
        )
        sizes = [len(normalise(text).split()) for text in new]
        if new[0] not in known and all(map(int.__le__, sizes, longest)):
            known.add(new[0])
            found.append(new)
    return found


def run(seed, num_epochs):
    """Train without some sentences of two clauses; how many of each kind come out right."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    dice = random.Random(seed)
    train = read_pairs(split="train")
    two = dice.sample(both := [p for p in train if joint_of(p)], len(both))
    held, kept = two[:HELD_OUT], two[HELD_OUT:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.tsv"
        rest = [pair for pair in train if pair not in held]
        path.write_text("".join(f"{e}\t{f}\n" for e, f in rest), encoding="utf-8")
        train_iter, *vocabs = load_data_nmt(BATCH_SIZE, NUM_STEPS, None, path)
    net = make_net(*vocabs)
    train_seq2seq(net, train_iter, LR, num_epochs, vocabs[1], try_gpu())
    kinds = {
        "test": read_pairs(split="test"),
        "held_out": held,
        "trained": kept,
        "swapped": swapped_clauses(kept, dice),
    }
    shares = {kind: share_right(net, vocabs, pairs) for kind, pairs in kinds.items()}
    return {"seed": seed} | shares
