"""What changing many deals costs, for each step and each kind of change: how it is prepared, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dealsite.data import bulk, bulk_changes, bulk_undoing, jobs
from dealsite.data.bulk import Change, Row, Subject
from dealsite.data.deals import Deal
from dealsite.data.keys import CHANGED, REFUSED
from tests.builders import DAY, EDITOR, NOW, make_deal, make_id

TO_TOYS = Change("deal", bulk.CATEGORY, "toys-hobbies")
JOB, UNDO = make_id(NOW, 901), make_id(NOW, 902)
WAS = "peripherals-networking"


def order(deal: Deal | None = None) -> str:
    """Order a change of a deal; return the job's id."""
    one = deal or make_deal(now=NOW - DAY)
    subjects = [Subject(one.id, one.content.title, WAS)]
    bulk.start(TO_TOYS, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, subjects=subjects)
    return JOB


def taken() -> tuple[Deal, jobs.Job]:
    deal = make_deal(now=NOW - DAY)
    order(deal)
    job = jobs.take_next(now=NOW)
    assert job is not None
    return deal, job


def change(prepared: tuple[Deal, jobs.Job]) -> None:
    """Change a deal as a job does, with what it reads for all of a chunk at once."""
    deal, job = prepared
    things = bulk_changes.read("deal", [deal.id])
    means = bulk_changes.means_of(TO_TOYS, things.values())
    row = Row(deal.id, "x", CHANGED, WAS, "toys-hobbies", chunk=1)
    errand = bulk.errand(job, row, changed=1)
    bulk_changes.carry_out(TO_TOYS, things[deal.id], means, lambda *_: errand, by=EDITOR, now=NOW)


def changed() -> jobs.Job:
    deal, job = taken()
    change((deal, job))
    jobs.finish(job)
    return job


def take_back(job: jobs.Job) -> None:
    bulk.undo(JOB, undo_id=UNDO, by=EDITOR, now=NOW)
    undoing = jobs.take_next(now=NOW)
    assert undoing is not None
    (row,) = bulk.rows(JOB, CHANGED)
    things = bulk_undoing.read_changed(TO_TOYS, [row])
    means = bulk_changes.means_of(TO_TOYS, things.values(), more_brands=())
    errand = bulk.errand(undoing, Row(row.id, "x", CHANGED, chunk=1), changed=1)
    bulk_undoing.take_back(TO_TOYS, row, things[row.id], means, lambda *_: errand, by=EDITOR, now=NOW)


def refuse(prepared: tuple[Deal, jobs.Job]) -> None:
    deal, job = prepared
    bulk.refuse(job, [Row(deal.id, "x", REFUSED, reason="x", chunk=1)], in_all=1)


def collect(prepared: tuple[Deal, jobs.Job]) -> None:
    _, job = prepared
    subjects = tuple(Subject(make_id(NOW, number), "x" * 60, WAS) for number in range(bulk.CHUNK))
    bulk.collect(job, bulk.Chunk(2, subjects, NOW))


MEASURED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "bulk.start": (lambda: make_deal(now=NOW - DAY), order),
    "bulk.undo": (changed, lambda _: bulk.undo(JOB, undo_id=UNDO, by=EDITOR, now=NOW)),
    "bulk.get": (order, lambda _: bulk.get(JOB)),
    "bulk.rows": (changed, lambda _: bulk.rows(JOB, CHANGED)),
    "bulk.outcomes": (taken, lambda prepared: bulk.outcomes(JOB, [prepared[0].id])),
    "bulk.is_changed": (taken, lambda prepared: bulk.is_changed(JOB, prepared[0].id)),
    "bulk.chunk": (order, lambda _: bulk.chunk(JOB, 1)),
    "bulk.last_chunk": (order, lambda _: bulk.last_chunk(JOB)),
    "bulk.collect": (taken, collect),
    "bulk.refuse": (taken, refuse),
    "bulk_changes.carry_out": (taken, change),
    "bulk_undoing.take_back": (changed, take_back),
}
