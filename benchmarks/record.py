"""The runs over seeds that chapter 8 quotes: python benchmarks/record.py [NAME ...].

Each writes one file of results/. On one core all of them take about an hour.
"""

import sys

from common import SEEDS, record, run

# So few sentences that there is room to improve. Alternatives are compared on the
# validation split: the test split is for the one number reported at the end.
SMALL = {"num_epochs": 200, "num_examples": 600, "split": "val"}

EXPERIMENTS = {
    "s1-setting": [{"num_epochs": 200, "num_examples": 600, "name": "fra-eng"}],
    "eng-fra-mini": [{"num_epochs": 60}],
    "warmup-and-smoothing": [
        SMALL,
        SMALL | {"warmup_steps": 200},
        SMALL | {"label_smoothing": 0.1},
        SMALL | {"warmup_steps": 200, "label_smoothing": 0.1},
    ],
    "depth": [SMALL | {"num_layers": n} for n in (1, 2, 4, 6)],
    "init": [
        SMALL | {"name": name, "xavier": xavier}
        for name in ("eng-fra-mini", "fra-eng")
        for xavier in (False, True)
    ],
}


def main(names):
    """Run the named experiments, or all."""
    for name in names or EXPERIMENTS:
        settings = EXPERIMENTS[name]
        runs = [{"setting": s, **run(seed, **s)} for s in settings for seed in SEEDS]
        record(name, settings, runs)
        print(f"results/{name}.json written")


if __name__ == "__main__":
    main(sys.argv[1:])
