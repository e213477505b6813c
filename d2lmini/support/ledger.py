"""The ledger: runs that took too long for a chapter, recorded by `python -m benchmarks.record`."""

import json
from pathlib import Path

from d2lmini.support.arguments import check_kind

RESULTS = Path(__file__).parents[1] / "results"


def recorded_runs(name: str):
    """The runs of results/name.json.

    Returns:
        A pandas table, one row a run: its setting, spread over columns, its seed, what came out.
    Raises:
        FileNotFoundError: there is no such file.
    Source: chapter 8.
    """
    from pandas import DataFrame  # heavy: only where it is needed

    check_kind("name", name, str, "a string")
    path = RESULTS / f"{name}.json"
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in RESULTS.glob("*.json")))
        raise FileNotFoundError(
            f"name ({name!r}) must be that of a recorded experiment: {known}"
        )
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    return DataFrame([run["setting"] | run for run in runs])
