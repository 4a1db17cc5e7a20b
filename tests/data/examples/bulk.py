"""Examples of changing many deals, for each step and each kind of change."""

from __future__ import annotations

from dealsite.data.catalogue.deals import Deal
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import CHANGED, REFUSED, BulkChange, BulkResult, BulkTarget
from dealsite.data.editing.bulk_change import applying, undoing
from dealsite.data.jobs import jobs
from tests.builders import DAY, EDITOR, NOW, make_deal, make_id
from tests.data.examples import measures

TO_TOYS = BulkChange("deal", bulk.CATEGORY, "toys-hobbies")
JOB, UNDO = make_id(NOW, 901), make_id(NOW, 902)
WAS = "peripherals-networking"


def order(deal: Deal | None = None) -> str:
    """Order a change of a deal; return the job's id."""
    one = deal or make_deal(now=NOW - DAY)
    subjects = [BulkTarget(one.id, one.content.title, WAS)]
    bulk.start(TO_TOYS, job_id=JOB, by=EDITOR, asked_at=NOW, now=NOW, subjects=subjects)
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
    audit_context = bulk.audit_context(job, row, changed=1)
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
    (row,) = bulk.rows(JOB, CHANGED)
    things = undoing.read_changed(TO_TOYS, [row])
    prefetched = applying.prefetched_for(TO_TOYS, things.values(), more_brands=())
    audit_context = bulk.audit_context(undo, BulkResult(row.id, "x", CHANGED, chunk=1), changed=1)
    undoing.take_back(TO_TOYS, row, things[row.id], prefetched, lambda *_: audit_context, by=EDITOR, now=NOW)


@measures(bulk.refuse, taken)
def refuse(prepared: tuple[Deal, jobs.Job]) -> None:
    deal, job = prepared
    bulk.refuse(job, [BulkResult(deal.id, "x", REFUSED, reason="x", chunk=1)], in_all=1)


@measures(bulk.collect, taken)
def collect(prepared: tuple[Deal, jobs.Job]) -> None:
    _, job = prepared
    subjects = tuple(BulkTarget(make_id(NOW, number), "x" * 60, WAS) for number in range(bulk.CHUNK))
    bulk.collect(job, bulk.Chunk(2, subjects, NOW))


measures(bulk.start, lambda: make_deal(now=NOW - DAY))(order)
measures(bulk.undo, changed)(lambda _: bulk.undo(JOB, undo_id=UNDO, by=EDITOR, now=NOW))
measures(bulk.get, order)(lambda _: bulk.get(JOB))
measures(bulk.rows, changed)(lambda _: bulk.rows(JOB, CHANGED))
measures(bulk.outcomes, taken)(lambda prepared: bulk.outcomes(JOB, [prepared[0].id]))
measures(bulk.is_changed, taken)(lambda prepared: bulk.is_changed(JOB, prepared[0].id))
measures(bulk.chunk, order)(lambda _: bulk.chunk(JOB, 1))
measures(bulk.last_chunk, order)(lambda _: bulk.last_chunk(JOB))
