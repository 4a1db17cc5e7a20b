"""A job that a thread of its own works on: it keeps the job's lease for as long as it gets on with it."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils import timezone

from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job

RENEW_EVERY = timedelta(seconds=10)  # a sixth of a lease


class HeldJob:
    """A job whose lease is renewed by whoever works on it; Conflict where another worker has taken it."""

    def __init__(self, job: Job, clock: Callable[[], datetime] = timezone.now) -> None:
        self.job, self.clock = job, clock
        self.began = self._renewed = clock()

    def renew(self, *_: object) -> None:
        """Say that the work gets on; renews the lease each ten seconds."""
        if self.clock() - self._renewed >= RENEW_EVERY:
            self.hold()

    def hold(self) -> None:
        """Renew the lease, before something that only one worker may do."""
        self._renewed = self.clock()
        jobs.save_checkpoint(self.job, {}, now=self._renewed)
