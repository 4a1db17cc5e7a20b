"""Each question is registered beside its code, and a test measures that it sends what it says."""

from __future__ import annotations

import re
from collections import Counter

from dealsite.data.table.meters import ACCESS_PATTERNS
from tests.questions import QUESTIONS, ROOT, name_of, sends_requests, used_elsewhere

# Called from elsewhere, but no question of their own:
NO_QUESTIONS = {
    "checks.find": "reads the whole table",
    "checks.repair": "writes what a check says",
    "checks.repair_all": "reads the whole table",
    "checks.check_sample": "reads a part of the table",
    "migrations.run": "reads the whole table",
    "migrations.begin": "counts into migrations.run",
    "retention.apply": "migrations.run, after a change of settings",
    "drafts.get_entries": "counts into what verbs do, and into imports",
}


def test_each_question_has_a_name_of_its_own():
    assert len(QUESTIONS) == len(ACCESS_PATTERNS)


def test_each_question_is_measured_once():
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    found = Counter(name for text in texts for name in re.findall(r"measured\((\w+\.\w+)\)", text))
    assert found == Counter(QUESTIONS.keys()), (
        "In one test of each function with @access_pattern, call it as measured(...)(...)"
    )


def test_whatever_is_asked_from_outside_the_data_layer_is_registered():
    unregistered = {function for function in used_elsewhere() if sends_requests(function)} - set(
        ACCESS_PATTERNS
    )
    assert {name_of(function) for function in unregistered} == set(NO_QUESTIONS), (
        "Put @access_pattern(question, requests) above each function that pages or commands call"
    )
