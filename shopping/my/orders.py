"""A user's orders: the list, each one, where it goes, cancelling it, ordering the same again; and all they bought."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from dealsite.accounts.decorators import signed_in
from dealsite.accounts.order_parts import PiecesForm, Way, answer_address, answer_pieces
from dealsite.accounts.requests import UserRequest
from dealsite.data.commerce import (
    cart_changes,
    carts,
    order_changes,
    order_returns,
    orders as stored_orders,
    payments,
)
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.commerce.carts import Line
from dealsite.data.commerce.order_lines import history, open_return, return_ends
from dealsite.data.commerce.order_record import Order, OrderCard
from dealsite.data.commerce.orders import IncompleteOrder
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.entities.commerce import (
    CANCELLED,
    DELIVERED,
    FAILED,
    ORDER_STATUSES,
    PLACED,
    PROCESSED,
    RETURN_ASKED,
    RETURNED,
    SHIPPED,
)
from dealsite.data.names import DAMAGED_FORM
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from dealsite.data.table.ids import is_ulid, new_ulid
from dealsite.templatetags.design import state_words
from shopping.my.payments import state_of

NAMED = 5  # titles in a message: a cookie carries it


@dataclass(frozen=True, slots=True)
class OrderRow:
    """An order in a list, with its lines as far as they were found."""

    card: OrderCard
    lines: list[Line]

    @property
    def more(self) -> int:
        """How many deals there are beside the first."""
        return self.card.lines - 1 if self.lines else 0


def order_rows(cards: Sequence[OrderCard]) -> list[OrderRow]:
    """Return orders with their lines. 1 query, 2 where some are cancelled."""
    lines = stored_orders.lines_of_many(cards)
    return [OrderRow(card, lines[card.id]) for card in cards]


@signed_in.page("2 queries or 3 queries", at=("", "?status=SHIPPED"))
def orders(request: UserRequest) -> HttpResponse:
    """Show a page of the user's orders, newest first, with `status` those of one."""
    status = request.GET.get("status", "")
    page = stored_orders.of_user(
        request.user.username, status=status, after=request.GET.get("after"), before=request.GET.get("before")
    )
    chosen = {"status": status} if status else {}
    context = {
        "rows": order_rows(page.rows),
        "status": status,
        "statuses": ORDER_STATUSES,
        "before": page.before and f"?{urlencode(chosen | {'before': page.before})}",
        "after": page.after and f"?{urlencode(chosen | {'after': page.after})}",
    }
    return render(request, "shopping/my/orders.html", context)


@signed_in.page("1 get + 1 query + 1 batch get")
def order(request: UserRequest, order_id: str) -> HttpResponse:
    """Show an order with its lines, payments and history. 1 get + 1 query + 1 batch get."""
    username, now = request.user.username, timezone.now()
    found, lines, incomplete = stored_orders.found_lines(stored_orders.get(username, order_id))
    paid = payments.of_order(username, found.payments) if found.payments else []
    number = _("No. %(number)s") % {"number": found.id[-6:]}
    became = history(found, lines)
    context = {
        "order": found,
        "history": became,
        "order_lines": became.lines,
        "events": [(event, became.of(event)) for event in found.timeline],
        "incomplete": incomplete,
        "steps": steps(found, paid),
        "payment_state": state_of(paid),
        "paid_at": next(
            (one.processed_at for one in paid if len(paid) == 1 and one.kept == one.amount), None
        ),
        "failed": [one for one in paid if one.status == FAILED],
        "payments": [one for one in paid if one.status != FAILED],
        "can_cancel": may_cancel(found),
        "can_change": found.status == PLACED,
        "can_return": may_return(found, now) and any(one.sent for one in became.lines),
        "return_ends": return_ends(found),
        "trail": [(reverse("account"), _("My account")), (reverse("orders"), _("Orders")), ("", number)],
        "token": new_ulid(now),
    }
    return render(request, "shopping/my/order.html", context)


class Step(NamedTuple):
    """A step of an order's way; it has a time if it was taken."""

    name: str
    at: datetime | None


def steps(order: Order, paid: Sequence[Payment]) -> list[Step]:
    """Return how far an order is, all of it: that it is paid is a step only where it is paid at once."""
    ways = {CANCELLED: [PLACED, CANCELLED], RETURNED: [PLACED, SHIPPED, DELIVERED, RETURNED]}
    way = ways.get(order.status, [PLACED, SHIPPED, DELIVERED])
    done = way[: way.index(order.status) + 1]
    taken = {event.status: event.at for event in order.timeline if event.status in done}
    found = [Step(state_words(status), taken.get(status)) for status in way]
    if len(paid) == 1 and order.status != CANCELLED:
        found.insert(1, Step(state_words(PROCESSED), paid[0].processed_at))
    return found


@signed_in.action
def cancel_order(request: UserRequest, order_id: str) -> HttpResponse:
    """Cancel an order that is not shipped yet. 1 get + 1 query + 2 batch gets + 1 transaction."""
    username = request.user.username
    if not settings.DEALSITE_SHOPPERS_CANCEL:
        raise NotFound(CANCEL.nothing)
    try:
        found = order_changes.cancel(username, order_id, by=username, now=timezone.now())
    except Conflict as error:
        messages.error(request, str(error))
    else:
        whole = _("Your order is cancelled. If you paid for it, that is on its way back.")
        messages.success(request, whole if found.status == CANCELLED else CANCEL.done)
    return HttpResponseRedirect(reverse("order", args=[order_id]))


CANCEL = Way(
    CANCELLED,
    gettext_lazy("Cancel some of it"),
    gettext_lazy("Cancel it"),
    gettext_lazy(
        "It is cancelled. What is still to be paid is lowered, and what you paid beyond that is on its way back."
    ),
    gettext_lazy("Nothing of this order can be cancelled any more."),
    order_changes.cancel,
    ("pieces",),
    help=gettext_lazy("What you choose is not sent, and you do not pay for it. This cannot be undone."),
)
RETURN = Way(
    RETURN_ASKED,
    gettext_lazy("Return something"),
    gettext_lazy("Ask to return it"),
    gettext_lazy("We have your request, and answer soon."),
    gettext_lazy("Nothing of this order can be returned."),
    order_returns.ask_return,
    ("pieces", "reason"),
    help=gettext_lazy(
        "Choose what you want to return and say why. We answer soon, and say where to send it."
    ),
)


@signed_in.form("1 get + 1 query")
def cancel_part(request: UserRequest, order_id: str) -> HttpResponse:
    """Ask which pieces, then cancel them. 1 get + 1 query; 1 get + 1 query + 2 batch gets + 1 transaction more."""
    return _part(request, order_id, CANCEL, may=lambda order: settings.DEALSITE_SHOPPERS_CANCEL)


@signed_in.form("1 get + 1 query")
def return_part(request: UserRequest, order_id: str) -> HttpResponse:
    """Ask which pieces and why, and have the back office decide. 1 get + 1 query; as much + 1 transaction more."""
    now = timezone.now()
    return _part(
        request, order_id, RETURN, may=lambda order: request.method == "POST" or may_return(order, now)
    )


def _part(request: UserRequest, order_id: str, way: Way, *, may: Callable[[Order], bool]) -> HttpResponse:
    order, lines = stored_orders.with_lines(stored_orders.get(request.user.username, order_id))
    data, back = request.POST if request.method == "POST" else None, reverse("order", args=[order_id])
    if not may(order):
        messages.info(request, way.nothing)
        return HttpResponseRedirect(back)
    form = PiecesForm(data, way=way, lines=history(order, lines).lines, chosen={})
    return answer_pieces(request, "shopping/my/order_part.html", form, way, order, back=back)


def may_cancel(order: Order) -> bool:
    """Tell whether its shopper may cancel what is not shipped of an order."""
    return settings.DEALSITE_SHOPPERS_CANCEL and order.status == PLACED


def may_return(order: Order, now: datetime) -> bool:
    """Tell whether its shopper may ask to return something of an order now."""
    ends = return_ends(order)
    return ends is not None and now < ends and not open_return(order)


@signed_in.form("1 get")
def order_address(request: UserRequest, order_id: str) -> HttpResponse:
    """Ask where an order that is not shipped yet goes instead, and change it. 1 get, 1 get + 1 transaction more."""
    found, back = stored_orders.get(request.user.username, order_id), reverse("order", args=[order_id])
    return answer_address(request, "shopping/my/order_address.html", found, back=back)


@signed_in.page("1 query")
def bought(request: UserRequest) -> HttpResponse:
    """Show a page of what the user has bought, newest first, whatever order it was in. 1 query."""
    page = stored_orders.bought(
        request.user.username, after=request.GET.get("after"), before=request.GET.get("before")
    )
    context = {
        "lines": page.rows,
        "before": page.before and f"?{urlencode({'before': page.before})}",
        "after": page.after and f"?{urlencode({'after': page.after})}",
    }
    return render(request, "shopping/my/bought.html", context)


@signed_in.action
def order_again(request: UserRequest, order_id: str) -> HttpResponse:
    """Put what was ordered into the cart, as far as it can be had. 1 get + 1 query + 1 batch get + 1 transaction."""
    username, now = request.user.username, timezone.now()
    token = request.POST.get("token", "")
    if not is_ulid(token):
        raise Invalid(DAMAGED_FORM)
    try:
        lines = stored_orders.lines_of(stored_orders.get(username, order_id))
    except IncompleteOrder as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(reverse("order", args=[order_id]))
    wanted = [CartAddition(line.deal, line.quantity, new_ulid(now), token=token) for line in lines]
    added = cart_changes.add_many(carts.user_cart(username), wanted, now=now)
    if added.deals:
        count = len(added.deals)
        messages.success(
            request,
            ngettext(
                "%(count)d deal of that order is in your cart.",
                "%(count)d deals of that order are in your cart.",
                count,
            )
            % {"count": count},
        )
    titles = {line.deal: line.title for line in lines}
    for deal, reason in list(added.refused.items())[:NAMED]:
        words = {"title": titles[deal][:60], "reason": reason}
        messages.warning(request, _("Not added: “%(title)s”. %(reason)s") % words)
    if (more := len(added.refused) - NAMED) > 0:
        messages.warning(request, _("%(more)d more could not be added.") % {"more": more})
    return HttpResponseRedirect(reverse("cart"))
