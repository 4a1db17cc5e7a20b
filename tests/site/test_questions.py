"""Each question is registered beside its code, listed in docs/access-patterns.md, and costs no more than it says."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from dealsite.data import table
from dealsite.data.catalogue import buckets
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.table.access_patterns import ACCESS_PATTERNS
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Delete, Put
from tests.capacity import recorded
from tests.data.examples import EXAMPLES
from tests.questions import (
    QUESTIONS,
    ROOMS,
    budget,
    measured_here,
    name_of,
    room_of,
    sends_requests,
    used_elsewhere,
)

# Called from elsewhere, but no question of their own:
NO_QUESTIONS = {
    "checks.find": "reads the whole table",
    "checks.repair": "writes what a check says",
    "checks.repair_all": "reads the whole table",
    "sample.check": "reads a part of the table",
    "migrations.run": "reads the whole table",
    "migrations.begin": "counts into migrations.run",
    "migrations.estimate": "counts into migrations.run",
    "retention.apply": "migrations.run, after a change of settings",
    "applying.read": "counts into applying.carry_out",
    "undoing.read_changed": "counts into undoing.take_back",
}


def test_each_question_has_a_name_of_its_own():
    assert len(QUESTIONS) == len(ACCESS_PATTERNS)


def test_each_question_has_an_example_and_each_example_a_question():
    assert {name_of(function) for function in EXAMPLES} == set(QUESTIONS), (
        "Give each function with @access_pattern an example in tests/data/examples: measures(function)(lambda: ...)"
    )


def test_a_budget_is_read_as_it_is_written():
    assert budget("1 batch get + d queries", d=2) == Counter(BatchGetItem=1, Query=2)
    assert budget("1 scan + 2 batch gets") == Counter(Scan=1, BatchGetItem=2)
    assert budget("none") == Counter()


def test_whatever_is_asked_from_outside_the_data_layer_is_registered():
    unregistered = {function for function in used_elsewhere() if sends_requests(function)} - set(
        ACCESS_PATTERNS
    )
    assert {name_of(function) for function in unregistered} == set(NO_QUESTIONS), (
        "Put @access_pattern(question, keys, requests) above each function that pages or commands call"
    )


@pytest.mark.parametrize("room", ROOMS)
def test_a_question_costs_what_it_says(room: str, shop: None, subtests: pytest.Subtests):
    before, measured = stored(), {}
    for question in [name for name, function in QUESTIONS.items() if room_of(function) == room]:
        with subtests.test(question):
            ask = EXAMPLES[QUESTIONS[question]]()
            with recorded() as units:
                ask()
            measured[question] = [f"{units.read:g}", f"{units.write} + {units.index}"]
            assert units.operations == budget(ACCESS_PATTERNS[QUESTIONS[question]].requests)
            assert (units.read, units.write + units.index) == (units.reported_read, units.reported_write)
        put_back(before)
    path = measured_here() / f"{room}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(measured), "utf-8")


def stored() -> dict[tuple[str, str], Item]:
    """Return all that the table holds."""
    return {(item["PK"], item["SK"]): item for item in table.scan_all(consistent=True)}


def put_back(before: dict[tuple[str, str], Item]) -> None:
    """Let the table and the process be as they were."""
    now = stored()
    for key in now.keys() | before.keys():
        if key not in before:
            table.write(Delete(key=key))
        elif now.get(key) != before[key]:
            table.write(Put(key=key, item=before[key]))
    buckets.forget()
    category_names.names()
