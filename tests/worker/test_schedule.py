"""What workers do by themselves at night: when it is due, what turns it off, and how it went."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from cms.jobs import KINDS
from dealsite.data import table
from dealsite.data.integrity import checks
from dealsite.data.jobs import command_runs, jobs
from dealsite.data.table import client
from dealsite.data.table.errors import Conflict, Unavailable
from dealsite.data.table.ids import new_ulid
from dealsite.worker import loop, schedule
from dealsite.worker.schedule import SCHEDULE, HeldJob, NightlyCommand
from tests.builders import DAY, EVER, HOUR, NOW, make_deal
from tests.gateways.ledger import Ledger
from tests.jobs import run_next
from tests.measuring import measured
from tests.payments import owe, read, run, work


def test_each_line_of_the_schedule_has_what_it_does_a_setting_and_a_name(settings):
    assert {one.kind for one in SCHEDULE} <= loop.HANDLERS.keys() & KINDS.keys()
    for command in SCHEDULE:  # a backup is a matter of room on the disk
        assert command.is_on is (command.kind != "backup")
        setattr(settings, command.setting, False)
        assert not command.is_on


def test_a_command_is_due_at_its_hour_of_this_day_or_the_next():
    command = NightlyCommand("x", 4, "DEALSITE_NIGHTLY_CHECK", schedule.close_day)
    assert command.next_run(datetime(2026, 11, 21, 3, 59, tzinfo=UTC)) == datetime(
        2026, 11, 21, 4, tzinfo=UTC
    )
    assert command.next_run(datetime(2026, 11, 21, 4, tzinfo=UTC)) == datetime(2026, 11, 22, 4, tzinfo=UTC)


def test_what_is_turned_off_is_not_planned(fresh_table, settings):
    settings.DEALSITE_NIGHTLY_CHECK = False
    schedule.plan(now=NOW)
    schedule.plan(now=NOW)
    planned = {}
    while job := jobs.take_next(now=NOW + DAY):
        planned[job.kind] = job.id
    assert planned.keys() == {"snapshot", "close_day", "retention"}
    assert planned["snapshot"][:10] == new_ulid(SCHEDULE[1].next_run(NOW))[:10]


def test_what_was_turned_off_since_it_was_planned_does_not_run(fresh_table, settings, monkeypatch):
    settings.DEALSITE_CLOSE_DAY = False
    monkeypatch.setattr(schedule, "start", lambda work: pytest.fail("It runs."))
    measured(command_runs.plan)(command_runs.CLOSE_DAY, due=NOW)
    assert run_next(now=NOW)
    (item,) = [one for one in table.scan_all(consistent=True) if one["type"] == "Job"]
    assert (item["state"], item["error"]) == ("cancelled", "DEALSITE_CLOSE_DAY turns this off.")


def test_at_night_yesterdays_payments_move_to_the_history(fresh_table, wait_for_indexes):
    made = [owe(order_number=number)[0] for number in (1, 2)]
    wait_for_indexes()
    run(Ledger(), NOW)
    wait_for_indexes()
    work(NOW, Ledger())
    command_runs.plan(command_runs.CLOSE_DAY, due=NOW + DAY)
    job = jobs.take_next(now=NOW + DAY)
    assert job is not None
    schedule.run(job, schedule.close_day, clock=lambda: NOW + DAY)
    assert all(read(payment).closed for payment in made)
    (noted,) = command_runs.newest(command_runs.CLOSE_DAY, now=EVER)
    assert (noted.ok, noted.by, noted.said) == (True, "worker", "2 payments moved to the history.")
    assert jobs.get(job.id).state == "done"


@pytest.mark.parametrize(
    ("command", "kind"),
    [("close_day", "close_day"), ("apply_retention", "retention"), ("check_table", "check_table")],
)
def test_a_command_by_hand_is_noted_as_that_of_a_night_is(fresh_table, monkeypatch, command, kind):
    monkeypatch.setattr(client, "READ_TIMEOUT", client.READ_TIMEOUT)  # which commands change
    make_deal()
    said = StringIO()
    call_command(command, stdout=said, stderr=StringIO())
    (noted,) = command_runs.newest(kind, now=EVER)
    assert (noted.ok, noted.by) == (True, "command")
    assert noted.said in said.getvalue()


def test_what_is_said_of_a_run_is_cut_to_what_fits(fresh_table):
    measured(command_runs.note)("backup", by="command", began=NOW, now=NOW + HOUR, ok=False, said="x" * 600)
    command_runs.note("backup", by="command", began=NOW - HOUR, now=NOW + HOUR, ok=True, said="Before.")
    (found,) = command_runs.newest("backup", now=EVER)
    assert (found.began_at, found.ended_at, found.ok, len(found.said)) == (NOW, NOW + HOUR, False, 500)
    assert checks.find() == []


def test_of_a_job_that_hangs_the_lease_is_not_renewed(fresh_table):
    command_runs.plan("close_day", due=NOW)
    job = jobs.take_next(now=NOW)
    assert job is not None
    times = iter(
        [NOW, NOW + timedelta(seconds=9), NOW + timedelta(seconds=11)] + [NOW + timedelta(seconds=11)] * 2
    )
    held = HeldJob(job, lambda: next(times))
    held.renew()
    assert jobs.take_next(now=NOW + timedelta(seconds=61)) is not None
    with pytest.raises(Conflict):
        held.renew()


def test_a_table_that_is_away_for_a_moment_ends_no_work(fresh_table, monkeypatch):
    command_runs.plan("close_day", due=NOW)
    job = jobs.take_next(now=NOW)
    assert job is not None
    seconds = 0
    held = HeldJob(job, lambda: NOW + timedelta(seconds=seconds))
    with monkeypatch.context() as away:
        away.setattr(jobs, "save_checkpoint", unavailable)
        for seconds in (11, 22, 33):  # noqa: B007 - the clock shows it
            held.renew()
        seconds = 44
        with pytest.raises(Unavailable):  # another worker may take it at 60
            held.renew()


def unavailable(*_: object, **__: object) -> None:
    raise Unavailable()
