"""The quarantine: what checks find and cannot derive is kept once, shown with its like, and gone when it is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite.data import keys, table
from dealsite.data.integrity import checks, decisions, quarantine
from dealsite.data.integrity.problem import Problem
from dealsite.data.integrity.quarantine_record import (
    HIDDEN,
    MOST_BYTES,
    Quarantined,
    from_item,
    keep_write,
    shown,
)
from dealsite.data.table.errors import BadCursor, Conflict, NotFound
from dealsite.data.table.writes import Delete, Put, Update
from tests.builders import DAY, NOW
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("fresh_table")
GHOST = ("GHOST#1", "GHOST#1")
ODD = "Its type, 'Ghost', is not known."


def put(key: keys.Key = GHOST, **attributes) -> Problem:
    """Store an item of no known type; return what a check says of it."""
    item = {"type": "Ghost", "size": 3, **attributes}
    table.write(Put(key=key, item=item))
    return Problem(key, f"Its type, {item['type']!r}, is not known.")


def keep(*problems: Problem, days: float = 0, is_complete: bool = True) -> quarantine.Kept:
    return quarantine.keep(problems, is_complete=is_complete, now=NOW + days * DAY)


def entries(state="open", days: float = 0) -> list[Quarantined]:
    return quarantine.page(state, now=NOW + days * DAY).entries


def only(days: float = 0) -> Quarantined:
    (row,) = [*entries(days=days), *entries("decided", days), *entries("gone", days)]
    return quarantine.get(row.id, now=NOW + days * DAY)


def test_what_a_check_finds_is_kept_with_the_item_as_it_is(wait_for_indexes):
    problem = put(name="Boo")
    assert keep(*checks.find()) == quarantine.Kept(new=1, open=1)
    wait_for_indexes()
    entry = only()
    assert (entry.key, entry.kind, entry.what, entry.state) == (GHOST, "Ghost", problem.what, "open")
    assert entry.copy == {"PK": GHOST[0], "SK": GHOST[1], "type": "Ghost", "size": 3, "name": "Boo"}
    assert (entry.first_at, entry.seen_at, entry.times) == (NOW, NOW, 1)
    assert entry.may == ("correct", "delete", "leave")


def test_what_is_found_again_is_the_same_entry(wait_for_indexes):
    problem = put()
    keep(problem)
    assert keep(problem, days=1) == quarantine.Kept(new=0, open=1)
    wait_for_indexes()
    entry = only()
    assert (entry.first_at, entry.seen_at, entry.times) == (NOW, NOW + DAY, 2)


def test_the_quarantine_itself_is_sound(wait_for_indexes):
    problem = put()
    keep(problem)
    assert [found.key for found in checks.find()] == [GHOST]
    wait_for_indexes()
    decisions.leave(only().id, by="root", now=NOW)
    assert [found.key for found in checks.find()] == [GHOST]
    table.write(Delete(key=GHOST))
    assert checks.find() == []


def test_what_a_complete_check_does_not_find_again_is_gone_for_thirty_days(wait_for_indexes):
    problem = put()
    keep(problem)
    wait_for_indexes()
    assert keep(days=1, is_complete=False) == quarantine.Kept()
    wait_for_indexes()
    assert [one.what for one in entries()] == [ODD]
    assert keep(days=1) == quarantine.Kept(gone=1)
    wait_for_indexes()
    assert entries() == []
    assert [one.at for one in entries("gone")] == [NOW + DAY]
    assert entries("gone", days=32) == []
    with pytest.raises(NotFound):
        quarantine.get(entries("gone")[0].id, now=NOW + 32 * DAY)
    keep(problem, days=2)
    wait_for_indexes()
    assert [one.what for one in entries()] == [ODD]
    assert entries("gone") == []


def test_what_is_left_as_it_is_stays_decided_while_it_is_the_same(wait_for_indexes):
    problem = put()
    keep(problem)
    wait_for_indexes()
    decisions.leave(only().id, by="root", now=NOW)
    wait_for_indexes()
    assert keep(problem, days=1).open == 0
    wait_for_indexes()
    assert entries() == []
    assert (only().decision, only().seen_at) == ("left", NOW + DAY)
    table.write(Update(key=GHOST, set={"size": 4}))
    assert keep(problem, days=2).open == 1
    wait_for_indexes()
    assert only(2).decision == ""


def test_an_item_that_is_not_there_has_an_entry_without_a_copy(wait_for_indexes):
    keep(Problem(GHOST, "This is missing."))
    wait_for_indexes()
    assert (only().copy, only().kind, only().may) == (None, "", ("leave",))


def test_an_item_that_is_too_large_has_an_entry_without_a_copy(wait_for_indexes):
    keep(put(text="x" * MOST_BYTES))
    wait_for_indexes()
    assert (only().copy, only().may) == (None, ("leave",))


def test_what_check_table_can_repair_is_not_to_be_decided_on(wait_for_indexes):
    problem = put()
    keep(Problem(GHOST, problem.what, (Update(key=GHOST, set={"size": 4}),)))
    wait_for_indexes()
    assert (only().is_derivable, only().may) == (True, ("leave",))


def test_secrets_are_hidden_in_the_sentence_and_in_what_is_shown(wait_for_indexes):
    put(password="pbkdf2$1", passkeys=[{"public_key": "abc", "name": "Phone"}])
    keep(Problem(GHOST, "password is 'pbkdf2$1', which is odd."))
    wait_for_indexes()
    entry = only()
    assert entry.what == f"password is '{HIDDEN}', which is odd."
    assert entry.copy is not None
    texts = dict(shown(entry.copy, 50))
    assert (texts["password"], texts["passkeys.0.public_key"], texts["size"]) == (HIDDEN, HIDDEN, "3")
    user = {"type": "User", "devices": ["a", "b"], "name": "Ann"}
    assert dict(shown(user, 50)) == {"type": "User", "devices": HIDDEN, "name": "Ann"}
    card = {"type": "Quarantined", "copy": {"any": {"thing": 1}}}
    assert dict(shown(card, 50))["copy.any.thing"] == HIDDEN


def test_alike_problems_stand_together_and_long_lists_have_pages(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(quarantine, "PAGE_SIZE", 4)
    for number in range(3):
        put((f"GHOST#{number}", "A"), type="Ghost")
        put((f"ODD#{number}", "A"), type="Odd")
    keep(*checks.find())
    wait_for_indexes()
    first = measured(quarantine.page)(now=NOW)
    second = quarantine.page(after=first.after, now=NOW)
    assert second.after is None
    kinds = [one.kind for one in (*first.entries, *second.entries)]
    assert sorted(kinds) == ["Ghost"] * 3 + ["Odd"] * 3
    assert kinds[0] == kinds[2] != kinds[3]
    for one in (*first.entries, *second.entries):
        decisions.leave(one.id, by="root", now=NOW)
    wait_for_indexes()
    first = quarantine.page("decided", now=NOW)
    second = quarantine.page("decided", after=first.after, now=NOW)
    assert len({one.id for one in (*first.entries, *second.entries)}) == 6


@pytest.mark.parametrize(
    "after", ["x", "a#b", f"{'a' * 64}#", f"2026-11-21#{'a' * 64}", "2026-11-21T12:00:00.000Z#x"]
)
def test_a_damaged_cursor_is_refused(after):
    for state in ("open", "decided"):
        with pytest.raises(BadCursor):
            quarantine.page(state, after=after, now=NOW)


def test_of_very_many_problems_only_some_are_kept_and_nothing_is_called_gone(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(quarantine, "MOST", 2)
    found = [put((f"GHOST#{number}", "A")) for number in range(3)]
    assert keep(*found) == quarantine.Kept(new=2, open=2)
    wait_for_indexes()
    assert keep(*found[1:], days=1).gone == 0


def test_two_checks_at_once_keep_one_entry(wait_for_indexes):
    problem = put()
    results = at_once(*[lambda: keep(problem)] * 4)
    assert sum(one.new for one in results) == 1
    wait_for_indexes()
    assert only().state == "open"


def test_a_decision_while_a_check_finds_it_again_is_not_lost(wait_for_indexes):
    problem = put()
    keep(problem)
    wait_for_indexes()
    entry_id = only().id
    outcomes = at_once(
        lambda: decisions.leave(entry_id, by="root", now=NOW),
        lambda: keep(problem, days=1),
        lambda: keep(days=1),
    )
    failed = isinstance(outcomes[0], Conflict)
    entry = measured(quarantine.get)(entry_id, now=NOW)
    assert (entry.decision == "left") is not failed


def test_an_entry_that_changed_since_it_was_read_is_not_written_over():
    problem = put()
    keep(problem)
    (row,) = [item for item in table.scan_all(consistent=True) if item["type"] == "Quarantined"]
    entry = from_item(row)
    keep(problem, days=1)
    with pytest.raises(Conflict):
        table.write(keep_write(entry))
    assert quarantine.get(entry.id, now=NOW).seen_at == NOW + timedelta(days=1)


def test_a_complete_run_looks_at_all_that_is_open():
    problem = put()
    assert measured(quarantine.keep)([problem], is_complete=True, now=NOW).new == 1
