"""Run an answer where it can do no harm: python -I confined.py COPY PACKAGE.

On Linux the kernel denies it files, other processes and the network; this needs no administrator
rights. On other systems it is not confined, and the child says so.

Source: the manual pages landlock(7), seccomp(2) and capabilities(7).
"""

import ctypes
import os
import platform
import struct
import sys
from pathlib import Path

# Files that Python, PyTorch and the C library read
SYSTEM = ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime",
          "/etc/passwd", "/etc/fonts", "/sys/devices/system", "/proc/cpuinfo",
          "/proc/meminfo", "/dev/null", "/dev/urandom"]  # fmt: skip

# Landlock: system call numbers (the same on all machines), and rights on files
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
EXECUTE, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
OF_FILES = EXECUTE | WRITE | READ
RIGHTS = 13, 13, 14, 15, 15, 16, 16  # number of rights in each version of Landlock
NO_NEW_PRIVILEGES, SET_SECCOMP = 38, 22  # of prctl

# seccomp: system calls denied to an answer, with their numbers on each architecture
REFUSED = {  # name: (x86-64, arm64)
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "socket": (41, 198), "io_uring_setup": (425, 425), "unshare": (272, 97),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utime": (132, None), "utimes": (235, None), "utimensat": (280, 88),
    "futimesat": (261, None), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "prlimit64": (302, 261), "setpriority": (141, 140),
    "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "ioprio_set": (251, 30),
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190),
}  # fmt: skip
CLONE, CLONE3 = (56, 220), 435
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column, AUDIT_ARCH
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # of the filter
ALLOW, REFUSE, UNKNOWN = (
    0x7FFF0000,
    0x00050001,
    0x00050026,
)  # the last two: EPERM, ENOSYS
A_THREAD = 0x10000  # CLONE_THREAD

libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None


def confine(readable, out_of_reach, writable) -> list[str]:
    """Deny this process files, processes and the network; return what could not be denied.

    Args:
        readable: files and folders that it may read.
        out_of_reach: folders that it may not read, even within readable ones.
        writable: a folder in which it may write.
    """
    if sys.platform != "linux":
        return ["files, processes and the network: only Linux can deny them"]
    limit_files()
    libc.syscall.restype = ctypes.c_long
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    attempts = (
        (
            "the files of this account",
            lambda: keep_to(readable, out_of_reach, writable),
        ),
        ("the network and processes of this account", refuse_calls),
    )
    failed = []
    for what, attempt in attempts:
        try:
            attempt()
        except OSError as error:
            failed.append(f"{what}: {error.strerror}")
    give_up_capabilities()
    return failed


def keep_to(readable, out_of_reach, writable):
    """Landlock: forbid opening, creating, moving or deleting any other files."""
    version = _call(CREATE_RULESET, None, 0, 1)
    version = min(version, len(RIGHTS))
    every = (1 << RIGHTS[version - 1]) - 1
    # Files; TCP since version 4; signals and abstract sockets since version 6.
    handled = struct.pack("<QQQ", every, 0b11 * (version >= 4), 0b11 * (version >= 6))
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _call(CREATE_RULESET, handled, size, 0)
    closed = [path.resolve() for path in out_of_reach]
    for path in map(Path, readable):
        _allow_around(ruleset, path.resolve(), closed, READ | LIST | EXECUTE)
    _allow(ruleset, writable, every & ~EXECUTE)
    _allow(ruleset, Path(os.devnull), READ | WRITE)
    _call(RESTRICT_SELF, ruleset, 0)


def _allow_around(ruleset, path, closed, rights):
    """Allow a folder except for the closed folders within it."""
    if path in closed:
        return
    if not any(one.is_relative_to(path) for one in closed):
        _allow(ruleset, path, rights)
        return
    _allow(ruleset, path, rights & LIST)  # Python lists folders to find modules
    for inside in path.iterdir():
        _allow_around(ruleset, inside, closed, rights)


def _allow(ruleset, path, rights):
    """Allow a file, or a folder with its contents; ignore missing paths."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # missing: nothing to allow
    if not path.is_dir():
        rights &= OF_FILES
    try:
        _call(ADD_RULE, ruleset, 1, struct.pack("<Qi", rights, opened), 0)
    finally:
        os.close(opened)


def refuse_calls():
    """seccomp: forbid new processes, signals, sockets and changes of file permissions."""
    if platform.machine() not in MACHINES:
        raise OSError(0, f"not written for {platform.machine()}")
    column, arch = MACHINES[platform.machine()]
    refused = [
        numbers[column] for numbers in REFUSED.values() if numbers[column] is not None
    ]
    # A step is (operation, steps to skip if true, steps to skip if false, operand).
    steps = [
        (LOAD, 0, 0, 4),
        (EQUAL, 1, 0, arch),
        (RETURN, 0, 0, REFUSE),
        (LOAD, 0, 0, 0),
    ]
    if column == 0:  # x86-64 has a second set of numbers, for x32
        steps += [(AT_LEAST, 0, 1, 0x40000000), (RETURN, 0, 0, REFUSE)]
    for number in refused:
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE)]
    steps += [(EQUAL, 0, 1, CLONE3), (RETURN, 0, 0, UNKNOWN)]  # glibc then uses clone
    steps += [(EQUAL, 0, 3, CLONE[column]), (LOAD, 0, 0, 16), (ANY_BIT, 1, 0, A_THREAD)]
    steps += [(RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    program = b"".join(struct.pack("<HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(program)
    described = struct.pack("<H6xQ", len(steps), ctypes.addressof(held))
    if libc.prctl(SET_SECCOMP, 2, described, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def give_up_capabilities():
    """Drop the capabilities of an administrator; no effect for other users."""
    header = struct.pack("<Ii", 0x20080522, 0)
    libc.capset(header, bytes(24))


def limit_files():
    """Limit the size and number of open files, and forbid core dumps."""
    import resource

    for what, most in (
        (resource.RLIMIT_FSIZE, 16 * 1024**2),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _call(number, *arguments):
    """Make a system call.

    Raises:
        OSError: it failed.
    """
    given = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *given)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


if __name__ == "__main__":
    package, reference = map(Path, sys.argv[1:])
    # Other installations of this package also contain the references.
    closed = [reference, *(Path(folder) / reference.name for folder in sys.path)]
    unconfined = confine(
        [*SYSTEM, sys.prefix, sys.base_prefix, package], closed, Path.cwd()
    )
    sys.path.insert(0, str(package))
    from d2lmini.check import child

    child.main(unconfined)
