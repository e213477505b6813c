"""Run the book's notebooks, as many at a time as there are cores; `python tools/run_notebooks.py`.

Jupyter Book runs one after the other, which takes twice as long on two cores. It finds what was
run here in its cache; a notebook that failed is not there, so it is run again and reported.
"""

import functools
import sys
from multiprocessing import Pool
from pathlib import Path

import yaml
from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor

ROOT = Path(__file__).parents[1]


def run(notebook, folder, timeout):
    """Run one notebook, unless the cache in folder has it."""
    executor = load_executor("local-serial", get_cache(folder))
    executor.run_and_cache(filter_uris=[notebook], timeout=timeout)


def main(build):
    """Fill the cache of a build folder with what is not in it yet."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    folder = build / ".jupyter_cache"
    notebooks = [str(path) for path in sorted((ROOT / "book").glob("*.ipynb"))]
    for notebook in notebooks:
        get_cache(folder).add_nb_to_project(notebook)
    run_one = functools.partial(run, folder=folder, timeout=config["execute"]["timeout"])
    # jupyter-cache's own "local-parallel" hands out two at a time: a core would wait at the end.
    with Pool() as pool:
        pool.map(run_one, notebooks, chunksize=1)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build")
