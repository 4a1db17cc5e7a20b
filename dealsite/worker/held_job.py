"""A job that a thread of its own works on: it keeps the job's lease for as long as it gets on with it."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils import timezone

from dealsite.data.jobs import jobs
from dealsite.data.jobs.command_runs import CheckResult
from dealsite.data.jobs.jobs import LEASE, Job
from dealsite.data.table.errors import Unavailable

RENEW_EVERY = timedelta(seconds=10)  # a sixth of a lease


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
        if now - max(self._renewed, self._tried) < RENEW_EVERY:
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
