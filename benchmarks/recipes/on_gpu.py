"""Train on Multi30k once, into a file: python -m benchmarks.recipes.on_gpu NAME SEED FILE"""

import json
import sys
from pathlib import Path

import torch

from benchmarks.recipes import captions
from benchmarks.recipes.common import commit
from d2lmini import try_gpu

# As published small models, on batches of about 4,096 tokens; epochs for ten minutes of an H100.
LONG = captions.EXPERIMENTS["multi30k-reversed"][0] | {
    "batch_size": 256, "lr": 0.005, "warmup_steps": 2000, "num_epochs": 60,
    "precision": "float32",
}  # fmt: skip
SETTINGS = {
    "multi30k": captions.EXPERIMENTS["multi30k"][0],
    "multi30k-reversed": captions.EXPERIMENTS["multi30k-reversed"][0],
    "multi30k-long": LONG,
}

if __name__ == "__main__":
    _, name, seed, path = sys.argv
    found = captions.run(int(seed), **SETTINGS[name])
    result = {"setting": SETTINGS[name], "seed": int(seed), "commit": commit(), **found}
    result |= {"torch": torch.__version__, "device": str(try_gpu())}
    Path(path).write_text(json.dumps(result, indent=1, ensure_ascii=False), "utf-8")
