"""Files for the back office: asked for once, listed newest first, and all of what was asked for goes into one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite.data.commerce import orders
from dealsite.data.commerce.payment import charging
from dealsite.data.editing import audit
from dealsite.data.entities.work import ADMINS_EXPORT, EDITORS_EXPORT, EXPORT
from dealsite.data.jobs import exports, jobs
from dealsite.data.jobs.payloads import UnknownVersion
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from dealsite.gateways.testing import TestGateway
from tests.builders import DAY, HOUR, NOW, make_deal
from tests.measuring import measured
from tests.orders import make_order
from tests.payments import close_day, owe, run
from tests.people import make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(exports, "READ_AT_ONCE", 4)
    monkeypatch.setattr(exports, "ORDERS_AT_ONCE", 2)
    monkeypatch.setattr(exports, "PAYMENTS_AT_ONCE", 2)
    monkeypatch.setattr(charging, "THREADS", 1)


def want(what=exports.ORDERS, status="", first=NOW - DAY, until=NOW + DAY):
    return exports.ExportRequest(what, status, first, until, "UTC", "olga")


def ask(job_id=None, now=NOW, **words):
    job_id = job_id or new_ulid(now)
    exports.request(want(**words), kind=EXPORT, job_id=job_id, now=now)
    return job_id


def found(**words):
    """Return the ids of the orders that a file would hold, in its order."""
    wanted = want(**words)
    cards = [card for _, some in exports.find_orders(wanted) for card in some]
    return [order.id for some in exports.read_orders(cards) for order in some]


def paid(**words):
    rows = [row for some in exports.find_payments(want(exports.PAYMENTS, **words)) for row in some]
    return [row.id for row in rows]


def test_a_file_is_asked_for_with_its_deletion_and_a_note_of_who_did(wait_for_indexes):
    job_id = ask(status="PLACED")
    wait_for_indexes()
    export = measured(exports.get)(job_id, now=NOW)
    assert export.payload == want(status="PLACED")
    assert export.kept_until == NOW + 7 * DAY
    (entry,) = audit.of_target("export", job_id)
    assert (entry.by, entry.what, entry.at) == ("olga", "asked for a file of orders", NOW)
    job = jobs.take_next(now=NOW)
    assert (job.id, job.kind) == (job_id, EXPORT)
    jobs.finish(job)
    wait_for_indexes()
    assert jobs.take_next(now=NOW + 7 * DAY - SECOND) is None
    deletion = jobs.take_next(now=NOW + 7 * DAY)
    assert (deletion.kind, deletion.payload) == (exports.DELETE_EXPORT, {"export": job_id})


SPAN = {
    "what": "orders",
    "status": "PLACED",
    "first": "2026-11-20T12:00:00.000Z",
    "until": "2026-11-22T12:00:00.000Z",
    "zone": "UTC",
    "by": "olga",
}
LIST = {"what": "deals", "filters": {"state": "live"}, "zone": "Europe/Berlin", "by": "eve"}


@pytest.mark.parametrize("stored", [SPAN, LIST])
def test_what_a_file_is_to_hold_is_stored_as_ever_and_another_version_of_it_refused(stored):
    payload = exports.payload_of(jobs.Job(new_ulid(NOW), EXPORT, stored))
    assert payload == (
        want(status="PLACED")
        if stored is SPAN
        else exports.ListRequest("deals", {"state": "live"}, "Europe/Berlin", "eve")
    )
    job_id = new_ulid(NOW)
    exports.request(payload, kind=EXPORT, job_id=job_id, now=NOW)
    assert jobs.get(job_id).payload == stored
    for other in (stored | {"version": 2}, stored | {"columns": "id"}):
        with pytest.raises(UnknownVersion):
            exports.payload_of(jobs.Job(new_ulid(NOW), EXPORT, other))


def test_files_of_an_audience_are_listed_for_it_alone(wait_for_indexes):
    office = ask()
    made = {}
    for what, kind in ((exports.DEALS, EDITORS_EXPORT), (exports.AUDIT, ADMINS_EXPORT)):
        made[what] = new_ulid(NOW)
        wanted = exports.ListRequest(what, {"state": "live"}, "UTC", "eve")
        measured(exports.request)(wanted, kind=kind, job_id=made[what], now=NOW)
        assert exports.get(made[what], now=NOW).payload == wanted
    wait_for_indexes()
    assert [one.job.id for one in exports.newest(exports.OFFICE).exports] == [office]
    assert [one.job.id for one in exports.newest(exports.EDITORS).exports] == [made[exports.DEALS]]
    assert [one.job.id for one in exports.newest(exports.ADMINS).exports] == [made[exports.AUDIT]]
    (entry,) = audit.of_target("export", made[exports.DEALS])
    assert (entry.what, entry.note) == ("asked for a file of deals", "state: live")


def test_asking_again_is_harmless(wait_for_indexes):
    job_id = ask()
    ask(job_id)
    wait_for_indexes()
    assert [one.job.id for one in exports.newest().exports] == [job_id]
    assert len(audit.of_target("export", job_id)) == 1


def test_of_many_who_ask_for_one_file_at_once_one_does(wait_for_indexes):
    job_id = new_ulid(NOW)
    outcomes = at_once(*[lambda: ask(job_id)] * 20)
    assert outcomes == [job_id] * 20
    wait_for_indexes()
    assert len(audit.of_target("export", job_id)) == 1


def test_a_file_is_known_for_a_week():
    job_id = ask()
    assert exports.get(job_id, now=NOW + 7 * DAY - SECOND)
    for what, now in ((job_id, NOW + 7 * DAY), ("x", NOW), (new_ulid(NOW, 1), NOW)):
        with pytest.raises(errors.NotFound):
            exports.get(what, now=now)


def test_files_are_listed_newest_first_on_pages_that_skip_and_repeat_nothing(wait_for_indexes):
    made = [ask(now=NOW + number * SECOND) for number in range(60)][::-1]
    wait_for_indexes()
    first = measured(exports.newest)()
    second = exports.newest(after=first.after)
    third = exports.newest(after=second.after)
    assert [[one.job.id for one in page.exports] for page in (first, second, third)] == [
        made[:25],
        made[25:50],
        made[50:],
    ]
    assert (first.before, third.after) == (None, None)
    assert [one.job.id for one in exports.newest(before=third.before).exports] == made[25:50]


@pytest.mark.parametrize(
    "cursors", [{"after": "x"}, {"before": "x"}, {"after": "0" * 26, "before": "0" * 26}]
)
def test_a_damaged_cursor_is_refused(cursors):
    with pytest.raises(errors.BadCursor):
        exports.newest(**cursors)


def test_orders_of_a_span_and_a_status_are_found_each_once_in_the_order_they_were_placed(wait_for_indexes):
    deal = make_deal(live_at=NOW - 9 * DAY)
    times = [NOW - 2 * DAY, NOW - DAY, *(NOW - HOUR + number * SECOND for number in range(7)), NOW + DAY]
    made = [make_order(f"shopper{n}", deal, now=at) for n, at in enumerate(times)]
    measured(orders.ship)(made[3].username, made[3].id, by="olga", now=NOW)
    orders.cancel(made[4].username, made[4].id, by="olga", now=NOW)
    wait_for_indexes()
    inside = [order.id for order in made[1:-1]]  # a span's first moment is in it, its last is not
    assert found() == inside
    assert found(status=orders.SHIPPED) == [made[3].id]
    assert found(status=orders.CANCELLED) == [made[4].id]
    assert found(status=orders.PLACED) == [one for one in inside if one not in (made[3].id, made[4].id)]
    assert found(status=orders.DELIVERED) == []


def test_payments_of_a_span_and_a_status_are_found_each_once_closed_days_too(wait_for_indexes):
    for username in ("ada", "zoe", *(f"user{n}" for n in range(2, 7))):
        make_user(username)
    early = owe(method="test:approve", account="ada", first=NOW - 2 * DAY)[0]
    some = [owe(account=f"user{n}", order_number=n, first=NOW + HOUR)[0].id for n in range(2, 7)]
    later = owe(account="zoe", order_number=9, first=NOW + 3 * DAY)[0]
    wait_for_indexes()
    run(TestGateway(), NOW)
    wait_for_indexes()
    assert sorted(paid(status="SCHEDULED")) == sorted(some)
    assert paid(status="PROCESSED") == [early.id]
    assert later.id in paid(until=NOW + 4 * DAY)
    close_day(NOW.date())
    wait_for_indexes()
    assert paid(status="PROCESSED") == []
    assert paid(status=exports.CLOSED) == [early.id]
    assert sorted(paid()) == sorted([*some, early.id])
    assert paid(first=NOW + HOUR + SECOND) == []  # within a day, the time of day counts


def test_orders_of_a_few_days_are_found_by_one_scan(wait_for_indexes):
    placed = make_order("ada")
    wait_for_indexes()
    assert [card.id for _, some in measured(exports.find_orders)(want()) for card in some] == [placed.id]
