"""Asking for the files of pictures that are made outside the request, by a job that may run any number of times."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dealsite.data import table
from dealsite.data.jobs.jobs import job_write
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import new_ulid

MAKE_RENDITIONS = "make_renditions"  # the kind of job


@dataclass(frozen=True, slots=True)
class RenditionsPayload:
    """The names of the pictures whose further files are to be made."""

    pictures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RenditionsCheckpoint:
    """How many of them are done."""

    done: int = 0


@access_pattern("ask for the further files of pictures", "1 put")
def request(names: Sequence[str], *, now: datetime) -> None:
    """Ask for the further files of some pictures, by name; nothing for none."""
    if names:
        payload = RenditionsPayload(tuple(names))
        table.write(job_write(MAKE_RENDITIONS, payload, job_id=new_ulid(now), due=now))
