"""Run the book's notebooks, as many at a time as there are cores; `python tools/run_notebooks.py`.

Jupyter Book runs one after the other, which takes twice as long on two cores. It finds what was
run here in its cache; a notebook that failed is not there, so it is run again and reported.
"""

import sys
from pathlib import Path

import yaml
from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor

ROOT = Path(__file__).parents[1]


def main(build):
    """Fill the cache of a build folder with what is not in it yet."""
    timeout = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["execute"][
        "timeout"
    ]
    cache = get_cache(build / ".jupyter_cache")
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        cache.add_nb_to_project(str(path))
    load_executor("local-parallel", cache).run_and_cache(timeout=timeout)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "_build")
