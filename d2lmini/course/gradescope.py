"""The autograder that Gradescope runs on submissions."""

import shlex
import zipfile
from pathlib import Path

from d2lmini.course.assignment import tasks_of

FILES = "pyproject.toml", "README.md", "LICENSE"
FOLDERS = "d2lmini", "book"
# All that grading needs, with the small build of PyTorch without CUDA
SETUP = """#!/usr/bin/env bash
set -e
apt-get update
apt-get install -y python3.11 python3.11-venv || apt-get install -y python3 python3-venv
"$(command -v python3.11 || command -v python3)" -m venv /autograder/venv
/autograder/venv/bin/pip install torch --index-url https://download.pytorch.org/whl/cpu
/autograder/venv/bin/pip install --editable "/autograder/source[course]"
"""
# The first result stays if the grader does not even start.
RUN = """#!/usr/bin/env bash
cd "${{AUTOGRADER:=/autograder}}/source"
results="$AUTOGRADER/results/results.json"
echo '{{"score": 0, "output": "The autograder failed; please tell your instructor."}}' > "$results"
export OMP_NUM_THREADS=1
"$AUTOGRADER/venv/bin/python" -m d2lmini.course grade "$AUTOGRADER/submission" \\
    --chapters {chapters} --seed {seed} --gradescope "$results"
"""


def write_autograder(out: Path, chapters: list[str], root: Path, seed: str) -> None:
    """Write the zip with setup.sh, run_autograder, the package and the book.

    Args:
        seed: of the hidden cases: the same file gets the same score each time.
    Raises:
        ValueError: there is no such chapter, or no book in root.
    """
    tasks_of(chapters, root)
    names = " ".join(map(shlex.quote, chapters))
    run = RUN.format(chapters=names, seed=shlex.quote(seed))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in (("setup.sh", SETUP), ("run_autograder", run)):
            archive.writestr(_entry(name, 0o755), text)
        paths = [root / name for name in FILES]
        paths += [p for name in FOLDERS for p in sorted((root / name).rglob("*"))]
        for path in paths:
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(root).as_posix()
                archive.writestr(_entry(name, 0o644), path.read_bytes())


def _entry(name, mode):
    """A zip entry without a timestamp: equal books give equal zips."""
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
