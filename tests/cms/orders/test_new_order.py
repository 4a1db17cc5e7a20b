"""The page on which the back office makes an order for a customer: its cart, what can be added, and how it is paid."""

from __future__ import annotations

import html
import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dealsite.data.catalogue.deals import Deal
from dealsite.data.commerce import carts, order_record, orders, payments
from dealsite.data.commerce.order_record import PaymentCard, save_card
from dealsite.data.entities.deals import SHOP
from dealsite.data.people import messages, sessions, users
from dealsite.data.table.ids import new_ulid
from dealsite.gateways.testing import TestGateway
from tests.builders import DAY, HOUR, LINK, NOW, make_deal
from tests.cms.conftest import HTMX
from tests.jobs import run_next
from tests.people import calls, make_user, signed_in
from tests.shop import add, edit, held
from tests.shopping.shoppers import ADDRESS

PAGE = "/cms/customers/ada/order/"
OLGA = carts.user_cart("olga")
CARD = PaymentCard("test", "test:approve", "Visa ending in 4242")


@pytest.fixture
def ada(office: Client) -> users.User:
    """A customer, whose orders go to London."""
    return make_user("ada")


@pytest.fixture
def lamp(ada: users.User) -> Deal:
    """A deal of €50, two pieces of which are in olga's cart."""
    deal = make_deal(title="A lamp", price=Decimal("50.00"), was_price=None, stock=9)
    add(OLGA, deal, 2)
    return deal


def words(answer: Any) -> str:
    """What a page says, in one line."""
    text = re.sub(r"(?s)<(script|template|title).*?</\1>|<[^>]*>", " ", answer.text)
    return re.sub(r" (?=[.,:])", "", " ".join(html.unescape(text).split()))


def form(page: Any, **changes: Any) -> dict[str, Any]:
    """Return what the page's form holds, and what is pressed and typed."""
    sent: dict[str, Any] = {}
    text = page.text.partition('<form id="new-order"')[2].partition("</form>")[0]
    for name, options in re.findall(r'(?s)<select name="([^"]*)"(.*?)</select>', text):
        sent[name] = re.findall(r'value="([^"]*)" selected', options) or [""]
    for tag in re.findall(r"<input[^>]*>", text):
        found = dict(re.findall(r'([a-z_-]+)="([^"]*)"', tag))
        if found.get("type") in ("radio", "checkbox") and "checked" not in tag:
            continue
        sent.setdefault(found["name"], []).append(html.unescape(found.get("value", "")))
    return {name: values if len(values) > 1 else values[0] for name, values in sent.items()} | changes


def press(office: Client, do: str, page: Any = None, *, headers: Any = None, **changes: Any) -> Any:
    """Press a button of the page as it is now, or of one that was opened before."""
    sent = form(page or office.get(PAGE), do=do, **changes)
    return office.post(PAGE, sent, headers=headers)


def placed() -> list[order_record.OrderCard]:
    return orders.of_user("ada").rows


def give_card(card: PaymentCard = CARD) -> None:
    save_card("ada", card, job_id=new_ulid(NOW), now=NOW)


def test_an_order_is_placed_and_waits_for_the_customer_to_pay(office, lamp, wait_for_indexes):
    page = office.get(PAGE)
    for text in ("New order for ada", "A lamp", "1 line, 2 pieces", "They have no card", "Total €100.00"):
        assert text in words(page)
    answer = press(office, "place", page, **ADDRESS)
    (card,) = placed()
    assert answer["Location"] == f"/cms/orders/ada/{card.id}/"
    order = orders.get("ada", card.id)
    assert (order.placed_by, order.email, order.address.name) == ("olga", "ada@example.org", "Ada Ash")
    assert (order.total, card.payment_state, held(OLGA)) == (Decimal("100.00"), order_record.UNPAID, {})
    shown = words(office.get(answer["Location"]))
    for text in ("The order for Ada Ash is placed.", "by olga for ada", "Not paid yet"):
        assert text in shown
    while run_next(now=NOW):
        pass
    told = messages.inbox("ada").rows
    assert {one.headline for one in told} >= {"Thank you: your order is placed"}
    assert [one.order for one in told] == [card.id] * 2
    assert messages.inbox("olga").rows == []


def test_the_page_costs_what_it_says(office, lamp):
    sent = calls(office.get(PAGE))
    assert sent[0] == "BatchGetItem"
    assert sorted(sent[1:]) == ["BatchGetItem", "GetItem", "GetItem", "Query", "Query"]


@pytest.mark.parametrize(("ticked", "state"), [(True, order_record.PAID), (False, order_record.UNPAID)])
def test_their_card_is_charged_only_if_that_is_ticked(office, lamp, ticked, state):
    give_card()
    save_card("olga", CARD, job_id=new_ulid(NOW), now=NOW)
    page = office.get(PAGE)
    assert "Charge their card, Visa ending in 4242" in words(page)
    assert "card" not in form(page)
    press(office, "place", page, **ADDRESS, **({"card": CARD.label} if ticked else {}))
    (card,) = placed()
    assert card.payment_state == state
    (payment,) = payments.of_order("ada", orders.get("ada", card.id).payments)
    assert payment.method == (CARD.token if ticked else "")


@pytest.mark.parametrize("now", [None, PaymentCard("test", "test:other", "Visa ending in 1")])
def test_a_card_that_is_not_the_one_shown_is_not_charged(office, lamp, now):
    give_card()
    page = office.get(PAGE)
    order_record.forget_card("ada", job_id=new_ulid(NOW), now=NOW)
    if now:
        give_card(now)
    answer = press(office, "place", page, **ADDRESS, card=CARD.label)
    assert answer.status_code == 422
    assert "Their card was changed or removed meanwhile." in words(answer)
    assert "card" not in form(answer)
    assert placed() == []


def test_a_card_that_changes_at_the_last_moment_is_not_charged(office, lamp, monkeypatch):
    give_card()
    page = office.get(PAGE)
    place = carts.read_active

    def late(*arguments: Any, **more: Any) -> Any:
        monkeypatch.undo()
        monkeypatch.setattr(timezone, "now", lambda: NOW)
        give_card(PaymentCard("test", "test:other", "Visa ending in 1"))
        return place(*arguments, **more)

    monkeypatch.setattr("dealsite.data.commerce.order_changes.read_active", late)
    answer = press(office, "place", page, **ADDRESS, card=CARD.label)
    assert (answer.status_code, placed()) == (422, [])
    assert "Their card was changed or removed meanwhile." in words(answer)


def test_instalments_are_the_customers_matter(office, lamp, settings):
    give_card(PaymentCard("test", "test:decline", "Visa ending in 2"))
    press(office, "place", **ADDRESS, plan="3", card="Visa ending in 2")
    assert [card.plan for card in placed()] == [3]
    add(OLGA, lamp)
    page = office.get(PAGE)
    said = "Not in instalments. What the shop tells this customer: “A payment of yours failed."
    assert said in words(page)
    assert "monthly instalments" not in words(page)
    answer = press(office, "place", page, **ADDRESS, plan="3")
    assert answer.status_code == 422
    assert len(placed()) == 1


def test_what_costs_nothing_needs_no_payment(office, ada):
    add(OLGA, make_deal(title="A gift", price=Decimal("0.00"), was_price=None))
    give_card()
    assert "There is nothing to pay." in words(office.get(PAGE))
    press(office, "place", **ADDRESS)
    assert [card.payment_state for card in placed()] == [order_record.NOTHING]


def test_the_address_is_that_of_their_last_order_and_not_of_who_types(office, lamp):
    press(office, "place", **ADDRESS)
    page = office.get(PAGE)
    assert {name: form(page)[name] for name in ADDRESS} == ADDRESS | {"country": "DE"}
    assert page.text.count('autocomplete="off"') > len(ADDRESS)
    assert "shipping" not in page.text


def test_what_is_wrong_stands_at_its_field_and_nothing_is_lost(office, lamp):
    give_card()
    typed = ADDRESS | {"street": " ", "plan": "3", "card": CARD.label, "q": "lamp"}
    answer = press(office, "place", **typed)
    assert (answer.status_code, placed()) == (422, [])
    assert set(answer.context["form"].errors) == {"street"}
    kept = form(answer)
    assert {name: kept[name] for name in ("city", "plan", "card", "q")} == {
        "city": "Berlin",
        "plan": "3",
        "card": CARD.label,
        "q": "lamp",
    }


def test_what_changed_meanwhile_is_shown_and_taken(office, lamp):
    page = office.get(PAGE)
    edit(lamp, price=Decimal("60.00"))
    answer = press(office, "place", page, **ADDRESS)
    assert (answer.status_code, placed()) == (409, [])
    for text in (
        "The price went up from €50.00 to €60.00.",
        "Your order said €100.00, now it comes to €120.00.",
        "Take the changes first",
    ):
        assert text in words(answer)
    assert 'value="place"' not in answer.text
    taken = press(office, "accept", answer)
    assert (taken.status_code, form(taken)["city"]) == (200, "Berlin")
    assert press(office, "place", taken).status_code == 302
    assert [card.total for card in placed()] == [Decimal("120.00")]


def test_what_is_gone_is_shown_as_that(office, lamp):
    page = office.get(PAGE)
    edit(lamp, sold=SHOP, link=LINK, stock=None)
    answer = press(office, "place", page, **ADDRESS)
    assert answer.status_code == 409
    assert "This deal is sold at a shop now." in words(answer)
    assert "Unavailable" in words(answer)
    assert "Your cart is empty." in words(press(office, "accept", answer))


def test_pieces_are_changed_by_buttons_and_by_typing(office, lamp):
    for do, typed, number in (
        (f"more:{lamp.id}", "2", 3),
        (f"fewer:{lamp.id}", "3", 2),
        ("update", "5", 5),
        (f"more:{lamp.id}", "6", 7),
        ("update", " 1 ", 1),
        (f"fewer:{lamp.id}", "1", 1),
    ):
        answer = press(office, do, quantity=typed)
        assert answer.status_code == 200
        assert held(OLGA)[lamp.id] == ("ACTIVE", number)
        assert form(answer)["quantity"] == str(number)


@pytest.mark.parametrize("do", ["update", "place"])
@pytest.mark.parametrize(
    ("typed", "why"), [("0", "whole number from 1 to 999"), ("x", "whole number"), ("10", "Only 9 are left.")]
)
def test_a_number_of_pieces_that_cannot_be_is_shown_with_the_reason(office, lamp, do, typed, why):
    answer = press(office, do, quantity=typed, **ADDRESS)
    assert (answer.status_code, placed(), held(OLGA)[lamp.id][1]) == (409, [], 2)
    assert why in words(answer)
    assert (form(answer)["quantity"], form(answer)["city"]) == (typed, "Berlin")


def test_a_number_that_is_typed_as_the_order_is_placed_is_looked_at_first(office, lamp):
    answer = press(office, "place", quantity="3", **ADDRESS)
    assert (answer.status_code, placed()) == (409, [])
    assert "now it comes to €150.00" in words(answer)
    assert press(office, "place", answer).status_code == 302


def test_a_line_is_removed(office, lamp):
    (line,) = carts.read(OLGA, now=NOW).active
    page = office.get(PAGE)
    answer = press(office, f"remove:{line.ref}", page, **ADDRESS)
    assert (held(OLGA), form(answer)["city"]) == ({}, "Berlin")
    assert 'value="place"' not in answer.text
    assert press(office, f"remove:{line.ref}", page).status_code == 200
    assert press(office, "place", page, **ADDRESS).status_code == 409


@pytest.fixture
def found(search_index, ada) -> dict[str, Deal]:
    """Deals in the index: one that can be ordered, and others that cannot."""
    made = {
        "desk": make_deal(title="Oak desk", stock=2),
        "shop": make_deal(title="Oak desk at a shop", sold=SHOP, link=LINK),
        "over": make_deal(title="Oak desk of before", expires_at=NOW - HOUR, live_at=NOW - DAY),
        "soon": make_deal(title="Oak desk to come", live_at=NOW + DAY),
    }
    search_index()
    return made


def test_live_deals_are_found_by_words_id_and_link_and_added(office, found):
    desk = found["desk"]
    for asked in ("oak desk", desk.id.lower(), f"https://shop.example/deals/{desk.id}/oak-desk/"):
        for headers in ({}, HTMX):
            answer = office.get(PAGE, {"q": asked}, headers=headers)
            assert re.findall(r'value="(add:[^"]+)"', answer.text) == [f"add:{desk.id}"]
    assert (b"<html" in answer.content, calls(answer)[1:]) == (False, ["BatchGetItem"])
    part = office.get(PAGE, {"q": "oak desk"}, headers=HTMX)
    assert calls(part) == ["BatchGetItem"]  # who asks
    page = press(office, "update", q="oak desk", **ADDRESS)
    answer = press(office, f"add:{desk.id}", page)
    assert (answer.status_code, held(OLGA)) == (200, {desk.id: ("ACTIVE", 1)})
    assert (form(answer)["city"], form(answer)["q"]) == ("Berlin", "oak desk")
    press(office, f"add:{desk.id}", page)  # pressed twice
    assert held(OLGA)[desk.id] == ("ACTIVE", 1)
    press(office, f"add:{desk.id}", answer)
    refused = press(office, f"add:{desk.id}")
    assert refused.status_code == 409
    assert "Only 2 are left. You have 2 of them in your cart." in words(refused)


@pytest.mark.parametrize("which", ["over", "soon"])
def test_what_is_not_live_is_not_found_and_not_added(office, found, which):
    deal = found[which]
    assert "No live deal that is sold here fits." in words(office.get(PAGE, {"q": deal.id}))
    assert press(office, f"add:{deal.id}").status_code == 409
    assert held(OLGA) == {}


def test_no_more_than_eight_deals_are_found(office, ada, search_index):
    for number in range(9):
        make_deal(title=f"Oak desk {number}")
    search_index()
    assert office.get(PAGE, {"q": "oak"}, headers=HTMX).text.count('value="add:') == 8


def test_without_an_index_the_page_says_so(office, lamp):
    assert "Search is being set up." in words(office.get(PAGE, {"q": "oak"}))


def test_htmx_gets_the_lines_and_the_sum(office, lamp):
    answer = press(office, f"more:{lamp.id}", headers=HTMX, plan="3", **ADDRESS)
    assert 'id="new-order-lines"' in answer.text
    assert re.search(r'id="new-order-sum"[^>]*hx-swap-oob="outerHTML"', answer.text)
    assert "Total €150.00" in words(answer)
    assert b"<html" not in answer.content
    assert b'name="city"' not in answer.content
    assert "hx-swap-oob" not in office.get(PAGE).text
    assert re.search(r'name="plan" value="3" checked', " ".join(answer.text.split()))


def test_a_form_sent_twice_makes_one_order_and_leads_to_it(office, lamp):
    sent = form(office.get(PAGE), do="place", **ADDRESS)
    first, second = (office.post(PAGE, sent)["Location"] for _ in range(2))
    assert first == second
    assert len(placed()) == 1


def test_a_page_that_was_open_for_long_asks_to_look_again(office, lamp, monkeypatch):
    sent = form(office.get(PAGE), do="place", **ADDRESS)
    monkeypatch.setattr(timezone, "now", lambda: NOW + DAY + HOUR)
    answer = signed_in(users.get("olga"), now=NOW + DAY).post(PAGE, sent)
    assert (answer.status_code, placed()) == (422, [])
    assert "This page was open for long." in words(answer)
    assert form(answer)["order"] != sent["order"]


@pytest.mark.parametrize("damage", [{"by": "omar"}, {"by": ""}, {"order": "x"}])
def test_a_form_that_was_not_made_for_this_user_does_nothing(office, lamp, damage):
    for do in ("place", f"more:{lamp.id}"):
        assert press(office, do, **ADDRESS, **damage).status_code == 400
    assert (placed(), held(OLGA)[lamp.id][1]) == ([], 2)


def test_too_many_orders_are_refused_and_nothing_is_lost(office, lamp, settings):
    settings.DEALSITE_LIMITS = settings.DEALSITE_LIMITS | {"order": (1, settings.DEALSITE_LIMITS["order"][1])}
    press(office, "place", **ADDRESS)
    add(OLGA, lamp)
    answer = press(office, "place", **ADDRESS)
    assert (answer.status_code, form(answer)["city"], len(placed())) == (429, "Berlin", 1)


def test_it_is_charged_at_once_and_placed_whatever_the_gateway_does(office, lamp, monkeypatch):
    def silent(*_arguments: Any, **_more: Any) -> None:
        raise OSError

    monkeypatch.setattr(TestGateway, "charge", silent)
    give_card()
    assert press(office, "place", **ADDRESS, card=CARD.label).status_code == 302
    assert [card.payment_state for card in placed()] == [order_record.UNPAID]


def test_nobody_orders_for_who_is_not_there_or_suspended_nor_for_oneself(office, lamp):
    sent = form(office.get(PAGE), do="place", **ADDRESS)
    for name in ("nobody", "x%23y"):
        for answer in (
            office.get(f"/cms/customers/{name}/order/"),
            office.post(f"/cms/customers/{name}/order/", sent),
        ):
            assert answer.status_code == 404
    own = office.get("/cms/customers/olga/order/")
    assert own["Location"] == "/cart/"
    assert "What you order for yourself, you order here." in words(office.get("/cart/"))
    make_user("root", roles=["admin"])
    sessions.suspend(users.get("ada"), reason="spam", by="root", now=NOW)
    for answer in (office.get(PAGE), office.post(PAGE, sent)):
        assert answer.status_code == 409
        assert "The account of ada is suspended: no order can be made for it." in words(answer)
    assert placed() == []
    users.delete(users.get("ada"), job_id=new_ulid(NOW), now=NOW)
    assert office.get(PAGE).status_code == 404


def test_only_the_back_office_makes_orders_for_others(sign_in, lamp):
    for browser in (sign_in(), sign_in("editor")):
        assert browser.get(PAGE).status_code == 403
        assert browser.post(PAGE, ADDRESS | {"do": "place"}).status_code == 403


def test_their_orders_lead_to_it(office, ada):
    assert f'href="{PAGE}"' in office.get("/cms/orders/of/ada/").text
