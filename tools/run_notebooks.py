"""Run the notebooks without cached outputs, longest first: python -m tools.run_notebooks

nbval runs each notebook with its solutions, one per core. Jupyter Book finds the outputs in
_build/.jupyter_cache, under a hash of everything they depend on (dependencies.py).
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
    """The notebooks that have to run, probably longest first."""
    cache = get_cache(build / ".jupyter_cache")
    cache.change_cache_limit(200)  # several versions of each notebook, not 1000
    found = []
    for path in paths:
        try:
            cache.match_cache_notebook(expanded(path))
        except KeyError:
            found.append(path)
    return sorted(found, key=lambda path: path.stat().st_size, reverse=True)


def run(path, build):
    """Run a notebook in its own process; return the seconds, and the output if a cell failed."""
    start = time.monotonic()
    command = [sys.executable, *NBVAL, "--keep-outputs", str(build), str(path)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    output = done.stdout + done.stderr if done.returncode else ""
    return time.monotonic() - start, output


def main(names=()):
    """Run the outdated notebooks; names are prefixes of the file names to consider."""
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
            (seconds, output), path = done.result(), runs[done]
            bar.write(f"{path.stem:28}{'failed' if output else f'{seconds:7.1f} s':>9}")
            failed += [output] if output else []
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main(sys.argv[1:])
