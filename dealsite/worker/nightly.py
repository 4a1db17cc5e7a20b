"""The worker's part of nightly commands: runs one in a thread of its own, and notes how it went.

So other jobs do not wait for it; if the process ends, another worker begins it anew, up to 8 times, and so has each
command to be written that it can be.
"""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from datetime import datetime

import structlog
from django.conf import settings
from django.utils import timezone

from dealsite import home
from dealsite.data.jobs import command_runs, jobs
from dealsite.data.jobs.command_runs import CommandPayload
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.errors import Conflict, DataError
from dealsite.processes.shortage import end_if_out_of_memory
from dealsite.worker import at_work, checking, closing, keeping
from dealsite.worker.held_job import HeldJob
from dealsite.worker.schedule import SCHEDULE

Command = Callable[[HeldJob], str]  # calls `renew` at least each half minute, and says what came of it
POLL_SECONDS = 2.0

logger = structlog.get_logger(__name__)


def back_up(held: HeldJob) -> str:
    """Back up, and remove archives beyond the number that is kept."""
    keep = str(settings.DEALSITE_NIGHTLY_BACKUPS)
    words = ("backup", "--keep", keep, "--unnoted")  # the worker notes how it went
    return run_apart((sys.executable, "-m", "django", *words), held.renew)


def run_apart(command: Sequence[str], renew: Callable[[], object]) -> str:
    """Run a command that talks to another engine in a process of its own; return its last words, or raise DataError.

    `renew` is called each two seconds; where it raises, the command is killed.
    """
    environ = os.environ | {"DJANGO_SETTINGS_MODULE": "dealsite.settings"}
    with subprocess.Popen(
        command,
        cwd=home.PARTS,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        try:
            while (said := _said(running)) is None:
                renew()
        except BaseException:
            running.kill()
            raise
    last = (said.strip().splitlines() or ["It said nothing."])[-1].removeprefix("CommandError: ")
    if running.returncode:
        raise DataError(last)
    return last


def _said(running: subprocess.Popen[str]) -> str | None:
    try:
        return running.communicate(timeout=POLL_SECONDS)[0]
    except subprocess.TimeoutExpired:
        return None


def apply_retention(held: HeldJob) -> str:
    """Apply changed spans of keeping, and move old drafts to the trash."""
    return keeping.apply_retention(held.renew, now=held.clock())


COMMANDS: dict[str, Command] = {
    command_runs.BACKUP: back_up,
    command_runs.CLOSE_DAY: closing.close_day,
    command_runs.RETENTION: apply_retention,
    command_runs.CHECK_TABLE: checking.check_table,
}


def hand_over(job: Job, now: datetime) -> None:
    """Hand a night's command to a thread of its own; Cancelled where its setting was turned off since."""
    from_item(CommandPayload, job.payload)
    command = next(one for one in SCHEDULE if one.kind == job.kind)
    if not command.is_on:
        raise jobs.Cancelled(f"{command.setting} turns this off.")
    start(lambda: run(job))
    raise jobs.HandedOver()


HANDLERS: dict[str, Handler] = dict.fromkeys(COMMANDS, hand_over)


def start(work: Callable[[], None]) -> None:
    """Work in a thread, which ends with the process."""
    run_in_context = copy_context().run
    threading.Thread(target=run_in_context, args=(work,), name="nightly", daemon=True).start()


class GivenUp(Exception):
    """The processes that ran a command have ended too often before they were through with it."""


def run(job: Job, *, clock: Callable[[], datetime] = timezone.now, command: Command | None = None) -> None:
    """Run a command, note how it went, and finish the job; ends where another worker has taken it."""
    held = HeldJob(job, clock)
    try:
        if job.tries > jobs.MAX_TRIES:
            raise GivenUp(f"The worker has ended {jobs.MAX_TRIES} times before this did.")
        with at_work.on(job.kind, held.began):
            said = (command or COMMANDS[job.kind])(held)
        held.hold()  # whoever has taken it meanwhile notes how it went for them
        _note(held, ok=True, said=said)
        jobs.finish(job)
    except Conflict:
        logger.info("nightly_command_left")
    except Exception as error:  # noqa: BLE001 - kept with the job, which is tried again
        logger.warning("nightly_command_failed", error=repr(error))
        with contextlib.suppress(DataError):  # without a table the lease ends by itself
            jobs.fail(job, str(error), now=clock())
            _note(held, ok=False, said=str(error))
        end_if_out_of_memory(error)


def _note(held: HeldJob, *, ok: bool, said: str) -> None:
    command_runs.note(
        held.job.kind,
        by="worker",
        began=held.began,
        now=held.clock(),
        ok=ok,
        said=said,
        check=held.check,
    )
