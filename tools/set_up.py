"""Make the environment of the book: python tools/set_up.py [FOLDER].

This file has to be read by whatever Python there is, an old one too, to say that it is too old.
"""

import os
import re
import shutil
import subprocess
import sys

OLDEST = (3, 11)  # as pyproject.toml says
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"


def has_nvidia_driver():
    """Whether a build of PyTorch for NVIDIA cards would be of use."""
    return bool(shutil.which("nvidia-smi")) or os.path.exists("/proc/driver/nvidia")


def locked(package):
    """The version that requirements.txt has of a package."""
    with open("requirements.txt", encoding="utf-8") as file:
        return re.search("^" + package + r"==(\S+)", file.read(), re.M)[1]


def install_small_torch(pip):
    """On Linux the usual PyTorch brings gigabytes for NVIDIA cards; the CPU build is small."""
    print("No NVIDIA driver: installing the CPU build of PyTorch.", flush=True)
    command = [*pip, "--no-deps", "--retries", "1", "--index-url", CPU_BUILDS]
    if subprocess.run([*command, "torch==" + locked("torch")]).returncode:
        print(CPU_BUILDS, "did not answer as expected (above: what it said).")
        print("Going on with pip's own index; its PyTorch may be large.", flush=True)


def main(folder):
    """A virtual environment in folder, with the versions of requirements.txt."""
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
    print("Installing what requirements.txt lists; a minute or two.", flush=True)
    subprocess.run([*pip, "--requirement", "requirements.txt"], check=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".venv")
