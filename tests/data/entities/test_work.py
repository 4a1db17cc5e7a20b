"""The chart of jobs, logs and what editors keep: sound items pass, and what each rule forbids does not."""

from __future__ import annotations

from typing import Any

import pytest

from dealsite.data import keys
from dealsite.data.editing import audit, questions
from dealsite.data.entities.entity import Entity
from dealsite.data.entities.work import (
    AUDIT_ENTRY,
    FAILURE_COUNT,
    JOB,
    JOB_STATES,
    SAVED_QUESTION,
    SECURITY_EVENT,
    SEND_MESSAGE,
    place_of,
)
from dealsite.data.jobs import jobs, queue
from dealsite.data.people import security_events
from dealsite.data.table.ids import from_iso, time_of
from tests.data.entities.examples_people import AT, ID, LATER, OTHER_ID
from tests.data.entities.examples_work import EXAMPLES

PLACE = place_of(SEND_MESSAGE, ID)


def test_every_state_of_a_job_has_its_word():
    assert tuple(queue.ALREADY) == JOB_STATES


def test_an_open_job_is_due_when_its_row_says_and_else_when_it_was_made():
    job, made = EXAMPLES["Job"], keys.job_rows(ID, time_of(ID), PLACE)
    assert JOB.rows_of(job)["GSI3SK"] == job["GSI3SK"] == keys.job_rows(ID, from_iso(LATER), PLACE)["GSI3SK"]
    for wrong in (f"9999-01-01T00:00:00.000Z#{ID}", f"{LATER}#{OTHER_ID}", f"soon#{ID}", ""):
        assert JOB.rows_of(job | {"GSI3SK": wrong})["GSI3SK"] == made["GSI3SK"]


@pytest.mark.parametrize("state", JOB_STATES[1:])
def test_a_job_that_is_not_open_is_not_due(state: str):
    job = EXAMPLES["Job"] | {"state": state}
    assert "GSI3SK" not in JOB.rows_of(job)


@pytest.mark.parametrize(
    ("entity", "changes", "said"),
    [
        (JOB, {"tries": -1}, "tries is '-1', which is not a whole number"),
        (
            FAILURE_COUNT,
            {"SK": "2026-11-21T12:00Z"},
            "Its minute is '2026-11-21T12:00Z', which is not a time",
        ),
        (FAILURE_COUNT, {"count": 0}, "count is '0', which is not a whole number"),
        (SAVED_QUESTION, {"version": 0}, "version is '0', which is not a whole number"),
        (AUDIT_ENTRY, {"card": EXAMPLES["AuditEntry"]["card"] | {"by": ""}}, "card by is '', which is not"),
    ],
)
def test_what_a_rule_forbids_is_said(entity: Entity, changes: dict[str, Any], said: str):
    (found,) = entity.problems(EXAMPLES[entity.type] | changes)
    assert found.startswith(said)


def test_an_event_of_a_visitor_is_in_no_users_list():
    event = EXAMPLES["SecurityEvent"]
    visitors = event | {"card": event["card"] | {"username": ""}}
    assert list(SECURITY_EVENT.problems(visitors)) == []
    assert sorted(SECURITY_EVENT.rows_of(visitors)) == ["GSI2PK", "GSI2SK", "GSI3PK", "GSI3SK"]


def test_jobs_logs_and_questions_are_read_as_they_are_stored():
    job = jobs.job_from_item(EXAMPLES["Job"])
    assert (job.tries, job.checkpoint, job.taken_by) == (2, {"headline": "Look"}, OTHER_ID)
    entry = audit.entry_from_item(EXAMPLES["AuditEntry"])
    assert (entry.id, entry.at, entry.before) == (ID, from_iso(AT), {"price": "5.00"})
    assert audit._store_card(entry) == EXAMPLES["AuditEntry"]["card"]
    event = security_events.event_from_item(EXAMPLES["SecurityEvent"])
    assert security_events._store_event(event) == EXAMPLES["SecurityEvent"]["card"]
    question = questions.from_item(EXAMPLES["SavedQuestion"])
    stored = SAVED_QUESTION.item(questions._store_question(question))
    assert stored.items() <= EXAMPLES["SavedQuestion"].items()


def test_a_job_is_written_with_its_rows_and_due_when_it_was_asked_for():
    put = jobs.job_write("send_message", {}, job_id=ID, due=from_iso(LATER), card={"headline": "Look"})
    assert JOB.rows_of(put.item) == keys.job_rows(ID, from_iso(LATER), PLACE) | keys.announcements(ID)
    assert put.item.items() >= JOB.rows_of(put.item).items()
