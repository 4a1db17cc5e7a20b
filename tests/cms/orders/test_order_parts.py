"""A part of an order in the CMS: parcels, cancelled pieces, returns, refunds; and what shoppers ask to return."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from dealsite.data import table
from dealsite.data.commerce import order_changes, order_returns, orders
from dealsite.data.commerce.order_lines import OrderLine, history, open_return
from dealsite.data.commerce.order_record import Order
from dealsite.data.table.ids import iso
from tests.builders import HOUR, NOW, make_deal
from tests.capacity import recorded
from tests.cms.conftest import HTMX
from tests.orders import make_order
from tests.payments import pay


@pytest.fixture
def order() -> Order:
    """A paid order of ada's of two pieces of a lamp and of a desk."""
    return pay(make_order("ada", make_deal(title="Lamp", stock=9), make_deal(title="Desk"), quantity=2))


def text(answer: HttpResponse) -> str:
    return " ".join(answer.content.decode().split())


def page_of(order: Order, what: str = "") -> str:
    return f"/cms/orders/ada/{order.id}/" + (f"{what}/" if what else "")


def lines(order: Order) -> list[OrderLine]:
    current, found = orders.with_lines(orders.get("ada", order.id))
    return sorted(history(current, found).lines, key=lambda one: one.line.title, reverse=True)


def send(
    office: Client,
    order: Order,
    what: str,
    *pieces: int,
    amounts: tuple[str, ...] = (),
    headers: Any = None,
    **more: Any,
) -> Any:
    """Send the form of a part, as its page has it, for so many lamps and desks."""
    ids = [one.line.id for one in lines(order)]
    data = {"seen": len(orders.get("ada", order.id).timeline), "reason": "Broken"} | more
    data |= {f"pieces-{line}": count for line, count in zip(ids, pieces, strict=False)}
    data |= {f"amount-{line}": amount for line, amount in zip(ids, amounts, strict=False)}
    return office.post(page_of(order, what), data, headers=headers)


def fields(answer: HttpResponse) -> dict[str, str]:
    """Return which numbers of pieces a page begins with, by the titles of deals."""
    page = text(answer)
    titles = re.findall(r'<p class="font-medium wrap-anywhere" dir="auto">([^<]+)</p>', page)
    values = re.findall(r'<input type="number" name="pieces-[^"]+" value="(\d+)"', page)
    return dict(zip(titles, values, strict=False))


def test_a_parcel_holds_what_is_left_of_its_form_and_stands_on_the_page(office, order):
    assert fields(office.get(page_of(order, "ship"))) == {"Lamp": "2", "Desk": "2"}
    answer = send(office, order, "ship", 1, 0, carrier="DHL", tracking="JD 1")
    assert answer["Location"] == page_of(order)
    page = text(office.get(page_of(order)))
    assert "Parcel 1" in page
    assert "1 × Lamp" in page
    assert 'href="https://www.dhl.com/' in page
    assert fields(office.get(page_of(order, "ship"))) == {"Lamp": "1", "Desk": "2"}
    assert "3 of 4" in text(office.get("/cms/orders/?list=placed"))


def test_each_parcel_has_a_slip_and_an_order_one_of_what_is_left(office, order):
    send(office, order, "ship", 1, 0)
    chosen = f"/cms/orders/slips/?order=ada/{order.id}"
    left, sent = text(office.get(chosen)), text(office.get(f"{chosen}&parcel=1"))
    assert ("3 pieces in all" in left, "Desk" in left, "Parcel 2" in left) == (True, True, True)
    assert ("1 piece in all" in sent, "Desk" in sent, "Parcel 1" in sent) == (True, False, True)
    send(office, order, "ship", 1, 2)
    both = text(office.get(chosen))
    assert ("Parcel 1" in both, "Parcel 2" in both) == (True, True)
    assert "2 slips" in both


def test_a_parcel_is_marked_delivered_by_its_button(office, order):
    send(office, order, "ship", 1, 0)
    send(office, order, "ship", 0, 2)
    at = iso(orders.get("ada", order.id).timeline[1].at)
    assert f'value="{at}"' in text(office.get(page_of(order)))
    assert office.post(page_of(order, "delivered"), {"at": at})["Location"] == page_of(order)
    assert [one.delivered for one in lines(order)] == [1, 0]
    assert office.post(page_of(order, "delivered"), {"at": "now"}).status_code == 400


def test_pieces_are_cancelled_taken_back_and_made_cheaper(office, order):
    assert fields(office.get(page_of(order, "cancel"))) == {"Lamp": "0", "Desk": "0"}
    lamp = lines(order)[0].line.id
    assert fields(office.get(page_of(order, "cancel") + f"?line={lamp}"))["Lamp"] == "2"
    assert send(office, order, "cancel", 1, 0).status_code == 302
    assert send(office, order, "ship", 1, 2).status_code == 302
    assert send(office, order, "return", 0, 1, amounts=("", "50.00"), restock="on").status_code == 302
    assert send(office, order, "reduce", amounts=("9.90", "")).status_code == 302
    lamp_now, desk = lines(order)
    assert (lamp_now.cancelled, lamp_now.on_the_way, str(lamp_now.taken_off)) == (1, 1, "89.80")
    assert (desk.returned, desk.on_the_way, str(desk.taken_off)) == (1, 1, "50.00")
    page = text(office.get(page_of(order)))
    for words in ('1 × <span dir="auto">Lamp</span>: −€79.90', "Costs less", "Broken", "−€139.80"):
        assert words in page


@pytest.mark.parametrize(
    ("what", "data", "status", "said"),
    [
        ("ship", {"pieces": (3, 0)}, 409, "2 can be chosen now"),
        ("ship", {"pieces": (0, 0)}, 422, "Choose how many pieces"),
        ("ship", {"pieces": (-1, 0)}, 422, "greater than or equal to 0"),
        ("ship", {"pieces": (1, 0), "tracking": "?"}, 422, "A tracking number has"),
        ("ship", {"pieces": (1, 0), "carrier": "Me"}, 422, "Select a valid choice"),
        ("cancel", {"pieces": (1, 0), "reason": " "}, 422, "This field is required"),
        ("reduce", {"amounts": ("1000", "")}, 422, "enter an amount up to €159.80"),
        ("ship", {"pieces": (1, 0), "seen": 7}, 422, "This form is damaged"),
    ],
)
def test_what_cannot_be_is_said_and_what_was_typed_stays(office, order, what, data, status, said):
    pieces, amounts = data.pop("pieces", ()), data.pop("amounts", ())
    answer = send(office, order, what, *pieces, amounts=amounts, **data)
    assert (answer.status_code, said in text(answer)) == (status, True)
    assert all(f'value="{count}"' in text(answer) for count in pieces if count)
    assert orders.get("ada", order.id) == order


def look(office: Client, order: Order, what: str, htmx: bool = True, **more: Any) -> Any:
    """Ask what a form would do; returns the answer and its words."""
    given = {"preview": "1", "reason": "", "headers": HTMX if htmx else {}} | more
    answer = send(office, order, what, *given.pop("pieces", ()), **given)
    return answer, " ".join(strip_tags(text(answer)).split())


def stored() -> list[Any]:
    """Return all that is stored but for sessions, which note when they were seen."""
    return [item for item in table.scan_all(consistent=True) if item["type"] != "Session"]


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize("hours", [0, 1])  # after which what is done needs a password
def test_what_happens_to_payments_is_said_before_it_is_done(office, order, htmx, hours, monkeypatch):
    order_changes.ship("ada", order.id, pieces={lines(order)[1].line.id: 1}, by="olga", now=NOW)
    before = stored()
    monkeypatch.setattr(timezone, "now", lambda: NOW + hours * HOUR)
    for what, pieces, amounts, off, total in (
        ("cancel", (2, 0), (), "159.80", "159.80"),
        ("return", (0, 1), ("", "50.00"), "50.00", "269.60"),
        ("reduce", (), ("9.90", ""), "9.90", "309.70"),
    ):
        answer, words = look(office, order, what, pieces=pieces, amounts=amounts, htmx=htmx)
        assert (answer.status_code, "<form" in text(answer)) == (200, not htmx)
        assert f"Taken off −€{off} New total €{total} Left to be paid €0.00" in words
        assert f"Paid 21 Nov 2026 €{off} refunded" in words
    assert send(office, order, "reduce", amounts=("400.00", "")).status_code == (401 if hours else 422)
    assert stored() == before


def test_what_is_not_paid_becomes_lower_or_is_cancelled(office):
    order = pay(make_order("ada", make_deal(title="Lamp"), plan=3), "decline")  # 26.64, 26.63, 26.63
    _, words = look(office, order, "reduce", amounts=("30.00",))
    assert "Taken off −€30.00 New total €49.90 Left to be paid €49.90" in words
    assert "2/3 Due 21 Dec 2026 €26.63 → €23.26" in words
    assert "3/3 Due 21 Jan 2027 €26.63 → Cancelled" in words
    assert "1/3" not in words


def test_a_preview_reads_what_its_page_reads_and_the_payments(office, order):
    with recorded() as page:
        office.get(page_of(order, "cancel"))
    sent = {"seen": 1, "preview": "1", f"pieces-{lines(order)[0].line.id}": 1}
    with recorded() as shown:
        office.post(page_of(order, "cancel"), sent)
    assert shown.operations == page.operations + Counter(BatchGetItem=1)


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize(
    ("what", "data", "status", "said"),
    [
        ("cancel", {"pieces": (3, 0)}, 409, "2 can be chosen now"),
        (
            "cancel",
            {"pieces": (-1, 0)},
            422,
            "Pieces of Lamp: Ensure this value is greater than or equal to 0",
        ),
        ("cancel", {"pieces": (0, 0)}, 422, "Choose how many pieces"),
        ("reduce", {"amounts": ("1000", "")}, 422, "enter an amount up to €159.80"),
        ("reduce", {"amounts": ("1", ""), "seen": 7}, 422, "This form is damaged"),
    ],
)
def test_a_preview_says_what_is_wrong_as_sending_does(office, order, htmx, what, data, status, said):
    answer, words = look(office, order, what, htmx=htmx, **data)
    assert (answer.status_code, said in words) == (status, True)
    assert ("<form" in text(answer), "New total" in words) == (not htmx, False)
    assert "This field is required" not in words


def test_a_preview_comes_by_itself_where_pieces_are_chosen_already(office, order):
    lamp = lines(order)[0].line.id
    assert 'hx-trigger="click, input' in text(office.get(page_of(order, "cancel")))
    assert 'hx-trigger="load, click, input' in text(office.get(page_of(order, "cancel") + f"?line={lamp}"))
    assert 'name="preview"' not in text(office.get(page_of(order, "ship")))


def test_a_form_of_an_order_that_changed_meanwhile_is_shown_again_and_can_be_sent_then(office, order):
    send(office, order, "cancel", 1, 0)
    answer = send(office, order, "ship", 1, 1, seen=1)
    assert (answer.status_code, "changed meanwhile" in text(answer)) == (409, True)
    assert 'name="seen" value="2"' in text(answer)
    assert send(office, order, "ship", 1, 1).status_code == 302


@pytest.mark.parametrize("what", ["ship", "cancel", "return", "decline", "reduce"])
def test_a_form_about_all_that_is_left_may_be_sent_twice(office, order, what):
    pieces: tuple[int, ...] = () if what in ("decline", "reduce") else (2, 2)
    if what in ("return", "decline"):
        order_changes.ship("ada", order.id, by="olga", now=NOW)
    if what == "decline":
        every = {one.line.id: 2 for one in lines(order)}
        order_returns.ask_return("ada", order.id, pieces=every, by="ada", reason="x", now=NOW)
    amounts = ("159.80", "159.80") if what == "reduce" else ()
    seen = len(orders.get("ada", order.id).timeline)
    for _ in range(2):
        answer = send(office, order, what, *pieces, amounts=amounts, seen=seen)
        assert answer["Location"] == page_of(order)
    assert len(orders.get("ada", order.id).timeline) == seen + 1


def test_what_is_not_paid_is_held_back_and_shipped_only_by_a_tick(office):
    order = make_order("ada", make_deal(title="Lamp"))
    assert "Not paid: shipping is held back." in text(office.get(page_of(order)))
    assert send(office, order, "ship", 1).status_code == 409
    assert send(office, order, "ship", 1, unpaid="on").status_code == 302


def test_a_payment_that_failed_is_tried_again_from_the_page_until_all_is_shipped(office):
    order = pay(make_order("ada", make_deal(title="Lamp")), "decline")
    (payment,) = order.payments
    button = f'href="/cms/payments/{payment["id"]}/retry/?'
    page = text(office.get(page_of(order)))
    assert (button in page, "The next try is" in page, "Mark shipped" in page) == (True, True, False)
    order_changes.ship("ada", order.id, unpaid=True, by="olga", now=NOW)
    page = text(office.get(page_of(order)))
    assert (button in page, "Mark delivered" in page) == (False, True)


def test_where_nothing_can_be_done_the_page_leads_back(office, order):
    for what, said in (("return", "Nothing of this order is with"), ("decline", "Nobody asks")):
        answer = office.get(page_of(order, what), follow=True)
        assert (answer.redirect_chain[-1][0], said in text(answer)) == (page_of(order), True)


def test_a_return_that_is_asked_for_is_listed_and_taken_back_or_declined(office, order):
    order_changes.ship("ada", order.id, by="olga", now=NOW)
    lamp = lines(order)[0].line.id
    for number, what in enumerate(("decline", "return")):
        later = NOW + (number + 1) * HOUR
        order_returns.ask_return("ada", order.id, pieces={lamp: 1}, by="ada", reason="Too loud", now=later)
        listed = text(office.get("/cms/orders/returns/"))
        assert (order.id[-6:] in listed, "Too loud" in listed) == (True, True)
        assert "The shopper asks to return something" in text(office.get(page_of(order)))
        assert fields(office.get(page_of(order, "return")))["Lamp"] == "1"
        assert send(office, order, what, 1, 0).status_code == 302
        assert open_return(orders.get("ada", order.id)) is None
        assert "Nobody asks to return anything." in text(office.get("/cms/orders/returns/"))
    assert [one.returned for one in lines(order)] == [1, 0]
