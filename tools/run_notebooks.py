"""Run the book's notebooks, as many at a time as there are cores; `python -m tools.run_notebooks`.

Jupyter Book runs one after the other, which takes twice as long on two cores. It finds what was
run here in its cache.
"""

import functools
import sys
from multiprocessing import Pool
from pathlib import Path

import yaml
from filelock import FileLock
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from tqdm import tqdm

from tools.extensions.portable import expanded

ROOT = Path(__file__).parents[1]


def keep(notebook, path, cache):
    """Put a notebook that has been run where Jupyter Book looks for it."""
    bundle = CacheBundleIn(notebook, str(path))
    # One at a time: the cache looks for what is too old, and would throw out what another process
    # has just put in.
    with FileLock(cache.path / "keep.lock"):
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def run(path, folder, timeout):
    """Run one notebook with its solutions, unless the cache in folder has it.

    Returns (path, seconds, what went wrong); seconds are None for one that the cache had.
    """
    cache, notebook = get_cache(folder), expanded(path)
    try:
        cache.match_cache_notebook(notebook)
    except KeyError:
        ran = single_nb_execution(
            notebook,
            path.parent,
            timeout,
            allow_errors=False,
            # Each kernel would warn that it talks to us without encryption, on this machine.
            extra_arguments=["--log-level=ERROR"],
        )
        if ran.err is None:
            keep(notebook, path, cache)
        return path, ran.time, ran.exc_string
    return path, None, None


def main(build):
    """Fill the cache of a build folder with what is not in it yet; say what took how long."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    settings = {
        "folder": build / ".jupyter_cache",
        "timeout": config["execute"]["timeout"],
    }
    get_cache(settings["folder"]).list_cache_records()  # makes its database, once
    notebooks, failed = sorted((ROOT / "book").glob("*.ipynb")), []
    # jupyter-cache's own "local-parallel" hands out two at a time: a core would wait at the end.
    with Pool() as pool:
        results = pool.imap_unordered(functools.partial(run, **settings), notebooks)
        bar = tqdm(results, "Notebooks", len(notebooks), unit="", disable=None)
        for path, seconds, error in bar:
            took = "as before" if seconds is None else f"{seconds:7.1f} s"
            bar.write(f"{path.stem:28}{'failed' if error else took:>9}")
            if error:
                failed.append(f"{path}\n{error}")
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build")
