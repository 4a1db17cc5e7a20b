from datetime import timedelta

import pytest

from dealsite.data import table
from dealsite.data.jobs import jobs, parts
from dealsite.data.people import announcements, messages
from dealsite.data.table import errors, ids
from tests.builders import NOW, make_announcement, make_deal, make_id
from tests.measuring import measured
from tests.people import make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")


@pytest.fixture(autouse=True)
def sam_and_tom(whole_table):
    make_user("sam")
    make_user("tom")


def make_message(number=1, username="sam", **overrides):
    message_id = ids.new_ulid(NOW + timedelta(seconds=number), number)
    fields = {"kind": "hot_deal", "headline": f"Deal {number}", "deal": ids.new_ulid(NOW, number)} | overrides
    return messages.message_item(username, message_id, **fields)


def send(count, username="sam"):
    items = [make_message(number, username) for number in range(count)]
    messages.deliver(items)
    return [item["id"] for item in items]


def headlines(inbox):
    return [message.headline for message in inbox.rows]


def test_a_message_is_delivered_once_however_often_it_is_sent():
    item = make_message()
    assert messages.deliver([item]) in (0, 1)  # 0: its answer was lost, and it was there at the second try
    assert messages.deliver([item]) == 0
    assert headlines(messages.inbox("sam")) == ["Deal 1"]


def test_sending_again_leaves_a_read_message_read(wait_for_indexes):
    item = make_message()
    messages.deliver([item])
    messages.mark_read("sam", item["id"], now=NOW)
    messages.deliver([item])
    wait_for_indexes()
    assert messages.get("sam", item["id"]).unread is False
    assert messages.inbox("sam", unread=True).rows == []
    assert len(messages.unread("sam")) == 0


def test_more_than_a_batch_is_delivered_and_what_is_there_does_not_stop_the_rest():
    items = [make_message(number) for number in range(60)]
    measured(messages.deliver)(items[10:20])
    messages.deliver(items)
    seen = []
    after = None
    while True:
        inbox = messages.inbox("sam", after=after)
        seen += headlines(inbox)
        after = inbox.after
        if after is None:
            break
    assert seen == [f"Deal {number}" for number in reversed(range(60))]


def test_an_inbox_is_paged_forward_and_back(wait_for_indexes):
    ids_ = send(60)
    wait_for_indexes()
    for unread in (False, True):
        first = messages.inbox("sam", unread=unread)
        assert (len(first.rows), first.before) == (25, None)
        second = messages.inbox("sam", unread=unread, after=first.after)
        third = messages.inbox("sam", unread=unread, after=second.after)
        assert (len(third.rows), third.after) == (10, None)
        back = messages.inbox("sam", unread=unread, before=third.before)
        assert [m.id for m in back.rows] == [m.id for m in second.rows]
        shown = [m.id for page in (first, second, third) for m in page.rows]
        assert shown == ids_[::-1]


@pytest.mark.parametrize("cursor", ["x", "MESSAGE#1", "9" * 26, "\x00"])
def test_a_damaged_cursor_is_refused(cursor):
    with pytest.raises(errors.BadCursor):
        messages.inbox("sam", after=cursor)
    with pytest.raises(errors.BadCursor):
        messages.inbox("sam", before=cursor)


def test_what_is_not_there_cannot_be_read_and_leaves_no_ghost():
    for message_id in (ids.new_ulid(NOW), "nonsense", ""):
        with pytest.raises(errors.NotFound):
            messages.mark_read("sam", message_id, now=NOW)
        with pytest.raises(errors.NotFound):
            messages.get("sam", message_id)
    assert messages.inbox("sam").rows == []


def test_anothers_message_is_not_there():
    (message_id,) = send(1, "tom")
    with pytest.raises(errors.NotFound):
        messages.mark_read("sam", message_id, now=NOW)
    messages.delete("sam", message_id)
    assert measured(messages.get)("tom", message_id).unread is True


def test_all_are_marked_read_up_to_the_newest_that_was_seen(wait_for_indexes):
    ids_ = send(5)
    wait_for_indexes()
    assert measured(messages.mark_all_read)("sam", until=ids_[2], limit=100, now=NOW) == 3
    wait_for_indexes()
    assert [m.id for m in messages.inbox("sam", unread=True).rows] == [ids_[4], ids_[3]]
    assert len(messages.inbox("sam").rows) == 5


def test_the_badge_counts_to_a_hundred(wait_for_indexes):
    send(120)
    wait_for_indexes()
    assert len(measured(messages.unread)("sam")) == 100


def test_a_deleted_message_is_gone_from_both_lists(wait_for_indexes):
    (message_id,) = send(1)
    measured(messages.delete)("sam", message_id)
    messages.delete("sam", message_id)
    wait_for_indexes()
    assert messages.inbox("sam").rows == []
    assert len(messages.unread("sam")) == 0


def test_a_text_belongs_to_the_message_and_not_to_its_row():
    item = make_message(text="Only today.")
    messages.deliver([item])
    assert messages.get("sam", item["id"]).text == "Only today."
    assert "text" not in item["card"]


@pytest.mark.engines("native", "local")
def test_many_senders_of_one_message_write_it_once():
    items = [make_message(number) for number in range(25)]
    outcomes = at_once(*[lambda: messages.deliver(items)] * 8)
    assert len(measured(messages.inbox)("sam").rows) == 25
    # Where eight at once are too much for an engine, who gave up is told so and counts nothing.
    counts = [outcome for outcome in outcomes if not isinstance(outcome, errors.Busy)]
    assert sum(counts) == 25 if len(counts) == 8 else sum(counts) <= 25


@pytest.mark.engines("native", "local")
def test_reading_and_sending_at_once_never_unread_a_message():
    item = make_message()
    messages.deliver([item])
    at_once(*[lambda: messages.deliver([item])] * 6, lambda: messages.mark_read("sam", item["id"], now=NOW))
    assert messages.get("sam", item["id"]).unread is False


@pytest.mark.budget
def test_what_an_inbox_costs():
    item = make_message()
    with table.metered() as meter:
        messages.deliver([item])
        messages.inbox("sam")
        messages.inbox("sam", unread=True)
        messages.unread("sam")
        measured(messages.mark_read)("sam", item["id"], now=NOW)
    assert meter.log == [
        ("BatchExecuteStatement", None),
        ("Query", None),
        ("Query", "GSI1"),
        ("Query", "GSI1"),
        ("UpdateItem", None),
    ]


def test_very_many_are_marked_read_by_a_job(wait_for_indexes):
    until = send(1)[0]
    measured(messages.mark_all_read_later)("sam", until=until, now=NOW)
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    assert job is not None
    assert job.payload == {"username": "sam", "until": until}


def test_with_an_account_go_its_messages():
    send(1)
    assert measured(messages.delete_all)("sam", limit=9) == 1
    assert messages.delete_all("sam", limit=9) == 0
    assert messages.inbox("sam").rows == []


def test_an_announcement_reaches_all_in_one_go_where_they_are_few(wait_for_indexes):
    make_announcement(make_deal().id, make_id(NOW))
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    assert job is not None
    assert measured(announcements.send_message)(job, NOW) == NOW + parts.LOOK_EVERY
    (part,) = jobs.parts_of(job := jobs.get(job.id))
    wait_for_indexes()
    taken = jobs.take_next(now=NOW)
    assert taken is not None
    assert taken.id == part.id
    measured(announcements.send_part)(job, taken, NOW)
    assert [len(messages.inbox(name).rows) for name in ("sam", "tom")] == [1, 1]
