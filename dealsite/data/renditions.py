"""Asking for the files of pictures that are made outside the request, by a job that may run any number of times."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dealsite.data import table
from dealsite.data.ids import new_ulid
from dealsite.data.jobs import job_write

MAKE_RENDITIONS = "make_renditions"  # the kind of job


def request(names: Sequence[str], *, now: datetime) -> None:
    """Ask for the further files of some pictures, by name; nothing for none. 1 put."""
    if names:
        payload = {"pictures": list(names)}
        table.write(job_write(MAKE_RENDITIONS, payload, job_id=new_ulid(now), due=now))
