"""Make the pages, with slides and plots beside them, as far as something has changed: make book"""

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "_build"
PAGES = BUILD / "html"
# Nothing of the book: what tools and readers leave in the project's folder.
NOT_OURS = {"_build", "my-book", "__pycache__"}


def project_hash() -> str:
    """A hash of the project's files, by content: switching branches and back is no change."""
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


def python(*command):
    """Run a module of Python in the project's folder; stop if it fails."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT)
    if done.returncode:
        sys.exit(done.returncode)


def main():
    """Make what is not up to date, and say where it is."""
    stamp, now = BUILD / "made-from", project_hash()
    if not (stamp.exists() and stamp.read_text() == now and PAGES.exists()):
        stamp.unlink(missing_ok=True)
        python("tools.run_notebooks")
        print("Making the pages.", flush=True)
        # Its banner is left out; warnings go to stderr, and are errors.
        build = [
            sys.executable,
            "-c",
            "from jupyter_book.cli.main import main; main()",
            "build",
        ]
        build += ["-q", "-W", "-n", "--keep-going", "."]
        if code := subprocess.run(
            build, cwd=ROOT, stdout=subprocess.DEVNULL
        ).returncode:
            sys.exit(code)
        python("tools.slides.make_slides", "_build")
        python("tools.slides.figures_zip", "_build")
        stamp.write_text(now)
    print("Open", (PAGES / "index.html").as_uri(), "or run: make serve")


if __name__ == "__main__":
    main()
