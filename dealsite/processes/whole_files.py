"""Small files that other processes read: private, and there whole or as they were."""

import os
import tempfile
from pathlib import Path


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
