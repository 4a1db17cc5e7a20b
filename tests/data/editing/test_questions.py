"""Saved questions: saved once, changed by whoever saw the newest, listed newest first."""

from __future__ import annotations

from typing import Any

import pytest

from dealsite.data.editing import audit, questions
from dealsite.data.editing.questions import SavedQuestion
from dealsite.data.table import errors
from tests import races
from tests.builders import HOUR, NOW, make_id
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")
SQL = "SELECT count(*)\n\tFROM orders -- Größe"


def make_question(question_id: str = "", **overrides) -> SavedQuestion:
    filled: dict[str, Any] = {"title": "Orders", "sql": SQL, "by": "bob", "now": NOW}
    return questions.create(question_id=question_id or make_id(NOW), **(filled | overrides))


def test_a_question_is_read_back_as_it_was_saved():
    question = measured(questions.create)(
        question_id=make_id(NOW), title="  How many\x07 orders? ", sql=SQL, by="bob", now=NOW
    )
    assert measured(questions.get)(question.id) == question
    assert (question.title, question.sql, question.version) == ("How many orders?", SQL, 1)
    assert (question.created_by, question.updated_by, question.updated_at) == ("bob", "bob", NOW)


def test_a_question_sent_twice_is_saved_once():
    first = make_question()
    assert make_question(first.id, title="Again") == first
    assert measured(questions.newest)() == [first]


def test_the_newest_question_comes_first():
    ids = [make_id(NOW + n * HOUR) for n in range(3)]
    for question_id in (ids[1], ids[0], ids[2]):
        make_question(question_id)
    assert [question.id for question in questions.newest()] == ids[::-1]


@pytest.mark.parametrize(
    ("field", "overrides"),
    [
        ("title", {"title": " \u200b"}),
        ("title", {"title": "x" * 121}),
        ("sql", {"sql": " \n"}),
        ("sql", {"sql": "x" * 20_001}),
        ("sql", {"sql": "SELECT '\x00'"}),
        ("sql", {"sql": "SELECT '\ud800'"}),
    ],
)
@pytest.mark.engines("native")
def test_what_is_no_question_is_not_saved(field, overrides):
    with pytest.raises(errors.Invalid) as invalid:
        make_question(**overrides)
    assert list(invalid.value.fields) == [field]
    assert questions.newest() == []


def test_the_second_who_changes_a_question_is_shown_the_firsts_work():
    question = make_question()
    first = questions.edit(question, title="First", sql="SELECT 1", by="alf", now=NOW + HOUR)
    with pytest.raises(errors.VersionConflict) as conflict:
        questions.edit(question, title="Second", sql="SELECT 2", by="cyd", now=NOW + HOUR)
    assert conflict.value.current == first == questions.get(question.id)
    assert (first.version, first.created_by, first.updated_by) == (2, "bob", "alf")


def test_a_question_that_was_changed_meanwhile_is_not_deleted():
    question = make_question()
    newer = measured(questions.edit)(question, title="Newer", sql="SELECT 1", by="alf", now=NOW)
    with pytest.raises(errors.VersionConflict):
        questions.delete(question, by="cyd", now=NOW)
    measured(questions.delete)(newer, by="cyd", now=NOW)
    questions.delete(newer, by="cyd", now=NOW)  # gone is gone
    with pytest.raises(errors.NotFound):
        questions.get(question.id)


@pytest.mark.parametrize("question_id", ["", "x", "../orders", make_id(NOW)])
def test_what_is_not_there_is_not_found(question_id):
    with pytest.raises(errors.NotFound):
        questions.get(question_id)


def test_a_deleted_question_cannot_be_changed():
    question = make_question()
    questions.delete(question, by="cyd", now=NOW)
    with pytest.raises(errors.NotFound):
        questions.edit(question, title="Ghost", sql="SELECT 1", by="alf", now=NOW)
    assert questions.newest() == []


@pytest.mark.engines("native", "local")
def test_of_two_edits_at_once_one_wins():
    question = make_question()
    outcomes = races.at_once(
        *(
            lambda n=n: questions.edit(question, title=f"Edit {n}", sql="SELECT 1", by="alf", now=NOW)
            for n in range(2)
        )
    )
    assert [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)] == [
        errors.VersionConflict
    ]
    assert questions.get(question.id).version == 2


@pytest.mark.engines("native", "local")
def test_of_two_saves_of_one_form_one_is_kept():
    question_id = make_id(NOW)
    outcomes = races.at_once(*(lambda n=n: make_question(question_id, title=f"Save {n}") for n in range(2)))
    assert outcomes[0] == outcomes[1] == questions.get(question_id)


@pytest.mark.engines("native", "local")
def test_an_edit_and_a_deletion_at_once_lose_nothing_silently():
    question = make_question()
    edited, deleted = races.at_once(
        lambda: questions.edit(question, title="Kept", sql="SELECT 1", by="alf", now=NOW),
        lambda: questions.delete(question, by="cyd", now=NOW),
    )
    if deleted is None:
        assert isinstance(edited, errors.NotFound)
    else:
        assert isinstance(deleted, errors.VersionConflict)
        assert questions.get(question.id) == edited


def test_who_asked_changed_or_deleted_what_is_on_record_whole(wait_for_indexes):
    question, after = make_question(), "SELECT" + " " * 600 + "'" + "x" * 900 + "' FROM users"
    folded = after.replace(" " * 600, " ")
    measured(questions.note_asked)(make_id(NOW, 7), after, by="bob", now=NOW)
    newer = questions.edit(question, title="Orders", sql=after, by="cyd", now=NOW + HOUR)
    questions.delete(newer, by="alf", now=NOW + 2 * HOUR)
    wait_for_indexes()
    deleted, changed, asked = audit.page(day=NOW.date()).rows
    assert (asked.by, asked.what, asked.before, asked.after) == ("bob", "asked", {}, {"question": folded})
    assert (changed.by, changed.what, changed.after) == ("cyd", "changed", {"question": folded})
    assert changed.before == {"question": "SELECT count(*) FROM orders -- Größe"}
    assert (deleted.by, deleted.before) == ("alf", {"title": "Orders", "question": folded})
