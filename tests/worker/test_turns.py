"""What all of the site does only so often: it waits for its turn, is put off, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.core import mail
from django.utils import timezone

from dealsite.accounts import limits
from dealsite.accounts.limit_table import read
from dealsite.data import table
from dealsite.data.commerce import payments
from dealsite.data.editing import links as checked_links
from dealsite.data.entities.commerce import PENDING, REFUNDED
from dealsite.data.people import sessions
from dealsite.data.table.errors import TooManyRequests
from dealsite.gateways import choice
from dealsite.worker import links, loop
from tests.builders import NOW, make_deal
from tests.gateways.stripe_stand_in import StripeStandIn
from tests.jobs import run_all
from tests.payments import cancel_order, owe
from tests.people import make_user
from tests.races import at_once, errors_of

pytestmark = pytest.mark.usefixtures("whole_table")
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
LATER = timedelta(minutes=61)
CARD = "cus_1|pm_card"


class Clock:
    """Says when it is; who sleeps is only noted."""

    def __init__(self) -> None:
        self.now = NOW
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timezone, "now", lambda: clock.now)
    monkeypatch.setattr(limits, "sleep", clock.sleep)
    return clock


@pytest.fixture
def only(settings: LazySettings) -> Callable[[str, int, timedelta], None]:
    """Set how often all of the site does something."""

    def only(what: str, tries: int, span: timedelta) -> None:
        settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {f"{what}-total": (tries, span)}

    return only


@pytest.fixture
def stripe(settings: LazySettings) -> Iterator[StripeStandIn]:
    with StripeStandIn() as stand_in:
        settings.DEALSITE_GATEWAY, settings.STRIPE_SECRET_KEY = "stripe", "sk_test_x"
        settings.STRIPE_API_BASE = stand_in.url
        yield stand_in


def test_whose_turn_it_is_not_waits_for_the_next_second_and_after_five_is_told_how_long(clock, only):
    only("probe", 2, SECOND)
    for _ in range(5):
        limits.take_turn("probe")
    assert clock.slept == [1, 1]
    only("probe", 1, HOUR)
    with pytest.raises(TooManyRequests) as full:
        limits.take_turn("probe")
    assert full.value.retry_after == 3600 - 2
    assert clock.slept == [1, 1]


def test_of_many_at_once_no_more_get_a_turn_than_may(clock, only):
    only("probe", 5, HOUR)
    outcomes = at_once(*[lambda: limits.take_turn("probe")] * 16)
    assert errors_of(outcomes) == [TooManyRequests] * 11


def test_what_stripe_lets_a_new_account_do_is_not_exceeded_by_pages_and_workers_together():
    # 25 requests a second in the sandbox, and of each kind: https://docs.stripe.com/rate-limits
    usual = read("")
    assert usual["gateway-total"][0] + usual["gateway-worker-total"][0] <= 25
    assert usual["gateway-total"][1] == usual["gateway-worker-total"][1] == SECOND


def test_each_request_to_stripe_takes_a_turn_pages_and_workers_each_their_own(clock, only, stripe):
    only("gateway", 1, HOUR)
    only("gateway-worker", 2, HOUR)
    page, worker = choice.current(), loop.gateway()
    assert page.begin_card(return_url="https://a.example/", cancel_url="https://a.example/", account="ann")
    with pytest.raises(TooManyRequests):
        page.begin_card(return_url="https://a.example/", cancel_url="https://a.example/", account="ann")
    for _ in range(2):
        assert worker.find_charge(CARD, idempotency_key="P-1") is None
    with pytest.raises(TooManyRequests):
        worker.find_charge(CARD, idempotency_key="P-1")
    assert len(stripe.requests) == 3


def test_a_payment_for_which_there_is_no_turn_is_charged_once_when_its_lease_is_over(clock, only, stripe):
    (owed,) = owe(method=CARD)
    only("gateway-worker", 1, HOUR)
    limits.take_turn("gateway-worker")
    gateway = loop.gateway()
    assert loop.charge_due(gateway, clock=timezone.now) == {"unknown": 1}
    assert payments.of_order("ann", [owed.ref])[0].status == PENDING
    clock.now += LATER
    assert loop.charge_due(gateway, clock=timezone.now) == {"processed": 1}
    assert len(stripe.intents) == 1


def test_a_refund_for_which_there_is_no_turn_is_put_off_and_costs_no_try(clock, only, stripe):
    (owed,) = owe(method=CARD)
    loop.charge_due(loop.gateway(), clock=timezone.now)
    cancel_order(owed, clock.now)
    only("gateway-worker", 1, HOUR)  # and the charge had it
    run_all(now=clock.now)
    assert len(stripe.requests) == 1
    (waiting,) = [item for item in table.scan_all() if item.get("kind") == payments.REFUND_PAYMENT]
    assert (waiting["tries"], waiting["state"]) == (0, "open")
    only("gateway-worker", 2, HOUR)
    clock.now += LATER
    run_all(now=clock.now)
    assert payments.of_order("ann", [owed.ref])[0].status == REFUNDED
    assert sum(map(len, stripe.refunds.values())) == 1


def test_more_mails_than_the_site_may_send_wait_and_all_are_sent(clock, only):
    only("mail", 2, SECOND)
    for number in range(5):
        sessions.change_password(make_user(f"ann{number}"), password="another", now=NOW)
    run_all(now=clock.now)
    assert clock.slept == [1, 1]
    assert len(mail.outbox) == 5


def test_mails_that_would_have_to_wait_long_are_put_off_and_count_once_for_their_addresses(
    clock, only, settings
):
    only("mail", 2, HOUR)
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"mail": (1, timedelta(days=1))}
    for number in range(3):
        sessions.change_password(make_user(f"ann{number}"), password="another", now=NOW)
    run_all(now=clock.now)
    assert len(mail.outbox) == 2
    clock.now += LATER
    run_all(now=clock.now)
    assert sorted(sent.to[0] for sent in mail.outbox) == [f"ann{number}@example.org" for number in range(3)]
    assert clock.slept == []


def test_mails_about_orders_keep_nobody_waiting_for_one_about_their_account(clock, only):
    cancel_order(owe()[0], NOW)
    sessions.change_password(make_user("bob"), password="another", now=NOW)
    only("mail-order", 1, HOUR)
    limits.take_turn("mail-order")
    run_all(now=clock.now)
    assert [sent.to for sent in mail.outbox] == [["bob@example.org"]]
    clock.now += LATER
    run_all(now=clock.now)
    assert [sent.to for sent in mail.outbox] == [["bob@example.org"], ["ann@example.org"]]


def test_links_of_shops_are_checked_only_so_often_by_all_workers(clock, only, settings, monkeypatch):
    settings.DEALSITE_CHECK_LINKS = True
    only("probe", 2, HOUR)
    asked: list[str] = []

    def probe(url: str) -> links.Finding:
        asked.append(url)
        return links.Finding("works")

    monkeypatch.setattr(links, "probe", probe)
    for number in range(3):
        checked_links.check_again(make_deal(link=f"https://shop{number}.site/").id, now=NOW)
    run_all(now=clock.now)
    assert len(asked) == 2
    clock.now += LATER
    run_all(now=clock.now)
    assert len(asked) == 3
