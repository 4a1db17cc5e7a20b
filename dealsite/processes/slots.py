"""Places for what may run at the same time on this machine: files, locked as long as they are used."""

import fcntl
from collections.abc import Iterable
from pathlib import Path
from typing import IO


def first_free(folder: Path, names: Iterable[object]) -> IO[str] | None:
    """Return the first file of some that nobody holds, locked; None if all are held.

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
