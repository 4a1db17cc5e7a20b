"""close_day and run_payments, as somebody runs them."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dealsite.data import table
from dealsite.data.entities.commerce import FAILED, PROCESSED, SCHEDULED
from dealsite.data.jobs import site_switch
from tests.builders import DAY, NOW
from tests.payments import owe, read

pytestmark = pytest.mark.usefixtures("whole_table")


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The commands run at NOW and later, as told, and make no test after them wait longer for answers."""
    from dealsite.worker import loop

    monkeypatch.setattr(table, "be_patient", lambda: None)
    times = [NOW]
    monkeypatch.setattr(timezone, "now", lambda: times[0])
    monkeypatch.setattr(loop.charge_due, "__kwdefaults__", {"clock": lambda: times[0], "only": None})
    return times


def command(*args):
    out = StringIO()
    call_command(*args, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_run_payments_charges_what_is_due_and_close_day_moves_it(clock):
    made = [owe(order_number=number, method="test:approve")[0] for number in (1, 2)]
    declined = owe(order_number=3, method="test:decline")[0]
    assert command("run_payments", "--once") == "1 failed, 2 processed\n"
    assert command("run_payments", "--once") == "No payment is due.\n"
    assert {read(payment).status for payment in made} == {PROCESSED}
    assert read(declined).status == FAILED
    with pytest.raises(CommandError, match="2026-11-21 is not over yet"):
        command("close_day", "2026-11-21")
    clock[0] = NOW + DAY
    assert "2 payments moved to the history" in command("close_day")
    assert all(read(payment).closed for payment in made)
    assert "0 payments moved" in command("close_day", "2026-11-21")


def test_run_payments_says_that_it_charges_nothing_on_a_copy(clock):
    (payment,) = owe(method="test:approve")
    site_switch.switch_site("copy", message="", by="-", now=NOW)
    with pytest.raises(CommandError, match="charges no cards"):
        command("run_payments", "--once")
    assert read(payment).status == SCHEDULED


def test_a_card_that_times_out_is_left_for_the_next_run(clock):
    (payment,) = owe(method="test:time_out_once")
    assert command("run_payments", "--once") == "1 unknown\n"
    clock[0] = NOW + timedelta(minutes=2)
    assert command("run_payments", "--once") == "1 processed\n"
    assert read(payment).status == PROCESSED


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "2026-11-22"])
def test_a_day_that_cannot_be_closed_is_refused(day):
    with pytest.raises(CommandError):
        command("close_day", day)
