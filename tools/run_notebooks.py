"""Run the book's notebooks, as many at a time as there are cores; `python tools/run_notebooks.py`.

Jupyter Book runs one after the other, which takes twice as long on two cores. It finds what was
run here in its cache; a notebook that failed is not there, so it is run again and reported.
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
from portable import expanded

ROOT = Path(__file__).parents[1]


def keep(notebook, path, cache):
    """Put a notebook that has been run where Jupyter Book looks for it."""
    bundle = CacheBundleIn(notebook, str(path))
    # One at a time: the cache looks for what is too old, and would throw out what another process
    # has just put in.
    with FileLock(cache.path / "keep.lock"):
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def run(path, folder, timeout):
    """Run one notebook with its solutions, unless the cache in folder has it."""
    cache, notebook = get_cache(folder), expanded(path)
    try:
        cache.match_cache_notebook(notebook)
    except KeyError:
        ran = single_nb_execution(notebook, path.parent, timeout, allow_errors=False)
        if ran.err is None:
            keep(notebook, path, cache)


def main(build):
    """Fill the cache of a build folder with what is not in it yet."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    settings = {
        "folder": build / ".jupyter_cache",
        "timeout": config["execute"]["timeout"],
    }
    get_cache(settings["folder"]).list_cache_records()  # makes its database, once
    # jupyter-cache's own "local-parallel" hands out two at a time: a core would wait at the end.
    with Pool() as pool:
        notebooks = sorted((ROOT / "book").glob("*.ipynb"))
        pool.map(functools.partial(run, **settings), notebooks, chunksize=1)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build")
