"""Says which process holds a port."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from dealsite.processes.orphans import command_name

LISTENS = "0A"


def holder(port: int) -> str:
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
