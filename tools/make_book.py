"""Build the pages, the slides and the zip of plots, if anything has changed: make book"""

import hashlib
import os
from contextlib import redirect_stdout
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "_build"
PAGES = BUILD / "html"
# Not part of the book, but left in the project's folder by tools and readers
NOT_OURS = {"_build", "my-book", "__pycache__", ".git"}


def project_hash() -> str:
    """A hash of the contents of the project's files, unchanged by switching branches and back."""
    digest = hashlib.sha256()
    for top in sorted(ROOT.iterdir()):
        is_environment = (top / "pyvenv.cfg").exists()
        if is_environment or top.name in NOT_OURS or top.name.endswith("cache"):
            continue
        for path in sorted([top] if top.is_file() else top.rglob("*")):
            if path.is_file() and not NOT_OURS & {*path.parts}:
                digest.update(path.relative_to(ROOT).as_posix().encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def make_pages():
    """Build the pages with Jupyter Book, without its banner; problems go to stderr."""
    from jupyter_book.cli.main import main as jupyter_book

    # Sphinx copies a changed style sheet only if it has a page to write.
    (PAGES / "book" / "figures.html").unlink(missing_ok=True)
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        build = ["build", "-q", "-W", "-n", "--keep-going", "."]
        jupyter_book(build, standalone_mode=False)


def main():
    """Build what is out of date, and say where it is."""
    stamp, now = BUILD / "made-from", project_hash()
    if not (stamp.exists() and stamp.read_text("utf-8") == now and PAGES.exists()):
        os.chdir(ROOT)
        stamp.unlink(missing_ok=True)
        # Imported here, since it takes seconds; into one process, so that it happens only once.
        from tools import run_notebooks
        from tools.slides import figures_zip, make_slides

        run_notebooks.main()
        print("Making the pages.", flush=True)
        make_pages()
        make_slides.main(BUILD)
        figures_zip.main(BUILD)
        stamp.write_text(now, "utf-8")
    print("Open", (PAGES / "index.html").as_uri(), "or run: make serve")


if __name__ == "__main__":
    main()
