"""The thread that charges payments: works while something is due, waits while nothing is, outlives what goes wrong."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from dealsite.data.jobs import site_switch
from dealsite.data.jobs.site_switch import SiteSwitch
from dealsite.data.table.errors import Unavailable
from dealsite.worker import loop


class Steps:
    """Outcomes of turns, one after the other; the last one stops the thread."""

    def __init__(self, stop, *outcomes):
        self.stop, self.outcomes, self.turns, self.asked = stop, list(outcomes), 0, []

    def __call__(self, gateway, *, clock, only=None):
        self.turns += 1
        self.asked.append(only)
        outcome = self.outcomes.pop(0)
        if not self.outcomes:
            self.stop.set()
        if isinstance(outcome, Exception):
            raise outcome
        return Counter(outcome)


class Stop(threading.Event):
    """An event whose waits are counted, and take no time."""

    def __init__(self):
        super().__init__()
        self.waits = 0

    def wait(self, timeout=None):
        self.waits += 1
        return True


@pytest.fixture
def stop():
    return Stop()


@pytest.mark.parametrize(
    ("outcomes", "waits"),
    [
        ([{"processed": 3}, {"failed": 1}, {"cancelled": 1}, {}], 1),
        ([{}, {"unknown": 4}, {"left": 2}], 3),
        ([Unavailable(), ValueError("odd"), {"processed": 1}], 2),
    ],
    ids=["works on", "waits", "outlives errors"],
)
def test_it_waits_only_while_nothing_was_done(outcomes, waits, stop, monkeypatch):
    steps = Steps(stop, *outcomes)
    monkeypatch.setattr(loop, "charge_due", steps)
    loop.charge(stop)
    assert (steps.turns, stop.waits) == (len(outcomes), waits)


def test_while_nothing_is_due_it_asks_one_partition_after_the_other_and_all_once_something_is(
    stop, monkeypatch
):
    steps = Steps(stop, *[{}] * 12, {"processed": 1}, {}, {})
    monkeypatch.setattr(loop, "charge_due", steps)
    loop.charge(stop)
    assert steps.asked == [None, *range(10), 0, 1, None, 2]


def test_on_a_copy_nothing_is_charged(stop, monkeypatch):
    turns, charged = Steps(stop, {}, {}), Steps(stop, {})
    monkeypatch.setattr(stop, "wait", lambda _: turns(None, clock=None))
    monkeypatch.setattr(loop, "charge_due", charged)
    site_switch.of_process.keep(SiteSwitch("copy"))
    loop.charge(stop)
    assert (turns.turns, charged.turns) == (2, 0)


def test_without_a_gateway_nothing_is_charged(stop, settings, monkeypatch):
    settings.DEALSITE_GATEWAY = ""
    monkeypatch.setattr(loop, "charge_due", None)
    loop.charge(stop)
    assert stop.waits == 0
