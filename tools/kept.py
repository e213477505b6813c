"""Keep build products under the contents of their inputs."""

import hashlib
from pathlib import Path

from tools.whole_files import write_bytes

KEPT = Path(__file__).parents[1] / "_build" / "kept"
STATES = 4  # per product, for example for a few branches


def kept(name, inputs, make):
    """The bytes from make(), called only if name was not made from these texts and files before."""
    digest = hashlib.sha256()
    for part in inputs:
        data = part.read_bytes() if isinstance(part, Path) else part
        data = data.encode() if isinstance(data, str) else data
        digest.update(hashlib.sha256(data).digest())
    path = KEPT / f"{name}-{digest.hexdigest()[:16]}"
    if not path.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        write_bytes(path, make())
        old = sorted(KEPT.glob(f"{name}-*"), key=lambda file: file.stat().st_mtime)
        for file in old[:-STATES]:
            file.unlink(missing_ok=True)
    return path.read_bytes()
