"""Create the environment of the book, or add to it: python tools/set_up.py [FOLDER] [--with tests].

Any Python must be able to read this file, even one so old that all it gets is an error message.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

OLDEST = (3, 11)  # as pyproject.toml says
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
FURTHER = {"paper": "tools/paper/requirements.in", "tests": "tests/requirements.in"}


def has_nvidia_driver():
    """Whether a build of PyTorch for NVIDIA cards would be useful."""
    return bool(shutil.which("nvidia-smi")) or os.path.exists("/proc/driver/nvidia")


def locked(package):
    """The version of a package in requirements.txt."""
    with open("requirements.txt", encoding="utf-8") as file:
        return re.search("^" + package + r"==(\S+)", file.read(), re.M)[1]


def install_small_torch(pip):
    """Install the CPU build: on Linux the usual one brings gigabytes for NVIDIA cards."""
    print("No NVIDIA driver: taking the CPU build of PyTorch.", flush=True)
    command = [*pip, "--no-deps", "--retries", "1", "--index-url", CPU_BUILDS]
    if subprocess.run([*command, "torch==" + locked("torch")]).returncode:
        print(CPU_BUILDS, "did not answer as expected (see above).")
        print("Continuing with pip's own index; its PyTorch may be large.", flush=True)


def main(folder, further=None):
    """Create or extend a virtual environment; further, a key of FURTHER, adds packages."""
    if sys.version_info < OLDEST:
        sys.exit(
            "The book needs Python %d.%d or newer; this is %d.%d. "  # noqa: UP031
            "Choose another: make PYTHON=python3.12 book"
            % (OLDEST + tuple(sys.version_info[:2]))
        )
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    scripts = "Scripts" if os.name == "nt" else "bin"
    pip = [os.path.join(folder, scripts, "python"), "-m", "pip", "install", "--quiet"]
    if sys.platform == "linux" and not has_nvidia_driver():
        install_small_torch(pip)
    lists = ["requirements.in"] + ([FURTHER[further]] if further else [])
    print("Installing from", " and ".join(lists), "(a minute or two).", flush=True)
    wanted = [part for name in lists for part in ("--requirement", name)]
    subprocess.run([*pip, *wanted, "--constraint", "requirements.txt"], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default=".venv")
    parser.add_argument("--with", choices=sorted(FURTHER), dest="further")
    asked = parser.parse_args()
    main(asked.folder, asked.further)
