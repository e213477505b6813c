"""The ledger: runs that took too long for a chapter, recorded by `python -m benchmarks.record`."""

import json
from pathlib import Path

from d2lmini.arguments import check_kind


def recorded_runs(name: str):
    """The runs of results/name.json, in this folder or in one above it.

    Returns:
        A pandas table, one row a run: its setting, spread over columns, its seed, what came out.
    Raises:
        FileNotFoundError: there is no such file.
    Source: chapter 8.
    """
    from pandas import DataFrame  # heavy: only where it is needed

    check_kind("name", name, str, "a string")
    here = Path.cwd()
    for folder in (here, *here.parents):
        path = folder / "results" / f"{name}.json"
        if path.exists():
            runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
            return DataFrame([run["setting"] | run for run in runs])
    raise FileNotFoundError(
        f"results/{name}.json is neither in {here} nor above it: "
        "the recorded runs lie in the repository of the book"
    )
