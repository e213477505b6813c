"""The peak memory of this process."""

import resource  # not on Windows
import sys
from pathlib import Path


def most_memory():
    """The peak memory of the process in bytes.

    Linux reports two numbers. That of getrusage includes the peak of the parent process; the
    other one, read here, does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (
            x for x in status.read_text("utf-8").splitlines() if x.startswith("VmHWM")
        )
        return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024)
