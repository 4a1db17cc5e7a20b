"""What workers do by themselves: each night, when, the setting that turns it off, the work, and how it went.

A command runs in a thread of its own, so other jobs do not wait for it; if the process ends, another worker begins it
anew, up to 8 times, and so has each command to be written that it can be. To add one, add its line to `SCHEDULE`, and
its name to `KINDS` of the CMS's page of jobs.

Each minute they look whether more tries fail than usual, which is an alarm: a line in the log, and a mail to whom the
settings name, who also hear what the nightly check of the table found; and count what there is to do in the CMS.
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
from typing import Any

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext_lazy, gettext_noop

from dealsite import home
from dealsite.accounts import second_factor
from dealsite.accounts.locales import spoken
from dealsite.data.catalogue import activity, drafts
from dealsite.data.commerce import charging, orders, payment_lists
from dealsite.data.entities.commerce import FAILED, SCHEDULED
from dealsite.data.integrity import checks, retention
from dealsite.data.integrity.problem import Pace, Problem
from dealsite.data.jobs import command_runs, jobs, task_counts
from dealsite.data.jobs.command_runs import CheckResult, CommandPayload
from dealsite.data.jobs.jobs import LEASE, Handler, Job
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.jobs.task_counts import MOST, TaskCounts
from dealsite.data.people import security_events, throttles
from dealsite.data.people.throttles import Limit
from dealsite.data.table.errors import Conflict, DataError, TooManyRequests, Unavailable
from dealsite.home import COMMAND
from dealsite.processes import heartbeat
from dealsite.processes.heartbeat import end_if_out_of_memory
from dealsite.search.finding import find
from dealsite.search.question import Question
from dealsite.text.stored_words import Text
from dealsite.web.log_lines import printable

EVERY = timedelta(minutes=1)
ONCE_AN_HOUR = Limit("alarm", 1, timedelta(hours=1))  # by all workers together, on each day's hours
SUBJECT = "failures"
MOST_KINDS, MOST_KEYS = 20, 3  # of problems, in a mail

logger = structlog.get_logger(__name__)


def check_alarms(*, now: datetime) -> bool:
    """Raise the alarm where it has to be, and was not yet in this hour; tell whether that was so. 1 query."""
    most: int = settings.DEALSITE_ALARM_FAILURES
    span = security_events.ALARM_SPAN
    failed = sum(security_events.failures(within=span, now=now).values())
    if not most or failed < most:
        return False
    try:
        throttles.count(ONCE_AN_HOUR, SUBJECT, now=now)
    except TooManyRequests:
        return False
    logger.error("security_alarm", failures=failed, minutes=span // timedelta(minutes=1))
    if settings.DEALSITE_ALARM_MAIL:
        try:
            mail_alarm(gettext_lazy("Many tries fail"), "security_alarm", failures=failed, now=now)
        except OSError as error:  # of the mail server: the next check tries again
            throttles.undo_attempt(ONCE_AN_HOUR, SUBJECT, now=now)
            logger.warning("security_alarm_not_sent", error=repr(error))
    return True


def mail_alarm(subject: Text, template: str, **context: Any) -> None:
    """Send a mail to whom the settings name, in the site's language; OSError of the mail server."""
    site = {"site_name": settings.DEALSITE_NAME, "site_url": settings.DEALSITE_URL}
    with spoken(""):
        text = render_to_string(f"accounts/mail/{template}.txt", site | context)
        send_mail(
            f"{settings.DEALSITE_NAME}: {subject}",
            text,
            settings.DEFAULT_FROM_EMAIL,
            settings.DEALSITE_ALARM_MAIL,
        )


@dataclass(frozen=True)
class ProblemKind:
    """Problems that are alike: their sentence without its values, how many they are, and the keys of some."""

    sentence: str
    number: int
    keys: list[str]


def mail_problems(left: list[Problem]) -> None:
    """Mail what a check of the table found and nothing can be derived for."""
    kinds = _alike(left)
    try:
        mail_alarm(
            gettext_lazy("The table has problems"),
            "table_problems",
            number=len(left),
            kinds=kinds[:MOST_KINDS],
            more=len(kinds[MOST_KINDS:]),
            command=COMMAND,
        )
    except OSError as error:  # of the mail server; the page Operations says it, too
        logger.warning("nightly_check_not_sent", error=repr(error))


def _alike(problems: list[Problem]) -> list[ProblemKind]:
    """Return the kinds of some problems, those with the most first."""
    keys: dict[str, list[str]] = {}
    for problem in problems:
        keys.setdefault(printable(problem.kind), []).append(printable(" / ".join(problem.key)))
    found = [ProblemKind(sentence, len(of_kind), of_kind[:MOST_KEYS]) for sentence, of_kind in keys.items()]
    return sorted(found, key=lambda one: (-one.number, one.sentence))


UNPAID_SINCE = timedelta(days=90)  # what was due before nobody will pay any more
TRIED_UNTIL = timedelta(days=30)  # a failed payment is listed by when it is tried again
SURELY_CHARGED = timedelta(hours=1)  # after it was due, where runners are at work


def count_tasks(*, now: datetime) -> TaskCounts:
    """Count and store it. 1 batch get + 34 queries + 1 put; drafts are those that the search index has."""
    since, until = (now - UNPAID_SINCE).date(), (now + TRIED_UNTIL).date()
    failed = payment_lists.of_status(FAILED, since, until, limit=MOST).rows
    waiting = payment_lists.of_status(SCHEDULED, since, now.date(), limit=MOST).rows
    overdue = [row for row in (*failed, *waiting) if row.due_at < now - SURELY_CHARGED]
    counts = TaskCounts(
        drafts=min(find(Question(kind="draft", for_editors=True), now=now, size=1).total, MOST),
        featured=len(list(drafts.attention_data({}, pages=True).over(now))),
        orders=orders.number_to_ship(MOST),
        payments=len(failed),
        overdue=min(len(overdue), MOST),
    )
    task_counts.store(counts, now=now)
    return counts


DAY = timedelta(days=1)
RENEW_EVERY = timedelta(seconds=10)  # a sixth of a lease
POLL_SECONDS = 2.0
WHOLE_ITEMS = 100_000  # a table of more is checked by samples
WHOLE_TRIES = 2  # a worker that has too little memory for it would end each time
RATE = 2000  # items a second
SAMPLE_SECONDS = 300.0  # 600,000 items at that rate

GIVEN_UP = gettext_noop("The worker has ended 8 times before this did.")  # jobs.MAX_TRIES


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
    return apart(held, "backup", "--keep", str(settings.DEALSITE_NIGHTLY_BACKUPS))


def apart(held: HeldJob, *words: str) -> str:
    """Run a command of the site in a process of its own; the worker notes how it went."""
    return run_apart((sys.executable, "-m", "django", *words, "--unnoted"), held.renew)


def run_apart(command: Sequence[str], renew: Callable[[], object]) -> str:
    """Run a command in a process of its own; return its last words, or raise DataError.

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
    shards = range(charging.SHARDS)
    activity.close_day(day, advance=held.renew)
    return charging.closing_in_words(
        sum(charging.close_shard(day, one, advance=held.renew) for one in shards)
    )


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
    is_whole = checks.known_items(now=held.clock()) <= WHOLE_ITEMS and held.job.tries <= WHOLE_TRIES
    if is_whole:
        problems = checks.find(pace)
    else:
        taken = checks.check_sample(
            checks.last_position(now=held.clock()),
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
        mail_problems(left)
    held.check = found
    return f"{len(problems):,} problems, {len(left):,} of them not to be derived, in {items:,} items."


SCHEDULE = (
    NightlyCommand(command_runs.BACKUP, 0, "DEALSITE_NIGHTLY_BACKUPS", back_up),
    NightlyCommand(
        command_runs.SNAPSHOT, 0, "DEALSITE_NIGHTLY_SNAPSHOT", lambda held: apart(held, "snapshot")
    ),
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
    payload_from_item(CommandPayload, job.payload)
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
