"""What workers do each night by themselves: when, the setting that turns it off, the work, and how it went.

A command runs in a thread of its own, so other jobs do not wait for it; if the process ends, another worker begins it
anew, up to 8 times, and so has each command to be written that it can be. To add one, add its line to `SCHEDULE`, and
its name to `KINDS` of the CMS's page of jobs.
"""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import structlog
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_noop

from dealsite import home
from dealsite.accounts import second_factor
from dealsite.data.catalogue import activity
from dealsite.data.commerce.payment import day_closing
from dealsite.data.integrity import checks, retention, sample
from dealsite.data.integrity.pace import Pace
from dealsite.data.integrity.problem import Problem
from dealsite.data.jobs import command_runs, jobs
from dealsite.data.jobs.command_runs import CheckResult, CommandPayload
from dealsite.data.jobs.jobs import LEASE, Handler, Job
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.errors import Conflict, DataError, Unavailable
from dealsite.processes import heartbeat
from dealsite.processes.shortage import end_if_out_of_memory
from dealsite.worker import alarms

DAY = timedelta(days=1)
RENEW_EVERY = timedelta(seconds=10)  # a sixth of a lease
POLL_SECONDS = 2.0
WHOLE_ITEMS = 100_000  # a table of more is checked by samples
WHOLE_TRIES = 2  # a worker that has too little memory for it would end each time
RATE = 2000  # items a second
SAMPLE_SECONDS = 300.0  # 600,000 items at that rate

GIVEN_UP = gettext_noop("The worker has ended 8 times before this did.")  # jobs.MAX_TRIES

logger = structlog.get_logger(__name__)


class HeldJob:
    """A job whose lease is renewed by whoever works on it; Conflict where another worker has taken it.

    `check` is what a check of the table found, which is noted with its run.
    """

    check: CheckResult | None = None

    def __init__(self, job: Job, clock: Callable[[], datetime] = timezone.now) -> None:
        self.job, self.clock = job, clock
        self.began = self._renewed = self._tried = clock()

    def renew(self, *_: object) -> None:
        """Say that the work gets on; renews the lease each ten seconds, and waits for a table that is away."""
        now = self.clock()
        if abs(now - max(self._renewed, self._tried)) < RENEW_EVERY:  # further back: the clock was ahead
            return
        self._tried = now
        try:
            self.hold()
        except Unavailable:
            if now - self._renewed >= LEASE - 2 * RENEW_EVERY:  # somebody else may take it soon
                raise

    def hold(self) -> None:
        """Renew the lease, before something that only one worker may do."""
        now = self.clock()
        jobs.save_checkpoint(self.job, {}, now=now)
        self._renewed = now


@dataclass(frozen=True, slots=True)
class NightlyCommand:
    """A command that runs each night at an hour (UTC), where a setting says so.

    `kind` is that of its jobs and of the runs that are kept of it. Its `work` calls `renew` of the held job at least
    each half minute, and says what came of it.
    """

    kind: str
    hour: int
    setting: str
    work: Callable[[HeldJob], str]

    @property
    def is_on(self) -> bool:
        return bool(getattr(settings, self.setting))

    def next_run(self, now: datetime) -> datetime:
        """Return when it is due next after a moment."""
        due = now.replace(hour=self.hour, minute=0, second=0, microsecond=0)
        return due if due > now else due + DAY


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
            said = None
            while said is None:
                try:
                    said = running.communicate(timeout=POLL_SECONDS)[0]
                except subprocess.TimeoutExpired:
                    renew()
        except BaseException:
            running.kill()
            raise
    last = (said.strip().splitlines() or ["It said nothing."])[-1].removeprefix("CommandError: ")
    if running.returncode:
        raise DataError(last)
    return last


def close_day(held: HeldJob) -> str:
    """Move the payments processed until midnight (UTC) to the history, and keep of clicks only their numbers.

    Days before that never were closed are closed as well.
    """
    day = held.clock().astimezone(UTC).date() - DAY
    shards = range(day_closing.SHARDS)
    activity.close_day(day, advance=held.renew)
    return day_closing.in_words(sum(day_closing.close_shard(day, one, advance=held.renew) for one in shards))


def apply_retention(renew: Callable[[], object], *, now: datetime, again: bool = False) -> str:
    """Apply the spans of keeping, and return what was done; `renew` is called at least each 500 items."""
    done = retention.apply(now=now, renew=renew, again=again)
    refused = f" {done.refused:,} could not be changed." if done.refused else ""
    return (
        f"{done.items:,} items go at another time now, {done.drafts:,} old drafts went to the trash.{refused}"
    )


def check_table(held: HeldJob, *, pace: Pace | None = None) -> str:
    """Check a small table whole, of a large one a sample; mail what nothing can be derived for, and say how much it is.

    Nothing is repaired: a repair of what a fault of the site itself damages would hide it from who looks.
    """
    pace = pace or Pace(RATE)
    pace.then = held.renew
    problems, position = list[Problem](), None
    is_whole = sample.known_items(now=held.clock()) <= WHOLE_ITEMS and held.job.tries <= WHOLE_TRIES
    if is_whole:
        problems = checks.find(pace)
    else:
        taken = sample.check(
            sample.last_position(now=held.clock()),
            is_enough=lambda items: pace.seconds >= SAMPLE_SECONDS,
            seen=pace,
        )
        problems, position = taken.problems, taken.position
    items = pace.items
    found = CheckResult(
        scope="whole" if is_whole else "sample",
        items=items,
        problems=len(problems),
        unreadable=second_factor.unreadable(then=held.renew),
        position=position,
    )
    held.hold()  # whoever has taken it meanwhile mails what they find
    left = [problem for problem in problems if not problem.repairs]
    level = logger.warning if problems else logger.info
    level("nightly_check", job=held.job.id, items=items, problems=len(problems), left=len(left))
    if left and settings.DEALSITE_ALARM_MAIL:
        alarms.mail_problems(left)
    held.check = found
    return f"{len(problems):,} problems, {len(left):,} of them not to be derived, in {items:,} items."


SCHEDULE = (
    NightlyCommand(command_runs.BACKUP, 0, "DEALSITE_NIGHTLY_BACKUPS", back_up),
    NightlyCommand(command_runs.CLOSE_DAY, 1, "DEALSITE_CLOSE_DAY", close_day),
    NightlyCommand(
        command_runs.RETENTION,
        2,
        "DEALSITE_RETENTION",
        lambda held: apply_retention(held.renew, now=held.clock()),
    ),
    NightlyCommand(command_runs.CHECK_TABLE, 3, "DEALSITE_NIGHTLY_CHECK", check_table),
)


def plan(*, now: datetime) -> None:
    """Have a worker run each command when it is due next; harmless to repeat. 1 put for each."""
    for command in SCHEDULE:
        if command.is_on:
            command_runs.plan(command.kind, due=command.next_run(now))


def hand_over(job: Job, now: datetime) -> None:
    """Hand a night's command to a thread of its own; Cancelled where its setting was turned off since."""
    from_item(CommandPayload, job.payload)
    command = next(one for one in SCHEDULE if one.kind == job.kind)
    if not command.is_on:
        raise jobs.Cancelled(f"{command.setting} turns this off.")
    start(lambda: run(job, command.work))
    raise jobs.HandedOver()


HANDLERS: dict[str, Handler] = dict.fromkeys((one.kind for one in SCHEDULE), hand_over)


def start(work: Callable[[], None]) -> None:
    """Work in a thread, which ends with the process."""
    run_in_context = copy_context().run
    threading.Thread(target=run_in_context, args=(work,), name="nightly", daemon=True).start()


class GivenUp(Exception):
    """The processes that ran a job have ended too often before they were through with it."""


def run(job: Job, work: Callable[[HeldJob], str], *, clock: Callable[[], datetime] = timezone.now) -> None:
    """Run a command, note how it went, and finish the job; ends where another worker has taken it."""
    held = HeldJob(job, clock)
    try:
        if job.tries > jobs.MAX_TRIES:
            raise GivenUp(GIVEN_UP)
        with heartbeat.at_work(job.kind, held.began):
            said = work(held)
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
        held.job.kind, by="worker", began=held.began, now=held.clock(), ok=ok, said=said, check=held.check
    )
