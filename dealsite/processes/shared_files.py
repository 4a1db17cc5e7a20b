"""Small files that several processes of this machine use: locked as places, or written whole for others to read."""

import fcntl
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO


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
