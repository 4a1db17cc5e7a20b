"""The data folder of a site and the engine on it: made private, and used by one site at a time."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from django.conf import settings

from dealsite import environment
from dealsite.data import table
from dealsite.data.table.errors import DataError
from dealsite.engine import checks, database, folder, programs, server

Say = Callable[[str], None]


class LaunchError(Exception):
    """The site cannot run; the message says what to do about it."""


def make_data_folder(say: Say) -> None:
    """Make the data folder for its owner alone, or take from others what rights they have to it."""
    if problem := environment.unwritable(settings.VAR):
        raise LaunchError(problem)
    for path in folder.make_private(settings.VAR):
        say(f"Others could read {path}: from now on only its owner can.")


@contextlib.contextmanager
def only_one(var: Path) -> Iterator[None]:
    """Lock the data folder itself, since a file in it may be deleted; the system frees it however this process ends."""
    folder = os.open(var, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with (var / "lock").open("a+") as file:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                raise LaunchError(
                    f"Another site runs on the data in {var} (process {holder})."
                    " Stop it, or name another data folder with DEALSITE_VAR."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
        yield
    finally:
        os.close(folder)


@contextlib.contextmanager
def own_engine(var: Path, say: Say) -> Iterator[server.Engine]:
    """Run the data folder's engine, and point this process at it."""
    kind = programs.kind_for(var)
    if kind == "local":
        say("Using DynamoDB Local.")
    database.check_there(var)
    with server.Engine(var, kind) as engine:
        if engine.exposed:
            say(f"Warning: {checks.exposed(engine.url, engine.exposed)}")
        # settings were read before the engine had an endpoint; children read it from engine.env.
        settings.DYNAMODB_ENDPOINT_URL = engine.url
        table.reset()
        try:
            yield engine
        except DataError as error:
            raise database.explained(var, str(error)) from error


@contextlib.contextmanager
def engine_at_hand(say: Say) -> Iterator[server.Engine | None]:
    """Run the data folder's engine meanwhile; yield None where a site runs on it, or the table is elsewhere."""
    with ExitStack() as stack:
        if not settings.DEALSITE_EMBEDDED:
            yield None
            return
        try:
            stack.enter_context(only_one(settings.VAR))
        except LaunchError:
            yield None
            return
        yield stack.enter_context(own_engine(settings.VAR, say))
