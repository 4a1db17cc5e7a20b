import itertools
import threading
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from dealsite.data import keys, table
from dealsite.data.catalogue import hot
from dealsite.data.commerce.payment_record import payment_item
from dealsite.data.entities.work import BULK_CHANGE, BULK_UNDO, RUN_IMPORT, SEND_MESSAGE
from dealsite.data.jobs import jobs, processes, queue, site_switch
from dealsite.data.jobs.site_switch import SiteSwitch
from dealsite.data.people import sessions, users
from dealsite.data.table import errors, ids, schema
from dealsite.data.table.writes import Update
from dealsite.stream.records import ItemChange
from dealsite.web.counting import due_to
from dealsite.worker import loop, schedule
from tests.builders import DAY, HOUR, NOW
from tests.jobs import run_next
from tests.payments import owe
from tests.people import make_user
from tests.stream.test_consumer import until

pytestmark = pytest.mark.usefixtures("fresh_table")


@pytest.fixture
def handled(monkeypatch):
    calls = []
    monkeypatch.setitem(loop.HANDLERS, "sing", lambda job, now: calls.append(job.payload["song"]))
    return calls


def add_job(kind="sing", number=1, due=NOW):
    job_id = ids.new_ulid(NOW, number)
    table.transact([jobs.job_write(kind, {"song": f"song {number}"}, job_id=job_id, due=due)])
    return job_id


def test_due_jobs_are_run_in_turn_and_finished(handled):
    first, second = add_job(number=1), add_job(number=2, due=NOW + timedelta(seconds=1))
    assert [run_next(now=NOW), run_next(now=NOW)] == [True, False]
    assert run_next(now=NOW + timedelta(seconds=1))
    assert handled == ["song 1", "song 2"]
    assert {jobs.get(first).state, jobs.get(second).state} == {"done"}


def said(caplog):
    return sorted(caplog.messages[-1].split())


def leave(job, now):
    raise errors.Conflict()


def test_the_lines_of_a_job_name_the_request_that_caused_it_and_so_do_the_jobs_that_it_causes(
    monkeypatch, caplog
):
    caplog.set_level("INFO")
    caused = []
    monkeypatch.setitem(loop.HANDLERS, "sing", lambda job, now: caused.append(add_job("dance", 2, NOW + DAY)))
    with due_to("R1"):
        first = add_job()
    own = add_job("hum", 3)
    monkeypatch.setitem(loop.HANDLERS, "hum", leave)
    assert [jobs.get(one).request for one in (first, own)] == ["R1", ""]
    assert run_next(now=NOW)
    assert said(caplog) == [
        "again=None",
        "event='job_run'",
        f"job='{first}'",
        "kind='sing'",
        "request_id='R1'",
    ]
    assert jobs.get(caused[0]).request == "R1"
    assert run_next(now=NOW)
    assert said(caplog) == ["event='job_left'", f"job='{own}'", "kind='hum'"]


def test_what_a_job_does_in_its_thread_is_due_to_the_same_request():
    made: list[str] = []
    with due_to("R1"):
        schedule.start(lambda: made.append(add_job("dance", 2)))
    for thread in threading.enumerate():
        if thread.name == "nightly":
            thread.join()
    assert jobs.get(made[0]).request == "R1"


def test_a_job_that_wants_to_run_again_waits_until_then(monkeypatch):
    monkeypatch.setitem(loop.HANDLERS, "sing", lambda job, now: now + timedelta(seconds=10))
    job_id = add_job()
    assert run_next(now=NOW)
    assert not run_next(now=NOW + timedelta(seconds=9))
    assert jobs.get(job_id).state == "open"
    assert run_next(now=NOW + timedelta(seconds=10))


def test_a_job_that_fails_keeps_its_error_and_the_worker_goes_on(monkeypatch, handled):
    def fail(job, now):
        raise ZeroDivisionError("no")

    monkeypatch.setitem(loop.HANDLERS, "break", fail)
    broken = add_job("break", 1)
    add_job("sing", 2, due=NOW + timedelta(milliseconds=1))
    now = NOW + timedelta(milliseconds=1)
    assert [run_next(now=now), run_next(now=now)] == [True, True]
    assert handled == ["song 2"]
    assert (jobs.get(broken).state, jobs.get(broken).error) == ("open", "no")


def test_a_job_of_an_unknown_kind_is_handed_back_unspent_and_does_not_hold_up_the_others(handled):
    unknown = add_job("dance", 1)
    add_job("sing", 2)
    assert run_next(now=NOW)
    assert handled == ["song 2"]
    kept = jobs.get(unknown)
    assert (kept.state, kept.tries, kept.taken_by, kept.error) == ("open", 0, "", "")
    assert processes.last_heartbeat("unknown") == NOW
    assert not run_next(now=NOW + timedelta(seconds=1.9))


def test_a_worker_of_a_newer_build_takes_what_an_older_one_handed_back(monkeypatch, handled):
    unknown = add_job("dance")
    assert not run_next(now=NOW)
    monkeypatch.setitem(loop.HANDLERS, "dance", lambda job, now: None)
    assert run_next(now=NOW + timedelta(seconds=2))
    assert (jobs.get(unknown).state, jobs.get(unknown).tries) == ("done", 1)


def test_a_job_that_nobody_knows_is_looked_at_once_a_minute_however_old_it_is():
    add_job("dance", due=NOW)
    met: list[str] = []
    for seconds in (0, 3600, 3659, 3660):
        jobs.take_next(now=NOW + timedelta(seconds=seconds), kinds=(), note_unknown=met.append)
    assert met == ["dance"] * 3


def test_a_job_that_another_worker_took_first_stays_with_it(monkeypatch):
    job_id = add_job("dance")
    (place,) = (one for one in jobs.OPEN if table.query(one, index=keys.GSI3))
    rows = table.query(place, index=keys.GSI3)
    taken = jobs.take_next(now=NOW)
    monkeypatch.setattr(table, "query", lambda *args, **options: rows)  # read before the other one took it
    assert jobs.take_next(now=NOW, kinds=()) is None
    monkeypatch.undo()
    assert jobs.take_next(now=NOW + timedelta(seconds=59)) is None
    assert jobs.get(job_id).taken_by == taken.taken_by


def test_the_worker_outlives_a_table_that_is_away(monkeypatch):
    stop = threading.Event()
    answers = iter([errors.Unavailable()])

    def take(**_):
        for answer in answers:
            raise answer
        stop.set()

    monkeypatch.setattr(loop, "take", take)
    monkeypatch.setattr(loop, "SOON_SECONDS", 0)
    loop.run(stop, expire=False, clock=lambda: NOW)
    assert next(answers, None) is None


def test_a_job_of_an_earlier_release_is_cancelled():
    job_id = add_job(loop.GONE[0])
    assert run_next(now=NOW)
    assert jobs.get(job_id).state == "cancelled"


@pytest.fixture
def stop_at_the_third_wait(monkeypatch) -> threading.Event:
    """Ends a worker that does nothing, and may do nothing."""

    class Stop(threading.Event):
        waits = 0

        def wait(self, timeout=None):
            self.waits += 1
            return self.set() if self.waits == 3 else False

    monkeypatch.setattr(loop, "take", None)
    monkeypatch.setattr(schedule, "EVERY", timedelta(0))
    monkeypatch.setattr(schedule, "check_alarms", None)
    return Stop()


def test_on_a_copy_a_worker_does_nothing_and_says_why_once(stop_at_the_third_wait, caplog):
    site_switch.of_process.keep(SiteSwitch("copy"))
    loop.run(stop_at_the_third_wait, expire=True, clock=lambda: NOW)
    (line,) = [one.getMessage() for one in caplog.records]
    assert "worker_rests" in line
    assert "switch_site open" in line


def test_a_worker_that_cannot_read_whether_this_is_a_copy_does_nothing_and_says_so(
    stop_at_the_third_wait, monkeypatch, caplog
):
    def unavailable():
        raise errors.Unavailable()

    monkeypatch.setattr(site_switch, "read", unavailable)
    site_switch.of_process = site_switch.KnownSwitch()
    loop.run(stop_at_the_third_wait, expire=True, clock=lambda: NOW)
    assert ["worker_waits" in one.getMessage() for one in caplog.records] == [True] * 3


def test_expired_items_are_deleted_where_it_is_asked_for_once_an_hour_and_hot_deals_ranked_more_often(
    monkeypatch,
):
    stop = threading.Event()
    times = [NOW, NOW, NOW, NOW + timedelta(minutes=59), NOW + timedelta(hours=1, seconds=1)]
    now = iter(times)
    current = [NOW]
    expired, ranked = [], []
    monkeypatch.setattr(hot, "rank", lambda now: ranked.append(now))

    def take(**_):
        try:
            current[0] = next(clock)
        except StopIteration:
            stop.set()

    def delete_expired(now):
        expired.append(now)
        return 0

    clock = now
    monkeypatch.setattr(loop, "take", take)
    monkeypatch.setattr(loop, "IDLE_SECONDS", 0)
    monkeypatch.setattr(loop, "SOON_SECONDS", 0)
    monkeypatch.setattr(schema, "delete_expired", delete_expired)
    loop.run(stop, expire=True, clock=lambda: current[0])
    assert expired == [NOW, NOW + timedelta(hours=1, seconds=1)]
    assert ranked == [NOW, NOW + timedelta(minutes=59)]
    expired.clear()
    loop.run(stop, expire=False, clock=lambda: NOW)
    assert expired == []


def test_what_fails_between_jobs_is_tried_again_and_holds_up_nothing_else(monkeypatch):
    stop, tried = threading.Event(), []

    def plan(*, now):
        tried.append("plan")
        raise errors.Unavailable()

    def rank(*, now):
        tried.append("rank")

    def take(**_):
        if len(tried) >= 3:
            stop.set()

    monkeypatch.setattr(loop, "between_jobs", lambda expire: {plan: HOUR, rank: HOUR})
    monkeypatch.setattr(loop, "take", take)
    monkeypatch.setattr(loop, "SOON_SECONDS", 0)
    loop.run(stop, expire=False, clock=lambda: NOW)
    assert tried == ["plan", "rank", "plan", "plan"]


@pytest.mark.parametrize("error", [KeyError("amount"), errors.NewerItem()], ids=repr)
def test_what_is_damaged_or_of_a_newer_build_ends_no_worker_and_is_looked_at_when_it_is_due_again(
    monkeypatch, caplog, handled, error
):
    stop, tried, waits = threading.Event(), [], itertools.count(1)

    def plan(*, now):
        tried.append("plan")
        raise error

    def rank(*, now):
        tried.append("rank")

    monkeypatch.setattr(loop, "between_jobs", lambda expire: {plan: HOUR, rank: HOUR})
    monkeypatch.setattr(loop, "rest", lambda *_: stop.set() if next(waits) == 3 else None)
    add_job()
    loop.run(stop, expire=False, clock=lambda: NOW)
    assert (tried, handled) == (["plan", "rank"], ["song 1"])
    assert "event='between_jobs_failed' work='plan'" in caplog.text


def test_a_damaged_payment_holds_up_no_job(monkeypatch, handled):
    stop = threading.Event()
    (payment,) = owe()
    item = payment_item(payment)
    card = {name: value for name, value in item["card"].items() if name != "amount"}
    table.write(Update(key=(item["PK"], item["SK"]), set={"card": card}))
    monkeypatch.setattr(loop, "rest", lambda *_: stop.set())
    add_job()
    loop.run(stop, expire=False, clock=lambda: NOW)
    assert handled == ["song 1"]
    with pytest.raises(KeyError, match="amount"):
        schedule.count_tasks(now=NOW)


def test_a_worker_looks_less_often_while_no_job_comes_and_at_once_when_one_did(monkeypatch):
    stop, woken, asked = threading.Event(), threading.Event(), threading.Event()
    looks = []

    def take(*, at, **_):
        looks.append(at)
        asked.set()

    monkeypatch.setattr(loop, "take", take)
    monkeypatch.setattr(loop, "between_jobs", lambda expire: {})
    monkeypatch.setattr(loop, "SOON_SECONDS", 0)
    monkeypatch.setattr(loop, "IDLE_SECONDS", 60)
    working = threading.Thread(
        target=loop.run, args=(stop,), kwargs={"expire": False, "clock": lambda: NOW, "woken": woken}
    )
    working.start()
    until(lambda: len(looks) == loop.SOON)
    asked.clear()
    woken.set()
    assert asked.wait(5)
    stop.set()
    working.join(5)
    assert not working.is_alive()


def test_the_stream_says_that_a_job_came(monkeypatch):
    told = []
    monkeypatch.setattr(loop, "consume", lambda index, stop, *, clock, on_changes: told.append(on_changes))
    stop, woken = threading.Event(), threading.Event()
    with loop.feeding(stop, woken, clock=lambda: NOW):
        pass
    due, taken = (
        keys.open_jobs("mail0", NOW, ids.new_ulid(NOW)),
        {"GSI3SK": keys.open_jobs.position(NOW + DAY, ids.new_ulid(NOW))},
    )
    for item, is_so in (
        (due | {"type": "Deal"}, False),
        (taken | {"type": "Job"}, False),
        ({"type": "Job"}, False),
        (due | {"type": "Job"}, True),
    ):
        told[0]([ItemChange(("A", "B"), None, item, "1", NOW)])
        assert woken.is_set() == is_so


def test_each_kind_of_job_that_the_shop_orders_has_its_handler():
    from dealsite.data.catalogue import deals
    from dealsite.data.commerce import payment_record, payments
    from dealsite.data.people import mails

    kinds = {deals.MARK_SOLD_OUT, mails.ORDER_NOTICE, payment_record.PAYMENT_TOTALS, payments.REFUND_PAYMENT}
    assert kinds <= loop.HANDLERS.keys()


def test_a_worker_whose_consumer_died_ends_and_says_why(monkeypatch, caplog):
    def die(index, stop, **named):
        raise MemoryError("no room")

    monkeypatch.setattr(loop, "consume", die)
    monkeypatch.setattr(loop, "SOON_SECONDS", 0.01)
    looks = iter(range(1000))
    monkeypatch.setattr(loop, "take", lambda **_: next(looks) and None)  # ends, too, if nobody notices
    with pytest.raises(CommandError, match=r"The consumer of this worker died: MemoryError\('no room'\)"):
        call_command("worker")
    assert "event='part_died' part='consumer'" in caplog.text


def test_a_part_that_has_nothing_to_do_may_end():
    part = loop.Part("charging", lambda: None)
    part.start()
    part.join()
    loop.check_parts([part])


LOSSES = {
    "suspended": lambda: sessions.suspend(users.get("eve"), reason="Spam", by="root", now=NOW),
    "without the role": lambda: users.take_role("eve", "editor", by="root", now=NOW),
    "deleted": lambda: users.delete(users.get("eve"), job_id=ids.new_ulid(NOW + DAY), now=NOW + DAY),
}


@pytest.mark.parametrize("kind", [SEND_MESSAGE, BULK_CHANGE, BULK_UNDO, RUN_IMPORT])
@pytest.mark.parametrize("lose", LOSSES)
def test_what_an_editor_ordered_rests_without_them_until_another_takes_it_over(kind, lose, monkeypatch):
    make_user("root", roles=["admin"])
    make_user("eve", roles=["editor"])
    ran = []
    monkeypatch.setitem(loop.HANDLERS, kind, lambda job, now: ran.append(job.payload["by"]))
    job_id = ids.new_ulid(NOW)
    table.transact([jobs.job_write(kind, {"by": "eve"}, job_id=job_id, due=NOW + HOUR)])
    LOSSES[lose]()
    assert run_next(now=NOW + HOUR)
    rests = jobs.get(job_id)
    assert (rests.state, ran) == ("paused", [])
    assert rests.error == "Whoever ordered this is no editor any more. Resume it to take it over."
    queue.resume(job_id, by="root", now=NOW + HOUR)
    assert run_next(now=NOW + HOUR)
    assert (jobs.get(job_id).state, ran) == ("done", ["root"])
