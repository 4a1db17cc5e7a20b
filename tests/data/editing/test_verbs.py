"""Each verb, done to one deal or draft within the request and taken back: what it leaves, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import deals, drafts, featured
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.editing.verbs.chart import ALL, VERBS
from dealsite.data.entities.deals import CODE, SHOP
from dealsite.data.entities.imports import CHANGED
from dealsite.data.jobs import jobs
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import iso
from dealsite.data.table.writes import Update
from dealsite.worker import bulk as running
from dealsite.worker.bulk import Outcome, change_at_once, undo_at_once
from tests.builders import DAY, EDITOR, HOUR, NOW, Clock, make_deal, make_id
from tests.data.editing.verb_cases import (
    AT_SHOP,
    CASES,
    EACH,
    KEYBOARDS,
    MINUTE,
    edit,
    held,
    list_on_front,
    made_for,
)

pytestmark = pytest.mark.usefixtures("whole_table")
JOB, UNDO = make_id(NOW, 1), make_id(NOW + HOUR, 2)


@pytest.fixture(autouse=True)
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done at once is done at the moment that the request began."""
    monkeypatch.setattr(running, "monotonic", Clock())


def test_each_verb_has_a_case_here():
    assert CASES.keys() == VERBS.keys() - {"arrange", "edit", "import"}  # which forms and files do


def noted_in_log() -> list[tuple[str, str, str]]:
    rows = [row for row in table.scan_all(consistent=True) if row["type"] == "AuditEntry"]
    return [(row["id"], row["card"]["by"], row["card"]["what"]) for row in rows]


def do(change: BulkChange, *ids: str, job_id: str = JOB, now: datetime = NOW) -> Outcome:
    return change_at_once(change, ids, job_id=job_id, by=EDITOR, asked_at=NOW, now=now)


def take_back(undo_id: str = UNDO, *, of: str = JOB, now: datetime = NOW + HOUR) -> Outcome:
    return undo_at_once(bulk.get(of), undo_id=undo_id, by="oscar", now=now)


def is_on_record(job_id: str, outcome: Outcome) -> bool:
    """Whether a job is over, and its rows and count are what was said of it."""
    job, rows = jobs.get(job_id), bulk.rows(job_id, CHANGED)
    progress = (job.progress["total"], job.progress["changed"], job.progress["refused"])
    has_end = "ttl" in (table.get(keys.job(job_id)) or {})
    return (job.state, progress, rows, has_end) == ("done", (1, 1, 0), outcome.changed, True)


@pytest.mark.parametrize(("name", "kind"), EACH)
def test_a_verb_changes_one_at_once_and_is_taken_back(name, kind):
    case = CASES[name]
    made = made_for(case, kind)
    before, log = held(), noted_in_log()
    outcome = do(BulkChange(kind, name, case.value), made.id)
    (row,) = outcome.changed
    assert (outcome.job_id, outcome.refused, outcome.is_over) == (JOB, [], True)
    assert (row.id, row.title) == (made.id, "Desk")
    assert row.before == (made.id if case.before is None else case.before)
    assert case.after is None or row.after == case.after
    assert case.shows(kind, row) == case.becomes
    assert is_on_record(JOB, outcome)
    assert [it[1:] for it in noted_in_log() if it not in log] == [(EDITOR, case.entries[0])]
    log = noted_in_log()
    undone = take_back()
    assert (undone.job_id, undone.refused, undone.is_over) == (UNDO, [], True)
    assert held() == before
    assert is_on_record(UNDO, undone)
    assert bulk.get(JOB).undone_by == UNDO
    assert [it[1:] for it in noted_in_log() if it not in log] == [("oscar", case.entries[1])]


@pytest.mark.parametrize(("name", "kind"), EACH)
def test_what_somebody_else_changed_since_is_not_taken_back(name, kind):
    case = CASES[name]
    made = made_for(case, kind)
    (row,) = do(BulkChange(kind, name, case.value), made.id).changed
    case.someone_else(kind, row)
    theirs, log = held(), noted_in_log()
    outcome = take_back()
    assert [it.reason for it in outcome.refused] == [case.reason.format(kind=kind)]
    assert (outcome.job_id, outcome.changed, held(), noted_in_log()) == ("", [], theirs, log)
    assert bulk.get(JOB).undone_by == ""
    with pytest.raises(NotFound):
        jobs.get(UNDO)


@pytest.mark.parametrize(("name", "kind"), EACH)
def test_the_same_job_again_changes_nothing_more(name, kind):
    case = CASES[name]
    made = made_for(case, kind)
    change = BulkChange(kind, name, case.value)
    first, there, log = do(change, made.id), held(), noted_in_log()
    assert do(change, made.id, now=NOW + MINUTE) == first
    assert (held(), noted_in_log()) == (there, log)


def test_an_undo_that_was_begun_twice_is_done_once():
    made = made_for(CASES["price"], "deal")
    do(BulkChange("deal", "price", "-10%"), made.id)
    as_seen = bulk.get(JOB)
    first = take_back()
    assert undo_at_once(as_seen, undo_id=UNDO, by="oscar", now=NOW + HOUR) == first
    other = undo_at_once(as_seen, undo_id=make_id(NOW + HOUR), by="oscar", now=NOW + HOUR)
    assert (other.job_id, other.changed) == ("", [])
    with pytest.raises(Conflict, match="undone already"):
        take_back(make_id(NOW + HOUR))
    with pytest.raises(Conflict, match="nothing to undo"):
        take_back(make_id(NOW + HOUR), of=UNDO)
    assert deals.get(made.id).version == 3


def test_a_request_that_comes_again_once_it_was_undone_does_nothing():
    made = made_for(CASES["price"], "deal")
    change = BulkChange("deal", "price", "-10%")
    do(change, made.id)
    take_back()
    there = held()
    outcome = do(change, made.id, now=NOW + 2 * HOUR)
    assert ((outcome.job_id, outcome.changed), len(outcome.refused)) == (("", []), 1)
    assert held() == there


def test_of_one_that_was_left_alone_nothing_is_kept():
    made = made_for(CASES["category"], "deal")
    log = noted_in_log()
    outcome = do(BulkChange("deal", "category", KEYBOARDS), made.id)
    assert [(row.id, row.reason) for row in outcome.refused] == [(made.id, "It is in this category already.")]
    assert (outcome.job_id, outcome.changed, noted_in_log()) == ("", [], log)
    with pytest.raises(NotFound):
        jobs.get(JOB)


def test_what_is_gone_is_said_to_be():
    outcome = do(BulkChange("deal", "delete"), make_id())
    assert (outcome.job_id, [row.reason for row in outcome.refused]) == ("", ["It was deleted meanwhile."])


# What others changed since the page was shown


@pytest.mark.parametrize("now", [NOW + HOUR, NOW + MINUTE / 2])  # while the others' request went on
@pytest.mark.parametrize(
    ("value", "is_now", "wanted"),
    [
        ("-10%", '["10.00", "", "", ""]', '["9.00", "", "", ""]'),
        ("=15.00 was", '["10.00", "", "", ""]', '["15.00", "10.00", "", ""]'),
    ],
)
def test_who_is_not_the_first_reads_both_values(value, is_now, wanted, now):
    made = make_deal(now=NOW - DAY, price=Decimal("20.00"), was_price=None)
    edit("deal", made.id, price=Decimal("10.00"))
    outcome = do(BulkChange("deal", "price", value), made.id, now=now)
    assert [(row.reason, row.before, row.after) for row in outcome.refused] == [
        ("olga changed it meanwhile.", is_now, wanted)
    ]
    assert deals.get(made.id).content.price == Decimal("10.00")


@pytest.mark.parametrize(("asked_at", "version", "number"), [(NOW, 2, 1), (NOW + HOUR, 1, 0)])
@pytest.mark.parametrize("name", ["price", "stock", "delete"])
def test_the_version_that_an_editor_saw_says_more_than_when_it_was_shown(name, asked_at, version, number):
    made = make_deal(now=NOW - DAY, price=Decimal("20.00"), was_price=None, stock=4)
    edit("deal", made.id, price=Decimal("10.00"))
    change, later = BulkChange("deal", name, CASES[name].value), NOW + HOUR
    outcome = change_at_once(
        change, [made.id], job_id=JOB, by=EDITOR, asked_at=asked_at, now=later, version=version
    )
    assert (len(outcome.changed), len(outcome.refused)) == (number, 1 - number)
    assert [row.reason for row in outcome.refused] == ["olga changed it meanwhile."] * (1 - number)


@pytest.mark.parametrize("name", ["stock", "delete"])
def test_what_counts_as_a_whole_is_left_alone_whatever_others_changed(name):
    made = made_for(CASES[name], "deal")
    edit("deal", made.id, title="Better")
    outcome = do(BulkChange("deal", name, CASES[name].value), made.id, now=NOW + HOUR)
    assert [row.reason for row in outcome.refused] == ["olga changed it meanwhile."]
    assert deals.get(made.id).version == 2


def test_what_one_changed_oneself_stands_against_nothing():
    made = made_for(CASES["price"], "deal")
    edit("deal", made.id, by=EDITOR, price=Decimal("19.00"))
    do(BulkChange("deal", "price", "-1"), made.id, now=NOW + HOUR)
    assert deals.get(made.id).content.price == Decimal("18.00")


# What is said of single verbs


def sell(deal_id: str, pieces: int) -> None:
    table.write(Update(key=keys.offer(deal_id), add={"stock": -pieces}))


@pytest.mark.parametrize(("was", "sold", "left"), [(3, 1, 2), (3, 5, 0), (8, 2, 6)])
def test_what_was_sold_since_the_stock_was_set_stays_sold(was, sold, left):
    made = make_deal(now=NOW - DAY, stock=was)
    do(BulkChange("deal", "stock", "6"), made.id)
    sell(made.id, sold)
    take_back()
    assert deals.get(made.id).stock == left


def test_a_stock_that_nobody_counted_is_not_counted_again():
    made = make_deal(now=NOW - DAY)
    do(BulkChange("deal", "stock", "6"), made.id)
    sell(made.id, 2)
    take_back()
    assert deals.get(made.id).stock is None


def test_a_stock_is_not_counted_any_more_and_comes_back():
    made = make_deal(now=NOW - DAY, stock=4)
    do(BulkChange("deal", "stock", ""), made.id)
    assert deals.get(made.id).stock is None
    take_back()
    assert deals.get(made.id).stock == 4


def test_without_a_code_a_shops_deal_is_one_without_and_becomes_one_with_again():
    made = make_deal(now=NOW - DAY, voucher_code="SAVE10")
    do(BulkChange("deal", "voucher", ""), made.id)
    content = deals.get(made.id).content
    assert (content.sold, content.voucher_code) == (SHOP, "")
    take_back()
    content = deals.get(made.id).content
    assert (content.sold, content.voucher_code) == (CODE, "SAVE10")


@pytest.mark.parametrize(
    ("name", "value", "ends"), [("expire", "", NOW), ("expiry", iso(NOW + DAY), NOW + DAY)]
)
def test_the_end_that_a_deal_had_does_not_come_back_once_it_has_passed(name, value, ends):
    made = make_deal(now=NOW - DAY, expires_at=NOW + MINUTE)
    do(BulkChange("deal", name, value), made.id)
    assert [row.reason for row in take_back().refused] == ["The end that it had has passed meanwhile."]
    assert deals.get(made.id).content.expires_at == ends


def test_a_deal_that_went_live_at_its_new_time_stays():
    made = make_deal(live_at=NOW + 2 * DAY, now=NOW - DAY)
    do(BulkChange("deal", "reschedule", iso(NOW + MINUTE)), made.id)
    assert [row.reason for row in take_back().refused] == [
        "It is live already, so its publication time cannot change any more."
    ]


def test_a_scheduled_deal_that_moves_keeps_its_places_and_has_its_old_id_again():
    made = make_deal(live_at=NOW + 2 * DAY, now=NOW - DAY)
    list_on_front(made.id)
    (row,) = do(BulkChange("deal", "reschedule", iso(NOW + 3 * DAY)), made.id).changed
    assert (row.after, featured.get("front").ids) == (featured.get("front").ids[0], [row.after])
    with pytest.raises(NotFound):
        deals.get(made.id)
    take_back()
    assert (deals.get(made.id).live_at, featured.get("front").ids) == (NOW + 2 * DAY, [made.id])


def test_a_copy_keeps_an_end_that_is_to_come():
    made = make_deal(now=NOW - DAY, expires_at=NOW + DAY)
    (row,) = do(BulkChange("deal", "duplicate"), made.id).changed
    assert drafts.get(row.after).content == made.content


REFUSALS = [
    ("expire", "", {"live_at": NOW + DAY}, "It is not published yet; delete it, or move its time."),
    ("expire", "", {"expires_at": NOW - MINUTE}, "It has expired already."),
    ("expiry", iso(NOW - MINUTE), {}, "This time has passed. Choose a later one."),
    (
        "expiry",
        iso(NOW + HOUR),
        {"live_at": NOW + DAY},
        "The deal would expire before it goes live. Choose a later time.",
    ),
    ("reschedule", iso(NOW + DAY), {}, "It is live already, so its publication time cannot change any more."),
    ("reschedule", iso(NOW - MINUTE), {"live_at": NOW + DAY}, "This time has passed. Choose a later one."),
    ("reschedule", iso(NOW + DAY), {"live_at": NOW + DAY}, "It goes live then already."),
    (
        "reschedule",
        iso(NOW + 3 * DAY),
        {"live_at": NOW + DAY, "expires_at": NOW + 2 * DAY},
        "The deal would expire before it goes live. Choose a later time.",
    ),
    (
        "price",
        "=20.00",
        {"price": None, "was_price": None, "condition": "20 % off", **AT_SHOP},
        "It has a condition instead of a price.",
    ),
    (
        "price",
        "-10%",
        {"price": None, "was_price": None, "condition": "20 % off", **AT_SHOP},
        "It has no price that could change.",
    ),
    ("price", "-20.00", {"price": Decimal("20.00")}, "Its price would be below one cent."),
    ("price", "-0.50 .99", {"price": Decimal("1.00")}, "Its price would be below one cent."),
    ("price", "+0", {"price": Decimal("20.00")}, "It costs that already."),
    (
        "price",
        "=130.00",
        {"price": Decimal("20.00"), "was_price": Decimal("30.00")},
        "The amount to compare with must be above the price. Leave it empty if there is none.",
    ),
    (
        "price",
        "+5.00 was",
        {"price": Decimal("20.00"), "was_price": Decimal("30.00")},
        "The amount to compare with must be above the price. Leave it empty if there is none.",
    ),
    (
        "was_price",
        "-5.00",
        {"price": Decimal("20.00")},
        "The amount to compare with must be above the price. Leave it empty if there is none.",
    ),
    (
        "was_price",
        "=9.00",
        {"price": None, "was_price": None, "condition": "20 % off", **AT_SHOP},
        "It has no price to compare with.",
    ),
    ("was_price", "", {"was_price": None}, "It is compared with that already."),
    ("stock", "5", AT_SHOP, "A shop sells it, so nobody counts."),
    ("stock", "5", {"stock": 5}, "It has this stock already."),
    ("voucher", "SAVE10", {}, "It is sold here, where no code is needed."),
    ("voucher", "SAVE10", {"voucher_code": "SAVE10"}, "It has this code already."),
    ("brand", "nordlicht", {}, "It is of this brand already."),
    ("brand", "unheard-of", {}, "Its brand does not exist any more."),
    ("unfeature", "front", {}, "It is not on this page."),
    ("feature", "front", {"expires_at": NOW - MINUTE}, "It has expired."),
]


@pytest.mark.parametrize(("name", "value", "content", "reason"), REFUSALS)
def test_what_cannot_be_done_to_a_deal_is_said_in_a_sentence(name, value, content, reason):
    made = make_deal(now=NOW - DAY, **content)
    outcome = do(BulkChange("deal", name, value), made.id)
    assert ([row.reason for row in outcome.refused], outcome.job_id) == ([reason], "")
    assert deals.get(made.id).version == 1


@pytest.mark.parametrize(
    ("name", "value", "content", "reason"),
    [
        ("publish", "", {"price": None}, "Enter the price, or what there is instead of one."),
        ("schedule", iso(NOW - MINUTE), {}, "This time has passed. Choose a later one."),
        (
            "schedule",
            iso(NOW + 2 * DAY),
            {"expires_at": NOW + DAY},
            "The deal would expire before it goes live. Choose a later time.",
        ),
    ],
)
def test_what_a_draft_lacks_is_said_in_a_sentence(name, value, content, reason):
    made = made_for(replace(CASES[name], content=content), "draft")
    outcome = do(BulkChange("draft", name, value), made.id)
    assert ([row.reason for row in outcome.refused], outcome.job_id) == ([reason], "")
    assert drafts.get(made.id).published_as == ""


@pytest.mark.parametrize("name", [verb.name for verb in ALL if "draft" in verb.kinds])
def test_nothing_is_done_to_a_draft_that_was_published(name):
    made = made_for(CASES["publish"], "draft")
    do(BulkChange("draft", "publish"), made.id)
    outcome = do(BulkChange("draft", name, CASES[name].value), made.id, job_id=make_id(NOW))
    assert [row.reason for row in outcome.refused] == ["It was published already."]
