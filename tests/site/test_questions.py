"""Each question is registered beside its code, listed in docs/access-patterns.md, and costs no more than it says.

`UPDATE_DOCS=1` in the environment writes the tables of the page anew.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from dealsite.data import table
from dealsite.data.table.access_patterns import ACCESS_PATTERNS, budget
from tests import questions_page
from tests.data.examples import EXAMPLES
from tests.questions import BUCKETS, QUESTIONS, name_of, sends_requests, too_much, used_elsewhere

pytestmark = pytest.mark.promise

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


def test_the_page_lists_what_is_registered():
    if os.environ.get("UPDATE_DOCS") == "1":
        questions_page.write(questions_page.units())
    assert questions_page.listed() == questions_page.tables(questions_page.units()), (
        questions_page.HOW_TO_WRITE
    )


def test_each_question_has_a_name_of_its_own():
    assert len(QUESTIONS) == len(ACCESS_PATTERNS)


def test_each_question_has_an_example_and_each_example_a_question():
    assert {name_of(function) for function in EXAMPLES} == set(QUESTIONS), (
        "Give each function with @access_pattern an example in tests/data/examples: measures(function)(lambda: ...)"
    )


def test_a_budget_is_read_as_it_is_written():
    assert budget("1 batch get + d queries", partitions=2) == Counter(BatchGetItem=1, Query=2)
    assert budget("1 scan + 2 batch gets") == Counter(Scan=1, BatchGetItem=2)
    assert budget("none") == Counter()


def test_whatever_is_asked_from_outside_the_data_layer_is_registered():
    unregistered = {function for function in used_elsewhere() if sends_requests(function)} - set(
        ACCESS_PATTERNS
    )
    assert {name_of(function) for function in unregistered} == set(NO_QUESTIONS), (
        "Put @access_pattern(question, keys, requests) above each function that pages or commands call"
    )


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.usefixtures("shop")
def test_a_question_costs_no_more_than_it_says(question: str):
    function = QUESTIONS[question]
    assert function in EXAMPLES, (
        f"{question} has no example in tests/data/examples: measures(function)(lambda: ...)"
    )
    ask = EXAMPLES[function]()
    sent: list[tuple[str, str | None]] = []

    def note(event_name: str, **_: object) -> None:
        sent.append((event_name.rpartition(".")[2], None))

    # Counted where requests leave the client, not by the meter whose count is under test elsewhere.
    table.events().register("before-send.dynamodb", note)
    try:
        ask()
    finally:
        table.events().unregister("before-send.dynamodb", note)
    assert sent
    said = ACCESS_PATTERNS[function].requests
    assert too_much(sent, budget(said, partitions=BUCKETS)) == Counter(), f"More requests than {said}"
