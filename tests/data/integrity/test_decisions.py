"""Decisions on quarantined items: each holds only for the item as it was seen, is audited, and can be undone."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import deals
from dealsite.data.editing import audit
from dealsite.data.integrity import checks, decisions, quarantine
from dealsite.data.integrity.problem import Problem, as_seen
from dealsite.data.integrity.quarantine_record import entry_of
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.writes import Delete, Put, Update
from tests.builders import DAY, NOW, make_deal, make_id
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("fresh_table")
GHOST = ("GHOST#1", "GHOST#1")
STORED: Item = {
    "type": "Ghost",
    "size": 3,
    "is_seen": True,
    "card": {"price": Decimal("9.90"), "lost": None},
    "days": {"a", "b"},
    "lines": [{"amount": 1}, {"amount": 2}],
}


def quarantined(key: keys.Key = GHOST, what: str = "It has nobody.", **attributes) -> str:
    """Store an item of no known type, and keep in the quarantine what is said of it; return the entry's id."""
    table.write(Put(key=key, item=STORED | attributes))
    return keep(Problem(key, what))


def keep(problem: Problem) -> str:
    quarantine.keep([problem], is_complete=False, now=NOW)
    return entry_of(problem, table.get(problem.key), now=NOW).id


def delete(entry_id: str) -> None:
    decisions.delete(entry_id, by="root", now=NOW)


def correct(entry_id: str, path: str, kind: decisions.Kind, text: str = "") -> None:
    decisions.correct(entry_id, path, kind, text, by="root", now=NOW)


def undo(entry_id: str) -> None:
    decisions.undo(entry_id, by="root", now=NOW)


def log(entry_id: str, wait_for_indexes) -> list[str]:
    wait_for_indexes()
    return sorted(entry.what for entry in audit.of_target("quarantine", entry_id))


def errors_of(outcomes) -> list[type[Exception]]:
    return [type(one) for one in outcomes if isinstance(one, Exception)]


def test_a_deleted_item_comes_back_as_it_was(wait_for_indexes):
    entry_id = quarantined()
    before = table.get(GHOST)
    measured(decisions.delete)(entry_id, by="root", now=NOW)
    assert table.get(GHOST) is None
    entry = quarantine.get(entry_id, now=NOW)
    assert (entry.state, entry.decision, entry.by, entry.at) == ("decided", "deleted", "root", NOW)
    measured(decisions.undo)(entry_id, by="root", now=NOW)
    assert table.get(GHOST) == before
    entry = quarantine.get(entry_id, now=NOW)
    assert (entry.state, entry.decision, entry.by, entry.at) == ("open", "", "", None)
    assert log(entry_id, wait_for_indexes) == ["removed an item", "undone"]


def test_the_copy_of_a_deleted_item_is_kept_for_thirty_days():
    entry_id = quarantined()
    delete(entry_id)
    assert quarantine.get(entry_id, now=NOW + 29 * DAY).copy is not None
    with pytest.raises(NotFound):
        quarantine.get(entry_id, now=NOW + 30 * DAY)


@pytest.mark.parametrize("change", [{"set": {"size": 4}}, {"set": {"more": 1}}, {"remove": ["is_seen"]}])
def test_nothing_is_decided_on_an_item_that_has_changed(change):
    entry_id = quarantined()
    table.write(Update(key=GHOST, **change))
    for decide in (delete, lambda entry: correct(entry, "size", "number", "5")):
        with pytest.raises(VersionConflict, match="has changed since"):
            decide(entry_id)
    assert quarantine.get(entry_id, now=NOW).state == "open"


def test_an_item_that_changes_in_the_same_moment_is_not_deleted(monkeypatch):
    entry_id = quarantined()

    def late(item, names):
        table.write(Update(key=GHOST, set={"size": 4}))
        return as_seen(item, names)

    monkeypatch.setattr("dealsite.data.integrity.decisions.as_seen", late)
    for decide in (delete, lambda entry: correct(entry, "is_seen", "no")):
        with pytest.raises(VersionConflict, match="has changed since"):
            decide(entry_id)
        table.write(Update(key=GHOST, set={"size": 3}))


def test_of_two_decisions_at_once_one_is_made(wait_for_indexes):
    entry_id = quarantined()
    outcomes = at_once(
        lambda: delete(entry_id),
        lambda: correct(entry_id, "size", "number", "5"),
        lambda: decisions.leave(entry_id, by="eve", now=NOW),
    )
    assert len(errors_of(outcomes)) == 2
    assert all(issubclass(one, Conflict) for one in errors_of(outcomes))
    assert len(log(entry_id, wait_for_indexes)) == 1


def test_of_two_who_undo_one_does(wait_for_indexes):
    entry_id = quarantined()
    delete(entry_id)
    assert len(errors_of(at_once(*[lambda: undo(entry_id)] * 2))) == 1
    assert table.get(GHOST) is not None
    assert log(entry_id, wait_for_indexes) == ["removed an item", "undone"]


def test_a_deletion_is_not_undone_over_an_item_that_is_there_again():
    entry_id = quarantined()
    delete(entry_id)
    table.write(Put(key=GHOST, item={"type": "Other"}))
    with pytest.raises(Conflict, match="an item under this key again"):
        undo(entry_id)
    assert table.get(GHOST) == {"PK": GHOST[0], "SK": GHOST[1], "type": "Other"}


@pytest.mark.parametrize(
    ("path", "kind", "text", "where", "value"),
    [
        ("size", "number", "4", "size", 4),
        ("size", "number", "4.50", "size", Decimal("4.50")),
        ("size", "text", "", "size", ""),
        ("is_seen", "no", "", "is_seen", False),
        ("is_seen", "absent", "", "is_seen", None),
        ("name", "text", "Boo", "name", "Boo"),
        ("card.price", "number", "5", "card", {"price": 5, "lost": None}),
        ("card.lost", "absent", "", "card", {"price": Decimal("9.90")}),
        ("lines.1.amount", "number", "7", "lines", [{"amount": 1}, {"amount": 7}]),
        ("lines.0", "absent", "", "lines", [{"amount": 2}]),
    ],
)
def test_an_attribute_is_corrected_and_put_back(path, kind, text, where, value):
    entry_id = quarantined()
    before = table.get(GHOST)
    correct(entry_id, path, kind, text)
    after = table.get(GHOST)
    assert after is not None
    assert after.get(where) == value
    undo(entry_id)
    assert table.get(GHOST) == before


def test_a_correction_that_leaves_the_item_wrong_or_makes_it_so_is_refused():
    entry_id = quarantined(what="Its type, 'Ghost', is not known.")
    with pytest.raises(Invalid) as refused:
        correct(entry_id, "size", "number", "4")
    assert str(refused.value.fields["value"]) == "It would still be wrong."
    with pytest.raises(Invalid) as refused:
        correct(entry_id, "type", "text", "Job")
    assert "payload is missing." in str(refused.value.fields["value"])


@pytest.mark.parametrize(
    ("path", "kind", "text", "field"),
    [
        ("PK", "text", "x", "path"),
        ("SK", "absent", "", "path"),
        ("", "text", "x", "path"),
        ("card..price", "text", "x", "path"),
        ("nothing.price", "text", "x", "path"),
        ("lines.9.amount", "number", "1", "path"),
        ("lines.x", "number", "1", "path"),
        ("size.more", "number", "1", "path"),
        ("size", "number", "many", "value"),
        ("size", "number", "NaN", "value"),
        ("size", "number", "1e500", "value"),
        ("size", "number", "3", "value"),
    ],
)
def test_what_cannot_be_corrected_is_said(path, kind, text, field):
    entry_id = quarantined()
    with pytest.raises(Invalid) as refused:
        correct(entry_id, path, kind, text)
    assert list(refused.value.fields) == [field]


def test_a_corrected_deal_is_listed_where_it_belongs_and_an_editor_notices():
    deal = make_deal(deal_id=make_id(NOW, 1))
    key = keys.deal(deal.id)
    before = table.get(key)
    entry_id = keep(Problem(key, "Its category is odd."))
    correct(entry_id, "card.category", "text", "toys-hobbies")
    after = table.get(key)
    assert before is not None
    assert after is not None
    assert after["GSI3PK"].startswith("CATEGORY#toys-hobbies#")
    assert after["writes"] == before["writes"] + 1
    with pytest.raises(Invalid) as refused:
        decisions.corrected(after, "id", "text", make_id(NOW, 2))
    assert "the value that it has" in str(refused.value.fields["value"])  # its key says so
    undo(entry_id)
    again = table.get(key)
    assert again is not None
    assert again == before | {"writes": before["writes"] + 2}
    assert deals.get(deal.id).card == deal.card


def test_an_item_whose_schema_was_noted_meanwhile_is_as_it_was():
    entry_id = quarantined()
    table.write(Update(key=GHOST, set={"schema": 1}))
    delete(entry_id)
    assert table.get(GHOST) is None


def test_of_two_wrong_attributes_each_is_corrected_in_turn():
    key = keys.deal(make_deal(deal_id=make_id(NOW, 1)).id)
    table.write(Update(key=key, set={"link": "javascript:alert(1)", "was_price": -3}))
    (problem,) = checks.find()
    correct(keep(problem), "link", "text", "https://shop.example/lamp")
    (problem,) = checks.find()
    assert "was_price" in problem.what
    assert "link" not in problem.what
    with pytest.raises(Invalid):
        correct(keep(problem), "was_price", "number", "-4")
    correct(keep(problem), "was_price", "absent")
    assert checks.find() == []


def test_a_correction_is_not_undone_where_the_attribute_has_changed_since():
    entry_id = quarantined()
    correct(entry_id, "size", "number", "5")
    table.write(Update(key=GHOST, set={"is_seen": False}))
    table.write(Update(key=GHOST, set={"size": 6}))
    with pytest.raises(VersionConflict, match="has changed since the decision"):
        undo(entry_id)
    table.write(Update(key=GHOST, set={"size": 5}))
    undo(entry_id)
    found = table.get(GHOST)
    assert found is not None
    assert (found["size"], found["is_seen"]) == (3, False)


def test_a_correction_is_not_undone_over_a_change_of_the_same_moment(monkeypatch):
    entry_id = quarantined()
    correct(entry_id, "size", "number", "5")
    put_back = decisions._put_back

    def late(item, changed):
        table.write(Update(key=GHOST, set={"size": 6}))
        return put_back(item, changed)

    monkeypatch.setattr(decisions, "_put_back", late)
    with pytest.raises(VersionConflict, match="has changed since the decision"):
        undo(entry_id)


def test_what_the_audit_log_says_of_a_correction_has_no_secret(wait_for_indexes):
    correct(quarantined(password="pbkdf2$1"), "password", "text", "pbkdf2$2")
    wait_for_indexes()
    (entry,) = audit.page(day=NOW.date()).entries
    assert (entry.what, entry.by, entry.before, entry.after) == (
        "corrected an item",
        "root",
        {"password": "•••"},
        {"password": "•••"},
    )


def test_what_is_decided_is_not_decided_again():
    entry_id = quarantined()
    measured(decisions.leave)(entry_id, by="root", now=NOW)
    for decide in (delete, lambda one: decisions.leave(one, by="root", now=NOW)):
        with pytest.raises(Conflict, match="decided meanwhile"):
            decide(entry_id)
    undo(entry_id)
    with pytest.raises(Conflict):
        undo(entry_id)


@pytest.mark.parametrize("entry_id", ["x", "a" * 64, "A" * 64, "a#b"])
def test_what_is_not_in_the_quarantine_is_not_found(entry_id):
    with pytest.raises(NotFound):
        delete(entry_id)


def test_what_was_deleted_is_found_no_more():
    entry_id = quarantined()
    assert len(checks.find()) == 1
    delete(entry_id)
    assert checks.find() == []
    undo(entry_id)
    table.write(Delete(key=GHOST))


def test_a_number_is_corrected():
    entry_id = quarantined()
    measured(decisions.correct)(entry_id, "size", "number", "5", by="root", now=NOW)
    assert table.get(GHOST)["size"] == 5


def test_an_item_that_nobody_changed_is_as_it_was_found():
    entry = quarantine.get(quarantined(), now=NOW)
    assert measured(decisions.state_of_item)(entry) == "same"
