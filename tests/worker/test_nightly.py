"""Each night one worker checks the table: a small one whole, of a large one a sample; the rest is mailed."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from smtplib import SMTPException

import pytest
from django.core import mail

from dealsite.accounts import second_factor
from dealsite.data import table
from dealsite.data.integrity import checks
from dealsite.data.integrity.problem import Pace, Problem
from dealsite.data.jobs import command_runs, jobs
from dealsite.data.jobs.command_runs import CheckResult
from dealsite.data.table import schema
from dealsite.data.table.errors import Conflict, Unavailable
from dealsite.data.table.writes import Put, Update
from dealsite.worker import loop, schedule
from tests.builders import DAY, EVER, HOUR, NOW, make_deal
from tests.jobs import run_next
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("fresh_table")
NIGHT = datetime(2026, 11, 22, 3, tzinfo=UTC)
CHECK = next(one for one in schedule.SCHEDULE if one.kind == command_runs.CHECK_TABLE)


class Clock:
    """Time that passes when somebody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def now(self) -> datetime:
        return NIGHT + timedelta(seconds=self.seconds)


@pytest.fixture
def time() -> Clock:
    return Clock()


def plan(now: datetime) -> str:
    return command_runs.plan(CHECK.kind, due=CHECK.next_run(now))


def damage(*names: str) -> None:
    for name in names:
        table.write(Put(key=(f"GHOST#{name}", "A"), item={"type": "Ghost"}))


def take(now: datetime = NIGHT) -> jobs.Job:
    plan(NOW)
    job = jobs.take_next(now=now)
    assert job is not None
    return job


def run(time: Clock, job: jobs.Job | None = None) -> CheckResult:
    """Check the table, as a worker does at night; return what it notes."""
    check = functools.partial(schedule.check_table, pace=Pace(schedule.RATE, clock=time, sleep=time.sleep))
    schedule.run(job or take(), check, clock=time.now)
    return command_runs.checks(now=EVER)[0]


@pytest.mark.parametrize(
    ("now", "night"),
    [
        (NOW, NIGHT),
        (NIGHT - HOUR, NIGHT),
        (NIGHT - timedelta(milliseconds=1), NIGHT),
        (NIGHT, NIGHT + DAY),
        (NIGHT + 23 * HOUR, NIGHT + DAY),
    ],
)
def test_a_check_is_planned_for_the_next_night(now, night):
    assert CHECK.next_run(now) == night


def test_of_many_workers_one_plans_the_check_of_a_night():
    (night,) = set(at_once(*[lambda: plan(NOW)] * 4))
    assert plan(NIGHT) != night
    assert len([item for item in table.scan_all(consistent=True) if item["type"] == "Job"]) == 2
    assert jobs.take_next(now=NIGHT - HOUR) is None


def test_workers_plan_it_where_the_settings_say_so(settings, monkeypatch):
    for wanted in (False, True):
        settings.DEALSITE_NIGHTLY_CHECK = wanted
        settings.DEALSITE_CLOSE_DAY = False
        stop = threading.Event()
        monkeypatch.setattr(loop, "take", lambda stop=stop, **_: stop.set())
        loop.run(stop, expire=False, clock=lambda: NOW)
        kinds = [item["kind"] for item in table.scan_all(consistent=True) if item["type"] == "Job"]
        assert (CHECK.kind in kinds) is wanted


def test_a_small_table_is_checked_whole(time):
    deal = make_deal()
    damage("a", "b")
    table.write(Update(key=("BRAND#nordlicht", "COUNTS"), set={"deals": 7}))
    job = take()
    found = run(time, job)
    assert (found.scope, found.problems, found.left, found.repaired) == ("whole", 3, 3, 0)
    (noted,) = command_runs.newest(CHECK.kind, now=EVER)
    assert (noted.ok, noted.by, noted.check, noted.said) == (
        True,
        "worker",
        found,
        f"3 problems, 2 of them not to be derived, in {found.items} items.",
    )
    assert noted.began_at == NIGHT
    assert found.items > 10
    assert jobs.get(job.id).state == "done"
    assert table.get(("BRAND#nordlicht", "COUNTS"))["deals"] == 7
    assert deal.card.brand == "nordlicht"


def test_what_nothing_can_be_derived_for_is_mailed_by_kinds_with_the_keys_of_some(time, settings):
    settings.DEALSITE_ALARM_MAIL = ["admins@example.org"]
    make_deal()
    damage("a", "b", "c", "d\x1b")
    table.write(Update(key=("BRAND#nordlicht", "COUNTS"), set={"deals": 7}))
    assert run(time).problems == 5
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["admins@example.org"], "Dealsite: The table has problems")
    assert "The nightly check of Dealsite found 4 problems in the table that cannot be repaired" in sent.body
    keys = "".join(f"    GHOST#{name} / A\n" for name in "abc")
    assert f"\n4 × Its type, …, is not known.\n{keys}    …\n\nThis shows" in sent.body
    assert "all of them, whole:\n\n    manage.py check_table\n" in sent.body
    assert "/cms/operations/" in sent.body
    assert "deals" not in sent.body.replace("dealsite", "")


def test_of_many_kinds_the_mail_names_those_with_the_most(time, settings, monkeypatch):
    settings.DEALSITE_ALARM_MAIL = ["admins@example.org"]
    monkeypatch.setattr(schedule, "MOST_KINDS", 1)
    sentences = ["It is odd.", "It is '\\'secret\\'', not 7 ones.", "It is \"'secret'\", not None ones."]
    found = [Problem((f"A#{number}", "A"), sentence) for number, sentence in enumerate(sentences)]
    monkeypatch.setattr(checks, "find", lambda pace: found)
    run(time)
    (sent,) = mail.outbox
    assert "2 × It is …, not … ones.\n    A#1 / A\n    A#2 / A\n\nAnd 1 other kind of problem.\n" in sent.body
    assert "It is odd" not in sent.body


@pytest.mark.parametrize("addresses", [[], ["admins@example.org"]])
def test_no_mail_is_sent_where_all_can_be_derived_or_to_nobody(time, settings, addresses):
    settings.DEALSITE_ALARM_MAIL = addresses
    make_deal()
    table.write(Update(key=("BRAND#nordlicht", "COUNTS"), set={"deals": 7}))
    if not addresses:
        damage("a")
    assert run(time).left == 2 - len(addresses)
    assert mail.outbox == []


def test_a_check_whose_mail_is_refused_is_done(time, settings, monkeypatch):
    settings.DEALSITE_ALARM_MAIL = ["admins@example.org"]

    def refuse(*_: object) -> None:
        raise SMTPException("No.")

    monkeypatch.setattr(schedule, "send_mail", refuse)
    damage("a")
    assert run(time).problems == 1
    (noted,) = command_runs.newest(CHECK.kind, now=EVER)
    assert noted.ok


def test_of_a_large_table_samples_take_turns(time, monkeypatch):
    for _ in range(3):
        make_deal()
    damage("a", "b")
    monkeypatch.setattr(schedule, "WHOLE_ITEMS", 5)
    monkeypatch.setattr(schedule, "SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr(schedule, "RATE", 0)
    monkeypatch.setattr(checks, "AT_ONCE", 4)
    in_all = schema.count()
    seen, found, night = 0, 0, NOW
    while True:
        plan(night)
        night = CHECK.next_run(night)
        time.seconds = (night - NIGHT).total_seconds()
        job = jobs.take_next(now=night)
        one = run(time, job)
        assert one.scope == "sample"
        seen, found = seen + one.items, found + one.problems
        if one.position is None:
            break
        assert one.items == 4
    assert found == 2
    assert seen >= in_all


def test_a_sample_goes_on_with_the_next_table_and_begins_anew_where_its_table_is_gone():
    damage("a")
    name = table.name()
    assert checks.check_sample({"table": "x", "start": None}, is_enough=lambda _: True).items == 1
    assert checks.check_sample(None, is_enough=lambda _: True).position is None
    found = checks.check_sample({"table": name, "start": {"PK": "H", "SK": "A"}}, is_enough=lambda _: True)
    assert (found.items, found.position) == (0, None)


def test_the_pace_keeps_to_its_rate(time):
    pace = Pace(100, clock=time, sleep=time.sleep)
    for _ in range(250):
        pace()
    assert time.seconds == 2.5
    fast = Pace(0, clock=time, sleep=time.sleep)
    for _ in range(250):
        fast()
    assert time.seconds == 2.5


def test_a_check_counts_second_factors_whose_key_is_gone(time, monkeypatch):
    monkeypatch.setattr(second_factor, "unreadable", lambda *, then: then() or 3)
    assert run(time).unreadable == 3


def test_the_lease_is_renewed_while_a_check_runs(time, monkeypatch):
    damage("a")
    renewed: list[datetime] = []
    save_checkpoint = jobs.save_checkpoint

    def save(job, checkpoint, *, now):
        renewed.append(now)
        return save_checkpoint(job, checkpoint, now=now)

    monkeypatch.setattr(jobs, "save_checkpoint", save)
    job = take()

    def find(pace):
        for _ in range(40):  # each as long as 50 items may take
            time.seconds += 1
            pace.then()
        return []

    monkeypatch.setattr(checks, "find", find)
    run(time, job)
    assert [round((at - NIGHT).total_seconds()) for at in renewed] == [10, 20, 30, 40, 40, 40]


def test_a_worker_whose_check_was_taken_by_another_notes_nothing(time):
    job = take()
    other = jobs.take_next(now=NIGHT + 2 * jobs.LEASE)
    assert other is not None
    schedule.run(job, schedule.check_table, clock=time.now)
    assert command_runs.newest(CHECK.kind, now=EVER) == []
    assert jobs.get(job.id).state == "open"
    run(time, other)
    assert len(command_runs.checks(now=EVER)) == 1


def test_a_check_that_fails_is_tried_again_later_and_in_the_end_with_a_sample(time, monkeypatch):
    job = take()

    def fail(pace):
        raise Unavailable()

    with monkeypatch.context() as patch:
        patch.setattr(checks, "find", fail)
        schedule.run(job, schedule.check_table, clock=time.now)
    again = jobs.take_next(now=NIGHT + timedelta(seconds=4))
    assert again is not None
    assert again.error
    (noted,) = command_runs.newest(CHECK.kind, now=EVER)
    assert (noted.ok, noted.said, noted.by, noted.check) == (False, again.error, "worker", None)
    third = jobs.take_next(now=NIGHT + timedelta(minutes=5))
    assert third is not None
    assert run(time, third).scope == "sample"


def test_a_command_whose_worker_ends_each_time_is_given_up():
    plan(NOW)
    for number in range(jobs.MAX_TRIES + 1):
        job = jobs.take_next(now=NIGHT + number * HOUR)
        assert job is not None
    schedule.run(job, lambda held: "It went well.", clock=lambda: NIGHT + 9 * HOUR)
    assert jobs.get(job.id).state == "failed"
    (noted,) = command_runs.newest(CHECK.kind, now=EVER)
    assert (noted.ok, noted.said) == (False, "The worker has ended 8 times before this did.")


def test_other_jobs_do_not_wait_for_a_check(monkeypatch):
    plan(NOW)
    works: list[Callable[[], None]] = []
    monkeypatch.setattr(schedule, "start", works.append)
    assert run_next(now=NIGHT)
    assert not run_next(now=NIGHT)
    (work,) = works
    monkeypatch.setattr(schedule, "Pace", lambda rate: Pace(0))
    work()
    assert command_runs.newest(CHECK.kind, now=EVER)[0].by == "worker"
    assert not run_next(now=NIGHT + DAY)


def test_a_check_runs_in_a_thread_of_its_own():
    done = threading.Event()
    schedule.start(done.set)
    assert done.wait(30)


def test_a_job_that_was_handed_over_is_left_alone(monkeypatch):
    plan(NOW)
    monkeypatch.setattr(schedule, "start", lambda work: None)
    run_next(now=NIGHT)
    (item,) = [one for one in table.scan_all(consistent=True) if one["type"] == "Job"]
    assert (item["state"], item["tries"]) == ("open", 1)
    with pytest.raises(Conflict):
        jobs.finish(jobs.Job(item["id"], CHECK.kind, {}, taken_by="another"))
