"""The ledger: recorded runs of experiments too long for a chapter (benchmarks/record.py)."""

import json
from pathlib import Path

from d2lmini.support.arguments import check_kind

RESULTS = Path(__file__).parents[1] / "results"


def recorded_runs(name: str):
    """Load the runs in results/{name}.json.

    Returns:
        A pandas table with a row per run: its settings, its seed and its results as columns.
    Raises:
        FileNotFoundError: there is no such experiment; ValueError: its file is cut short.
    Source: chapter 10.
    """
    from pandas import DataFrame  # slow to import, so only here

    check_kind("name", name, str, "a string")
    path = RESULTS / f"{name}.json"
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in RESULTS.glob("*.json")))
        raise FileNotFoundError(
            f"name ({name!r}) must be a recorded experiment, one of {known}"
        )
    try:
        runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
        rows = [run["setting"] | run for run in runs]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no whole file of recorded runs: {error}") from None
    return DataFrame(rows)


def recorded_weights(name: str) -> tuple[dict[str, dict], dict]:
    """Load the networks in results/{name}.safetensors, which have 8 bits a number.

    Returns:
        The name of each network -> its state_dict; and notes on how they were trained.
    Source: chapter 1.
    """
    from d2lmini.support.eight_bits import from_bytes
    from d2lmini.support.files import read_tensors

    tensors, notes = read_tensors(RESULTS / f"{name}.safetensors")
    nets = {}
    for key, numbers in tensors.items():
        kind, net, parameter = key.split("/")
        if kind == "numbers":
            scale = tensors[f"scale/{net}/{parameter}"]
            nets.setdefault(net, {})[parameter] = from_bytes(numbers, scale)
    return nets, notes
