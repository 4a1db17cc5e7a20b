"""What editors and admins do is noted with it, and can be found by person, thing and day."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, categories, deal_changes, drafts, featured, publishing
from dealsite.data.catalogue.content import DealContent
from dealsite.data.editing import audit
from dealsite.data.editing.audit import Entry
from dealsite.data.jobs import queue
from dealsite.data.people import announcements, users
from dealsite.data.table.errors import BadCursor, Conflict, NotFound, VersionConflict
from dealsite.data.table.paging import Page
from tests.builders import DAY, HOUR, NOW, make_announcement, make_brand, make_deal, make_draft, make_id
from tests.measuring import measured
from tests.people import make_user

pytestmark = pytest.mark.usefixtures("whole_table")


def noted(kind: str, subject: str) -> list[Entry]:
    """What was done to a thing, oldest first, read from the table itself."""
    items = [item for item in table.scan_all(consistent=True) if item["type"] == "AuditEntry"]
    found = [audit.entry_from_item(item) for item in items]
    mine = [entry for entry in found if (entry.kind, entry.subject) == (kind, subject)]
    return sorted(mine, key=lambda entry: (entry.at, entry.id))


def words(kind: str, subject: str) -> list[tuple[str, str]]:
    return [(entry.by, entry.what) for entry in noted(kind, subject)]


def test_a_deals_life_is_noted():
    deal = make_deal(by="eve")
    cheaper = replace(deal.content, price=Decimal("69.90"), expires_at=NOW + DAY)
    brand = brands.get("nordlicht")
    deal = deal_changes.edit(deal, cheaper, version=1, brand=brand, by="oscar", now=NOW + HOUR)
    deal = deal_changes.expire_now(deal, by="eve", now=NOW + 2 * HOUR)
    deal_changes.delete(deal, by="root", now=NOW + 3 * HOUR)
    assert words("deal", deal.id) == [
        ("eve", "published"),
        ("oscar", "changed"),
        ("eve", "ended"),
        ("root", "deleted"),
    ]
    published, changed, ended, deleted = noted("deal", deal.id)
    assert (published.before, published.after["title"]) == ({}, "Mechanical keyboard")
    assert changed.before == {"price": "79.90"}
    assert changed.after == {"price": "69.90", "expires_at": "2026-11-22T12:00:00.000Z"}
    assert ended.after == {"expires_at": "2026-11-21T14:00:00.000Z"}
    assert (deleted.before["title"], deleted.after) == ("Mechanical keyboard", {})


def test_moving_a_deal_is_noted_with_both_times():
    deal = make_deal(live_at=NOW + DAY, by="eve")
    moved = publishing.reschedule(deal, NOW + 2 * DAY, new_id=make_id(NOW + 2 * DAY), by="eve", now=NOW)
    assert words("deal", deal.id) == [("eve", "scheduled")]
    (entry,) = noted("deal", moved.id)
    assert (entry.before["id"], entry.after["id"]) == (deal.id, moved.id)
    assert entry.after["live_at"] == "2026-11-23T12:00:00.000Z"


def test_an_import_notes_one_entry_for_each_transaction():
    first = make_deal()
    brand, ids = brands.get("nordlicht"), [make_id(), make_id(), make_id()]
    publishing.publish_many([(one, first.content, brand) for one in ids], by="eve", now=NOW)
    (entry,) = noted("deal", ids[0])
    assert (entry.what, entry.after["others"]) == ("published with 2 others", f"{ids[1]} {ids[2]}")
    assert noted("deal", ids[1]) == []


def test_what_was_refused_is_not_noted():
    deal = make_deal()
    brand = brands.get("nordlicht")
    deal_changes.edit(deal, replace(deal.content, title="A"), version=1, brand=brand, by="eve", now=NOW)
    with pytest.raises(VersionConflict):
        deal_changes.edit(deal, replace(deal.content, title="B"), version=1, brand=brand, by="oscar", now=NOW)
    assert [by for by, _ in words("deal", deal.id)] == ["eve", "eve"]


def test_drafts_are_noted():
    draft = make_draft(title="Idea", by="eve")
    draft = drafts.save(draft, DealContent(title="Better"), version=1, by="oscar", now=NOW + HOUR)
    drafts.delete(draft, by="eve", now=NOW + 2 * HOUR)
    started, changed, deleted = noted("draft", draft.id)
    assert [(e.by, e.what) for e in (started, changed, deleted)] == [
        ("eve", "started"),
        ("oscar", "changed"),
        ("eve", "deleted"),
    ]
    assert (changed.before, changed.after) == ({"title": "Idea"}, {"title": "Better"})


def test_brands_and_categories_are_noted():
    brand = make_brand("Vela", by="eve")
    brands.edit(brand, name="Vela", description="x" * 600, logo=None, by="oscar", now=NOW + HOUR)
    added, changed = noted("brand", "vela")
    assert (added.by, added.what, added.after) == ("eve", "added", {"name": "Vela"})
    assert (changed.by, len(changed.after["description"])) == ("oscar", 500)
    measured(brands.create_many)(["Lyra", "Norma"], by="eve", now=NOW)
    assert words("brand", "lyra") == [("eve", "added with 1 others")]
    measured(categories.create)("toys-hobbies")
    toys = categories.get("toys-hobbies")
    categories.edit(toys, name="Toys", description="", logo=None, by="eve", now=NOW)
    (edited,) = noted("category", "toys-hobbies")
    assert (edited.before, edited.after) == (
        {"name": "Toys & Hobbies"},
        {"name": "Toys", "also": "Toys & Hobbies"},
    )


def test_featured_lists_are_noted_in_their_order():
    one, other = make_deal(title="One"), make_deal(title="Other")
    page, found = featured.load("front", [one.id, other.id])
    page = featured.set_featured(page, [found[other.id], found[one.id]], version=0, by="eve", now=NOW)
    _, found = featured.load("front", [one.id])
    featured.set_featured(page, [found[one.id]], version=1, by="oscar", now=NOW + HOUR)
    first, second = noted("page", "front")
    assert first.after["deals"] == f"1. Other ({other.id})\n2. One ({one.id})"
    assert (second.by, second.before, second.after["deals"]) == ("oscar", first.after, f"1. One ({one.id})")


def test_messages_and_the_pausing_of_jobs_are_noted():
    message = make_announcement(make_deal().id, make_id(NOW + HOUR), by="eve")
    measured(queue.pause)(message, by="oscar", now=NOW)
    queue.pause(message, by="oscar", now=NOW)
    measured(queue.resume)(message, by="oscar", now=NOW + HOUR)
    measured(queue.cancel)(message, by="eve", now=NOW + 2 * HOUR)
    (sent,) = noted("message", message)
    assert (sent.by, sent.what, sent.after["to"]) == ("eve", "planned", "all users")
    assert words("job", message) == [("oscar", "paused"), ("oscar", "resumed"), ("eve", "cancelled")]
    measured(announcements.send)(
        make_deal().id,
        message_id=message,
        headline="Again",
        text="",
        audience=announcements.Audience(),
        by="eve",
        now=NOW,
    )
    assert len(noted("message", message)) == 1


def test_roles_are_noted_when_they_change():
    make_user("ada")
    for n in range(2):
        users.give_role("ada", "editor", by="root", now=NOW + n * HOUR)
    for n in range(2, 4):
        users.take_role("ada", "editor", by="root", now=NOW + n * HOUR)
    assert words("user", "ada") == [("root", "given the role editor"), ("root", "lost the role editor")]
    with pytest.raises(NotFound):
        users.give_role("nobody", "editor", by="root", now=NOW)
    assert noted("user", "nobody") == []


def entry(number: int, *, by: str = "eve", subject: str = "front", days: int = 0) -> None:
    now = NOW + timedelta(seconds=number) - days * DAY
    # A transaction: its token saves it where the answer to the first of two attempts is lost.
    table.transact([audit.entry_write(by=by, kind="page", subject=subject, what=f"no. {number}", now=now)])


def whats(log: Page[audit.Entry]) -> list[str]:
    return [entry.what for entry in log.rows]


@pytest.mark.moto
def test_the_log_is_read_by_day_person_and_thing_newest_first(wait_for_indexes):
    entry(1)
    entry(2, by="oscar")
    entry(3, subject="toys-hobbies")
    entry(4, days=1)
    wait_for_indexes()
    assert whats(audit.page(day=NOW.date())) == ["no. 3", "no. 2", "no. 1"]
    assert whats(measured(audit.page)(by="eve")) == ["no. 3", "no. 1", "no. 4"]
    assert whats(audit.page(by=" EVE ", day=NOW.date())) == ["no. 3", "no. 1"]
    assert whats(audit.page(kind="page", subject="front")) == ["no. 2", "no. 1", "no. 4"]
    assert whats(audit.page(kind="page", subject="front", day=(NOW - DAY).date())) == ["no. 4"]


def test_what_was_done_last_is_that_of_today_and_yesterday(wait_for_indexes):
    for number, days in ((1, 0), (2, 1), (3, 2), (4, 0)):
        entry(number, days=days)
    wait_for_indexes()
    newest = measured(audit.newest)
    assert [one.what for one in newest(now=NOW, most=5)] == ["no. 4", "no. 1", "no. 2"]
    assert [one.what for one in audit.newest(now=NOW, most=2)] == ["no. 4", "no. 1"]


def test_long_lists_take_pages_that_neither_repeat_nor_skip(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(audit, "PAGE_SIZE", 3)
    for number in range(8):
        entry(number // 2)  # two in each moment
    wait_for_indexes()
    for asked in ({"day": NOW.date()}, {"by": "eve"}, {"kind": "page", "subject": "front"}):
        seen, after = [], None
        for _ in range(3):
            log = audit.page(**asked, after=after)
            seen += log.rows
            after = log.after
        assert after is None
        assert len({one.id for one in seen}) == len(seen) == 8
        assert [one.at for one in seen] == sorted((one.at for one in seen), reverse=True)


@pytest.mark.parametrize(
    "asked", [{"by": "x"}, {"by": "a#b"}, {"by": "nobody"}, {"kind": "deal", "subject": "a#b"}]
)
def test_who_and_what_cannot_be_did_nothing(asked):
    assert audit.page(**asked) == Page([])


@pytest.mark.parametrize(
    "cursor", ["x", "2026#x", "#", f"2026-13-01T00:00:00.000Z#{make_id()}", f"~#{make_id()}"]
)
def test_a_cursor_of_another_form_is_refused(cursor):
    with pytest.raises(BadCursor):
        audit.page(day=NOW.date(), after=cursor)


def test_somebody_something_or_a_day_has_to_be_asked_for():
    with pytest.raises(ValueError, match="a day"):
        audit.page(kind="deal")


def test_an_entry_is_never_written_over():
    write = audit.entry_write(by="eve", kind="page", subject="front", what="x", now=NOW)
    table.write(write)
    with pytest.raises(Conflict):
        table.write(write)
    assert keys.audit.partition(NOW.date()) == write.key[0]


@pytest.mark.budget
def test_what_the_log_costs():
    entry(1)
    with table.metered() as meter:
        audit.page(day=NOW.date())
        audit.page(by="eve")
        audit.page(kind="page", subject="front")
    assert [operation for operation, _ in meter.log] == [
        "Query",
        "Query",
        "BatchGetItem",
        "Query",
        "BatchGetItem",
    ]
