"""Examples of what is asked of the quarantine, and of the checks that fill it."""

from __future__ import annotations

from typing import Any

from dealsite.data import table
from dealsite.data.integrity import check_runs, decisions, quarantine, retention
from dealsite.data.integrity.check_runs import CheckRun
from dealsite.data.integrity.problem import Problem
from dealsite.data.integrity.quarantine_record import Quarantined, entry_of
from dealsite.data.table.writes import Put
from tests.builders import HOUR, NOW, make_draft, make_id
from tests.data.examples import measures


def damaged() -> Problem:
    """Store an item of no known type."""
    key = (f"GHOST#{make_id()}", "A")
    table.write(Put(key=key, item={"type": "Ghost", "size": 3}))
    return Problem(key, "Its size is odd.")


def quarantined() -> str:
    problem = damaged()
    quarantine.keep([problem], is_complete=False, now=NOW)
    return entry_of(problem, table.get(problem.key), now=NOW).id


def entry() -> Quarantined:
    return quarantine.get(quarantined(), now=NOW)


def deleted() -> str:
    entry_id = quarantined()
    decisions.delete(entry_id, by="root", now=NOW)
    return entry_id


measures(quarantine.keep, damaged)(lambda problem: quarantine.keep([problem], is_complete=True, now=NOW))
measures(quarantine.page, quarantined)(lambda _: quarantine.page(now=NOW))
measures(quarantine.get, quarantined)(lambda entry_id: quarantine.get(entry_id, now=NOW))
measures(decisions.delete, quarantined)(lambda entry_id: decisions.delete(entry_id, by="root", now=NOW))
measures(decisions.correct, quarantined)(
    lambda entry_id: decisions.correct(entry_id, "size", "number", "4", by="root", now=NOW)
)
measures(decisions.leave, quarantined)(lambda entry_id: decisions.leave(entry_id, by="root", now=NOW))
measures(decisions.undo, deleted)(lambda entry_id: decisions.undo(entry_id, by="root", now=NOW))
measures(decisions.state_of_item, entry)(decisions.state_of_item)
measures(check_runs.save)(lambda: check_runs.save(CheckRun(make_id(), "whole", "worker", 1, 1, 0), now=NOW))
measures(check_runs.newest)(check_runs.newest)


@measures(retention.discard_drafts, make_draft)
def discard_drafts(_: Any) -> None:
    assert retention.discard_drafts(HOUR, now=NOW + HOUR) == (1, 0)
