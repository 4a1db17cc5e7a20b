"""An announcement reaches each of its recipients exactly once, whatever happens to those who carry it out."""

from __future__ import annotations

import contextlib
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brand_merges, brands, deal_changes, deals, publishing, relations
from dealsite.data.catalogue.relations import BRAND_WATCH, CATEGORY_WATCH
from dealsite.data.entities.work import SEND_MESSAGE, place_of
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs, queue
from dealsite.data.jobs.parts import PartPayload
from dealsite.data.people import announcements, messages, users
from dealsite.data.people.announcements import Audience
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Delete, Update
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    LINK,
    NOW,
    make_announcement,
    make_brand,
    make_category,
    make_content,
    make_deal,
    make_id,
)
from tests.jobs import run_next
from tests.measuring import measured
from tests.people import make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table", "all_are_editors")
DEAL, JOB = make_id(NOW - HOUR, 1), new_ulid(NOW, 2)
BRAND, TOYS = Audience(brand="nordlicht"), Audience(category="toys-hobbies")
BOTH = Audience(brand="nordlicht", category="toys-hobbies")
NAMES = ["ann", "bob", "dora", "eli", "kim", "lou", "rex", "zoe", "0day", "d.d", "d-d", "zzz"]


def seed(names=NAMES):
    """A deal, users, and those who watch: every second one its brand, every third one its category."""
    deal = make_deal(deal_id=DEAL, category="toys-hobbies")
    for number, name in enumerate(names):
        make_user(name)
        if number % 2 == 0:
            relations.add(relations.BRAND_WATCH, "nordlicht", username=name, now=NOW)
        if number % 3 == 0:
            relations.add(relations.CATEGORY_WATCH, "toys-hobbies", username=name, now=NOW)
    return deal


def send(audience=Audience(), message_id=JOB, **overrides):  # noqa: B008
    words = {"headline": "Look at this", "text": "Only today."} | overrides
    return make_announcement(DEAL, message_id, audience=audience, **words)


settle = {"wait": lambda: None}  # until indexes show what was written


def work(now=NOW):
    """Let a worker do what is due."""
    while run_next(now=now):
        settle["wait"]()


def received(message_id=JOB):
    """How often each user has the message."""
    rows = table.scan_all(consistent=True)
    return Counter(row["username"] for row in rows if row["type"] == "Message" and row["id"] == message_id)


def once(names):
    return Counter(dict.fromkeys(names, 1))


@pytest.fixture(autouse=True)
def small(monkeypatch, wait_for_indexes):
    """Pages and batches so small that a few users are many."""
    monkeypatch.setitem(settle, "wait", wait_for_indexes)
    monkeypatch.setattr(announcements, "PAGE", 3)
    monkeypatch.setattr(announcements, "BATCH", 2)
    monkeypatch.setattr(announcements, "PART_USERS", 3)


@pytest.mark.engines("native", "local")
def test_who_watches_a_merged_brand_is_told_until_that_is_undone():
    seed()
    for name, watchers in {
        "Vela": ("bob", "rex"),
        "Acme": ("bob", "d.d"),
    }.items():  # rex watches Nordlicht, too
        make_brand(name)
        for watcher in watchers:
            relations.add(BRAND_WATCH, name.lower(), username=watcher, now=NOW)
    brand_merges.merge(brands.get_with_counts("acme"), brands.get("vela"), by=EDITOR, now=NOW)
    work(NOW + HOUR)
    vela = brands.get_with_counts("vela")
    brand_merges.merge(vela, brands.get("nordlicht"), by=EDITOR, now=NOW + HOUR)
    work(NOW + 2 * HOUR)
    assert announcements.reach(BRAND).users == 6 + 4
    send(BRAND)
    work(NOW + 2 * HOUR)
    assert received() == dict.fromkeys({*NAMES[::2], "bob", "d.d"}, 1)
    brand_merges.undo(brands.get_with_counts("vela"), by=EDITOR, now=NOW + 3 * HOUR)
    other = new_ulid(NOW, 3)
    send(BRAND, other)
    work(NOW + 3 * HOUR)
    assert received(other) == dict.fromkeys(NAMES[::2], 1)
    assert brands.with_merged("acme") == ("vela", "acme")
    assert checks.find() == []


@pytest.mark.parametrize(
    ("audience", "expected"),
    [(Audience(), NAMES), (BRAND, NAMES[::2]), (TOYS, NAMES[::3]), (BOTH, {*NAMES[::2], *NAMES[::3]})],
    ids=["all users", "watchers of the brand", "watchers of the category", "watchers of either"],
)
def test_each_recipient_gets_one_message(audience, expected, wait_for_indexes):
    seed()
    wait_for_indexes()
    send(audience)
    wait_for_indexes()
    work()
    assert received() == once(expected)
    job = jobs.get(JOB)
    assert (job.state, job.progress["sent"], job.progress["skipped"]) == ("done", len(expected), 0)
    got = messages.get("ann", JOB)
    kind = "hot_deal" if audience.everyone else "new_deal"
    assert (got.kind, got.headline, got.text, got.deal, got.unread) == (
        kind,
        "Look at this",
        "Only today.",
        DEAL,
        True,
    )
    assert got.sent_at == NOW


def test_sending_again_under_the_same_id_sends_nothing_more(wait_for_indexes):
    seed(["ann"])
    wait_for_indexes()
    send()
    send()
    wait_for_indexes()
    work()
    send()
    wait_for_indexes()
    work(NOW + DAY)
    assert received() == once(["ann"])
    assert [row.id for row in announcements.newest().rows] == [JOB]


def test_whoever_muted_gets_nothing_and_is_counted_apart(wait_for_indexes):
    seed()
    users.mute_hot_deals("ann", muted=True)
    users.mute_hot_deals("zzz", muted=True)
    wait_for_indexes()
    send()
    wait_for_indexes()
    work()
    assert received() == once(set(NAMES) - {"ann", "zzz"})
    assert (jobs.get(JOB).progress["sent"], jobs.get(JOB).progress["skipped"]) == (10, 2)


def test_a_muted_watch_is_silent_and_another_one_still_speaks(wait_for_indexes):
    seed()
    relations.mute_watch(BRAND_WATCH, "nordlicht", username="ann", muted=True)  # watches the category, too
    relations.mute_watch(BRAND_WATCH, "nordlicht", username="dora", muted=True)
    relations.mute_watch(CATEGORY_WATCH, "toys-hobbies", username="rex", muted=True)
    relations.mute_watch(BRAND_WATCH, "nordlicht", username="rex", muted=True)
    wait_for_indexes()
    send(BOTH)
    wait_for_indexes()
    work()
    assert received() == once({*NAMES[::2], *NAMES[::3]} - {"dora", "rex"})


def test_a_message_that_was_read_stays_read_when_it_is_sent_again(wait_for_indexes):
    seed()
    wait_for_indexes()
    send()
    wait_for_indexes()
    work()
    messages.mark_read("ann", JOB, now=NOW)
    wait_for_indexes()
    rows = keys.job_rows(JOB, NOW, place_of(SEND_MESSAGE, JOB))
    for part in jobs.parts_of(jobs.get(JOB)):  # as if no worker had noted anything
        table.write(Delete(key=keys.job(part.id)))
    changes: dict[Any, Any] = {"state": "open", ("card", "state"): "open", **rows}
    table.write(Update(key=keys.job(JOB), set=changes, remove=("parts", "ttl")))
    wait_for_indexes()
    work(NOW + HOUR)
    assert received() == once(NAMES)
    assert messages.get("ann", JOB).unread is False
    assert messages.get("bob", JOB).unread is True


def test_an_announcement_waits_for_its_minute(wait_for_indexes):
    seed()
    wait_for_indexes()
    later = new_ulid(NOW + HOUR, 5)
    send(message_id=later)
    wait_for_indexes()
    work(NOW + HOUR - timedelta(milliseconds=1))
    assert received(later) == Counter()
    work(NOW + HOUR)
    assert received(later) == once(NAMES)
    assert messages.get("ann", later).sent_at == NOW + HOUR


def test_two_workers_at_a_part_send_one_message_each(wait_for_indexes, monkeypatch):
    monkeypatch.setattr(announcements, "PART_USERS", 1000)
    seed()
    wait_for_indexes()
    send()
    wait_for_indexes()
    assert run_next(now=NOW)  # splits it
    wait_for_indexes()
    job = jobs.get(JOB)
    first = jobs.take_next(now=NOW)
    wait_for_indexes()
    second = take_of(first.id, NOW + jobs.LEASE)  # the first one was slow; it is still at it
    outcomes = at_once(
        lambda: announcements.send_part(job, first, NOW),
        lambda: announcements.send_part(job, second, NOW + jobs.LEASE),
    )
    assert isinstance(outcomes[0], errors.Conflict)
    assert outcomes[1] is None
    assert received() == once(NAMES)
    jobs.finish(second)
    wait_for_indexes()
    work(NOW + DAY)
    assert (jobs.get(JOB).state, jobs.get(JOB).progress["sent"]) == ("done", len(NAMES))


def take_of(job_id, now):
    """Take a job, whatever else is due."""
    while (job := jobs.take_next(now=now)) is not None:
        if job.id == job_id:
            return job
    raise AssertionError("It is not due.")


@pytest.mark.engines("native", "local")
def test_many_workers_share_many_announcements():
    seed()
    ids = [send(message_id=new_ulid(NOW, number)) for number in range(10, 16)]
    at_once(*[work] * 4)
    work(NOW + DAY)
    assert [received(one) for one in ids] == [once(NAMES)] * 6
    assert {jobs.get(one).state for one in ids} == {"done"}


def interrupt(monkeypatch, act, after=3):
    """Do something when a fan-out has sent some batches."""
    real, count = messages.deliver, iter(range(10_000))

    def deliver(items):
        if next(count) == after:
            act()
        return real(items)

    monkeypatch.setattr(messages, "deliver", deliver)


def test_a_paused_announcement_stops_and_goes_on_when_it_is_resumed(wait_for_indexes, monkeypatch):
    seed()
    wait_for_indexes()
    send()
    wait_for_indexes()
    with monkeypatch.context() as patch:
        interrupt(patch, lambda: queue.pause(JOB, by=EDITOR, now=NOW))
        work()
    assert jobs.get(JOB).state == "paused"
    sent = sum(received().values())
    assert 0 < sent < len(NAMES)
    wait_for_indexes()
    work(NOW + DAY)
    assert sum(received().values()) == sent
    queue.resume(JOB, by=EDITOR, now=NOW + HOUR)
    wait_for_indexes()
    work(NOW + HOUR)
    assert received() == once(NAMES)
    assert (jobs.get(JOB).state, jobs.get(JOB).progress["sent"]) == ("done", len(NAMES))


def test_a_cancelled_announcement_sends_nothing_more(wait_for_indexes, monkeypatch):
    seed()
    wait_for_indexes()
    send()
    wait_for_indexes()
    interrupt(monkeypatch, lambda: queue.cancel(JOB, by=EDITOR, now=NOW))
    work()
    wait_for_indexes()
    work(NOW + DAY)
    assert jobs.get(JOB).state == "cancelled"
    assert 0 < sum(received().values()) < len(NAMES)
    with pytest.raises(errors.Conflict, match="cancelled already"):
        queue.resume(JOB, by=EDITOR, now=NOW)


def test_a_planned_announcement_can_be_paused_and_keeps_its_minute(wait_for_indexes):
    seed()
    wait_for_indexes()
    later = send(message_id=new_ulid(NOW + HOUR, 5))
    queue.pause(later, by=EDITOR, now=NOW)
    queue.pause(later, by=EDITOR, now=NOW)
    wait_for_indexes()
    work(NOW + 2 * HOUR)
    queue.resume(later, by=EDITOR, now=NOW)
    queue.resume(later, by=EDITOR, now=NOW)
    wait_for_indexes()
    work(NOW + HOUR - timedelta(seconds=1))
    assert received(later) == Counter()
    work(NOW + HOUR)
    assert received(later) == once(NAMES)


def test_a_user_deleted_meanwhile_gets_nothing(wait_for_indexes, monkeypatch):
    seed()
    wait_for_indexes()
    send()
    wait_for_indexes()
    gone = [users.get(name) for name in NAMES[1:4]]

    def delete():
        for number, user in enumerate(gone):
            users.delete(user, job_id=new_ulid(NOW, 50 + number), now=NOW)

    interrupt(monkeypatch, delete)
    work()
    wait_for_indexes()
    for minutes in (1, 2, 3):  # what the deletion leaves behind is removed by its own jobs
        work(NOW + timedelta(minutes=minutes))
        wait_for_indexes()
    assert received() == once(set(NAMES) - set(NAMES[1:4]))


def test_a_page_that_was_read_long_ago_is_read_again(wait_for_indexes, monkeypatch):
    seed()
    wait_for_indexes()
    send()
    wait_for_indexes()
    clock = [0.0]

    def tick() -> float:
        clock[0] += 2.0
        return clock[0]

    monkeypatch.setattr(announcements, "monotonic", tick)
    monkeypatch.setattr(jobs, "TURN_SECONDS", 1000.0)
    monkeypatch.setattr(announcements, "PAGE", 100)
    with table.metered() as meter:
        work()
    assert sum(index == "UserIndex" for _, index in meter.log) > jobs.get(JOB).parts
    assert received() == once(NAMES)


def test_throttling_without_end_puts_the_job_back_and_progress_forgives_tries(wait_for_indexes, monkeypatch):
    seed()
    wait_for_indexes()
    send()
    wait_for_indexes()
    now = NOW
    for _ in range(2 * jobs.MAX_TRIES):

        def refuse():
            raise errors.Busy

        with monkeypatch.context() as patch:
            interrupt(patch, refuse, after=1)
            work(now)
        job = jobs.get(JOB)
        if job.state == "done":
            break
        assert job.state == "open"
        wait_for_indexes()
        now += timedelta(minutes=5)
    assert jobs.get(JOB).state == "done"
    assert received() == once(NAMES)


def test_an_announcement_without_any_progress_fails_and_can_be_tried_again(wait_for_indexes, monkeypatch):
    seed()
    wait_for_indexes()
    send()
    now = NOW
    with monkeypatch.context() as patch:
        patch.setattr(announcements, "reach", lambda audience: 1 / 0)
        for _ in range(jobs.MAX_TRIES):
            wait_for_indexes()
            work(now)
            now += timedelta(hours=5)
    job = jobs.get(JOB)
    assert (job.state, job.error) == ("failed", "division by zero")
    measured(queue.retry)(JOB, by=EDITOR, now=now)
    wait_for_indexes()
    work(now)
    assert received() == once(NAMES)
    assert (jobs.get(JOB).state, jobs.get(JOB).error) == ("done", "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (deal_changes.delete, "The deal was deleted, or moved to another time."),
        (deal_changes.expire_now, "The deal has expired."),
    ],
)
def test_a_deal_that_is_gone_or_over_by_then_cancels_its_announcement(wait_for_indexes, change, said):
    deal = seed()
    wait_for_indexes()
    send(message_id=new_ulid(NOW + HOUR, 5))
    change(deals.get(deal.id), by=EDITOR, now=NOW)
    wait_for_indexes()
    work(NOW + HOUR)
    job = jobs.get(new_ulid(NOW + HOUR, 5))
    assert (job.state, job.error) == ("cancelled", said)
    assert received(job.id) == Counter()


def test_a_deal_is_announced_in_the_transaction_that_publishes_it(wait_for_indexes):
    seed()
    wait_for_indexes()
    deal = make_deal(deal_id=make_id(NOW, 9), category="toys-hobbies", title="New one", announce=True)
    assert deal.announced
    wait_for_indexes()
    work()
    assert received(deal.id) == once({*NAMES[::2], *NAMES[::3]})
    got = messages.get("ann", deal.id)
    assert (got.kind, got.headline, got.deal) == ("new_deal", "New one", deal.id)


def publish_later(number=9, **content):
    deal_id = make_id(NOW + HOUR, number)
    return make_deal(deal_id=deal_id, category="toys-hobbies", announce=True, **content)


def test_the_announcement_of_a_scheduled_deal_says_what_the_deal_is_then(wait_for_indexes):
    seed()
    deal = publish_later(title="Old title")
    make_brand("Aurora")
    relations.add(relations.BRAND_WATCH, "aurora", username="kim", now=NOW)
    content = make_content(title="New title", brand="aurora", category="peripherals-networking")
    make_category("peripherals-networking")
    deal_changes.edit(deals.get(deal.id), content, version=1, brand=brands.get("aurora"), by=EDITOR, now=NOW)
    wait_for_indexes()
    work(NOW + HOUR - timedelta(seconds=1))
    assert received(deal.id) == Counter()
    work(NOW + HOUR)
    assert received(deal.id) == once(["kim"])
    assert messages.get("kim", deal.id).headline == "New title"


def test_what_an_announcement_says_does_not_change_while_it_is_sent(wait_for_indexes, monkeypatch):
    seed()
    wait_for_indexes()
    deal = make_deal(deal_id=make_id(NOW, 9), category="toys-hobbies", title="Old title", announce=True)
    wait_for_indexes()

    def edit():
        queue.pause(deal.id, by=EDITOR, now=NOW)
        stored = deals.get(deal.id)
        content = make_content(title="New title", category="toys-hobbies")
        deal_changes.edit(stored, content, version=1, brand=brands.get("nordlicht"), by=EDITOR, now=NOW)

    with monkeypatch.context() as patch:
        interrupt(patch, edit)
        work()
    queue.resume(deal.id, by=EDITOR, now=NOW + HOUR)
    wait_for_indexes()
    work(NOW + HOUR)
    expected = {*NAMES[::2], *NAMES[::3]}
    assert received(deal.id) == once(expected)
    assert {messages.get(name, deal.id).headline for name in expected} == {"Old title"}


@pytest.mark.parametrize("paused", [False, True])
def test_an_announcement_moves_with_its_deal(paused, wait_for_indexes):
    seed()
    deal = publish_later()
    if paused:
        queue.pause(deal.id, by=EDITOR, now=NOW)
    new_id = make_id(NOW + 2 * HOUR, 9)
    moved = publishing.reschedule(deal, NOW + 2 * HOUR, new_id=new_id, by=EDITOR, now=NOW)
    assert moved.announced
    with pytest.raises(errors.NotFound):
        jobs.get(deal.id)
    wait_for_indexes()
    work(NOW + HOUR)
    assert received(new_id) == Counter()
    work(NOW + 2 * HOUR)
    if paused:
        assert received(new_id) == Counter()
        queue.resume(new_id, by=EDITOR, now=NOW + 2 * HOUR)
        wait_for_indexes()
        work(NOW + 2 * HOUR)
    assert received(new_id) == once({*NAMES[::2], *NAMES[::3]})


def test_a_cancelled_announcement_does_not_move_with_its_deal(wait_for_indexes):
    seed()
    deal = publish_later(link=LINK)
    queue.cancel(deal.id, by=EDITOR, now=NOW)
    new_id = make_id(NOW + 2 * HOUR, 9)
    moved = measured(publishing.reschedule)(deal, NOW + 2 * HOUR, new_id=new_id, by=EDITOR, now=NOW)
    assert not moved.announced
    assert jobs.get(deal.id).state == "cancelled"
    wait_for_indexes()
    work(NOW + 2 * HOUR)
    assert received(new_id) == Counter()


def test_publishing_twice_announces_once(wait_for_indexes):
    seed()
    deal_id = make_id(NOW, 9)
    for _ in range(2):
        make_deal(deal_id=deal_id, category="toys-hobbies", announce=True)
    wait_for_indexes()
    work()
    assert received(deal_id) == once({*NAMES[::2], *NAMES[::3]})


def test_an_announcement_of_what_is_not_there_or_not_live_yet_is_refused():
    make_category("toys-hobbies")
    make_deal(deal_id=make_id(NOW + HOUR, 9), category="toys-hobbies")
    with pytest.raises(errors.NotFound):
        make_announcement(DEAL, JOB)
    with pytest.raises(errors.Invalid) as refused:
        make_announcement(make_id(NOW + HOUR, 9), JOB)
    assert list(refused.value.fields) == ["send_at"]
    for bad in ({"headline": " "}, {"headline": "x" * 201}, {"text": "x" * 1001}):
        with pytest.raises(errors.Invalid) as refused:
            make_announcement(DEAL, JOB, **bad)
        assert list(refused.value.fields) == list(bad)
    with contextlib.suppress(errors.NotFound):
        jobs.get(JOB)
        pytest.fail("Nothing was to be written.")


@pytest.mark.engines("native", "local")
def test_ordering_one_message_many_times_at_once_orders_it_once():
    seed(["ann"])
    outcomes = at_once(*[send] * 8)
    assert outcomes == [JOB] * 8
    work()
    assert received() == once(["ann"])


def move(deal, new_id):
    return publishing.reschedule(deal, NOW + 2 * HOUR, new_id=new_id, by=EDITOR, now=NOW)


@pytest.mark.engines("native", "local")
def test_moving_a_deal_while_its_announcement_is_steered_leaves_the_two_together():
    seed(["ann"])
    for number in range(20, 26):
        deal = publish_later(number)
        new_id = make_id(NOW + 2 * HOUR, number)
        at_once(partial(move, deal, new_id), partial(queue.pause, deal.id, by=EDITOR, now=NOW))
        assert jobs.get(new_id).state in ("open", "paused")
        assert deals.get(new_id).announced


@pytest.mark.parametrize(
    ("audience", "expected"),
    [(Audience(), 12), (BRAND, 6), (TOYS, 4), (BOTH, 10)],
    ids=["all", "b", "c", "both"],
)
def test_recipients_are_counted_from_counters(audience, expected):
    seed()
    with table.metered() as meter:
        assert announcements.reach(audience).users == expected
    assert {operation for operation, _ in meter.log} == {"BatchGetItem"}


def test_recipients_of_both_are_counted_once():
    seed()
    assert measured(announcements.reach)(BOTH).users == 10


def test_announcements_are_listed_newest_first_by_cursor(wait_for_indexes):
    make_deal(deal_id=DEAL, category="toys-hobbies")
    ids = [send(message_id=new_ulid(NOW + timedelta(seconds=n), n), headline=f"No. {n}") for n in range(30)]
    wait_for_indexes()
    first = measured(announcements.newest)()
    assert [row.id for row in first.rows] == ids[:4:-1]
    second = announcements.newest(after=first.after)
    assert ([row.id for row in second.rows], second.after) == (ids[4::-1], None)
    assert [row.id for row in announcements.newest(before=second.before).rows] == ids[:4:-1]
    row = second.rows[0]
    assert (row.headline, row.deal, row.audience, row.state) == ("No. 4", DEAL, Audience(), "open")
    for bad in ({"after": "x"}, {"before": "#"}, {"after": ids[0], "before": ids[1]}):
        with pytest.raises(errors.BadCursor):
            announcements.newest(**bad)


@pytest.mark.budget
def test_what_a_fan_out_costs(monkeypatch):
    for name in ("PAGE", "PART_USERS"):
        monkeypatch.setattr(announcements, name, 1000)
    monkeypatch.setattr(announcements, "BATCH", 100)
    seed(["ann"])
    send()
    with table.metered() as meter:
        work()
    counted = Counter(meter.log)
    assert counted == {
        ("Query", "GSI3"): counted[("Query", "GSI3")],  # to find it, wherever it was looked for
        ("UpdateItem", None): 2 + 4 + 3,  # taken and put off; its part; taken, looked after, done
        ("GetItem", None): 2 + 2,  # of whom is it an editor
        ("BatchGetItem", None): 5,
        ("TransactWriteItems", None): 1,
        ("Scan", "UserIndex"): 1,
        ("BatchExecuteStatement", None): 1,
    }


def test_the_table_is_whole_while_an_announcement_is_on_its_way(wait_for_indexes, monkeypatch):
    seed()
    wait_for_indexes()
    send()
    wait_for_indexes()
    with monkeypatch.context() as patch:
        interrupt(patch, lambda: queue.pause(JOB, by=EDITOR, now=NOW))
        work()
    assert checks.find() == []


@pytest.mark.parametrize(
    ("number", "count", "after", "expected"),
    [
        (0, 1, "", ("USER#0", "USER#\U0010ffff")),
        (0, 4, "", ("USER#0", "USER#d\U0010ffff")),
        (1, 4, "fay", ("USER#fay!", "USER#k\U0010ffff")),
        (2, 4, "lou", ("USER#lou!", "USER#q\U0010ffff")),
        (3, 4, "", ("USER#r", "USER#\U0010ffff")),
        (15, 16, "", ("USER#w", "USER#\U0010ffff")),
    ],
)
def test_a_part_of_watchers_is_a_range_of_names(number, count, after, expected):
    assert announcements.watchers_between(PartPayload(JOB, number, count), after) == expected
