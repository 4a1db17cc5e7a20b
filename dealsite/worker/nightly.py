"""The worker's part of checks: once a night it checks a small table whole, and of a large one a sample.

The job is handed to a thread, which keeps its lease, so that other jobs do not wait; if the process ends, another
worker begins anew. What it finds goes to the quarantine. At night nothing is repaired: a repair of what a fault of the
site itself damages would hide it, so that is for somebody who looks.
"""

import contextlib
import threading
from collections.abc import Callable
from contextvars import copy_context
from datetime import datetime

import structlog
from django.utils import timezone

from dealsite.data.integrity import check_runs, checks, quarantine, sample
from dealsite.data.integrity.check_runs import CHECK_TABLE, CheckRun, CheckTablePayload
from dealsite.data.integrity.pace import Pace
from dealsite.data.integrity.problem import Problem
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import from_item
from dealsite.data.table.errors import Conflict, DataError
from dealsite.data.table.ids import new_ulid
from dealsite.processes.shortage import end_if_out_of_memory

WHOLE_ITEMS = 100_000  # a table of more is checked by samples
WHOLE_TRIES = 2  # a worker that has too little memory for it would end each time
RATE = 2000  # items a second
SECONDS = 300.0  # for a sample: 600,000 items at that rate
RENEW_SECONDS = 10.0  # a sixth of a lease

logger = structlog.get_logger(__name__)


def check_table(job: Job, now: datetime) -> None:
    """Hand a night's check to a thread of its own."""
    from_item(CheckTablePayload, job.payload)
    start(lambda: run(job))
    raise jobs.HandedOver()


def start(work: Callable[[], None]) -> None:
    """Work in a thread, which ends with the process."""
    run_in_context = copy_context().run
    threading.Thread(target=run_in_context, args=(work,), name="nightly-check", daemon=True).start()


HANDLERS: dict[str, Handler] = {CHECK_TABLE: check_table}


def run(job: Job, *, clock: Callable[[], datetime] = timezone.now, pace: Pace | None = None) -> None:
    """Check the table, keep what was found, and finish the job; ends where another worker has taken it."""
    pace = pace or Pace(RATE)
    try:
        pace.then = _renewing(job, pace, clock)
        _check(job, clock, pace)
        jobs.finish(job)
    except Conflict:
        logger.info("nightly_check_left")
    except Exception as error:  # noqa: BLE001 - kept with the job, which is tried again
        logger.warning("nightly_check_failed", error=repr(error))
        with contextlib.suppress(DataError):  # without a table the lease ends by itself
            jobs.fail(job, str(error), now=clock())
        end_if_out_of_memory(error)


def _renewing(job: Job, pace: Pace, clock: Callable[[], datetime]) -> Callable[[], None]:
    renewed = pace.seconds

    def renew() -> None:
        nonlocal renewed
        if pace.seconds - renewed >= RENEW_SECONDS:
            renewed = pace.seconds
            jobs.save_checkpoint(job, {}, now=clock())

    return renew


def _check(job: Job, clock: Callable[[], datetime], pace: Pace) -> None:
    began, problems, position = clock(), list[Problem](), None
    is_whole = check_runs.known_items() <= WHOLE_ITEMS and job.tries <= WHOLE_TRIES
    if is_whole:
        problems = checks.find(pace)
    else:
        taken = sample.check(
            check_runs.position(), is_enough=lambda items: pace.seconds >= SECONDS, seen=pace
        )
        problems, position = taken.problems, taken.position
    items = pace.items
    kept = quarantine.keep(problems, is_complete=is_whole, now=clock(), seen=pace)
    found = CheckRun(
        id=new_ulid(began),
        scope="whole" if is_whole else "sample",
        by="worker",
        items=items,
        seconds=round(pace.seconds),
        problems=len(problems),
        new=kept.new,
        position=position,
    )
    jobs.save_checkpoint(job, {}, now=clock())  # whoever has taken it meanwhile notes what they find
    check_runs.save(found, now=clock())
    level = logger.warning if kept.new else logger.info
    level("nightly_check", items=items, problems=len(problems), new=kept.new)
