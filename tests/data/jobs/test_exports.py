"""Exports of long lists: asked for once, with a note of who did, and kept for a week."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite.data.editing import audit
from dealsite.data.entities.work import FORMER_EXPORTS, JOB
from dealsite.data.jobs import exports, jobs
from dealsite.data.jobs.exports import ExportPayload
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from tests.builders import DAY, NOW
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
SECOND = timedelta(seconds=1)
ORDERS = ExportPayload("/cms/orders/?list=shipped", "olga")


def ask(job_id=None):
    job_id = job_id or new_ulid(NOW)
    exports.request(ORDERS, name="orders", job_id=job_id, now=NOW)
    return job_id


def test_a_list_is_asked_for_with_the_deletion_of_its_file_and_a_note_of_who_did(wait_for_indexes):
    job_id = new_ulid(NOW)
    measured(exports.request)(ORDERS, name="orders", job_id=job_id, now=NOW)
    wait_for_indexes()
    (entry,) = audit.of_target("export", "orders")
    assert (entry.by, entry.what, entry.note, entry.at) == ("olga", "exported", ORDERS.address, NOW)
    job = jobs.take_next(now=NOW)
    assert (job.id, job.kind, job.payload) == (
        job_id,
        "export_list",
        {"address": "/cms/orders/?list=shipped", "by": "olga"},
    )
    jobs.finish(job)
    wait_for_indexes()
    assert measured(exports.get)(job_id, now=NOW)[1] == ORDERS
    assert jobs.take_next(now=NOW + 7 * DAY - SECOND) is None
    deletion = jobs.take_next(now=NOW + 7 * DAY)
    assert (deletion.kind, deletion.payload) == ("delete_export", {"export": job_id})


def test_a_list_that_was_exported_at_once_is_noted_as_well(wait_for_indexes):
    measured(exports.note)(ORDERS, name="orders", now=NOW)
    wait_for_indexes()
    (entry,) = audit.of_target("export", "orders")
    assert (entry.by, entry.what, entry.note) == ("olga", "exported", ORDERS.address)


def test_of_many_who_ask_for_one_file_at_once_one_does(wait_for_indexes):
    job_id = new_ulid(NOW)
    assert at_once(*[lambda: ask(job_id)] * 20) == [job_id] * 20
    wait_for_indexes()
    assert len(audit.of_target("export", "orders")) == 1


def test_a_file_is_there_once_it_is_written_and_for_a_week(wait_for_indexes):
    job_id = ask()
    wait_for_indexes()
    with pytest.raises(errors.NotFound):
        exports.get(job_id, now=NOW)
    jobs.finish(jobs.take_next(now=NOW))
    assert exports.get(job_id, now=NOW + 7 * DAY - SECOND)
    for what, now in ((job_id, NOW + 7 * DAY), ("x", NOW), (new_ulid(NOW, 1), NOW)):
        with pytest.raises(errors.NotFound):
            exports.get(what, now=now)


@pytest.mark.parametrize("kind", FORMER_EXPORTS)
def test_the_row_that_an_earlier_build_gave_its_jobs_is_no_problem(kind):
    job = JOB.item({"id": new_ulid(NOW), "kind": kind, "state": "done", "tries": 1, "payload": {}})
    listed = job | {"GSI2PK": "EXPORTS", "GSI2SK": f"JOB#{job['id']}"}
    assert JOB.rows_of(job).keys() == {"GSI1PK", "GSI1SK"}
    assert JOB.rows_of(listed) == {name: listed[name] for name in ("GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK")}
