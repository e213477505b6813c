"""Compare the numbers that the book promises with measurements on this machine: make bench

Comparisons with other implementations are in speed.py. Takes about five minutes. Training on
fra-eng needs the data set; without it, those rows say so.
"""

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.recipes.common import SEEDS, mean_sd, run
from benchmarks.table import head, row
from d2lmini import normalise, read_pairs
from d2lmini.data.pairs import within_one_word
from d2lmini.data.registry import REGISTRY, data_folder

ROOT = Path(__file__).parents[1]


def import_seconds():
    """Seconds for `import d2lmini` after `import torch`, best of five."""
    program = "import time, torch; t = time.perf_counter(); import d2lmini; "
    program += "print(time.perf_counter() - t)"
    command = [sys.executable, "-c", program]
    runs = [
        subprocess.run(command, capture_output=True, text=True).stdout for _ in range(5)
    ]
    return min(float(seconds) for seconds in runs)


def book_seconds():
    """Seconds for `make book` from scratch, and again without changes."""
    subprocess.run(["make", "clean"], cwd=ROOT, check=True, capture_output=True)
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run(["make", "book"], cwd=ROOT, check=True, capture_output=True)
        yield time.perf_counter() - start


def main():
    """Measure and print, row by row."""
    head("what", "to reach", "measured here")
    row("import d2lmini, beyond torch", "≤ 0.02 s", f"{import_seconds():.3f} s")
    path = data_folder() / REGISTRY["fra-eng"].splits["train"][0].path
    if path.exists():
        runs = [run(seed, 200, "fra-eng", 600) for seed in SEEDS]
        loss, bleu = ([r[key] for r in runs] for key in ("loss", "s1_bleu"))
        row("fra-eng, 600 pairs, 200 epochs: nats per token", "≤ 0.30", mean_sd(loss))
        row("the same, four sentences: BLEU, k = 2", "≥ 0.95", mean_sd(bleu))
        seconds = mean_sd([r["seconds"] for r in runs])
        row("the same, training: seconds a run", "–", seconds)
    else:
        row("fra-eng", "–", f"not measured: {path} does not exist")
    runs = [run(seed, 60) for seed in SEEDS]
    scores = mean_sd([r["bleu"] for r in runs])
    row(f"eng-fra-mini, held out: {runs[0]['signature']}", "≥ 70", scores)
    seen, test = (
        [normalise(english) for english, _ in read_pairs(split=split)]
        for split in ("train", "test")
    )
    near = f"{within_one_word(test, seen)} of {len(test)}"
    row("of these sentences, one word away from a training sentence", "–", near)
    cold, warm = book_seconds()
    row("make book, requirements installed, cold", "≤ 360 s", f"{cold:.0f} s")
    row("make book, nothing changed", "≤ 6 s", f"{warm:.1f} s")


if __name__ == "__main__":
    main()
