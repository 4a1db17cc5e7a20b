"""Takes from this process, for good, what answering a question does not need.

Four layers, each enough against most of what a hostile question could try:

    limits       memory, CPU, size of files, open files; SIGALRM ends it, whoever else is gone
    namespaces   no network, no privileges outside (where the system lets us)
    Landlock     no files but those below the lake, and those only to read (where the kernel has it)
    seccomp      no system calls but a few: no sockets, no programs, no files opened to write, no new code

Linux only, and `confine` fails where seccomp cannot be had: a question is not answered unconfined.
Nothing can be imported afterwards. See docs/decisions for why.
"""

import ctypes
import errno
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)


def _allowed() -> Iterator[tuple[str, ...]]:
    """Yield the numbers of each system call that stays allowed, on x86_64 and on aarch64, - where there is none."""
    for line in (Path(__file__).parent / "calls.txt").read_text("ascii").splitlines():
        if not line.startswith("#"):
            _, *numbers = line.split()
            yield tuple(numbers)


ALLOWED = tuple(_allowed())
CLONE, OPENAT, MMAP, MPROTECT, TGKILL = (56, 220), (257, 56), (9, 222), (10, 226), (234, 131)
SECCOMP = (317, 277)
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

CLONE_THREAD = 0x10000
MORE_THAN_READING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
PROT_EXEC = 4
NAMESPACES = 0x10000000 | 0x40000000 | 0x08000000  # user, network, IPC
# DuckDB asks them for the memory of its container, and breaks down if it sees one that it cannot open.
SEEN_BY_DUCKDB = (Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
KEEP_PRIVILEGES_OUT, NOT_DUMPABLE = 38, 4  # prctl's PR_SET_NO_NEW_PRIVS and PR_SET_DUMPABLE
READ_FILES, READ_FOLDERS = 1 << 2, 1 << 3
X32 = 0x40000000


class NotConfined(Exception):
    """This system cannot take from a process what a question must not have."""


def confine(lake: Path, *, memory: int, seconds: int, file_size: int) -> list[str]:
    """Confine this process and the threads it starts; return the layers in force. Sizes in bytes, one thread before.

    `seconds` is by the clock; as much CPU time goes for each of two cores.
    """
    if sys.platform != "linux" or platform.machine() not in ARCHITECTURES:
        raise NotConfined("Questions can be answered on Linux on x86-64 or ARM64 only.")
    limit(memory=memory, seconds=seconds, file_size=file_size)
    layers = ["limits"]
    LIBC.prctl(NOT_DUMPABLE, 0, 0, 0, 0)
    if LIBC.unshare(NAMESPACES) == 0:
        layers.append("namespaces")
    if LIBC.prctl(KEEP_PRIVILEGES_OUT, 1, 0, 0, 0):
        raise NotConfined("The kernel does not let this process give up gaining privileges.")
    if restrict_files(lake):
        layers.append("Landlock")
    filter_calls()
    return [*layers, "seccomp"]


def limit(*, memory: int, seconds: int, file_size: int) -> None:
    """Set the limits; the alarm ends the process even while DuckDB computes, since nothing handles it."""
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, 2 * seconds),
        (resource.RLIMIT_FSIZE, file_size),
        (resource.RLIMIT_NOFILE, 512),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(what, (most, most))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)


def restrict_files(lake: Path) -> bool:
    """Let this process see no files but those below the lake, to read; False where the kernel has no Landlock."""
    version = LIBC.syscall(444, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    # Everything that the kernel can forbid: each version knows more.
    files = (1 << 13) - 1
    for since, right in ((2, 13), (3, 14), (5, 15)):
        files |= (1 << right) if version >= since else 0
    attributes = struct.pack("QQQ", files, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = LIBC.syscall(444, attributes, ctypes.c_size_t(size), 0)
    if rules < 0:
        raise NotConfined(f"Landlock refuses its rules: {os.strerror(ctypes.get_errno())}.")
    for path in (lake, *SEEN_BY_DUCKDB):
        if not path.exists():
            continue
        place = os.open(path, os.O_PATH)
        rights = READ_FILES | READ_FOLDERS if path.is_dir() else READ_FILES
        if LIBC.syscall(445, rules, 1, struct.pack("=Qi", rights, place), 0):
            raise NotConfined(f"Landlock refuses {path}: {os.strerror(ctypes.get_errno())}.")
        os.close(place)
    if LIBC.syscall(446, rules, 0):
        raise NotConfined(f"Landlock is refused: {os.strerror(ctypes.get_errno())}.")
    os.close(rules)
    return True


def filter_calls() -> None:
    """Refuse every system call that is not named above, in all threads."""
    column, architecture = ARCHITECTURES[platform.machine()]
    program = _program(column, architecture)
    code = ctypes.create_string_buffer(program, len(program))
    size = struct.calcsize("HBBI")
    header = struct.pack("HxxxxxxQ", len(program) // size, ctypes.addressof(code))
    in_all_threads = 1
    if LIBC.syscall(SECCOMP[column], 1, in_all_threads, header) != 0:
        raise NotConfined(f"The kernel refuses the filter of calls: {os.strerror(ctypes.get_errno())}.")


LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL = 0x7FFF0000, 0x80000000
REFUSE, UNKNOWN = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
# Where they stand in what the filter is shown; of an argument the lower half, which both processors put first.
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16


def _program(column: int, architecture: int) -> bytes:
    """The filter in the kernel's own language: (code, steps if so, steps if not, value)."""
    steps: list[tuple[int, int, int, int]] = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, KILL),
    ]
    for known in ALLOWED:
        if known[column] != "-":
            steps += [(EQUAL, 0, 1, int(known[column])), (RETURN, 0, 0, ALLOW)]
    for numbers, argument, test, value, good in (
        # Threads, no processes; clone3 is unknown, so libc uses this.
        (CLONE, 0, ANY_BIT, CLONE_THREAD, True),
        (OPENAT, 2, ANY_BIT, MORE_THAN_READING, False),
        (MMAP, 2, ANY_BIT, PROT_EXEC, False),
        (MPROTECT, 2, ANY_BIT, PROT_EXEC, False),
        (TGKILL, 0, EQUAL, os.getpid(), True),  # what abort() does to itself
    ):
        steps += [
            (EQUAL, 0, 4, numbers[column]),
            (LOAD, 0, 0, FIRST_ARGUMENT + 8 * argument),
            (test, 0, 1, value),
            (RETURN, 0, 0, ALLOW if good else REFUSE),
            (RETURN, 0, 0, REFUSE if good else ALLOW),
        ]
    steps.append((RETURN, 0, 0, UNKNOWN))
    return b"".join(struct.pack("HBBI", *step) for step in steps)
