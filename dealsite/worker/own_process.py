"""The worker's part of commands that talk to another engine: each runs in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from dealsite import home
from dealsite.data.table.errors import DataError

POLL_SECONDS = 2.0
END_SECONDS = 20.0  # for a command to remove what it was making, once it is told to end


def manage(*words: str) -> tuple[str, ...]:
    """Return the command line of a command whose run the worker notes."""
    return (sys.executable, "-m", "django", *words, "--unnoted")


def run(command: Sequence[str], renew: Callable[[], object]) -> str:
    """Run a command to its end and return its last words; DataError with them if something is wrong.

    `renew` is called each two seconds; where it raises, the command is ended.
    """
    environ = os.environ | {"DJANGO_SETTINGS_MODULE": "dealsite.settings"}
    running = subprocess.Popen(
        command,
        cwd=home.PARTS,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with running:
        try:
            said = _wait(running, renew)
        except BaseException:
            _end(running)
            raise
    last = (said.strip().splitlines() or ["It said nothing."])[-1].removeprefix("CommandError: ")
    if running.returncode:
        raise DataError(last)
    return last


def _wait(running: subprocess.Popen[str], renew: Callable[[], object]) -> str:
    while True:
        try:
            return running.communicate(timeout=POLL_SECONDS)[0]
        except subprocess.TimeoutExpired:
            renew()


def _end(running: subprocess.Popen[str]) -> None:
    running.terminate()
    try:
        running.communicate(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        running.kill()
