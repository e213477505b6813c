"""Everything that needs a GPU, in one go: make gpu RESULTS=FOLDER DATA=FOLDER MINUTES=10

For a machine with a CUDA device, a PyTorch of its own and perhaps no network. Runs the tests that
know devices, every notebook, the rows of `make bench` that need CUDA, and Multi30k in both
directions, each in a process of its own. What a step found is added to RESULTS/gpu.json as soon as
it ends, so a machine that is taken away takes nothing along.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import torch

from d2lmini import try_gpu
from tools.run_notebooks import NBVAL
from tools.whole_files import write_text

ROOT = Path(__file__).parents[1]
KEPT = 6000  # characters of a step's output, from its end


class Step(NamedTuple):
    """A module to run with its arguments, and after how many seconds to stop it."""

    name: str
    module: tuple[str, ...]
    limit: float


def steps(minutes, results):
    """Phase -> its steps and how many of them run at a time: those that are timed run alone."""
    notebooks = sorted(
        (ROOT / "book").glob("*.ipynb"), key=lambda path: -path.stat().st_size
    )
    tests = "pytest", "-q", "-n", "4", "-p", "no:cacheprovider", "-m", "not in_browser"
    places = "tests/core", "tests/check/test_exercises.py", "tests/check/test_check.py"
    training = "benchmarks.recipes.on_gpu"
    all_of_it = 60 * minutes
    return {
        "speed": (1, [Step("speed", ("benchmarks.speed", "gpu"), 240)]),
        "notebooks": (
            max(2, os.cpu_count() // 3),
            [
                Step(f"notebook {path.stem}", (*NBVAL[1:], str(path)), 180)
                for path in notebooks
            ],
        ),
        "tests": (1, [Step("tests", (*tests, *places), 240)]),
        "multi30k": (
            3,
            [
                Step(
                    f"{name} {seed}",
                    (training, name, str(seed), str(results / f"{name}-{seed}.json")),
                    all_of_it,
                )
                for name in ("multi30k-long", "multi30k", "multi30k-reversed")
                for seed in range(3)
            ],
        ),
    }


def machine():
    """What the numbers were measured on."""
    device = try_gpu()
    name = torch.cuda.get_device_name() if device.type == "cuda" else "none"
    return {
        "device": str(device),
        "gpu": name,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d"),
    }


def run(step, deadline):
    """Run a step until it ends, or until its time is up; return what the report says of it."""
    start = time.monotonic()
    limit = min(step.limit, deadline - start)
    if limit <= 0:
        return {"status": "not begun"}
    command = [sys.executable, "-m", *step.module]
    path = os.pathsep.join([str(ROOT), *sys.path[1:]])
    env = os.environ | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=limit)
            status = "passed" if process.returncode == 0 else "failed"
        except subprocess.TimeoutExpired:
            process.terminate()
            output, _ = process.communicate()
            status = "cut off"
    seconds = round(time.monotonic() - start, 1)
    return {"status": status, "seconds": seconds, "output": output[-KEPT:]}


def add(path, name, found):
    """Add what a step found to the file: it is replaced at once or not at all."""
    report = json.loads(path.read_text("utf-8")) if path.exists() else {}
    report[name] = found
    write_text(path, json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def main():
    """Run the phases named, or all, until the minutes are over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("phases", nargs="*")
    arguments = parser.parse_args()
    deadline = time.monotonic() + 60 * arguments.minutes
    arguments.results.mkdir(parents=True, exist_ok=True)
    path = arguments.results / "gpu.json"
    add(path, "machine", machine())
    for phase, (at_a_time, todo) in steps(
        arguments.minutes, arguments.results.resolve()
    ).items():
        if arguments.phases and phase not in arguments.phases:
            continue
        with ThreadPoolExecutor(at_a_time) as pool:
            runs = {pool.submit(run, step, deadline): step for step in todo}
            for done in as_completed(runs):
                found = done.result()
                add(path, runs[done].name, found)
                print(f"{runs[done].name}: {found['status']}", flush=True)


if __name__ == "__main__":
    main()
