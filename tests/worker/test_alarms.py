"""Alarms: once an hour, of all workers together, when more tries fail than usual."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.core import mail

from dealsite.data.people import security_events
from dealsite.worker import loop, schedule
from tests.builders import HOUR, NOW
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _bound(settings: Any) -> None:
    settings.DEALSITE_ALARM_FAILURES, settings.DEALSITE_ALARM_MAIL = 10, ["admins@example.org"]


def fail(number: int, *, ago: timedelta = MINUTE) -> None:
    security_events.count_failures(number, now=NOW - ago)


def test_an_alarm_is_a_line_of_the_log_and_a_mail(caplog: pytest.LogCaptureFixture):
    fail(6)
    fail(4, ago=9 * MINUTE)
    assert schedule.check_alarms(now=NOW)
    (line,) = [record for record in caplog.records if record.name == "dealsite.worker.schedule"]
    assert (line.levelno, line.getMessage()) == (
        logging.ERROR,
        "event='security_alarm' failures=10 minutes=10",
    )
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["admins@example.org"], "Dealsite: Many tries fail")
    assert "10 sign-ins, codes and other tries failed at Dealsite." in sent.body
    assert "/cms/security/" in sent.body


def test_fewer_failures_or_older_ones_are_no_alarm():
    fail(9)
    fail(50, ago=11 * MINUTE)
    assert not schedule.check_alarms(now=NOW)
    assert mail.outbox == []


def test_an_alarm_is_raised_once_an_hour_whoever_checks():
    fail(10)
    assert sorted(at_once(*[partial(schedule.check_alarms, now=NOW)] * 4)) == [False, False, False, True]
    assert not schedule.check_alarms(now=NOW + MINUTE)
    security_events.count_failures(10, now=NOW + HOUR)
    assert schedule.check_alarms(now=NOW + HOUR)
    assert len(mail.outbox) == 2


def test_a_mail_that_cannot_be_sent_is_tried_again(monkeypatch: pytest.MonkeyPatch):
    fail(10)

    def down(*args: Any) -> None:
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr(schedule, "send_mail", down)
        assert schedule.check_alarms(now=NOW)
    assert schedule.check_alarms(now=NOW)
    assert len(mail.outbox) == 1


def test_alarms_can_be_without_mail_or_off(settings: Any):
    fail(10)
    settings.DEALSITE_ALARM_FAILURES = 0
    assert not schedule.check_alarms(now=NOW)
    settings.DEALSITE_ALARM_FAILURES, settings.DEALSITE_ALARM_MAIL = 10, []
    assert schedule.check_alarms(now=NOW)
    assert mail.outbox == []


def test_the_worker_looks_once_a_minute(monkeypatch: pytest.MonkeyPatch):
    stop, times, checked = threading.Event(), iter(range(200)), []
    monkeypatch.setattr(schedule, "check_alarms", lambda now: checked.append(now))
    monkeypatch.setattr(loop, "SOON_SECONDS", 0.0)
    monkeypatch.setattr(loop, "IDLE_SECONDS", 0.0)

    def clock() -> Any:
        second = next(times)
        if second >= 190:
            stop.set()
        return NOW + timedelta(seconds=second)

    loop.run(stop, expire=False, clock=clock)
    assert 3 <= len(checked) <= 4
