"""Where an order goes is changed until it is shipped; and where a carrier says how far a parcel is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

import pytest

from dealsite.data.commerce import order_changes, orders
from dealsite.data.commerce.addresses import CARRIERS, Address, tracking_link
from dealsite.data.commerce.order_record import Order
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import CANCELLED, PLACED, SHIPPED
from dealsite.data.people import messages
from dealsite.data.table import errors
from tests.builders import DAY, HOUR, NOW, make_deal, make_id
from tests.measuring import measured
from tests.orders import ADDRESS, make_order
from tests.payments import pay
from tests.races import at_once, meanwhile

pytestmark = pytest.mark.usefixtures("whole_table")
ELSEWHERE = Address("Grace Hopper", "3 Harbour Road", "2nd floor", "20095", "Hamburg", "DE")


def change(order: Order, address: Address = ELSEWHERE, by: str = "olga") -> Order:
    return order_changes.change_address(order.username, order.id, address, by=by, now=NOW + HOUR)


def ship(order: Order, tracking: str = "") -> Order:
    return order_changes.ship(
        order.username, order.id, tracking=tracking, unpaid=True, by="olga", now=NOW + HOUR
    )


def now_of(order: Order) -> Order:
    return orders.get(order.username, order.id)


def test_an_order_goes_elsewhere_as_its_shopper_and_the_log_are_told(wait_for_indexes: Callable[[], None]):
    order = make_order()
    changed = measured(order_changes.change_address)(
        "ada", order.id, replace(ELSEWHERE, street="  3  Harbour\nRoad "), by="olga", now=NOW + HOUR
    )
    card = replace(order.card, name="Grace Hopper")
    assert changed == now_of(order) == replace(order, card=card, address=ELSEWHERE, version=order.version + 1)
    told = messages.inbox("ada").rows[0]
    assert (told.headline, told.text, told.order) == ("The address of your order was changed", "", order.id)
    wait_for_indexes()
    assert orders.waiting(PLACED).rows == [card]
    entry = audit.of_target("order", order.id)[0]
    assert (entry.what, entry.by, entry.at, entry.note) == ("changed address", "olga", NOW + HOUR, "")


def test_a_shopper_who_changes_it_gets_no_message():
    order = make_order()
    assert change(order, by="ada").address == ELSEWHERE
    assert [message.headline for message in messages.inbox("ada").rows] == ["Thank you: your order is placed"]


def test_the_address_that_it_goes_to_changes_nothing(wait_for_indexes: Callable[[], None]):
    order = make_order()
    assert change(order, ADDRESS) == order
    changed = change(order)
    assert change(order) == changed
    shipped = ship(order)
    assert change(order) == shipped == now_of(order)
    wait_for_indexes()
    assert [entry.what for entry in audit.of_target("order", order.id)].count("changed address") == 1


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (ship, "This order is on its way: only its carrier can still take it to another address."),
        (
            lambda order: order_changes.deliver("ada", ship(order).id, by="olga", now=NOW + DAY),
            "This order is delivered: its address cannot be changed any more.",
        ),
        (
            lambda order: order_changes.cancel("ada", order.id, by="ada", now=NOW + HOUR),
            "This order is cancelled: its address cannot be changed any more.",
        ),
    ],
)
def test_one_that_is_not_waiting_any_more_keeps_its_address(step: Callable[[Order], Order], why: str):
    order = step(make_order())
    with pytest.raises(errors.Conflict) as refused:
        change(order)
    assert str(refused.value) == why
    assert now_of(order) == order


def test_what_is_no_address_or_no_order_is_refused():
    order = make_order()
    with pytest.raises(errors.Invalid) as refused:
        change(order, Address(name="\u200b", street="1 Street", city="x" * 121, country="HK"))
    assert set(refused.value.fields) == {"name", "city"}
    for username, order_id in (("bob", order.id), ("ada", make_id()), ("ada", "x"), ("#", order.id)):
        with pytest.raises(errors.NotFound):
            order_changes.change_address(username, order_id, ELSEWHERE, by="olga", now=NOW)
    assert now_of(order) == order


def test_a_payment_that_comes_in_between_is_kept(monkeypatch: pytest.MonkeyPatch):
    order = make_order()
    meanwhile(monkeypatch, lambda: pay(order))
    changed = change(order)
    assert changed == now_of(order)
    assert changed.card.may_ship
    assert changed.address == ELSEWHERE


def test_what_is_shipped_in_between_goes_where_it_was_to_go(monkeypatch: pytest.MonkeyPatch):
    order = make_order()
    meanwhile(monkeypatch, lambda: ship(order))
    with pytest.raises(errors.Conflict, match="on its way"):
        change(order)
    assert (now_of(order).status, now_of(order).address) == (SHIPPED, ADDRESS)


@pytest.mark.engines("native", "local")
@pytest.mark.engines_differ
@pytest.mark.parametrize("_", range(4))
def test_an_order_goes_elsewhere_before_it_is_shipped_or_not_at_all(_: int):
    order = make_order()
    changed, shipped = at_once(partial(change, order), partial(ship, order, "AB 123"))
    after = now_of(order)
    assert (after.status, after.tracking, shipped.status) == (SHIPPED, "AB 123", SHIPPED)
    if isinstance(changed, errors.Conflict):
        assert (after.address, after.card.name, after.version) == (ADDRESS, ADDRESS.name, 2)
    else:
        assert (after.address, after.card.name, after.version) == (ELSEWHERE, ELSEWHERE.name, 3)


@pytest.mark.engines("native", "local")
@pytest.mark.engines_differ
@pytest.mark.parametrize("_", range(4))
def test_an_order_that_is_cancelled_meanwhile_is_cancelled_whole(_: int):
    order = make_order("ada", make_deal(stock=5))
    cancel = partial(order_changes.cancel, "ada", order.id, by="ada", now=NOW + HOUR)
    changed, cancelled = at_once(partial(change, order), cancel)
    assert cancelled.status == now_of(order).status == CANCELLED
    expected = ADDRESS if isinstance(changed, errors.Conflict) else ELSEWHERE
    assert now_of(order).address == expected
    assert len(orders.lines_of(now_of(order))) == 1


LINKS = {
    "DHL": "https://www.dhl.com/global-en/home/tracking.html?tracking-id=AB1%2F2",
    "Deutsche Post": "https://www.deutschepost.de/de/s/sendungsverfolgung.html?piececode=AB1%2F2",
    "DPD": "https://tracking.dpd.de/status/en_US/parcel/AB1%2F2",
    "GLS": "https://gls-group.com/track/AB1%2F2",
    "Hermes": "https://www.myhermes.de/empfangen/sendungsverfolgung/sendungsinformation#AB1%2F2",
    "Evri": "https://www.evri.com/track/parcel/AB1%2F2",
    "UPS": "https://www.ups.com/track?tracknum=AB1%2F2",
    "FedEx": "https://www.fedex.com/fedextrack/?trknbr=AB1%2F2",
    "Österreichische Post": "https://www.post.at/sv/sendungssuche?snr=AB1%2F2",
    "Swiss Post": "https://service.post.ch/ekp-web/ui/entry/search/AB1%2F2",
    "Royal Mail": "https://www.royalmail.com/track-your-item#/tracking-results/AB1%2F2",
    "PostNL": "https://jouw.postnl.nl/track-and-trace/AB1%2F2",
    "La Poste": "https://www.laposte.fr/outils/suivre-vos-envois?code=AB1%2F2",
    "USPS": "https://tools.usps.com/go/TrackConfirmAction?tLabels=AB1%2F2",
}


def test_each_carrier_has_a_page_for_a_parcel():
    assert {carrier: tracking_link(carrier, " AB 1/2 ") for carrier in CARRIERS} == LINKS
    assert tracking_link("dhl", "AB1") == tracking_link("Somebody", "AB1") == tracking_link("DHL", " ") == ""


@pytest.mark.parametrize(
    "number", ["../../x", "..", "?x=1&y", "a b", "#x", "'\"><b>", "{}", "@evil.example", "%2e%2e", "ä\\"]
)
def test_no_number_leads_to_another_place(number: str):
    for carrier, pattern in CARRIERS.items():
        link, before = tracking_link(carrier, number), pattern.removesuffix("{}")
        assert link.startswith(before)
        assert before.startswith("https://")
        assert urlsplit(link).netloc == urlsplit(pattern).netloc
        assert not set(link.removeprefix(before)) & set("/?#&=@:'\"<> \\{}")
