"""Checkout: what was shown is ordered once, or nothing is and the page says why."""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core import mail, signing
from django.test import Client
from django.utils import timezone

from dealsite.accounts import ordering
from dealsite.accounts.passwords import hashed
from dealsite.data import table
from dealsite.data.catalogue import deal_changes, deals
from dealsite.data.commerce import (
    cart_changes,
    carts,
    charging,
    order_changes,
    order_record,
    orders,
    payments,
)
from dealsite.data.commerce.order_record import PaymentCard, save_card
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.people import messages, profiles, sessions, users
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from dealsite.gateways import testing
from shopping.checkout import SALT
from tests.accounts.conftest import PASSWORD
from tests.builders import DAY, EDITOR, HOUR, NOW, make_brand, make_content, make_deal
from tests.jobs import run_next
from tests.people import calls, make_user, signed_in
from tests.shop import delete, edit
from tests.shopping.shoppers import ADDRESS, CARD, checkout_form, fill_cart, make_shopper, place

pytestmark = pytest.mark.usefixtures("shop")

GET, QUERY, BATCH, TRANSACTION = "GetItem", "Query", "BatchGetItem", "TransactWriteItems"


@pytest.fixture
def ada() -> Client:
    """A browser of ada, who has a card."""
    return make_shopper()


def words(answer: Any) -> str:
    """What a page says, in one line."""
    text = re.sub(r"(?s)<(script|template|title).*?</\1>|<[^>]*>", " ", answer.text)
    return re.sub(r" (?=[.,:])", "", " ".join(html.unescape(text).split()))


def placed(username: str = "ada") -> list[order_record.OrderCard]:
    return orders.of_user(username).rows


def test_a_visitor_is_led_to_sign_in_and_back_to_checkout(client: Client):
    for answer in (client.get("/checkout/"), client.get(f"/checkout/{new_ulid(NOW)}/done/")):
        assert answer.status_code == 302
        assert answer["Location"].startswith("/account/sign-in/?next=%2Fcheckout%2F")


def test_an_empty_cart_leads_back_to_the_cart(ada: Client):
    assert ada.get("/checkout/")["Location"] == "/cart/"


def test_what_is_shown_is_ordered(ada: Client):
    fill_cart("ada")
    order_id = place(ada, plan="3")
    order = orders.get("ada", order_id)
    assert (order.total, order.card.pieces, order.card.plan, order.status) == (
        Decimal("100.00"),
        2,
        3,
        "PLACED",
    )
    assert order.address.lines == ["Ada Ash", "1 High Street", "10115 Berlin", "Germany"]
    assert order.email == "ada@example.org"
    paid = payments.of_order("ada", order.payments)
    assert [payment.amount for payment in paid] == [Decimal("33.34"), Decimal("33.33"), Decimal("33.33")]
    assert {payment.method for payment in paid} == {CARD.token}
    assert carts.read_head(carts.user_cart("ada"), now=NOW).active == 0
    page = words(ada.get(f"/checkout/{order_id}/done/"))
    for text in (
        "Placed. Thank you, ada",
        f"Order {order_id[-6:]}, ",
        "€33.34 was charged to Visa ending in 4242.",
        "Still to come: 2 × €33.33, the last on 21 Jan 2027.",
        "A lamp",
        "ada@example.org",
        "You pay in 3 instalments",
        "1 High Street",
    ):
        assert text in page
    assert order_id[:-6] not in page


def refund() -> None:
    """Give back what was charged."""
    (payment,) = payments.of_order("ada", orders.get("ada", placed()[0].id).payments)
    payments.refund("ada", payment.due_at, payment.id, reason="x", by="kim", now=NOW)
    while run_next(now=NOW):
        pass


CHARGED = {  # the plan, the card, what happens next, what the page says
    "paid": (
        "1",
        "approve",
        lambda: None,
        ["Paid and placed. Thank you, ada", "€100.00 was charged to Visa 1."],
    ),
    "the first is paid": (
        "3",
        "approve",
        lambda: None,
        [
            "Placed. Thank you, ada",
            "€33.34 was charged to Visa 1. Still to come: 2 × €33.33, the last on 21 Jan 2027.",
        ],
    ),
    "it is being charged": (
        "1",
        "time_out_once",
        lambda: None,
        ["Placed. Thank you, ada", "€100.00 will be charged soon to Visa 1."],
    ),
    "declined": (
        "1",
        "decline",
        lambda: None,
        ["Placed, but not paid yet", "€100.00 could not be charged. Your card was declined.", "Pay it now"],
    ),
    "refunded": ("1", "approve", refund, ["Placed. Thank you, ada", "€100.00: Refunded."]),
}


@pytest.mark.parametrize("case", CHARGED)
def test_the_last_page_says_what_was_charged(case: str):
    plan, behaves, happens, texts = CHARGED[case]
    ada = make_shopper(card=False)
    order_record.save_card(
        "ada", PaymentCard("test", f"test:{behaves}", "Visa 1"), job_id=new_ulid(NOW), now=NOW
    )
    fill_cart("ada")
    order_id = place(ada, plan=plan)
    happens()
    page = words(ada.get(f"/checkout/{order_id}/done/"))
    for text in texts:
        assert text in page


def test_the_last_page_names_no_card_that_did_not_pay(ada: Client):
    fill_cart("ada")
    order_id = place(ada)
    order_record.save_card("ada", replace(CARD, token="test:decline"), job_id=new_ulid(NOW), now=NOW)
    page = words(ada.get(f"/checkout/{order_id}/done/"))
    assert "€100.00 was charged. " in page
    assert "4242" not in page


@pytest.mark.parametrize("pieces", [1, 2])
def test_the_last_page_of_an_order_that_costs_less_by_now_is_that_of_the_order(ada: Client, pieces: int):
    fill_cart("ada")
    order_id = place(ada)
    (line,) = orders.lines_of(orders.get("ada", order_id))
    order_changes.cancel("ada", order_id, pieces={line.id: pieces}, by="ada", now=NOW + HOUR)
    assert ada.get(f"/checkout/{order_id}/done/")["Location"] == f"/account/orders/{order_id}/"


def test_the_total_stands_above_the_button_and_the_duty_to_pay_below(ada: Client):
    fill_cart("ada")
    page = words(ada.get("/checkout/"))
    assert "Total €100.00 Buy now You order with an obligation to pay." in page
    profiles.save_preferences("ada", language="de")
    page = words(signed_in(users.get("ada"), now=NOW).get("/checkout/"))
    assert "100,00 € Zahlungspflichtig bestellen Sie bestellen zahlungspflichtig." in page


def test_checkout_has_nothing_that_leads_away_but_back_to_the_cart(ada: Client):
    fill_cart("ada")
    header = ada.get("/checkout/").text.partition("<header")[2].partition("<main")[0]
    assert re.findall('<a [^>]*href="([^"]*)"', header) == ["/", "/cart/"]


@pytest.mark.parametrize(
    ("price", "first", "more"),
    [
        ("107.39", "3", "€35.80 today, then 1 × €35.80, then 1 × €35.79"),
        ("107.38", "3", "€35.80 today, then 2 × €35.79"),
        ("90.00", "3", "€30.00 today, then 2 × €30.00"),
        ("107.38", "12", "€8.95 today, then 9 × €8.95, then 2 × €8.94"),
    ],
)
def test_a_plan_says_each_amount_as_it_will_be_charged(ada: Client, price: str, first: str, more: str):
    fill_cart("ada", make_deal(price=Decimal(price), was_price=None), quantity=1)
    page = ada.get("/checkout/")
    (plan,) = [plan for plan in page.context["plans"] if plan.number == int(first)]
    assert plan.words.replace("\u00a0", " ") == more
    assert sum(amount for _, amount in plan.instalments) == Decimal(price)
    assert f"{first} monthly instalments {more}" in words(page)


def test_an_order_that_is_sent_after_the_session_has_ended_is_kept_until_one_has_signed_in(ada: Client):
    fill_cart("ada")
    sent = checkout_form(ada, plan="3")
    sessions.change_password(users.get("ada"), password=hashed(PASSWORD), now=NOW)  # which ends all sessions
    page = ada.post("/checkout/", sent)
    assert (page.status_code, placed()) == (401, [])
    assert dict(page.context["kept"]) == sent
    answer = ada.post("/checkout/", sent | {"proof-name": "ada", "proof-password": PASSWORD})
    (order,) = placed()
    assert answer["Location"] == f"/checkout/{order.id}/done/"
    assert order.plan == 3


def test_an_order_of_a_user_whose_address_is_not_confirmed_goes_to_their_messages_at_first():
    zoe = signed_in(make_user("zoe", email="zoe@example.org", confirmed=False), now=timezone.now())
    order_record.save_card("zoe", CARD, job_id=new_ulid(NOW), now=NOW)
    fill_cart("zoe")
    order_id = place(zoe)
    assert orders.get("zoe", order_id).email == "zoe@example.org"
    page = zoe.get(f"/checkout/{order_id}/done/").content.decode()
    assert "zoe@example.org" not in page
    assert "confirm your e-mail address" in page
    while run_next(now=timezone.now()):
        pass
    assert [sent.subject for sent in mail.outbox] == ["Dealsite: Confirm your e-mail address"]
    assert len(messages.inbox("zoe").rows) == 2  # the order, and its payment


def test_the_pages_keep_to_their_budgets(ada: Client):
    fill_cart("ada")
    asked, at_once = calls(ada.get("/checkout/"))[:3], calls(ada.get("/checkout/"))[3:]
    assert (asked, sorted(at_once)) == ([BATCH, QUERY, BATCH], [GET, QUERY])
    answer = ada.post("/checkout/", checkout_form(ada))
    placing, charging = calls(answer)[:8], calls(answer)[8:]
    kept = [GET, "UpdateItem"]  # the address
    assert placing == [BATCH, *["UpdateItem"] * 3, *kept, QUERY, TRANSACTION]  # counted by three limits
    assert charging == [
        BATCH,
        "UpdateItem",
        GET,
        GET,
        "PutItem",
        TRANSACTION,
    ]  # the test gateway puts its charge
    asked, at_once = calls(ada.get(answer["Location"]))[:2], calls(ada.get(answer["Location"]))[2:]
    assert (asked, sorted(at_once)) == ([BATCH, GET], [BATCH, GET, QUERY])


@pytest.fixture
def slow_gateway(monkeypatch) -> Iterator[Callable[[], None]]:
    """A gateway that answers after the shopper has gone on, and a function that has it answer."""
    released = threading.Event()
    monkeypatch.setattr(ordering, "CHARGE_SECONDS", 0.05)
    monkeypatch.setattr(testing, "pause", lambda _seconds: released.wait(30))
    save_card("ada", replace(CARD, token="test:answer_late"), job_id=new_ulid(NOW), now=NOW)

    def answer() -> None:
        released.set()
        for _ in range(ordering.CHARGES):
            assert ordering._free.acquire(timeout=30)
        for _ in range(ordering.CHARGES):
            ordering._free.release()

    yield answer
    answer()


def payment_of(order_id: str) -> Payment:
    return payments.of_order("ada", orders.get("ada", order_id).payments)[0]


def test_a_gateway_that_takes_its_time_is_not_waited_for(ada: Client, slow_gateway):
    fill_cart("ada")
    order_id = place(ada)
    assert "will be charged soon" in words(ada.get(f"/checkout/{order_id}/done/"))
    assert payment_of(order_id).status == "PENDING"
    slow_gateway()
    assert payment_of(order_id).status == "PROCESSED"
    assert "Paid and placed" in words(ada.get(f"/checkout/{order_id}/done/"))


def test_a_slow_gateway_holds_up_no_more_than_a_few(ada: Client, slow_gateway):
    made = []
    for _ in range(ordering.CHARGES + 1):
        fill_cart("ada")
        made.append(place(ada))
    assert [payment_of(one).status for one in made] == [*["PENDING"] * ordering.CHARGES, "SCHEDULED"]
    slow_gateway()
    assert {payment_of(one).status for one in made[:-1]} == {"PROCESSED"}


def test_an_order_is_placed_whatever_becomes_of_its_charge(ada: Client, monkeypatch):
    def away(_row: Any, *, now: Any) -> None:
        raise errors.Unavailable

    monkeypatch.setattr(charging, "claim", away)
    fill_cart("ada")
    order_id = place(ada)
    assert payment_of(order_id).status == "SCHEDULED"
    assert "will be charged soon" in words(ada.get(f"/checkout/{order_id}/done/"))


def test_an_order_is_placed_where_no_gateway_is_set_up(ada: Client, settings):
    fill_cart("ada")
    form = checkout_form(ada)
    settings.DEALSITE_GATEWAY = ""
    for _ in range(ordering.CHARGES + 1):  # none holds a place for ever
        assert ada.post("/checkout/", form).status_code == 302
    assert [card.payment_state for card in placed()] == ["unpaid"]
    settings.DEALSITE_GATEWAY = "test"
    fill_cart("ada")
    assert payment_of(place(ada)).status == "PROCESSED"


def test_the_page_says_why_nobody_may_pay_in_instalments(ada: Client, settings):
    settings.DEALSITE_CREDIT_ORDER = 90
    fill_cart("ada")
    page = ada.get("/checkout/")
    assert re.findall('name="plan" value="([0-9]+)"', " ".join(page.text.split())) == ["1"]
    assert "Orders of more than €90.00 are paid at once." in words(page)
    refused = ada.post("/checkout/", checkout_form(ada, plan="3"))
    assert refused.status_code == 422
    assert "Orders of more than €90.00 are paid at once." in words(refused)
    assert placed() == []
    assert place(ada)


def test_what_costs_nothing_is_not_charged(ada: Client):
    fill_cart("ada", make_deal(title="A gift", price=Decimal("0.00"), was_price=None))
    order_id = place(ada)
    assert "There is nothing to pay." in words(ada.get(f"/checkout/{order_id}/done/"))


def test_a_form_sent_again_leads_to_the_same_order(ada: Client):
    fill_cart("ada")
    form = checkout_form(ada)
    first, second = (ada.post("/checkout/", form) for _ in range(2))
    fill_cart("ada")
    third = ada.post("/checkout/", form)
    assert first["Location"] == second["Location"] == third["Location"]
    assert len(placed()) == 1


def test_the_address_is_there_the_next_time(ada: Client):
    fill_cart("ada")
    place(ada)
    fill_cart("ada")
    page = ada.get("/checkout/").content.decode()
    assert 'value="1 High Street"' in page
    assert 'value="Berlin"' in page


@pytest.mark.parametrize(
    "order",
    [
        "",
        "x",
        new_ulid(NOW),
        signing.dumps([new_ulid(NOW), "ada", "test:approve"], salt="another"),
        signing.dumps([new_ulid(NOW), "ada"] * 5, salt=SALT),
        signing.dumps("x" * 3, salt=SALT),
        signing.dumps([new_ulid(NOW), "bob", "test:approve"], salt=SALT),
    ],
    ids=["nothing", "a letter", "an id", "another salt", "too many", "a text", "another user's"],
)
def test_a_form_that_was_not_made_for_this_user_orders_nothing(ada: Client, order: str):
    fill_cart("ada")
    answer = ada.post("/checkout/", checkout_form(ada, order=order))
    assert answer.status_code == 400
    assert placed() == []


def test_the_form_of_another_user_orders_nothing(ada: Client):
    bob = make_shopper("bob")
    fill_cart("ada")
    fill_cart("bob")
    theirs = checkout_form(bob)
    assert ada.post("/checkout/", theirs).status_code == 400
    assert placed("ada") == placed("bob") == []


def test_a_form_older_than_a_day_asks_to_look_again(ada: Client, monkeypatch: pytest.MonkeyPatch):
    fill_cart("ada")
    form = checkout_form(ada)
    monkeypatch.setattr(timezone, "now", lambda: NOW + DAY + HOUR)
    answer = ada.post("/checkout/", form | {"street": "2 Low Street"})
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "more than a day old" in page
    assert 'value="2 Low Street"' in page
    assert form["order"] not in page
    assert placed() == []


def test_an_old_form_that_ordered_leads_to_its_order(ada: Client, monkeypatch: pytest.MonkeyPatch):
    fill_cart("ada")
    form = checkout_form(ada)
    first = ada.post("/checkout/", form)
    monkeypatch.setattr(timezone, "now", lambda: NOW + 2 * DAY)
    assert ada.post("/checkout/", form)["Location"] == first["Location"]
    assert len(placed()) == 1


def reprice(deal: deals.Deal, price: str) -> None:
    content = make_content(title=deal.card.title, price=Decimal(price), was_price=None)
    current = deals.get(deal.id)
    deal_changes.edit(current, content, version=current.version, brand=make_brand(), by=EDITOR, now=NOW)


def go_on(ada: Client, answer: Any) -> Any:
    """Press the button of an answer that goes on with the sum of now; returns the checkout's page."""
    (button,) = re.findall(r'<button id="go-on-button"[^>]*>', answer.text)
    assert answer.text.count('value="checkout"') == 1
    to = re.findall('formaction="([^"]*)"', button) or ["/cart/quantity/"]
    hidden = dict(re.findall(r'<input type="hidden" name="(username|seen)" value="([^"]*)">', answer.text))
    at_checkout = ada.post(to[0], hidden | {"do": "checkout"})
    assert at_checkout["Location"] == "/checkout/"
    return ada.get("/checkout/")


def other_tab(**quantities: int) -> None:
    """Have ada change her cart in another tab."""
    for line in carts.read(carts.user_cart("ada"), now=NOW).active:
        cart_changes.change_quantity(carts.user_cart("ada"), line.deal, quantities[line.title], now=NOW)


BEFORE = {  # what happens between the page and its button, what is said of it, the sum of then
    "dearer": (lambda deal: reprice(deal, "60.00"), "The price went up from €50.00 to €60.00.", "€145.00"),
    "cheaper": (lambda deal: reprice(deal, "40.00"), "The price went down from €50.00 to €40.00.", "€105.00"),
    "another quantity": (lambda deal: other_tab(Lamp=3, Chair=1), "Your cart changed meanwhile.", "€162.50"),
    "gone": (lambda deal: delete(deal), "This deal is not offered any more.", "€25.00"),
    "sold out": (lambda deal: edit(deal, stock=0), "This deal is sold out.", "€25.00"),
}


@pytest.mark.parametrize("at", ["before", "at the last moment"])
@pytest.mark.parametrize("change", BEFORE)
def test_an_order_of_another_sum_is_not_placed_and_names_both(
    ada: Client, change: str, at: str, monkeypatch: pytest.MonkeyPatch
):
    happens, said, now = BEFORE[change]
    lamp, chair = (
        make_deal(title=title, price=Decimal(price), was_price=None, stock=9)
        for title, price in (("Lamp", "50.00"), ("Chair", "12.50"))
    )
    fill_cart("ada", lamp, chair)
    form = checkout_form(ada, street="7 Long Lane", plan="3")
    assert form["total"] == "125.00"
    if at == "before":
        happens(lamp)
    else:
        transact = table.transact

        def later(writes: Any) -> None:
            monkeypatch.setattr(table, "transact", transact)
            happens(lamp)
            transact(writes)

        monkeypatch.setattr(table, "transact", later)
    answer = ada.post("/checkout/", form)
    page = words(answer)
    assert answer.status_code == 409
    assert "Nothing was ordered." in page
    assert f"Your order said €125.00, now it comes to {now}." in page
    assert said in page
    assert f"Go on with {now}" in page
    assert (placed(), deals.get(chair.id).stock) == ([], 9)
    shown = go_on(ada, answer)
    assert f"Total {now} Buy now" in words(shown)
    assert shown.context["form"]["street"].value() == "7 Long Lane"
    assert shown.context["chosen"] == 3
    order = orders.get("ada", place(ada))
    assert f"€{order.total}" == now


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"total": "1.00"}, "Your order said €1.00, now it comes to €100.00."),
        ({"total": "100.01"}, "Your order said €100.01, now it comes to €100.00."),
        ({"version": "99"}, "Your cart changed meanwhile. This is how it is now."),
    ],
)
def test_another_total_or_version_than_shown_orders_nothing(ada: Client, change: dict[str, str], said: str):
    fill_cart("ada")
    answer = ada.post("/checkout/", checkout_form(ada, **change))
    assert answer.status_code == 409
    assert said in words(answer)
    assert ("now it comes to" in words(answer)) == ("total" in change)
    assert placed() == []
    assert "Total €100.00 Buy now" in words(go_on(ada, answer))


def test_where_nothing_is_left_to_order_there_is_no_way_on(ada: Client):
    (lamp,) = fill_cart("ada")
    form = checkout_form(ada)
    delete(lamp)
    for sent in (form, form | {"city": ""}):
        answer = ada.post("/checkout/", sent)
        assert answer.status_code == 409
        assert "Your order said €100.00, now it comes to €0.00." in words(answer)
        assert "go-on-button" not in answer.text
    assert ada.get("/checkout/")["Location"] == "/cart/"


def test_a_form_with_another_sum_that_is_wrong_besides_is_told_both_sums(
    ada: Client, monkeypatch: pytest.MonkeyPatch
):
    fill_cart("ada")
    form = checkout_form(ada)
    fill_cart("ada", quantity=1)
    answer = ada.post("/checkout/", form | {"city": ""})
    assert answer.status_code == 422
    assert "Your order said €100.00, now it comes to €150.00." in words(answer)
    monkeypatch.setattr(timezone, "now", lambda: NOW + DAY + HOUR)
    answer = ada.post("/checkout/", form)
    assert answer.status_code == 409
    assert "Your order said €100.00, now it comes to €150.00." in words(answer)
    assert placed() == []


@pytest.mark.parametrize(
    "change",
    [
        {"street": ""},
        {"street": "   "},
        {"city": "x" * 121},
        {"name": "\x00"},
        {"plan": "2"},
        {"plan": ""},
        {"version": "x"},
        {"version": "9" * 40},
        {"version": ""},
        {"total": "NaN"},
        {"total": "-1"},
        {"total": "1e400"},
    ],
)
def test_what_the_form_does_not_take_is_shown_in_it(ada: Client, change: dict[str, str]):
    fill_cart("ada")
    answer = ada.post("/checkout/", checkout_form(ada, **change))
    assert answer.status_code == 422
    assert "Please check the form" in answer.content.decode()
    assert placed() == []


def test_too_small_instalments_are_neither_offered_nor_taken(ada: Client):
    fill_cart("ada", make_deal(price=Decimal("2.00"), was_price=None), quantity=2)
    page = ada.get("/checkout/").content.decode()
    assert "3 monthly instalments" in page
    assert "6 monthly instalments" not in page
    answer = ada.post("/checkout/", checkout_form(ada, plan="6"))
    assert answer.status_code == 422
    assert "Choose fewer instalments." in answer.content.decode()


def test_without_a_card_only_what_is_free_can_be_ordered():
    ada = make_shopper(card=False)
    fill_cart("ada")
    page = ada.get("/checkout/").content.decode()
    assert "Add a card" in page
    assert "Buy now" not in page
    answer = ada.post("/checkout/", checkout_form(ada))
    assert answer.status_code == 422
    assert "Choose a card to pay with." in answer.content.decode()
    assert placed() == []
    cart_changes.clear("ada")
    fill_cart("ada", make_deal(price=Decimal("0.00"), was_price=None))
    order = orders.get("ada", place(ada))
    assert (order.total, order.payments) == (Decimal("0.00"), ())


def test_the_way_to_a_card_keeps_what_was_typed():
    ada = make_shopper(card=False)
    fill_cart("ada")
    form = checkout_form(ada, do="card", street=" 5  Long Lane ", city="")
    answer = ada.post("/checkout/", form)
    assert answer["Location"].endswith("/account/card/finish/?next=%2Fcheckout%2F")
    kept = order_record.buyer("ada").address
    assert (kept.street, kept.city) == ("5 Long Lane", "")
    answer = ada.post("/account/card/finish/", {"number": "4242 4242 4242 4242", "next": "/checkout/"})
    assert answer["Location"] == "/checkout/"
    page = ada.get("/checkout/").content.decode()
    assert "Visa ending in 4242" in page
    assert 'value="5 Long Lane"' in page


def test_the_last_pieces_go_to_the_first(ada: Client):
    bob = make_shopper("bob")
    deal = make_deal(stock=3)
    fill_cart("ada", deal)
    fill_cart("bob", deal)
    forms = checkout_form(ada), checkout_form(bob)
    assert ada.post("/checkout/", forms[0]).status_code == 302
    answer = bob.post("/checkout/", forms[1])
    assert answer.status_code == 409
    assert "Only 1 is left. You wanted 2." in answer.content.decode()


@pytest.mark.parametrize("method", ["get", "post", "put", "delete"])
def test_the_page_of_another_users_order_is_not_there(ada: Client, method: str):
    fill_cart("ada")
    order_id = place(ada)
    bob = signed_in(make_user("bob"))
    assert getattr(bob, method)(f"/checkout/{order_id}/done/").status_code in (404, 405)
    assert bob.get(f"/checkout/{order_id}/done/").status_code == 404
    assert ada.get(f"/checkout/{new_ulid(NOW)}/done/").status_code == 404
    assert ada.get("/checkout/x/done/").status_code == 404


def test_checkout_needs_its_token():
    make_user("bob")
    browser = signed_in(make_user("ada"), enforce_csrf_checks=True)
    fill_cart("ada")
    assert browser.post("/checkout/", ADDRESS).status_code == 403


def test_a_day_is_how_long_a_form_holds(ada: Client, monkeypatch: pytest.MonkeyPatch):
    fill_cart("ada")
    form: dict[str, Any] = checkout_form(ada)
    monkeypatch.setattr(timezone, "now", lambda: NOW + DAY - timedelta(seconds=1))
    assert ada.post("/checkout/", form).status_code == 302
