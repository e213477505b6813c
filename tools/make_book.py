"""Build the pages, the slides and the zip of plots, if anything has changed: make book"""

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "_build"
PAGES = BUILD / "html"
# Not part of the book, but left in the project's folder by tools and readers
NOT_OURS = {"_build", "my-book", "__pycache__"}


def project_hash() -> str:
    """A hash of the contents of the project's files, unchanged by switching branches and back."""
    digest = hashlib.sha256()
    for top in sorted(ROOT.iterdir()):
        if top.name in NOT_OURS or top.name == ".git" or top.name.endswith("cache"):
            continue
        if (top / "pyvenv.cfg").exists():
            continue
        for path in sorted([top] if top.is_file() else top.rglob("*")):
            if path.is_file() and not NOT_OURS & {*path.parts}:
                digest.update(path.relative_to(ROOT).as_posix().encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def python(*arguments, **settings):
    """Run Python in the project's folder; exit if it fails."""
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, **settings)
    if done.returncode:
        sys.exit(done.returncode)


def main():
    """Build what is out of date, and print where it is."""
    stamp, now = BUILD / "made-from", project_hash()
    if not (stamp.exists() and stamp.read_text("utf-8") == now and PAGES.exists()):
        stamp.unlink(missing_ok=True)
        python("-m", "tools.run_notebooks")
        print("Making the pages.", flush=True)
        # Hide Jupyter Book's banner; warnings go to stderr and count as errors.
        jupyter_book = "from jupyter_book.cli.main import main; main()"
        options = "build", "-q", "-W", "-n", "--keep-going", "."
        python("-c", jupyter_book, *options, stdout=subprocess.DEVNULL)
        python("-m", "tools.slides.make_slides", "_build")
        python("-m", "tools.slides.figures_zip", "_build")
        stamp.write_text(now, "utf-8")
    print("Open", (PAGES / "index.html").as_uri(), "or run: make serve")


if __name__ == "__main__":
    main()
