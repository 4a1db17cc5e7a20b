"""Examples of changing many deals, for each step and each kind of change."""

from __future__ import annotations

from dealsite.data.catalogue.deals import Deal
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange, BulkResult, BulkTarget
from dealsite.data.editing.bulk_change import applying, bulk_progress, undoing
from dealsite.data.entities import batches
from dealsite.data.entities.batches import CHANGED, REFUSED
from dealsite.data.jobs import jobs
from tests.builders import DAY, EDITOR, NOW, make_deal, make_id
from tests.data.examples import measures

TO_TOYS = BulkChange("deal", bulk.CATEGORY, "toys-hobbies")
JOB, UNDO = make_id(NOW, 901), make_id(NOW, 902)
WAS = "peripherals-networking"


def order(deal: Deal | None = None) -> str:
    """Order a change of a deal; return the job's id."""
    one = deal or make_deal(now=NOW - DAY)
    targets = [BulkTarget(one.id, one.content.title, WAS)]
    bulk.start(TO_TOYS, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, targets=targets)
    return JOB


def taken() -> tuple[Deal, jobs.Job]:
    deal = make_deal(now=NOW - DAY)
    order(deal)
    job = jobs.take_next(now=NOW)
    assert job is not None
    return deal, job


@measures(applying.carry_out, taken)
def change(prepared: tuple[Deal, jobs.Job]) -> None:
    """Change a deal as a job does, with what it reads for all of a chunk at once."""
    deal, job = prepared
    things = applying.read("deal", [deal.id])
    prefetched = applying.prefetched_for(TO_TOYS, things.values())
    row = BulkResult(deal.id, "x", CHANGED, WAS, "toys-hobbies", chunk=1)
    audit_context = bulk_progress.audit_context(job, row, changed=1)
    applying.carry_out(TO_TOYS, things[deal.id], prefetched, lambda *_: audit_context, by=EDITOR, now=NOW)


def changed() -> jobs.Job:
    deal, job = taken()
    change((deal, job))
    jobs.finish(job)
    return job


@measures(undoing.take_back, changed)
def take_back(job: jobs.Job) -> None:
    bulk.undo(JOB, undo_id=UNDO, by=EDITOR, now=NOW)
    undo = jobs.take_next(now=NOW)
    assert undo is not None
    (row,) = bulk_progress.rows(JOB, CHANGED)
    things = undoing.read_changed(TO_TOYS, [row])
    prefetched = applying.prefetched_for(TO_TOYS, things.values(), more_brands=())
    audit_context = bulk_progress.audit_context(undo, BulkResult(row.id, "x", CHANGED, chunk=1), changed=1)
    undoing.take_back(TO_TOYS, row, things[row.id], prefetched, lambda *_: audit_context, by=EDITOR, now=NOW)


@measures(bulk_progress.refuse, taken)
def refuse(prepared: tuple[Deal, jobs.Job]) -> None:
    deal, job = prepared
    bulk_progress.refuse(job, [BulkResult(deal.id, "x", REFUSED, reason="x", chunk=1)], in_all=1)


@measures(bulk_progress.collect, taken)
def collect(prepared: tuple[Deal, jobs.Job]) -> None:
    _, job = prepared
    targets = tuple(BulkTarget(make_id(NOW, number), "x" * 60, WAS) for number in range(batches.CHUNK))
    bulk_progress.collect(job, bulk.Chunk(2, targets, NOW))


measures(bulk.start, lambda: make_deal(now=NOW - DAY))(order)
measures(bulk.undo, changed)(lambda _: bulk.undo(JOB, undo_id=UNDO, by=EDITOR, now=NOW))
measures(bulk.get, order)(lambda _: bulk.get(JOB))
measures(bulk_progress.rows, changed)(lambda _: bulk_progress.rows(JOB, CHANGED))
measures(bulk_progress.outcomes, taken)(lambda prepared: bulk_progress.outcomes(JOB, [prepared[0].id]))
measures(bulk_progress.is_changed, taken)(lambda prepared: bulk_progress.is_changed(JOB, prepared[0].id))
measures(bulk_progress.chunk, order)(lambda _: bulk_progress.chunk(JOB, 1))
measures(bulk_progress.last_chunk, order)(lambda _: bulk_progress.last_chunk(JOB))
