"""Whether this web process should get visitors, and what is not as it should be: at most one check at a time.

/healthz says that the process answers, /readyz whether visitors should be sent to it, and to operators why.

A check asks the table and every index, writes an item of its own, and looks at the disks, the worker and the
projections. Its answer counts for a second; a table that does not answer in time is an answer, too.

What it says of the machine is the space on its disks, the projections it feeds, and parts that were started again.
"""

import hmac
import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson
import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from dealsite.accounts.requests import asks_from_here, forwarded_for
from dealsite.data import table
from dealsite.data.catalogue import categories
from dealsite.data.jobs import processes
from dealsite.data.table import errors, schema
from dealsite.data.table.parallel import together
from dealsite.home import COMMAND
from dealsite.stream import consumer_status
from dealsite.web.pages import CLOSED, everyone, open_while

PARTS = "parts.json"  # in the data folder: {"engine": {"restarts": 2, "ended": "SIGKILL"}, ...}
MEGABYTE = 1_000_000
LARGEST_SHARE = 10  # of a disk: a small one (of uploads, in memory) may have less free than the setting says
STATUS_LASTS = timedelta(seconds=30)  # a consumer notes one each second or two


def disks_now() -> dict[str, dict[str, Any]]:
    """Return what is free where the site writes: the data folder, and the folder of uploads if its disk is another.

    `too_little` is below DEALSITE_FREE_DISK_MB, `little` below three times that. Raises OSError.
    """
    folders = {
        "data": Path(settings.VAR),
        "uploads": Path(settings.FILE_UPLOAD_TEMP_DIR or tempfile.gettempdir()),
    }
    if folders["data"].stat().st_dev == folders["uploads"].stat().st_dev:
        del folders["uploads"]
    return {name: _space(folder) for name, folder in folders.items()}


def _space(folder: Path) -> dict[str, Any]:
    found = os.statvfs(folder)
    free, size = found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize
    least = min(settings.DEALSITE_FREE_DISK_MB * MEGABYTE, size // LARGEST_SHARE)
    return {
        "free_bytes": free,
        "free_share": round(free / max(size, 1), 3),
        "little": free < 3 * least,
        "too_little": free < least,
    }


def projections_now(now: datetime) -> dict[str, dict[str, Any]]:
    """Return of each projection of this machine what its consumer does, and how far it is behind.

    `state` is following, building or failing, or none where no consumer runs; `lag_seconds` is None if not known;
    `skipped` are the stream's records that it could not take.
    """
    return {"search": _projection(Path(settings.SEARCH_ROOT), now)}


def _projection(folder: Path, now: datetime) -> dict[str, Any]:
    noted, lag = consumer_status.status(folder), consumer_status.lag(folder, now=now)
    is_new = noted is not None and abs(now - noted.at) < STATUS_LASTS
    return {
        "state": noted.state if noted and is_new else "none",
        "lag_seconds": None if lag is None else round(lag, 1),
        "skipped": len(consumer_status.skipped_records(folder)),
    }


def parts_now() -> dict[str, dict[str, Any]]:
    """Return of each part how often the launcher started it again, and how it ended last; {} without a launcher."""
    try:
        found = orjson.loads((Path(settings.VAR) / PARTS).read_bytes())
        return {name: {"restarts": one["restarts"], "ended": one["ended"]} for name, one in found.items()}
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {}


RETRY_SECONDS = "5"
KEPT_SECONDS = 1.0  # for which an answer counts
WAIT_SECONDS = 2.2  # for a check; its last call may take longer
CALLS_SECONDS = 1.8  # within which a check begins its calls
WRITE_EVERY = 5.0  # seconds between two writes of a process
WRITE_FAILS_SECONDS = 15.0  # without a write that was acknowledged
LAG_SECONDS = 60.0
UNKNOWN_SECONDS = 120.0  # a worker looks at a job that it does not know once a minute

# Why a process should get no visitors.
REASONS = MappingProxyType(
    {
        "stopping": "This process is ending.",
        "slow": "The table does not answer in time.",
        "table": "The table, or one of its indexes, cannot be read.",
        "misconfigured": "The table is missing, or it refuses this site's credentials; the log has its own words.",
        "setup": f"The table lacks an index, or what every site needs: run {COMMAND} setup_site.",
        "write": "The table cannot be written to.",
        "disk": "A disk is full, or nearly: uploads, and with the embedded engine all changes, fail.",
    }
)
# What needs somebody, although visitors may come.
WARNINGS = MappingProxyType(
    {
        "write": "The last write was not acknowledged.",
        "disk": "A disk will soon be full.",
        "jobs": "Jobs wait for a worker of another build: those that run do not know their kind.",
        "worker": "No worker has run for a minute: jobs, mails and payments wait.",
        "search": "Nobody feeds this machine's search index, or it is behind.",
        "skipped": "Changes were skipped that the search index could not take.",
    }
)

logger = structlog.get_logger(__name__)


def is_behind(projection: Mapping[str, Any]) -> bool:
    """Tell whether nobody feeds a projection, or not fast enough."""
    return projection["state"] != "following" or (projection["lag_seconds"] or 0) > LAG_SECONDS


@dataclass(frozen=True, slots=True)
class State:
    """`reason` is one of REASONS, "" where visitors may come; `degraded` are some of WARNINGS."""

    reason: str = ""
    degraded: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


class Readiness:
    """What is known of this process; `is_stopping` is set when it begins to end."""

    def __init__(
        self,
        *,
        ticks: Callable[[], float] = time.monotonic,
        clock: Callable[[], datetime] = lambda: timezone.now(),
    ) -> None:
        self.is_stopping = False
        self._ticks, self._clock = ticks, clock
        self._lock = threading.Lock()
        self._state, self._checked_at = State(), float("-inf")
        self._check: tuple[threading.Event, float] | None = None  # the one that runs, and since when
        self._tried_at = self._written_at = float("-inf")
        self._reported = ""
        # Once seen to be, it is not asked again: one category lost later ends no site.
        self._is_set_up = False

    def state(self) -> State:
        """Return the state as of a second ago at most, within WAIT_SECONDS.

        2 gets + 1 batch get + 3 queries + 1 scan + 1 put.
        """
        state = State("stopping") if self.is_stopping else self._found()
        with self._lock:
            reported, self._reported = self._reported, state.reason
        if state.reason and state.reason != reported:
            logger.error("not_ready", reason=state.reason, meaning=REASONS[state.reason])
        elif reported and not state.reason:
            logger.warning("ready_again", reason=reported)
        return state

    def _found(self) -> State:
        with self._lock:
            if self._ticks() - self._checked_at < KEPT_SECONDS:
                return self._state
            if self._check is None:
                check = threading.Event(), self._ticks()
                run = copy_context().run
                threading.Thread(
                    target=run, args=(self._run, check[0]), name="readiness", daemon=True
                ).start()
                self._check = check
            done, began = self._check
        if not done.wait(max(0.0, began + WAIT_SECONDS - self._ticks())):
            return State("slow")
        return self._state

    def _run(self, done: threading.Event) -> None:
        try:
            state = self._checked()
        except Exception:  # whatever it is, pages will hardly fare better
            logger.exception("readiness_failed")
            state = State("table")
        with self._lock:
            self._state, self._checked_at, self._check = state, self._ticks(), None
        done.set()

    def _checked(self) -> State:
        now = self._clock()
        reason, worker, unknown = self._ask(now)
        projections = projections_now(now)
        degraded = {
            "write": reason == "" and self._written_at < self._tried_at,
            "jobs": unknown is not None and (now - unknown).total_seconds() < UNKNOWN_SECONDS,
            "worker": reason == "" and processes.heartbeat_is_missing(worker, now=now),
            **{name: is_behind(one) for name, one in projections.items()},
            "skipped": any(one["skipped"] for one in projections.values()),
        }
        try:
            disks = disks_now()
        except OSError:
            disks, reason = {}, reason or "disk"
        if any(disk["too_little"] for disk in disks.values()):
            reason = reason or "disk"
        degraded["disk"] = any(disk["little"] for disk in disks.values())
        unwritten = self._ticks() - self._written_at
        details = {
            "written_seconds_ago": round(unwritten, 1) if isfinite(unwritten) else None,
            "worker_seconds_ago": worker and round((now - worker).total_seconds(), 1),
            "projections": projections,
            "disks": disks,
            "parts": parts_now(),
        }
        return State(reason, tuple(name for name, is_so in degraded.items() if is_so), details)

    def _ask(self, now: datetime) -> tuple[str, datetime | None, datetime | None]:
        """Return why the table is no good, "" if it is, and when a worker last lived, and met an unknown job."""
        try:
            with table.deadline(CALLS_SECONDS):
                schema.answer()
                missing, worker, unknown = together(
                    lambda: None if self._is_set_up else categories.missing(),
                    lambda: processes.last_heartbeat("worker"),
                    lambda: processes.last_heartbeat("unknown"),
                )
                self._is_set_up = not missing
                self._write(now)
        except errors.Incomplete:
            return "setup", None, None
        except errors.Misconfigured:
            return "misconfigured", None, None
        except errors.DataError:
            return "table", None, None
        if not self._is_set_up:
            return "setup", worker, unknown
        has_failed = self._written_at < self._tried_at
        fails = has_failed and self._ticks() - self._written_at > WRITE_FAILS_SECONDS
        return "write" if fails else "", worker, unknown

    def _write(self, now: datetime) -> None:
        """Write to the table if that was not tried for five seconds; what fails is noted, and tried again then."""
        tried_at = self._ticks()
        if tried_at - self._tried_at < WRITE_EVERY:
            return
        self._tried_at = tried_at
        try:
            processes.write_heartbeat("web", now=now)
            self._written_at = self._ticks()
        except errors.DataError as error:
            logger.debug("readiness_not_written", reason=repr(error))


of_process = Readiness()


@everyone.feed("none")
@open_while(*CLOSED)
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Asks nothing of the table: a site whose table is away should not be restarted for it."""
    return HttpResponse("ok\n", content_type="text/plain; charset=utf-8")


@everyone.feed("2 gets + 1 batch get + 3 queries + 1 scan + 1 put")
@open_while(*CLOSED)
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """503 with a word for the reason where this process should get no visitors; details for operators alone."""
    state = of_process.state()
    answer: dict[str, Any] = {"ready": not state.reason}
    if state.reason:
        answer["reason"] = state.reason
    if may_see_details(request):
        answer |= {"meaning": REASONS[state.reason]} if state.reason else {}
        answer |= {"degraded": {name: WARNINGS[name] for name in state.degraded}, **state.details}
        answer["caller"] = {"scheme": request.scheme, "proxies": len(forwarded_for(request))}
    response = JsonResponse(answer, status=503 if state.reason else 200)
    if state.reason:
        response["Retry-After"] = RETRY_SECONDS
        response._has_been_logged = True  # type: ignore[attr-defined]  # once, when it began, not for each probe
    return response


def may_see_details(request: HttpRequest) -> bool:
    """Tell whether somebody has DEALSITE_HEALTH_TOKEN, or asks from this machine itself and not through a proxy."""
    token: str = settings.DEALSITE_HEALTH_TOKEN
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if token and scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode()):
        return True
    return asks_from_here(request)
