"""Make the environment of the book, or add to it: python tools/set_up.py [FOLDER] [--with tests].

This file has to be read by whatever Python there is, an old one too, to say that it is too old.
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
    """Whether a build of PyTorch for NVIDIA cards would be of use."""
    return bool(shutil.which("nvidia-smi")) or os.path.exists("/proc/driver/nvidia")


def locked(package):
    """The version that requirements.txt has of a package."""
    with open("requirements.txt", encoding="utf-8") as file:
        return re.search("^" + package + r"==(\S+)", file.read(), re.M)[1]


def install_small_torch(pip):
    """On Linux the usual PyTorch brings gigabytes for NVIDIA cards; the CPU build is small."""
    print("No NVIDIA driver: taking the CPU build of PyTorch.", flush=True)
    command = [*pip, "--no-deps", "--retries", "1", "--index-url", CPU_BUILDS]
    if subprocess.run([*command, "torch==" + locked("torch")]).returncode:
        print(CPU_BUILDS, "did not answer as expected (above: what it said).")
        print("Going on with pip's own index; its PyTorch may be large.", flush=True)


def main(folder, further=None):
    """A virtual environment in folder, with the versions of requirements.txt.

    Args:
        further: what is wanted beside what a reader needs, a key of FURTHER.
    """
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
    print("Installing what", " and ".join(lists), "list; a minute or two.", flush=True)
    wanted = [part for name in lists for part in ("--requirement", name)]
    subprocess.run([*pip, *wanted, "--constraint", "requirements.txt"], check=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default=".venv")
    parser.add_argument("--with", choices=sorted(FURTHER), dest="further")
    asked = parser.parse_args()
    main(asked.folder, asked.further)
