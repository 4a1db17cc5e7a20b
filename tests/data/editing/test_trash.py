"""The trash: what was deleted comes back whole, or goes for good when its time is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, categories, deal_changes, deals, drafts, featured, lists
from dealsite.data.catalogue.content import DealContent
from dealsite.data.editing import audit, trash, trash_record, versions
from dealsite.data.entities.deals import HERE
from dealsite.data.entities.work import SITE
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.table import errors
from dealsite.data.table.writes import Delete, Put, Update
from tests import races
from tests.builders import DAY, EDITOR, HOUR, NOW, PICTURE, make_deal, make_draft, make_id
from tests.jobs import run_next
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")
JOB_DUE = NOW.replace(hour=0) + 31 * DAY
LATER = NOW + HOUR


def feature(page_id: str, deal: deals.Deal) -> None:
    page, found = featured.load(page_id, [deal.id])
    featured.set_featured(page, [found[deal.id]], version=page.version, by=EDITOR, now=NOW)


def delete(deal: deals.Deal) -> None:
    deal_changes.delete(deals.get(deal.id), by="oscar", now=NOW)


def restore(thing: deals.Deal | drafts.Draft) -> trash.RestoreResult:
    kind = "deal" if isinstance(thing, deals.Deal) else "draft"
    return trash.restore(kind, thing.id, by=EDITOR, now=LATER)


def reprice(deal: deals.Deal, price: str) -> deals.Deal:
    content = replace(deal.content, price=Decimal(price))
    return deal_changes.edit(
        deal, content, version=deal.version, brand=brands.get(content.brand), by=EDITOR, now=NOW
    )


def stored(deal_id: str) -> tuple[dict, dict]:
    """Return the items of a deal and its offer."""
    items = table.batch_get([keys.deal(deal_id), keys.offer(deal_id)])
    return items[keys.deal(deal_id)], items[keys.offer(deal_id)]


def test_a_deal_comes_back_as_it_was(wait_for_indexes):
    deal = make_deal(
        sold=HERE, stock=3, expires_at=NOW + DAY, picture=PICTURE, voucher_code="SAVE", announce=True
    )
    reprice(deal, "69.90")
    item, offer = stored(deal.id)
    delete(deal)
    with pytest.raises(errors.NotFound):
        deals.get(deal.id)
    assert restore(deal) == trash.RestoreResult("deal", deal.id, deal.content.title)
    again, same_offer = stored(deal.id)
    changes = {"version": 3, "writes": item["writes"] + 1, "updated_by": EDITOR}
    different = ("last_edit", "updated_at")
    assert {name: value for name, value in again.items() if name not in different} == {
        name: value for name, value in (item | changes).items() if name not in different
    }
    assert same_offer == offer
    wait_for_indexes()
    card = deals.get(deal.id).card
    assert lists.front_page(now=NOW)[1].cards == [card]
    assert measured(lists.brand_page)("nordlicht", now=NOW)[1].cards == [card]
    assert lists.category_page("peripherals-networking", now=NOW)[2].cards == [card]
    assert [one.price for one in deals.prices_of(deal.id)] == [Decimal("79.90"), Decimal("69.90")]
    assert brands.get_with_counts("nordlicht").deals == 1
    assert measured(categories.get_with_counts)("peripherals-networking").deals == 1
    assert measured(trash.newest)().rows == []


def test_where_it_was_featured_is_said_and_not_done_again():
    deal = make_deal()
    feature("front", deal)
    feature("peripherals-networking", deal)
    delete(deal)
    assert trash_record.get("deal", deal.id).featured_on == ("front", "peripherals-networking")
    assert restore(deal).was_featured_on == ("front", "peripherals-networking")
    assert deals.get(deal.id).featured_on == frozenset()
    assert featured.get("front").cards == []
    feature("front", deal)
    assert featured.get("front").ids == [deal.id]


def test_the_trash_lists_what_was_deleted_last_first(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(trash, "PAGE_SIZE", 2)
    deal, draft = make_deal(title="A deal"), make_draft(title="A draft")
    untitled = make_draft()
    deal_changes.delete(deal, by="oscar", now=NOW)
    drafts.delete(draft, by=EDITOR, now=NOW + HOUR)
    drafts.delete(untitled, by=EDITOR, now=NOW + HOUR)
    wait_for_indexes()
    first = trash.newest()
    rest = trash.newest(after=first.after)
    shown = [(one.kind, one.id, one.card.title, one.by, one.at) for one in (*first.rows, *rest.rows)]
    assert shown == [
        ("draft", untitled.id, "", EDITOR, NOW + HOUR),
        ("draft", draft.id, "A draft", EDITOR, NOW + HOUR),
        ("deal", deal.id, "A deal", "oscar", NOW),
    ]
    assert rest.after is None
    assert rest.rows[0].until == NOW + 30 * DAY


@pytest.mark.parametrize(
    "cursor",
    ["x", "#", "2026-11-21T12:00:00.000Z", "2026-11-21T12:00:00.000Z#user#" + "0" * 26, "1#deal#x", "\x00"],
)
@pytest.mark.engines("native")
def test_a_cursor_that_is_none_is_refused(cursor):
    with pytest.raises(errors.BadCursor):
        trash.newest(after=cursor)


def test_deleting_and_restoring_is_noted(wait_for_indexes):
    deal = make_deal()
    delete(deal)
    restore(deal)
    delete(deal)
    measured(trash.purge)("deal", deal.id, by="root", now=LATER)
    wait_for_indexes()
    notes = audit.page(day=NOW.date()).rows
    done = [(entry.what, entry.by) for entry in reversed(notes) if entry.subject == deal.id]
    assert sorted(done) == sorted(
        [
            ("published", EDITOR),
            ("deleted", "oscar"),
            ("restored", EDITOR),
            ("deleted", "oscar"),
            ("deleted for good", "root"),
        ]
    )


def test_restoring_twice_is_harmless():
    deal = make_deal()
    delete(deal)
    restore(deal)
    back = deals.get(deal.id)
    assert restore(deal) == trash.RestoreResult("deal", deal.id, deal.content.title)
    assert deals.get(deal.id) == back
    assert brands.get_with_counts("nordlicht").deals == 1


@pytest.mark.parametrize("kind", ["deal", "draft", "user", ""])
def test_what_is_not_in_the_trash_is_not_found(kind):
    with pytest.raises(errors.NotFound):
        trash.restore(kind, make_id(), by=EDITOR, now=NOW)
    with pytest.raises(errors.NotFound):
        trash.restore(kind, "x", by=EDITOR, now=NOW)


def test_a_deal_comes_back_with_the_name_that_its_brand_has_by_then():
    deal = make_deal()
    delete(deal)
    brands.edit(brands.get("nordlicht"), name="Aurora", description="", logo=None, by=EDITOR, now=NOW)
    restore(deal)
    assert deals.get(deal.id).card.brand_name == "Aurora"
    run_next(now=NOW)


def test_a_brand_renamed_while_its_deal_comes_back_is_noticed(monkeypatch):
    deal = make_deal()
    delete(deal)
    old = brands.get("nordlicht")
    measured(brands.edit)(old, name="Aurora", description="", logo=None, by=EDITOR, now=NOW)
    found = [old]
    real = brands.get
    monkeypatch.setattr(brands, "get", lambda slug: found.pop() if found else real(slug))
    restore(deal)
    assert deals.get(deal.id).card.brand_name == "Aurora"
    run_next(now=NOW)


def test_a_deal_whose_brand_is_gone_says_so():
    deal = make_deal()
    delete(deal)
    brand = table.get(keys.brand("nordlicht"))
    table.write(Delete(key=keys.brand("nordlicht")))
    with pytest.raises(errors.Conflict, match="Its brand, Nordlicht, does not exist any more"):
        restore(deal)
    assert brand is not None
    table.write(Put(key=keys.brand("nordlicht"), item=brand))
    restore(deal)


def test_an_id_that_is_taken_again_is_said():
    deal = make_deal()
    delete(deal)
    make_deal(deal_id=deal.id, title="Another")
    with pytest.raises(errors.AlreadyExists, match="There is a deal with this id again"):
        restore(deal)
    trash.purge("deal", deal.id, by=EDITOR, now=LATER)
    assert deals.get(deal.id).content.title == "Another"
    assert len(deals.prices_of(deal.id)) == 1


def test_pieces_sold_while_a_deal_is_deleted_stay_sold(monkeypatch):
    deal = make_deal(stock=3)
    real, sold = trash_record.keep_writes, [3]

    def late(*args, **more):
        if sold:
            table.write(Update(key=keys.offer(deal.id), add={"stock": -sold.pop()}))
        return real(*args, **more)

    monkeypatch.setattr(trash_record, "keep_writes", late)
    delete(deal)
    restore(deal)
    assert deals.get(deal.id).stock == 0
    assert deals.get(deal.id).card.sold_out


def test_a_scheduled_deal_comes_back_to_its_time():
    deal = make_deal(live_at=NOW + DAY, announce=True)
    delete(deal)
    restore(deal)
    assert deals.get(deal.id).card.state(NOW) == "scheduled"
    assert deals.get(deal.id).announced


def test_a_draft_comes_back_as_it_was(wait_for_indexes):
    draft = make_draft(title="Half", brand="Nordlicht", stock=4)
    drafts.delete(draft, by=EDITOR, now=NOW)
    with pytest.raises(errors.NotFound):
        drafts.get(draft.id)
    restore(draft)
    again = drafts.get(draft.id)
    assert again == replace(draft, version=2, updated_at=LATER, last_edit=again.last_edit)
    assert restore(draft).title == "Half"
    assert drafts.get(draft.id) == again


def test_a_draft_comes_back_without_its_brand():
    draft = make_draft(title="Half", brand="Nordlicht")
    drafts.delete(draft, by=EDITOR, now=NOW)
    brand = table.get(keys.brand("nordlicht"))
    table.write(Delete(key=keys.brand("nordlicht")))
    restore(draft)
    assert drafts.get(draft.id).card.brand_name == "Nordlicht"
    assert brand is not None
    table.write(Put(key=keys.brand("nordlicht"), item=brand))


def test_a_draft_that_was_saved_again_stays():
    draft = make_draft(title="Half")
    drafts.delete(draft, by=EDITOR, now=NOW)
    make_draft(draft_id=draft.id, title="Anew")
    with pytest.raises(errors.AlreadyExists, match="There is a draft with this id again"):
        restore(draft)
    assert drafts.get(draft.id).content.title == "Anew"


def test_a_draft_edited_since_is_not_deleted():
    draft = make_draft(title="Half")
    edited = drafts.save(draft, DealContent(title="More"), version=1, by="otto", now=NOW)
    with pytest.raises(errors.VersionConflict) as conflict:
        drafts.delete(draft, by=EDITOR, now=NOW)
    assert conflict.value.current == edited


# Emptying


def run_emptying(now) -> None:
    while run_next(now=now):
        pass


def test_the_trash_is_emptied_when_thirty_days_are_over(wait_for_indexes):
    deal, draft = make_deal(), make_draft(title="Half")
    delete(deal)
    drafts.delete(draft, by=EDITOR, now=NOW)
    wait_for_indexes()
    run_emptying(JOB_DUE - timedelta(seconds=1))
    assert measured(trash_record.find)("deal", deal.id)
    run_emptying(JOB_DUE)
    wait_for_indexes()
    assert trash.newest().rows == []
    assert (trash_record.find("deal", deal.id), trash_record.find("draft", draft.id)) == (None, None)
    assert deals.prices_of(deal.id) == []
    assert jobs.get(trash_record.emptying_id(NOW.date())).state == "done"
    assert [entry.by for entry in audit.of_target("deal", deal.id) if "good" in entry.what] == [SITE]
    with pytest.raises(errors.NotFound):
        restore(deal)


def test_what_came_back_stays(wait_for_indexes):
    deal = make_deal()
    delete(deal)
    restore(deal)
    wait_for_indexes()
    run_emptying(JOB_DUE)
    assert deals.get(deal.id).version == 2
    assert len(deals.prices_of(deal.id)) == 1


def test_what_was_deleted_anew_has_thirty_days_from_then(wait_for_indexes):
    deal = make_deal()
    delete(deal)
    restore(deal)
    deal_changes.delete(deal, by=EDITOR, now=NOW + 5 * DAY)
    wait_for_indexes()
    run_emptying(JOB_DUE)
    assert not trash.purge("deal", deal.id, by=SITE, now=JOB_DUE, until=JOB_DUE - 30 * DAY)
    assert trash_record.find("deal", deal.id)
    run_emptying(JOB_DUE + 5 * DAY)
    assert trash_record.find("deal", deal.id) is None


def test_what_is_restored_and_deleted_anew_while_it_is_purged_stays_in_the_trash(monkeypatch):
    deal = make_deal()
    delete(deal)
    real = trash._history

    def meanwhile(found):
        monkeypatch.setattr(trash, "_history", real)
        restore(deal)
        deal_changes.delete(deal, by=EDITOR, now=NOW + 5 * DAY)
        return real(found)

    monkeypatch.setattr(trash, "_history", meanwhile)
    assert not trash.purge("deal", deal.id, by=SITE, now=JOB_DUE, until=JOB_DUE - 30 * DAY)
    assert trash_record.find("deal", deal.id).at == NOW + 5 * DAY


def test_a_day_with_many_deletions_is_emptied_in_steps(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(trash, "EMPTIED_AT_ONCE", 2)
    for number in range(5):
        drafts.delete(make_draft(title=f"{number}"), by=EDITOR, now=NOW)
    wait_for_indexes()
    for _ in range(20):
        run_emptying(JOB_DUE)
        wait_for_indexes()
    assert trash.newest().rows == []
    assert jobs.get(trash_record.emptying_id(NOW.date())).state == "done"


@pytest.mark.engines("native", "local")
def test_many_prices_go_a_few_at_a_time_and_nothing_comes_back_in_between(monkeypatch):
    monkeypatch.setattr(versions, "ROOM", 3)
    deal = make_deal()
    for number in range(7):
        deal = reprice(deal, str(60 + number))
    delete(deal)
    real, left = table.transact, [1]

    def crash(writes):
        if not left:
            raise errors.Unavailable
        left.pop()
        real(writes)

    with monkeypatch.context() as context:
        context.setattr(table, "transact", crash)
        with pytest.raises(errors.Unavailable):
            trash.purge("deal", deal.id, by=EDITOR, now=LATER)
    assert len(deals.prices_of(deal.id)) == 5
    assert trash_record.get("deal", deal.id).is_being_emptied
    with pytest.raises(errors.Conflict, match="being deleted for good"):
        restore(deal)
    trash.purge("deal", deal.id, by=EDITOR, now=LATER)
    assert deals.prices_of(deal.id) == []


def test_deleting_for_good_twice_is_harmless():
    deal = make_deal()
    delete(deal)
    assert trash.purge("deal", deal.id, by=EDITOR, now=LATER)
    assert not trash.purge("deal", deal.id, by=EDITOR, now=LATER)


# Races


@pytest.mark.engines("native", "local")
def test_a_deal_deleted_and_restored_by_many_is_there_once_or_in_the_trash():
    deal = make_deal()
    delete(deal)
    restores = [partial(trash.restore, "deal", deal.id, by=name, now=LATER) for name in ("ann", "bob", "eve")]
    assert not [one for one in races.at_once(*restores) if isinstance(one, Exception)]
    assert deals.get(deal.id).version == 2
    deal = deals.get(deal.id)
    results = races.at_once(*[partial(deal_changes.delete, deal, by="ann", now=NOW)] * 3)
    assert not [one for one in results if isinstance(one, Exception)]
    races.at_once(*restores, partial(deal_changes.delete, deal, by="ann", now=NOW))
    there, in_trash = deals.get_many([deal.id]), trash_record.find("deal", deal.id)
    assert len(there) + (in_trash is not None) == 1
    assert brands.get_with_counts("nordlicht").deals == len(there)


@pytest.mark.engines("native", "local")
def test_a_deal_deleted_while_it_is_edited_and_sold_comes_back_with_what_it_had():
    deal = make_deal(stock=5)
    races.at_once(
        partial(deal_changes.delete, deal, by="ann", now=NOW),
        partial(reprice, deal, "60"),
        partial(table.write, Update(key=keys.offer(deal.id), add={"stock": -1}, when=())),
    )
    if table.get(
        keys.offer(deal.id)
    ):  # the sale, which checks nothing here, came after: not what a checkout does
        table.write(Delete(key=keys.offer(deal.id)))
    restore(deal)
    back = deals.get(deal.id)
    assert back.content.price == deals.prices_of(deal.id)[-1].price


@pytest.mark.engines("native", "local")
def test_what_is_restored_while_the_trash_is_emptied_is_whole_or_gone():
    for _ in range(4):
        deal = make_deal()
        delete(deal)
        races.at_once(
            partial(trash.restore, "deal", deal.id, by="ann", now=LATER),
            partial(trash.purge, "deal", deal.id, by="bob", now=LATER),
        )
        assert trash_record.find("deal", deal.id) is None
        assert len(deals.prices_of(deal.id)) == len(deals.get_many([deal.id]))


@pytest.mark.engines("native", "local")
def test_many_things_deleted_at_once_have_one_job():
    made = [make_deal() for _ in range(6)]
    results = races.at_once(*[partial(deal_changes.delete, deal, by="ann", now=NOW) for deal in made])
    assert not [one for one in results if isinstance(one, Exception)]
    assert jobs.get(trash_record.emptying_id(NOW.date())).state == "open"


def test_a_trash_that_nobody_empties_is_found():
    delete(make_deal())
    table.write(Delete(key=keys.job(trash_record.emptying_id(NOW.date()))))
    (problem,) = checks.find()
    assert "No job empties" in problem.what
    assert checks.repair(problem)


@pytest.mark.budget
def test_what_deleting_and_restoring_cost():
    deal = make_deal()
    with table.metered() as meter:
        deal_changes.delete(deal, by=EDITOR, now=NOW)
    assert next(operation for operation, _ in meter.log) == "BatchGetItem"
    with table.metered() as meter:
        restore(deal)
    operations = [operation for operation, _ in meter.log]
    assert operations[:2] == ["GetItem", "GetItem"]
    assert set(operations[2:]) == {"TransactWriteItems"}
