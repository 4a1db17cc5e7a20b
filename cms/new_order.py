"""An order for a customer who asks for it, by telephone say: from the cart of whoever makes it, in the customer's name.

One form holds all of it, whose buttons change the cart, find deals or place the order: whatever is pressed, nothing
that was typed is lost. htmx gets the lines and the sum alone.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.vary import vary_on_headers

from cms.lists.deal_list import id_in
from cms.shared.requests import OPEN_FOR_LONG, EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.addressing import typed_address
from dealsite.accounts.decorators import back_office
from dealsite.accounts.ordering import (
    OrderForm,
    PlanChoice,
    WrongQuantity,
    charge_at_once,
    chosen_plan,
    have_quantities,
    typed_bill,
)
from dealsite.data.catalogue import deals
from dealsite.data.commerce import addresses, cart_changes, carts, order_record, payments
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.commerce.carts import Cart, CartOwner
from dealsite.data.commerce.order_changes import Purchase, place
from dealsite.data.commerce.order_record import Buyer
from dealsite.data.entities.commerce import MAX_QUANTITY
from dealsite.data.entities.deals import HERE
from dealsite.data.names import DAMAGED_FORM
from dealsite.data.people import users
from dealsite.data.people.users import User
from dealsite.data.table.errors import Conflict, Invalid, TooManyRequests
from dealsite.data.table.ids import is_new, is_ulid, new_ulid
from dealsite.data.table.parallel import together
from dealsite.search.finding import SearchHit, SearchPage, find
from dealsite.search.lists import NOT_READY, words_in
from dealsite.search.question import Question

MOST_FOUND = 8
STEPS = {"more": 1, "fewer": -1}
OWN = gettext_lazy("What you order for yourself, you order here.")
SUSPENDED = gettext_lazy("The account of %(username)s is suspended: no order can be made for it.")
OTHER_CARD = gettext_lazy("Their card was changed or removed meanwhile. Look at the payment once more.")


@back_office.form(
    "2 queries + 1 batch get + 2 gets or 2 queries + 2 batch gets + 2 gets", at=("", "?q={live.id}")
)
@vary_on_headers("HX-Request")
def new_order(request: EditorRequest, username: str) -> HttpResponse:
    """Make an order for a customer: what is in one's own cart, what can be added, where it goes, what pays.

    For htmx what is found alone, without requests; 1 batch get for an id. Placing costs what it does at checkout.
    """
    now = timezone.now()
    if username == request.user.username:
        messages.info(request, OWN)
        return redirect("cart")
    if request.htmx and request.method != "POST":
        return render(request, "cms/orders/_deals_to_add.html", _found(request.GET, now))
    customer, buyer = together(partial(users.get, username), partial(order_record.buyer, username))
    if customer.suspended_at:
        raise Conflict(SUSPENDED % {"username": username})
    if request.method == "POST":
        return _answer(request, customer, buyer, now)
    return _page(request, customer, buyer, OrderForm.of(buyer, is_own=False), now)


def _answer(request: EditorRequest, customer: User, buyer: Buyer, now: datetime) -> HttpResponse:
    """Do what a button says, after the numbers of pieces that were typed."""
    sent, owner = request.POST, carts.user_cart(request.user.username)
    if sent.get("by") != owner.username:
        raise Invalid(_("This form was made for another account. Load the page again."))
    if not is_ulid(sent.get("order", "")):
        raise Invalid(DAMAGED_FORM)
    do, _colon, pressed = sent.get("do", "").partition(":")
    wrong = have_quantities(owner, sent, pressed=pressed, step=STEPS.get(do, 0), now=now)
    if sent.get("do") == "place" and not wrong:
        return _place(request, customer, buyer, now)
    refused = ""
    try:
        _change(sent, owner, now)
    except (Conflict, Invalid) as error:
        refused = str(error)
    form = OrderForm(initial=typed_address(sent), bill_to=typed_bill(sent), is_own=False)
    status = 409 if refused or wrong else 200
    return _page(request, customer, buyer, form, now, status=status, refused=refused, wrong=wrong)


def _change(sent: QueryDict, owner: CartOwner, now: datetime) -> None:
    """Add a deal to the cart, remove a line or take what changed, as a button says."""
    do, _colon, what = sent.get("do", "").partition(":")
    if do == "add":
        cart_changes.add(owner, CartAddition(what, 1, new_ulid(now), token=sent.get("order", "")), now=now)
    elif do == "remove":
        cart_changes.remove(owner, what, now=now)
    elif do == "accept":
        cart_changes.accept(owner, seen=sent.get("seen", ""), now=now)


def _place(request: EditorRequest, customer: User, buyer: Buyer, now: datetime) -> HttpResponse:
    """Place the order, charge what is due where their card is to pay, and lead to it; else say why it is not placed."""
    form, status = OrderForm(request.POST, is_own=False), 422
    card, asked = buyer.card, request.POST.get("card", "")
    if asked and (card is None or card.label != asked):
        form.add_error(None, OTHER_CARD)
    if not is_new(request.POST["order"], now):
        form.add_error(None, OPEN_FOR_LONG)
    if form.is_valid():
        data = form.cleaned_data
        purchase = Purchase(
            order_id=request.POST["order"],
            username=customer.username,
            name=customer.name,
            email=customer.email or customer.pending_email,
            version=data["version"],
            total=data["total"],
            address=data["address"],
            bill_to=data["bill_to"],
            plan=data["plan"],
            method=card.token if card and asked and data["total"] else "",
            by=request.user.username,
        )
        try:
            limits.count_use(request, "order", now=now)
            addresses.keep(customer.username, data["address"])
            order = place(purchase, now=now)
        except Invalid as error:
            form.add_errors(error.fields | ({"card": OTHER_CARD} if "card" in error.fields else {}))
        except (Conflict, TooManyRequests) as error:
            form.add_error(None, str(error))
            status = error.status
        else:
            charge_at_once(order)
            messages.success(request, _("The order for %(name)s is placed.") % {"name": order.card.name})
            return redirect("cms_order", order.username, order.id)
    return _page(request, customer, buyer, form, now, status=status)


def _found(sent: QueryDict, now: datetime) -> dict[str, Any]:
    """Return the live deals that have some words, or the one of an id or link: 1 batch get. Others no requests."""
    words, found = words_in(sent.get("q", "")), SearchPage()
    if deal_id := id_in(words):
        live = [one.card for one in deals.get_many([deal_id]).values() if one.card.is_live(now)]
        found = SearchPage(hits=[SearchHit(card) for card in live])
    elif words:
        found = find(Question(words, sold=(HERE,), state="live"), now=now, size=MOST_FOUND)
    cards = found.cards[:MOST_FOUND]
    return {"words": words, "found": found, "cards": cards, "not_ready": NOT_READY}


def _page(
    request: EditorRequest,
    customer: User,
    buyer: Buyer,
    form: OrderForm,
    now: datetime,
    *,
    status: int = 200,
    refused: str = "",
    wrong: Mapping[str, WrongQuantity] = MappingProxyType({}),
) -> HttpResponse:
    """Show the page, or for htmx its lines and sum, as the cart is now. 2 queries + 1 batch get."""
    sent, owner = request.POST, carts.user_cart(request.user.username)
    head, lines = carts.read_active(owner, now=now)
    look = carts.view(Cart(owner, head, lines, []), now=now)
    if form.is_bound:
        form.expect_total(look.total)
    plans = payments.plans_for(look.total)
    no_credit = payments.no_credit(customer, look.total, now=now) if len(plans) > 1 else ""
    plans = plans[:1] if no_credit else plans
    context = {
        "customer": customer,
        "form": form,
        "look": look,
        "rows": [(shown, *wrong.get(shown.line.deal, (shown.line.quantity, ""))) for shown in look.active],
        "most": MAX_QUANTITY,
        "refused": refused,
        "order_id": new_ulid(now),
        "plans": [PlanChoice.of(look.total, number, now) for number in plans],
        "chosen": chosen_plan(sent.get("plan", ""), plans),
        "no_credit": no_credit,
        "card": buyer.card,
        "is_charged": buyer.card is not None and sent.get("card") == buyer.card.label,
    }
    if request.htmx:
        return render(request, "cms/orders/_new_order_changed.html", context, status=status)
    trail = [
        (reverse("cms_customers"), _("Customers")),
        (reverse("cms_customer", args=[customer.username]), customer.username),
        ("", _("New order")),
    ]
    context |= _found(sent or request.GET, now) | {"trail": trail}
    return render(request, "cms/orders/new_order.html", context, status=status)
