"""Run the notebooks whose outputs are not kept, longest first: python -m tools.run_notebooks

Each is run by nbval, with its solutions, as many at a time as there are cores. Outputs are kept in
_build/.jupyter_cache, where Jupyter Book finds them, under a hash of all that they depend on
(dependencies.py): what is kept is not run again.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from jupyter_cache import get_cache
from tqdm import tqdm

from tools.extensions.portable import expanded

ROOT = Path(__file__).parents[1]
NBVAL = ("-m", "pytest", "-p", "tools.keep_outputs", "-p", "no:cacheprovider", "-q",
         "--nbval-lax", "--nbval-cell-timeout=300", "--no-header")  # fmt: skip


def outdated(paths, build):
    """Of these notebooks those that have to run, longest first as far as that can be told."""
    cache = get_cache(build / ".jupyter_cache")
    cache.change_cache_limit(200)  # several states of each notebook, not a thousand
    found = []
    for path in paths:
        try:
            cache.match_cache_notebook(expanded(path))
        except KeyError:
            found.append(path)
    return sorted(found, key=lambda path: path.stat().st_size, reverse=True)


def run(path, build):
    """Run a notebook in a process of its own; seconds, and what it said if a cell failed."""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, *NBVAL, "--keep-outputs", str(build), str(path)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    return (
        time.monotonic() - start,
        done.stdout + done.stderr if done.returncode else "",
    )


def main(names=()):
    """Run what has changed, of all notebooks or of those whose names begin so."""
    build = ROOT / "_build"
    paths = sorted((ROOT / "book").glob("*.ipynb"))
    paths = [p for p in paths if not names or p.name.startswith(tuple(names))]
    left, failed = outdated(paths, build), []
    names = ", ".join(path.stem for path in left) or "none"
    print(f"Notebooks to run: {names}.", flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {pool.submit(run, path, build): path for path in left}
        bar = tqdm(as_completed(runs), "Notebooks", len(runs), unit="", disable=None)
        for done in bar:
            (seconds, said), path = done.result(), runs[done]
            bar.write(f"{path.stem:28}{'failed' if said else f'{seconds:7.1f} s':>9}")
            failed += [said] if said else []
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main(sys.argv[1:])
