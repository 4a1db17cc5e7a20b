"""Keeps a data folder to its owner: it holds password hashes, the secret key and the way to the engine."""

import os
import pwd
from pathlib import Path

from dealsite.engine.programs import DATABASE, EngineError

FILES = (f"{DATABASE['native']}*", DATABASE["local"], f"{DATABASE['local']}/*", "engine.env", "engine.log*")


def make_private(folder: Path) -> list[Path]:
    """Make a folder, or take everybody else's rights from it and the engine's files; returns what had some.

    EngineError if it is another user's, or if its file system knows no rights.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return [
        path for path in (folder, *(path for one in FILES for path in folder.glob(one))) if _tighten(path)
    ]


def _tighten(path: Path) -> bool:
    found = path.stat()
    if found.st_uid != os.geteuid():
        raise EngineError(
            f"{path} belongs to the user {_name(found.st_uid)}, who could read and change what the site stores."
            " Run the site as that user, or name another data folder with DEALSITE_VAR."
        )
    if not found.st_mode & 0o077:
        return False
    try:
        path.chmod(found.st_mode & 0o700)
        refused = "others can still read it" if path.stat().st_mode & 0o077 else ""
    except OSError as error:
        refused = str(error)
    if refused:
        raise EngineError(
            f"{path} cannot be kept to its owner: {refused}. Name another data folder with DEALSITE_VAR."
        )
    return True


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)
