"""Marking orders shipped, delivered or cancelled, one or many at once: asks once more, and names what failed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from cms.orders.orders import OrderRef, back_to, none_chosen, read_refs
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.commerce import orders
from dealsite.data.commerce.order.fulfilment import BEFORE
from dealsite.data.commerce.order.order_record import NOTE_CHARACTERS
from dealsite.data.commerce.orders import CANCELLED, DELIVERED, PLACED, SHIPPED, Order
from dealsite.data.table.errors import Conflict, DataError, Invalid, NotFound, Unavailable
from dealsite.text.lazy import Text
from dealsite.web.pages import page

IT_IS = {
    PLACED: gettext_lazy("It is not shipped yet."),
    SHIPPED: gettext_lazy("It is shipped already."),
    DELIVERED: gettext_lazy("It is delivered already."),
    CANCELLED: gettext_lazy("It is cancelled."),
}
NO_REASON = gettext_lazy("Say why: the shopper reads it.")
LONG_REASON = gettext_lazy("Shorten this to %(most)s characters.")


@dataclass(frozen=True, slots=True)
class OrderAction:
    """What can be done to orders: the status that they come to."""

    status: str

    def can_befall(self, order: Order) -> bool:
        return order.status == BEFORE[self.status]


SHIP = OrderAction(SHIPPED)
DELIVER = OrderAction(DELIVERED)
CANCEL = OrderAction(CANCELLED)


@dataclass(frozen=True, slots=True)
class OrderRow:
    """An order on the page that asks. `order` is not known where the table did not answer, or has none such.

    `problem` says why it is left out, `error` why it failed but may be tried again.
    """

    ref: OrderRef
    order: Order | None = None
    tracking: str = ""
    problem: str = ""
    error: str = ""


@page("1 batch get", at="?order={shopper}/{order}")
@role("back office")
@require_http_methods(["GET", "HEAD", "POST"])
def ship_orders(request: EditorRequest) -> HttpResponse:
    """Ask for tracking numbers, then mark orders shipped."""
    now, by = timezone.now(), request.user.username

    def ship(row: OrderRow) -> None:
        shipped = orders.ship(row.ref.username, row.ref.id, tracking=row.tracking, by=by, now=now)
        other = shipped.timeline[-1].by
        if other != by or shipped.tracking.casefold() != row.tracking.casefold():
            raise Conflict(_shipped_before("" if other == by else other, shipped.tracking))

    return _page(request, SHIP, ship)


@page("1 batch get", at="?order={shopper}/{order}")
@role("back office")
@require_http_methods(["GET", "HEAD", "POST"])
def deliver_orders(request: EditorRequest) -> HttpResponse:
    """Ask, then mark orders delivered."""
    now, by = timezone.now(), request.user.username

    def deliver(row: OrderRow) -> None:
        orders.deliver(row.ref.username, row.ref.id, by=by, now=now)

    return _page(request, DELIVER, deliver)


@page("1 batch get", at="?order={shopper}/{order}")
@role("back office")
@require_http_methods(["GET", "HEAD", "POST"])
def cancel_orders(request: EditorRequest) -> HttpResponse:
    """Ask for the reason, then cancel orders."""
    now, by = timezone.now(), request.user.username
    reason = request.POST.get("reason", "").strip()
    wrong: Text = ""
    if not reason:
        wrong = NO_REASON
    elif len(reason) > NOTE_CHARACTERS:
        wrong = LONG_REASON % {"most": NOTE_CHARACTERS}

    def cancel(row: OrderRow) -> None:
        orders.cancel(row.ref.username, row.ref.id, by=by, reason=reason, now=now)

    return _page(request, CANCEL, cancel, reason=reason, reason_error=wrong)


def _page(
    request: EditorRequest,
    change: OrderAction,
    carry_out: Callable[[OrderRow], None],
    *,
    reason: str = "",
    reason_error: Text = "",
) -> HttpResponse:
    """Ask about the orders that were chosen, or do it to each; those that failed are shown again, with why."""
    sent = request.method == "POST"
    refs = read_refs((request.POST if sent else request.GET).getlist("order"))
    if not refs:
        return none_chosen(request)
    asked = [OrderRow(ref, tracking=request.POST.get(f"tracking-{ref.id}", "").strip()[:200]) for ref in refs]
    if not sent or reason_error:
        rows, status = _looked_up(asked, change, {}), 422 if sent else 200
        return _ask(request, change, rows, status, reason, reason_error if sent else "")
    failures: dict[OrderRef, DataError] = {}
    for row in asked:
        try:
            carry_out(row)
        except (Conflict, Invalid, NotFound, Unavailable) as error:
            failures[row.ref] = error
    if done := len(refs) - len(failures):
        messages.success(request, _said(change, done))
    if not failures:
        return redirect(back_to(request))
    try:
        rows = _looked_up([row for row in asked if row.ref in failures], change, failures)
    except Unavailable as error:  # what was done must be said all the same
        rows = [
            OrderRow(row.ref, tracking=row.tracking, error=str(failures.get(row.ref, error)))
            for row in asked
            if row.ref in failures
        ]
    return _ask(request, change, rows, 409, reason, "")


def _looked_up(
    asked: Sequence[OrderRow], change: OrderAction, failures: Mapping[OrderRef, DataError]
) -> list[OrderRow]:
    """Return the rows with their orders as they are now. 1 batch get."""
    found = {order.id: order for order in orders.get_many((row.ref.username, row.ref.id) for row in asked)}
    rows = []
    for row in asked:
        order, failure = found.get(row.ref.id), str(failures.get(row.ref, ""))
        problem = ""
        if order is None:
            problem = _("There is no such order.")
        elif not change.can_befall(order):
            problem = failure or str(IT_IS[order.status])
        rows.append(OrderRow(row.ref, order, row.tracking, problem, "" if problem else failure))
    return rows


def _ask(
    request: EditorRequest,
    change: OrderAction,
    rows: list[OrderRow],
    status: int,
    reason: str,
    reason_error: Text,
) -> HttpResponse:
    context = {
        "change": change,
        "rows": rows,
        "open": sum(not row.problem for row in rows),
        "failed": status == 409,
        "reason": reason,
        "reason_error": reason_error,
        "next": back_to(request),
    }
    return render(request, "cms/orders/change_orders.html", context, status=status)


def _shipped_before(by: str, tracking: str) -> str:
    """Say who marked an order shipped before, '' for the reader himself, and with which tracking number."""
    if by and tracking:
        words = _("%(user)s marked it shipped before, with the tracking number %(number)s.")
    elif by:
        words = _("%(user)s marked it shipped before.")
    elif tracking:
        words = _("You marked it shipped before, with the tracking number %(number)s.")
    else:
        words = _("You marked it shipped before.")
    return words % {"user": by, "number": tracking}


def _said(change: OrderAction, count: int) -> str:
    """Say how many orders were changed."""
    if change == SHIP:
        words = ngettext("%(count)d order is marked shipped.", "%(count)d orders are marked shipped.", count)
    elif change == DELIVER:
        words = ngettext(
            "%(count)d order is marked delivered.", "%(count)d orders are marked delivered.", count
        )
    else:
        words = ngettext("%(count)d order is cancelled.", "%(count)d orders are cancelled.", count)
    return words % {"count": count}
