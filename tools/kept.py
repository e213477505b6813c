"""What the build has made before, kept by the content of what it was made from."""

import hashlib
from pathlib import Path

from tools.whole_files import write_bytes

KEPT = Path(__file__).parents[1] / "_build" / "kept"
STATES = 4  # of each thing: a few branches, say


def kept(name, inputs, make):
    """The bytes that make() gives, made anew only if name has not been made from these inputs.

    Args:
        inputs: strings, bytes or paths of files, whose contents count.
    """
    digest = hashlib.sha256()
    for part in inputs:
        data = part.read_bytes() if isinstance(part, Path) else part
        digest.update(
            hashlib.sha256(data.encode() if isinstance(data, str) else data).digest()
        )
    path = KEPT / f"{name}-{digest.hexdigest()[:16]}"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        write_bytes(path, make())
        old = sorted(KEPT.glob(f"{name}-*"), key=lambda file: file.stat().st_mtime)
        for file in old[:-STATES]:
            file.unlink(missing_ok=True)
    return path.read_bytes()
