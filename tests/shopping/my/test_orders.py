"""A user's orders: seen by nobody else, cancelled, ordered again, and reported by mail and message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from dealsite.data.catalogue import deal_changes, deals, relations
from dealsite.data.commerce import carts, order_changes, orders
from dealsite.data.commerce.payment_record import Payment, Refund
from dealsite.data.people import email_addresses, messages, profiles, users
from dealsite.data.table.ids import new_ulid
from shopping.my.payments import state_of
from tests.builders import DAY, EDITOR, HOUR, NOW, make_brand, make_category, make_deal
from tests.gateways.ledger import Ledger
from tests.jobs import run_next
from tests.orders import a_line_lost, make_order
from tests.payments import owe, run
from tests.people import assert_costs_as_declared, give_card, make_user, signed_in

pytestmark = pytest.mark.usefixtures("now")

URLS = ["/account/orders/{id}/", "/account/orders/{id}/cancel/", "/account/orders/{id}/again/"]


@pytest.fixture
def now(whole_table: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """It is NOW; whatever jobs are left at the end are run."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    yield
    work()


def work() -> None:
    """Run all jobs that are due."""
    while run_next(now=NOW + HOUR):
        pass


@pytest.fixture
def ada(now: None) -> Client:
    return signed_in(make_user("ada"))


def listed(answer: Any) -> list[str]:
    return [row.card.id for row in answer.context["rows"]]


def last_said(browser: Client, path: str) -> str:
    return str(list(browser.get(path).context["messages"])[-1])


def test_orders_are_listed_newest_first_by_status_and_page(ada: Client):
    deal = make_deal(live_at=NOW - 3 * DAY)
    made = [make_order("ada", deal, now=NOW - n * HOUR) for n in range(27)]
    order_changes.ship("ada", made[3].id, unpaid=True, by="kim", now=NOW)
    first = ada.get("/account/orders/")
    assert listed(first) == [order.id for order in made[:25]]
    second = ada.get("/account/orders/" + first.context["after"])
    assert listed(second) == [order.id for order in made[25:]]
    back = ada.get("/account/orders/" + second.context["before"])
    assert listed(back) == [order.id for order in made[:25]]
    shipped = ada.get("/account/orders/?status=SHIPPED")
    assert listed(shipped) == [made[3].id]
    assert (
        "None of your orders is delivered." in ada.get("/account/orders/?status=DELIVERED").content.decode()
    )


@pytest.mark.parametrize("query", ["status=x", "after=x", "before=x", "status=PLACED&after=1"])
def test_a_damaged_address_is_refused(ada: Client, query: str):
    assert ada.get(f"/account/orders/?{query}").status_code == 400


def test_an_order_shows_all_about_it(ada: Client):
    deal = make_deal(title="A lamp", price=Decimal("10.00"), was_price=None)
    order = make_order("ada", deal, quantity=3, plan=3)
    order_changes.ship("ada", order.id, tracking="AB 123", unpaid=True, by="kim", now=NOW)
    answer = ada.get(f"/account/orders/{order.id}/")
    page = answer.content.decode()
    for text in (
        "A lamp",
        "3 × €10.00",
        "Shipped",
        "AB 123",
        "1 of 3",
        "12 Analytical Row",
        "ada@example.org",
    ):
        assert text in page
    assert "kim" not in page
    assert "Yes, cancel it" not in page


def test_an_order_is_cancelled_until_it_is_shipped(ada: Client):
    deal = make_deal(stock=5)
    order, sent = make_order("ada", deal, quantity=2), make_order("ada", deal)
    order_changes.ship("ada", sent.id, unpaid=True, by="kim", now=NOW)
    for one, said in (
        (order, "Your order is cancelled. If you paid for it, that is on its way back."),
        (sent, "This order is shipped: it cannot be cancelled."),
    ):
        answer = ada.post(f"/account/orders/{one.id}/cancel/")
        assert answer["Location"] == f"/account/orders/{one.id}/"
        assert last_said(ada, answer["Location"]) == said
    assert [orders.get("ada", one.id).status for one in (order, sent)] == ["CANCELLED", "SHIPPED"]
    assert deals.get(deal.id).stock == 4
    assert ada.post(f"/account/orders/{order.id}/cancel/").status_code == 302


def test_the_same_is_ordered_again_as_far_as_it_can_be(ada: Client):
    there = make_deal(title="A lamp")
    gone = make_deal(title="A chair")
    order = make_order("ada", there, gone, quantity=2)
    deal_changes.expire_now(deals.get(gone.id), by=EDITOR, now=NOW - HOUR)
    form = {"token": new_ulid(NOW)}
    for _ in range(2):
        answer = ada.post(f"/account/orders/{order.id}/again/", form)
    assert answer["Location"] == "/cart/"
    said = [str(message) for message in ada.get("/cart/").context["messages"]]
    assert said[-2:] == [
        "1 deal of that order is in your cart.",
        "Not added: “A chair”. The deal “A chair” has expired.",
    ]
    _, lines = carts.read_active(carts.user_cart("ada"), now=NOW)
    assert [(line.title, line.quantity) for line in lines] == [("A lamp", 2)]
    assert ada.post(f"/account/orders/{order.id}/again/", {"token": "x"}).status_code == 400


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("method", ["get", "head", "post", "put", "patch", "delete"])
def test_anothers_order_is_not_there_whatever_is_asked(ada: Client, url: str, method: str):
    order = make_order("bob")
    for order_id in (order.id, new_ulid(NOW), "x", order.id.lower()):
        answer = getattr(ada, method)(url.format(id=order_id), {"token": new_ulid(NOW)})
        assert answer.status_code in (404, 405)
    if method in ("get", "post"):
        assert (
            getattr(ada, "post" if "cancel" in url or "again" in url else "get")(
                url.format(id=order.id), {"token": new_ulid(NOW)}
            ).status_code
            == 404
        )
    assert orders.get("bob", order.id).status == "PLACED"


@pytest.mark.parametrize("url", ["/account/orders/", *URLS])
def test_a_visitor_is_led_to_sign_in(client: Client, url: str):
    answer = client.get(url.format(id=new_ulid(NOW)))
    assert answer["Location"].startswith("/account/sign-in/")


@pytest.mark.parametrize("url", URLS[1:])
def test_what_changes_an_order_needs_its_token(url: str):
    browser = signed_in(make_user("ada"), enforce_csrf_checks=True)
    order = make_order("ada")
    assert browser.post(url.format(id=order.id)).status_code == 403
    assert orders.get("ada", order.id).status == "PLACED"


def test_orders_are_listed_with_what_was_ordered_cancelled_or_not(ada: Client):
    lamp, chair, table = (
        make_deal(title=title, live_at=NOW - DAY) for title in ("A lamp", "A chair", "A table")
    )
    make_order("ada", lamp, chair, table, now=NOW - 2 * HOUR)
    gone = make_order("ada", chair, now=NOW - HOUR)
    make_order("ada", table)
    order_changes.cancel("ada", gone.id, by="ada", now=NOW)
    answer = ada.get("/account/orders/")
    assert_costs_as_declared(answer)
    found = [[line.title for line in row.lines] for row in answer.context["rows"]]
    assert found[:2] == [["A table"], ["A chair"]]
    assert sorted(found[2]) == ["A chair", "A lamp", "A table"]
    assert "and 2 more" in answer.content.decode()


def test_an_order_whose_lines_are_missing_says_how_many_it_has(ada: Client):
    order = make_order("ada", make_deal(title="A lamp"))
    with a_line_lost(order):
        page = " ".join(ada.get("/account/orders/").content.decode().split())
    assert f'href="/account/orders/{order.id}/"> 1 deal </a>' in page


def test_the_account_page_shows_first_what_is_under_way_and_due(ada: Client):
    deal = make_deal(live_at=NOW - 3 * DAY, price=Decimal("30.00"), was_price=None)
    made = [make_order("ada", deal, now=NOW - n * HOUR) for n in range(7)]
    for order in made[:3]:
        order_changes.ship("ada", order.id, tracking="AB 123", unpaid=True, by="kim", now=NOW)
    order_changes.deliver("ada", made[0].id, by="kim", now=NOW)
    order_changes.cancel("ada", made[4].id, by="ada", now=NOW)
    answer = ada.get("/account/")
    assert_costs_as_declared(answer)
    assert listed(answer) == [made[n].id for n in (1, 2, 3, 5, 6)]
    assert [order.id for order in answer.context["under_way"]] == listed(answer)
    page = " ".join(answer.content.decode().split())
    for text in ("5 orders", "tracking AB 123", "€30.00", "Visa ending in 4242", "Hello, ada"):
        assert text in page


def test_who_has_nothing_yet_is_told_what_will_be_there(ada: Client):
    page = " ".join(ada.get("/account/").content.decode().split())
    for text in (
        "0 orders",
        "in the next 90 days",
        "0 messages",
        "What you order will be here, with where it is and how it is paid.",
        "New deals of brands and categories that you watch will be here.",
    ):
        assert text in page
    profiles.save_preferences("ada", language="de")
    assert "Keine</b>" in ada.get("/account/").content.decode()  # Zahlung


def test_the_account_page_shows_new_deals_of_what_is_watched(ada: Client, search_index: Callable[[], None]):
    made = [make_deal(brand="Nordlicht", live_at=NOW - n * HOUR, title=f"Lamp {n}") for n in range(5)]
    make_deal(brand="Others", category="toys-hobbies", live_at=NOW - 2 * HOUR, title="A kite")
    make_deal(brand="Others", category="office-software", title="Not watched")
    make_brand("Nordlicht")
    make_category("toys-hobbies")
    search_index()
    assert ada.get("/account/").context["new_deals"] == []
    relations.add(relations.BRAND_WATCH, "nordlicht", username="ada", now=NOW)
    relations.add(relations.CATEGORY_WATCH, "toys-hobbies", username="ada", now=NOW)
    answer = ada.get("/account/")
    titles = [card.title for card in answer.context["new_deals"]]
    assert (titles[:2], len(titles)) == ([made[0].card.title, made[1].card.title], 3)
    assert titles[2] in ("A kite", "Lamp 2")


def test_an_order_says_apart_where_it_is_and_how_it_is_paid(ada: Client):
    give_card("ada", "declines")
    (payment,) = owe(account="ada", method="declines")
    place = f"/account/orders/{payment.order}/"
    before = ada.get(place)
    assert [(step.name, bool(step.at)) for step in before.context["steps"]] == [
        ("Placed", True),
        ("Paid", False),
        ("Shipped", False),
        ("Delivered", False),
    ]
    assert before.context["payment_state"] == ("Not paid yet", "scheduled")
    run(Ledger(), NOW)
    failed = ada.get(place)
    page = failed.content.decode()
    assert failed.context["payment_state"] == ("Payment failed", "failed")
    assert f"Order {payment.order[-6:]}" in page
    assert "Your card was declined." in page
    assert f'name="next" value="{place}"' in page
    assert f'href="/account/card/?next={place}"' in page


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        ([], None),
        (["PROCESSED", "PROCESSED"], "Paid: €2.00"),
        (["PROCESSED", "SCHEDULED"], "1 of 2 paid"),
        (["PROCESSED", "FAILED"], "Payment failed"),
        (["PENDING", "SCHEDULED"], "Being charged"),
        (["SCHEDULED", "SCHEDULED"], "Not paid yet"),
        (["CANCELLED", "CANCELLED"], "Not charged"),
        (["REFUNDED", "CANCELLED"], "Refunded"),
        (["wanted back", "CANCELLED"], "Being refunded"),
        (["REFUNDED", "PROCESSED"], "Paid: €1.00"),
        (["lowered", "CANCELLED"], "Paid: €0.60"),
        (["refunded in part", "SCHEDULED", "CANCELLED"], "1 of 2 paid"),
    ],
)
def test_how_far_an_order_is_paid_is_said_in_words(statuses: list[str], said: str | None):
    found = []
    for status in statuses:
        stored, whole = status if status.isupper() else "PROCESSED", Decimal("1.00")
        payment = Payment("x", "ada", whole, NOW, NOW, status=stored)
        if status in ("REFUNDED", "wanted back"):
            payment = replace(payment, refunds=(Refund(whole, "Broken", "kim", NOW),))
        elif status == "refunded in part":
            payment = replace(payment, refunds=(Refund(whole / 4, "Broken", "kim", NOW, NOW),))
        elif status == "lowered":
            payment = replace(payment, cut=Decimal("0.40"))
        found.append(payment)
    state = state_of(found)
    assert (state and state[0]) == said


def test_messages_and_mails_tell_of_an_order(ada: Client):
    deal = make_deal(title="A lamp & a shade", price=Decimal("10.00"), was_price=None)
    order = make_order("ada", deal, quantity=2, plan=3)
    (message,) = messages.inbox("ada").rows
    page = ada.get(f"/account/messages/{message.id}/").content.decode()
    assert f'href="/account/orders/{order.id}/"' in page
    assert "New deal" not in ada.get("/account/messages/").content.decode()
    work()
    order_changes.ship(
        "ada", order.id, tracking="AB 123", unpaid=True, by="kim", now=NOW + timedelta(minutes=1)
    )
    order_changes.deliver("ada", order.id, by="kim", now=NOW + timedelta(minutes=2))
    work()
    sent = {
        sent.subject: sent for sent in mail.outbox if "rder" in sent.subject and "ayment" not in sent.subject
    }
    number = order.id[-6:]
    assert set(sent) == {
        f"Dealsite: Your order ({number})",
        f"Dealsite: Your order is on its way ({number})",
        f"Dealsite: Your order was delivered ({number})",
    }
    first = sent[f"Dealsite: Your order ({number})"]
    assert first.to == ["ada@example.org"]
    assert first.message()["Auto-Submitted"] == "auto-generated"
    text: Any = first.body
    for part in (
        "2 x A lamp & a shade, €20.00",
        "Total: €20.00, in 3 monthly instalments",
        "12 Analytical Row",
    ):
        assert part in text
    assert f"/account/orders/{order.id}/" in text
    assert "AB 123" in sent[f"Dealsite: Your order is on its way ({number})"].body


def test_a_list_says_what_of_an_order_is_not_charged(ada: Client):
    deal = make_deal(price=Decimal("10.00"), was_price=None)
    order = make_order("ada", deal, quantity=2)
    (line,) = orders.lines_of(order)
    order_changes.cancel("ada", order.id, pieces={line.id: 1}, by="kim", now=NOW + HOUR)
    page = ada.get("/account/orders/").content.decode()
    assert "€20.00 −€10.00" in " ".join(strip_tags(page).split())
    page = ada.get("/account/").content.decode()
    assert "Next payment €10.00" in " ".join(strip_tags(page).split())


def test_each_mail_of_an_order_says_what_it_came_to_then(ada: Client):
    deal = make_deal(title="A lamp", price=Decimal("10.00"), was_price=None)
    order = make_order("ada", deal, quantity=2)
    (line,) = orders.lines_of(order)
    order_changes.cancel("ada", order.id, pieces={line.id: 1}, by="kim", now=NOW)
    order_changes.ship("ada", order.id, unpaid=True, by="kim", now=NOW)
    work()
    bodies = {sent.subject.removeprefix("Dealsite: "): sent.body for sent in mail.outbox}
    number = f"({order.id[-6:]})"
    for subject, what in (
        ("Your order", "2 x A lamp, €20.00\n\nTotal: €20.00"),
        ("Your order is on its way", "1 x A lamp, €10.00\n\nTotal: €10.00"),
    ):
        assert what in bodies[f"{subject} {number}"]


def test_mails_of_an_order_go_to_the_address_of_today(ada: Client):
    order = make_order("ada", make_deal(title="A lamp"))
    work()
    mail.outbox.clear()
    email_addresses.claim(
        profiles.get("ada"), user=users.get("ada"), name="Ada", timezone="", email="ada@new.example", now=NOW
    )
    email_addresses.confirm(users.get("ada"), now=NOW)
    order_changes.ship("ada", order.id, tracking="", unpaid=True, by="kim", now=NOW + timedelta(minutes=1))
    work()
    assert [sent.to for sent in mail.outbox if "on its way" in sent.subject] == [["ada@new.example"]]


def test_a_cancelled_order_is_told_of_with_its_lines(ada: Client):
    order = make_order("ada", make_deal(title="A lamp"))
    ada.post(f"/account/orders/{order.id}/cancel/")
    work()
    (sent,) = [sent for sent in mail.outbox if "was cancelled" in sent.subject]
    assert "1 x A lamp" in sent.body
    assert "was cancelled" in sent.body


def test_an_order_that_lost_a_line_says_so_and_nothing_is_done_by_what_is_left(ada: Client):
    order = make_order("ada", make_deal(), make_deal())
    place = f"/account/orders/{order.id}/"
    with a_line_lost(order):
        for address in (place, f"/checkout/{order.id}/done/"):
            page = ada.get(address)
            assert (page.status_code, len(page.context["order_lines"])) == (200, 1)
            assert "Not all that you ordered can be shown here just now." in page.content.decode()
        for what in ("cancel", "again"):
            answer = ada.post(f"{place}{what}/", {"token": new_ulid(NOW)})
            assert answer["Location"] == place
            assert "there are 1 of 2 lines" in last_said(ada, place)
        work()
    assert orders.get("ada", order.id).status == "PLACED"
    assert [sent.subject for sent in mail.outbox if "order" in sent.subject] == []
    assert "Not all that you ordered" not in ada.get(place).content.decode()
    while run_next(now=NOW + DAY):
        pass
    assert f"Dealsite: Your order ({order.id[-6:]})" in [sent.subject for sent in mail.outbox]
