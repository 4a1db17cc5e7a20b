"""Finds processes that outlived the one that started them, and ends them; says which one holds a port.

Each part is killed when its parent ends, and its group when it ends itself. What is left are processes that made a
group or session of their own: of those that belong to this run, this process becomes the parent; those of an
earlier run are known by a variable of their environment. docs/decisions/0026-process-tree.md says why.

Places and small files that several processes of this machine share are here, too: locked, or written whole.
"""

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import structlog


def first_free(folder: Path, names: Iterable[object]) -> IO[str] | None:
    """Return the first file of some that nobody holds, locked as a place for what may run; None if all are held.

    A child process that inherits it keeps it locked as long as it lives.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in names:
        slot = (folder / str(name)).open("a")
        try:
            fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            slot.close()
        else:
            return slot
    return None


def write_whole(file: Path, content: bytes) -> None:
    """Write a private file that is there whole or as it was; nothing where its folder is not there."""
    try:
        handle, made = tempfile.mkstemp(dir=file.parent, prefix=".making-")
    except FileNotFoundError:
        return  # deleted: it is made anew with what it should hold
    try:
        with os.fdopen(handle, "wb") as open_file:
            open_file.write(content)
        Path(made).replace(file)
    except FileNotFoundError:
        return
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


MARK = "SITE_LAUNCHED_BY"
ENDING_SECONDS = 5.0  # until a killed process is gone
PR_SET_CHILD_SUBREAPER = 36
LISTENS = "0A"  # the state of a socket in /proc/net/tcp

STARTING = threading.Lock()  # held while a part is started, until `parts` has its process id
parts: set[int] = set()
_is_adopting = False

logger = structlog.get_logger(__name__)


def adopt() -> None:
    """Become the parent of what this process's children leave behind."""
    global _is_adopting
    if sys.platform == "linux":
        _is_adopting = ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def end_adopted() -> None:
    """End the processes whose parent ended, and what they started."""
    while _is_adopting:
        with STARTING:
            adopted = [pid for pid in _children() if pid not in parts and _is_adopted(pid)]
            for pid in adopted:
                logger.warning("orphan_ended", pid=pid, command=command_name(pid))
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        if not adopted:
            return


def _is_adopted(pid: int) -> bool:
    """Whether a child that is no part was started by one: what this process runs itself is of its own group."""
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(pid) != os.getpgrp()
    return False


def _children() -> Iterator[int]:
    for task in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            yield from map(int, task.read_text("ascii").split())


# Of an earlier run


def mark(var: Path) -> dict[str, str]:
    """The variable by which this process's children on a data folder, and theirs, are known when it has ended."""
    return {MARK: f"{_identity(os.getpid())} {var}"}


def end_earlier(var: Path) -> list[str]:
    """End this user's processes that a launcher started on a data folder and left behind; their names."""
    ended = []
    for pid in sorted(int(folder.name) for folder in Path("/proc").glob("[0-9]*")):
        if not _is_left(pid, var):
            continue
        name = f"{command_name(pid)} (process {pid})"
        with contextlib.suppress(OSError), _process(pid) as process:
            if _is_left(pid, var):  # looked at again: from here on, nobody else can get the signal
                signal.pidfd_send_signal(process, signal.SIGKILL)
                select.select([process], [], [], ENDING_SECONDS)
                ended.append(name)
    return ended


@contextlib.contextmanager
def _process(pid: int) -> Iterator[int]:
    """A file descriptor of a process: unlike its id, it never becomes another one's."""
    process = os.pidfd_open(pid)
    try:
        yield process
    finally:
        os.close(process)


def command_name(pid: int) -> str:
    """The name of a process's program; "" if it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _is_left(pid: int, var: Path) -> bool:
    """Whether a process is this user's and was started on a data folder by a launcher that is gone."""
    folder = Path(f"/proc/{pid}")
    try:
        if folder.stat().st_uid != os.geteuid():
            return False
        variables = (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    marks = [
        one.removeprefix(f"{MARK}=".encode()) for one in variables if one.startswith(f"{MARK}=".encode())
    ]
    identity, _, on = os.fsdecode(marks[0]).partition(" ") if marks else ("", "", "")
    launcher, _, ids = identity.partition("-")
    if on != str(var) or not launcher.isdigit() or pid == os.getpid():
        return False
    # In a container of its own, process ids mean something else.
    return ids.endswith(f"-{_ids_of(pid)}") and _identity(int(launcher)) != identity


def _identity(pid: int) -> str:
    """What no other process has: the id of one that runs, when it started, and where ids are counted; else ""."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else f"{pid}-{fields[18]}-{_ids_of(pid)}"


def _ids_of(pid: int) -> int:
    """The namespace in which a process has its id; 0 if that cannot be seen."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    return 0


# Of a port


def port_holder(port: int) -> str:
    """The process that listens at a port, as "nginx (process 812)"; "" if that is not to be seen."""
    sockets = {f"socket:[{inode}]" for inode in _listening(port)}
    for pid in sorted(int(folder.name) for folder in Path("/proc").glob("[0-9]*")) if sockets else ():
        with contextlib.suppress(OSError):  # another user's, or gone
            if any(os.readlink(file) in sockets for file in Path(f"/proc/{pid}/fd").iterdir()):  # noqa: PTH115
                return f"{command_name(pid)} (process {pid})"
    return ""


def _listening(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]
