"""How much memory this process has needed so far."""

import resource  # which Windows has not
import sys
from pathlib import Path


def most_memory():
    """Bytes that the process held at the most.

    Linux tells two numbers. That of getrusage begins with what the process had that started
    this one; the other, which is read here, does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (
            x for x in status.read_text("utf-8").splitlines() if x.startswith("VmHWM")
        )
        return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024)
