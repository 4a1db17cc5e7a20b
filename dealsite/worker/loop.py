"""The worker: runs jobs as they come due, some at once, charges payments, feeds the search index, until told to stop.

Several may run at once. One of them feeds the index; the others stand by.
"""

import contextlib
import functools
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from django.utils.translation import gettext_noop

from dealsite.data import keys
from dealsite.data.catalogue import deals, featured_plans, hot
from dealsite.data.catalogue.brand_merges import rename_brand
from dealsite.data.commerce import charging
from dealsite.data.commerce.order_changes import EXPIRE_ORDER, expire
from dealsite.data.commerce.payment_record import PAYMENT_TOTALS, apply_totals
from dealsite.data.commerce.payments import REFUND_PAYMENT
from dealsite.data.editing import links as checked_links, trash
from dealsite.data.entities.work import FORMER_EXPORTS, JOB, PART, PAUSABLE, SEND_MESSAGE
from dealsite.data.jobs import jobs, parts, processes, site_switch
from dealsite.data.people import users
from dealsite.data.people.announcements import send_message, send_part
from dealsite.data.table import schema
from dealsite.data.table.errors import Conflict, DataError, TooManyRequests, Unavailable
from dealsite.gateways import choice as gateways
from dealsite.gateways.interface import Gateway
from dealsite.pictures import renditions
from dealsite.processes import heartbeat
from dealsite.processes.heartbeat import end_if_out_of_memory, is_shortage
from dealsite.search.site_index import search_index
from dealsite.stream.consumer import consume
from dealsite.stream.records import ItemChange
from dealsite.web import counting
from dealsite.web.counting import due_to
from dealsite.worker import accounts, bulk, exports, imports, links, mails, schedule
from dealsite.worker.crew import Crew, Lookout

# Kinds of jobs that earlier releases made.
GONE = ("my_data", "delete_my_data", "restore_drill", *FORMER_EXPORTS)


def no_longer_done(job: jobs.Job, now: datetime) -> None:
    """Cancel a job that an earlier release made."""
    raise jobs.Cancelled("This release no longer does this.")


def gateway() -> Gateway:
    """Return the payment gateway, which workers ask only as often as leaves room for pages."""
    return gateways.current("gateway-worker")


def refund(job: jobs.Job, now: datetime) -> None:
    """Carry out a job that gives payments back (`charging.refund_payments`)."""
    charging.refund_payments(job, now, gateway=gateway(), currency=settings.DEALSITE_CURRENCY)


def work_on_part(part: jobs.Job, now: datetime) -> datetime | None:
    """Work on a part of a job as its kind says."""
    job = parts.job_of(part)
    return PARTS[job.kind](job, part, now)


PARTS: dict[str, Callable[[jobs.Job, jobs.Job, datetime], datetime | None]] = {
    SEND_MESSAGE: send_part,
    **bulk.PARTS,
    **imports.PARTS,
}
HANDLERS: dict[str, jobs.Handler] = {
    PART: work_on_part,
    "rename_brand": rename_brand,
    SEND_MESSAGE: send_message,
    PAYMENT_TOTALS: apply_totals,
    REFUND_PAYMENT: refund,
    EXPIRE_ORDER: expire,
    **accounts.HANDLERS,
    **mails.HANDLERS,
    **deals.HANDLERS,
    **trash.HANDLERS,
    **featured_plans.HANDLERS,
    **exports.HANDLERS,
    **bulk.HANDLERS,
    **imports.HANDLERS,
    **renditions.HANDLERS,
    **links.HANDLERS,
    **schedule.HANDLERS,
    **dict.fromkeys(GONE, no_longer_done),
}
OF_PERSONS = {*accounts.HANDLERS, *mails.HANDLERS}  # once over, they name nobody any more
SOON_SECONDS, SOON = 1.0, 5  # between two looks everywhere, and how many of them after the last job
IDLE_SECONDS = 3.0  # between two looks at one place when none came since; the stream tells at once
SLICE_SECONDS = 0.1  # between two looks whether the worker is to stop
CHARGE_SECONDS = 15.0  # while no payment is due: then one partition of their index is asked after the other
ENDED = ("processed", "failed", "cancelled")  # outcomes of a payment that was charged
SHORTAGE_PAUSE = timedelta(seconds=10)  # for a job that the machine has no disk for just now; it costs no try
ORPHANED = gettext_noop("Whoever ordered this is no editor any more. Resume it to take it over.")
CONSUMER_SECONDS = 10.0  # for a consumer to commit what it has, once it is told to stop

logger = structlog.get_logger(__name__)


class PartDied(Exception):
    """A thread of this worker has ended by an error: a new process is to take the worker's place."""


class JobFailed(Conflict):
    """A job's handler failed: it is tried again later, or was given up."""


class Part(threading.Thread):
    """A thread of the worker, which may end, or die and leave its `error`.

    Killed anywhere it loses nothing, so that it need not hold up the end of the process.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        super().__init__(name=name, daemon=True)
        self._work = work
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.error = error
            logger.error("part_died", part=self.name, exc_info=error)


def run(
    stop: threading.Event,
    *,
    expire: bool,
    clock: Callable[[], datetime] = timezone.now,
    parts: Iterable[Part] = (),
    woken: threading.Event | None = None,
) -> None:
    """Work until `stop` is set; with `expire`, also delete what has expired, where the engine does not do so itself.

    Jobs are looked for once in a while, and as soon as `woken` is set or one ends. On a copy of the site it does
    nothing. Raises PartDied when one of `parts`, the worker's other threads, has died.
    """
    woken = woken or threading.Event()
    spans = between_jobs(expire=expire)
    done_at = dict.fromkeys(spans, datetime.min.replace(tzinfo=UTC)) | {schedule.check_alarms: clock()}
    says_so, soon, lookout = False, SOON, Lookout()
    with Crew(woken) as crew:
        while not stop.is_set():
            job = None
            check_parts(parts)
            if woken.is_set():
                woken.clear()
                soon = SOON
            now = clock()
            is_due = any(is_over(done_at[work], span, now=now) for work, span in spans.items())
            # While nothing is to be done, only whoever takes a job looks at the switch.
            if (is_due or soon > 0) and not site_switch.of_process.lets_work():
                if not site_switch.of_process.known.is_copy:
                    logger.warning("worker_waits", reason=str(Unavailable()))
                elif not says_so:
                    logger.warning("worker_rests", reason=site_switch.COPY_RESTS)
                    says_so = True
                stop.wait(SOON_SECONDS)
                continue
            try:
                crew.check()
                at = lookout.places(crew.lanes(), now=now, everywhere=soon > 0)
                if (job := take(now=clock(), at=at, note_due=lookout.note)) is not None:
                    crew.start(functools.partial(work_on, job, clock()))
                for work, span in [*spans.items()]:
                    if is_over(done_at[work], span, now=clock()):
                        spans[work] = spans.pop(work)  # behind the others, should it fail
                        try:
                            work(now=clock())
                        except Unavailable:
                            raise
                        except Exception as error:  # what is damaged, or of a newer build, holds up no job
                            logger.exception("between_jobs_failed", work=work.__name__)
                            end_if_out_of_memory(error)
                        done_at[work] = clock()
            except Unavailable as error:
                logger.warning("worker_waits", reason=str(error))
                soon = SOON
            soon = SOON if job or crew.is_busy else soon - 1
            if job is None:
                rest(SOON_SECONDS if soon > 0 else IDLE_SECONDS, stop, woken, parts)


def rest(seconds: float, stop: threading.Event, woken: threading.Event, parts: Iterable[Part]) -> None:
    """Wait until `stop` or `woken` is set, for some seconds at most. Raises PartDied."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not stop.is_set() and not woken.wait(SLICE_SECONDS):
        check_parts(parts)


def between_jobs(*, expire: bool) -> dict[Callable[..., object], timedelta]:
    """Return what a worker does between its jobs, and how often."""
    expiry = {delete_expired: timedelta(hours=1)} if expire else {}
    return expiry | {
        plan: timedelta(hours=1),
        adopt: schedule.EVERY,
        schedule.check_alarms: schedule.EVERY,
        schedule.count_tasks: schedule.EVERY,
        hot.rank: hot.EVERY,
    }


def delete_expired(*, now: datetime) -> None:
    """Delete what has expired."""
    logger.debug("expired", items=schema.delete_expired(now=now))


def plan(*, now: datetime) -> None:
    """Plan what is done at a time, and take jobs back from a worker whose clock was ahead.

    It only tries to: a round over all links begins once a week, the rest at night.
    """
    if settings.DEALSITE_CHECK_LINKS:
        checked_links.begin_round(now=now)
    schedule.plan(now=now)
    jobs.free_taken_ahead(now=now)


def adopt(*, now: datetime) -> None:
    """Find what builds before the lanes ordered, which may run beside this one."""
    jobs.adopt()


def is_over(since: datetime, span: timedelta, *, now: datetime) -> bool:
    """Tell whether a span is over; also where it began by a clock that was ahead, and has been set right since."""
    return not since <= now < since + span


def charge(stop: threading.Event, *, clock: Callable[[], datetime] = timezone.now) -> None:
    """Charge what is due until `stop` is set, but not on a copy; what cannot be read or charged now is tried again."""
    try:
        asked = gateway()
    except ImproperlyConfigured as error:
        logger.error("nothing_is_charged", reason=str(error))
        return
    partitions, was_idle = itertools.cycle(range(keys.PAYMENT_SHARDS)), False
    while not stop.is_set():
        counts: Counter[str] = Counter()
        try:
            if site_switch.of_process.lets_work():
                only = next(partitions) if was_idle else None
                counts = charge_due(asked, clock=clock, only=only)
        except DataError as error:
            logger.warning("charging_waits", reason=str(error))
        except Exception:  # a payment must not take the thread down; its lease brings it back
            logger.exception("charging_failed")
        was_idle = not any(counts[outcome] for outcome in ENDED)
        if was_idle:
            stop.wait(CHARGE_SECONDS)


def charge_due(
    gateway: Gateway, *, clock: Callable[[], datetime] = timezone.now, only: int | None = None
) -> Counter[str]:
    """Charge up to 100 payments that are due; return how many ended as what (`charging.run_due`)."""
    counts = charging.run_due(gateway, currency=settings.DEALSITE_CURRENCY, clock=clock, only=only)
    if counts:
        logger.info("payments_run", **counts)
    return counts


def check_parts(parts: Iterable[Part]) -> None:
    """Raise PartDied where one of a worker's threads has died."""
    for part in parts:
        if part.error is not None:
            raise PartDied(f"The {part.name} of this worker died: {part.error!r}")


@contextlib.contextmanager
def feeding(
    stop: threading.Event, woken: threading.Event, *, clock: Callable[[], datetime] = timezone.now
) -> Iterator[Part]:
    """Keep the search index up to date, in a thread of its own, until `stop` is set; `woken` says that a job is due."""

    def tell(changes: Iterable[ItemChange]) -> None:
        _, now = keys.open_jobs.until(clock())
        if any(change.type == JOB.type and (change.new or {}).get("GSI3SK", now) < now for change in changes):
            woken.set()

    work = functools.partial(consume, search_index(clock=clock), stop, clock=clock, on_changes=tell)
    consumer = Part("consumer", work)
    consumer.start()
    try:
        yield consumer
    finally:
        stop.set()
        consumer.join(CONSUMER_SECONDS)


def take(
    *,
    now: datetime,
    at: Iterable[str] | None = None,
    note_due: Callable[[str, datetime | None], None] = lambda place, due: None,
) -> jobs.Job | None:
    """Take a due job of a kind that this build knows (`jobs.take_next`)."""
    told = functools.partial(note_unknown, now=now)
    return jobs.take_next(now=now, at=at, kinds=HANDLERS, note_unknown=told, note_due=note_due)


def work_on(job: jobs.Job, now: datetime) -> None:
    """Run a job that was taken. What fails is tried again later, up to 8 times."""
    began, outcome = time.monotonic(), "left"
    with due_to(job.request, job=job.id, kind=job.kind):
        try:
            again = _handle(job, now)
            if again is None:
                jobs.finish(job, forget=job.kind in OF_PERSONS)
                if job.kind == PART:
                    parts.tell(job, now=now)
            else:
                jobs.wait_until(job, again)
            outcome = "done" if again is None else "again"
            logger.info("job_run", again=again)
        except Conflict as left:
            outcome = "failed" if isinstance(left, JobFailed) else "left"
            logger.info("job_left")  # cancelled, failed, handed over, or no longer ours
        finally:
            counting.add(counting.JOBS_RUN, job.kind, outcome)
            counting.took(counting.JOB_SECONDS, job.kind, seconds=time.monotonic() - began)


def note_unknown(kind: str, *, now: datetime) -> None:
    """Say that a job waits for a worker of a newer build."""
    logger.warning("job_unknown", kind=kind)
    processes.write_heartbeat("unknown", now=now)


def _handle(job: jobs.Job, now: datetime) -> datetime | None:
    began = time.monotonic()
    try:
        if job.tries > jobs.MAX_TRIES and job.kind not in schedule.HANDLERS:  # which note how they ended
            raise schedule.GivenUp(schedule.GIVEN_UP)
        with heartbeat.at_work(job.kind, now):
            if job.kind in PAUSABLE and "by" in job.payload and not users.is_editor(job.payload["by"]):
                raise jobs.Orphaned(ORPHANED)
            return HANDLERS[job.kind](job, now)
    except jobs.HandedOver as to_thread:
        raise Conflict() from to_thread
    except jobs.Cancelled as reason:
        jobs.cancel_own(job, str(reason), forget=job.kind in OF_PERSONS)
        raise Conflict() from reason
    except jobs.Failed as reason:
        jobs.give_up(job, str(reason))
        raise JobFailed() from reason
    except jobs.Orphaned as reason:
        jobs.pause_own(job, str(reason))
        raise Conflict() from reason
    except TooManyRequests as full:  # of what the whole site does only so often
        return now + timedelta(seconds=time.monotonic() - began + full.retry_after)
    except Exception as error:  # a job must not take the worker down; its error is kept with it
        if is_shortage(error) and not isinstance(error, MemoryError):
            logger.warning("job_waits", reason=repr(error))
            return now + SHORTAGE_PAUSE
        logger.warning("job_failed", error=repr(error))
        jobs.fail(job, str(error), now=now + timedelta(seconds=time.monotonic() - began))
        end_if_out_of_memory(error)
        raise JobFailed() from error
