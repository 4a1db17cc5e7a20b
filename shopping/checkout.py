"""Checkout: one page with address, way to pay and what is bought; then the page that says what came of it.

The form holds the id of the order that it will make, signed for its user together with the card that they were
shown: sent twice, it makes one order, and nobody can make one under another's id.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.core import signing
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from dealsite.accounts import limits
from dealsite.accounts.addressing import kept_address, typed_address
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.ordering import OrderForm, PlanChoice, charge_at_once, chosen_plan, counted, typed_bill
from dealsite.accounts.requests import UserRequest
from dealsite.data.commerce import addresses, carts, order_record, orders, payments
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.carts import CartChanged
from dealsite.data.commerce.order_changes import CARD_GONE, CHANGED, Purchase, place
from dealsite.data.commerce.order_lines import history
from dealsite.data.entities.commerce import CANCELLED, PLANS, PROCESSED, SCHEDULED
from dealsite.data.names import DAMAGED_FORM
from dealsite.data.table.errors import Invalid, NotFound
from dealsite.data.table.ids import is_new, new_ulid
from dealsite.data.table.parallel import together
from dealsite.text.writing import number_in
from shopping.cart import cart_page
from shopping.my.orders import steps
from shopping.my.payments import to_gateway

SALT = "shopping.checkout"
OLD = gettext_lazy(
    "This page was more than a day old: nothing was ordered. Look at it once more, and order then."
)


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a checkout form holds signed: the id of its order, for whom, and the card's token."""

    order_id: str
    username: str
    method: str = ""

    def signed(self) -> str:
        return signing.dumps([self.order_id, self.username, self.method], salt=SALT)

    @classmethod
    def of(cls, request: UserRequest) -> Ticket:
        """Return what a form of this user holds; Invalid for what this site did not make for them."""
        try:
            ticket = cls(*signing.loads(request.POST.get("order", ""), salt=SALT))
        except (signing.BadSignature, TypeError, ValueError):
            raise Invalid(DAMAGED_FORM) from None
        if ticket.username != request.user.username:
            raise Invalid(_("This form was made for another account. Load the page again."))
        return ticket

    def is_old(self, now: datetime) -> bool:
        return not is_new(self.order_id, now)


@signed_in.form("2 queries + 1 batch get + 1 get")
def checkout(request: UserRequest) -> HttpResponse:
    """Show what is to be ordered, 2 queries + 1 batch get + 1 get; order it and charge what is due.

    Ordering takes 1 get, 3 updates, 1 query and 1 transaction, to another address 1 update more, in instalments 1 get
    and 1 query more; charging 1 batch get, 1 update, 2 gets and 1 transaction.
    """
    now = timezone.now()
    if request.method != "POST":
        return _page(request, now)
    ticket, form = Ticket.of(request), OrderForm(request.POST)
    if request.POST.get("do") in ("card", "cart", "keep", "use"):
        return _away(request)
    if ticket.is_old(now):
        return _placed_or_old(request, ticket, form, now)
    if not form.is_valid():
        return _page(request, now, form, 422)
    data = form.cleaned_data
    if data["total"] and not ticket.method:
        form.add_error(None, CARD_GONE)
        return _page(request, now, form, 422)
    limits.count_use(request, "order", now=now)
    addresses.keep(request.user.username, data["address"])
    try:
        order = place(_purchase(request, ticket, data), now=now)
    except CartChanged as error:
        return _nothing_ordered(request, form, str(error))
    except Invalid as error:
        form.add_errors(error.fields)
        if not error.fields:
            raise
        return _page(request, now, form, 422)
    charge_at_once(order)
    return HttpResponseRedirect(reverse("checkout_done", args=[order.id]))


@signed_in.page("2 gets + 1 query + 1 batch get")
def checkout_done(request: UserRequest, order_id: str) -> HttpResponse:
    """Say that an order is placed and what was charged; one that costs less now shows its own page."""
    username = request.user.username
    found = orders.get(username, order_id)
    (order, lines, incomplete), paid, buyer = together(
        partial(orders.found_lines, found),
        lambda: payments.of_order(username, found.payments) if found.payments else [],
        partial(order_record.buyer, username),
    )
    became = history(order, lines)
    if order.status == CANCELLED or became.taken_off:
        return HttpResponseRedirect(reverse("order", args=[order.id]))
    first = paid[0] if paid else None
    to_come = [payment for payment in paid[1:] if payment.status == SCHEDULED]
    context = {
        "order": order,
        "order_lines": became.lines,
        "incomplete": incomplete,
        "plan": PlanChoice.of(order.total, order.card.plan, order.placed_at),
        "first": first,
        "steps": steps(order, paid),
        "charged": sum(payment.kept for payment in paid if payment.status == PROCESSED),
        "card": buyer.card if first and buyer.card and buyer.card.token == first.method else None,
        "to_come": ", ".join(counted(payment.to_charge for payment in to_come)),
        "last_due": to_come[-1].due_at if to_come else None,
    }
    return render(request, "shopping/checkout/checkout_done.html", context)


def _purchase(request: UserRequest, ticket: Ticket, data: dict[str, Any]) -> Purchase:
    user = request.user
    return Purchase(
        order_id=ticket.order_id,
        username=user.username,
        name=user.name,
        email=user.email or user.account.pending_email,
        version=data["version"],
        total=data["total"],
        address=data["address"],
        bill_to=data["bill_to"],
        plan=data["plan"],
        method=ticket.method if data["total"] else "",
    )


def _placed_or_old(request: UserRequest, ticket: Ticket, form: OrderForm, now: datetime) -> HttpResponse:
    """Lead to the order that a form made long ago, or ask to look again where it made none."""
    try:
        order = orders.get(ticket.username, ticket.order_id)
    except NotFound:
        form.add_error(None, OLD)
        return _page(request, now, form, 409)
    return HttpResponseRedirect(reverse("checkout_done", args=[order.id]))


def _away(request: UserRequest) -> HttpResponse:
    """Keep what was typed, and go to where a card is entered, or to the cart, or nowhere. 1 update.

    1 get more to begin again with an address that they keep.
    """
    _keep_typed(request)
    if request.POST["do"] == "keep":
        return HttpResponse(status=204)
    if name := {"cart": "cart", "use": "checkout"}.get(request.POST["do"]):
        return HttpResponseRedirect(reverse(name))
    return to_gateway(request, back=reverse("checkout"))


def _nothing_ordered(request: UserRequest, form: OrderForm, why: str) -> HttpResponse:
    """Answer 409 with the cart as it is: why nothing was ordered, the sum that the form said, and the one of now."""
    _keep_typed(request)
    return cart_page(request, 409, nothing_ordered=why, shown_total=form.cleaned_data.get("total"))


def _keep_typed(request: UserRequest) -> None:
    typed = kept_address(request) if request.POST.get("do") == "use" else {}
    bill, plan = typed_bill(request.POST), number_in(request.POST.get("plan", ""), most=2)
    addresses.keep_typed(
        request.user.username,
        Address(**typed or typed_address(request.POST)),
        Address(**bill) if bill else None,
        plan if plan in PLANS else 1,
    )


def _page(
    request: UserRequest, now: datetime, form: OrderForm | None = None, status: int = 200
) -> HttpResponse:
    """Show the page as the cart is now; the cart's own where it is empty or has changed.

    A form that said another sum is told both.
    """
    username = request.user.username
    owner = carts.user_cart(username)
    head, lines = carts.read_active(owner, now=now)
    look = carts.view(carts.Cart(owner, head, lines, []), now=now)
    if not look.can_order:
        return (
            _nothing_ordered(request, form, str(CHANGED)) if form else HttpResponseRedirect(reverse("cart"))
        )
    if form:
        form.expect_total(look.total)
    plans = payments.plans_for(look.total)
    buyer, no_credit = together(
        partial(order_record.buyer, username),
        lambda: payments.no_credit(request.user.account, look.total, now=now) if len(plans) > 1 else "",
    )
    plans = plans[:1] if no_credit else plans
    ticket = Ticket(new_ulid(now), username, buyer.card.token if buyer.card else "")
    context = {
        "form": form or OrderForm.of(buyer),
        "kept": buyer.addresses if {buyer.address, *buyer.addresses} != {buyer.address} else (),
        "chosen_address": request.POST.get("kept", buyer.address.key),
        "shown": {"version": head.version, "total": look.total},
        "ticket": ticket.signed(),
        "look": look,
        "plans": [PlanChoice.of(look.total, number, now) for number in plans],
        "no_credit": no_credit,
        "chosen": chosen_plan(form.data.get("plan", "") if form else str(buyer.plan), plans),
        "card": buyer.card,
        "needs_card": bool(look.total) and buyer.card is None,
    }
    return render(request, "shopping/checkout/checkout.html", context, status=status)
