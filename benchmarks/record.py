"""Record the runs over seeds that the book quotes: python -m benchmarks.record NAME ...

Each name writes one file of results/. A run that was stopped resumes where it was. On one core,
the experiments of chapters 9 and 10 take an hour in all, sst2 and eth-ucy an hour and a half each,
multi30k two and a half.
"""

import sys

from benchmarks.recipes import (
    attention,
    attentions,
    baselines,
    captions,
    clauses,
    copying,
    deep_nets,
    facts,
    few_pairs,
    growth,
    head_counts,
    heads,
    induction,
    longer,
    machines,
    museum,
    norms,
    padding,
    parts,
    pictures,
    rates,
    readers,
    recall,
    reversing,
    rewards,
    root,
    routes,
    sentiment,
    stories,
    trajectories,
    translator,
    without_ffn,
)
from benchmarks.recipes.common import RECIPE, SEEDS, record, run

# Few enough sentences to leave room for improvement. Alternatives are compared on the validation
# split: the test split is only for the number reported at the end.
SMALL = {"num_epochs": 200, "num_examples": 600, "split": "val"}

EXPERIMENTS = {
    "eng-fra-mini": [{"num_epochs": 30}],
    "warmup-and-smoothing": [
        SMALL,
        SMALL | {"warmup_steps": 200},
        SMALL | {"label_smoothing": 0.1},
        SMALL | {"warmup_steps": 200, "label_smoothing": 0.1},
    ],
    "depth": [SMALL | {"num_layers": n} for n in (1, 2, 4, 6)],
}


RUNS, RECIPES = dict.fromkeys(EXPERIMENTS, run), dict.fromkeys(EXPERIMENTS, RECIPE)
MODULES = (
    copying,
    deep_nets,
    facts,
    few_pairs,
    sentiment,
    trajectories,
    captions,
    clauses,
    translator,
    baselines,
    stories,
    attention,
    attentions,
    head_counts,
    heads,
    induction,
    longer,
    machines,
    museum,
    growth,
    norms,
    padding,
    parts,
    pictures,
    readers,
    recall,
    reversing,
    rates,
    rewards,
    root,
    routes,
    without_ffn,
)
for module in MODULES:
    RUNS |= dict.fromkeys(module.EXPERIMENTS, module.run)
    EXPERIMENTS |= module.EXPERIMENTS
    # for experiments whose settings are incomplete
    RECIPES |= getattr(module, "RECIPES", {})

# Five seeds would take too long.
SEEDS_OF = dict.fromkeys(
    [
        "sst2",
        "eth-ucy",
        "fra-eng-full",
        "fra-eng-gru",
        "multi30k",
        "multi30k-source",
        "multi30k-steps",
        "multi30k-wider",
        "multi30k-reversed",
        "attention-cost",
        "museum",
        "padding-seen",
        "without-ffn",
        "scaling",
    ],
    range(3),
)
# A failing start in three would often not show among five.
SEEDS_OF["reversing"] = range(20)
SEEDS_OF["tiny"] = range(10)
# Choices are made once, and deterministic runs need no second seed.
ONCE = [
    "eth-ucy-choice",
    "fra-eng-8-bits",
    "fra-eng-nearest",
    "fra-eng-two-cores",
    "growth",
    "faster",
    "rewards-told",
]
SEEDS_OF |= dict.fromkeys(ONCE, range(1))


def main(names):
    """Run the named experiments."""
    if not names or set(names) - set(EXPERIMENTS):
        raise SystemExit(f"names ({names}) must be some of {[*EXPERIMENTS]}")
    for name in names:
        seeds, recipe = SEEDS_OF.get(name, SEEDS), RECIPES.get(name)
        record(name, EXPERIMENTS[name], RUNS[name], seeds, recipe)
        print(f"results/{name}.json written")


if __name__ == "__main__":
    main(sys.argv[1:])
