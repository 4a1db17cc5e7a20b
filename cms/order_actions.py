"""Marking orders shipped, delivered or cancelled, one or many at once: asks once more, and names what failed.

Notes and tags of one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, ngettext_lazy

from cms.order_list import NUMBER
from cms.orders import OrderRef, back_to, none_chosen, order_page, read_refs
from cms.shared.requests import EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.decorators import back_office
from dealsite.data.commerce import order_changes, order_notes, orders
from dealsite.data.commerce.order_changes import BEFORE
from dealsite.data.commerce.order_record import Order
from dealsite.data.entities.commerce import CANCELLED, DELIVERED, NOTE_CHARACTERS, PLACED, RETURNED, SHIPPED
from dealsite.data.names import DAMAGED_FORM, clean_text, shown_email
from dealsite.data.people import users
from dealsite.data.table.errors import AlreadyExists, Conflict, DataError, Invalid, NotFound, Unavailable
from dealsite.data.table.ids import from_iso, new_id
from dealsite.text.stored_words import Text

IT_IS = {
    PLACED: gettext_lazy("It is not shipped yet."),
    SHIPPED: gettext_lazy("It is shipped already."),
    DELIVERED: gettext_lazy("It is delivered already."),
    CANCELLED: gettext_lazy("It is cancelled."),
    RETURNED: gettext_lazy("It came back."),
}
NO_REASON = gettext_lazy("Say why: the shopper reads it.")
SENT_BEFORE = gettext_lazy("A part of order %(number)s was shipped before: only the rest is cancelled.")
LONG_REASON = gettext_lazy("Shorten this to %(most)s characters.")
DONE = {
    SHIPPED: ngettext_lazy(
        "%(count)d order is marked shipped.", "%(count)d orders are marked shipped.", "count"
    ),
    DELIVERED: ngettext_lazy(
        "%(count)d order is marked delivered.", "%(count)d orders are marked delivered.", "count"
    ),
    CANCELLED: ngettext_lazy("%(count)d order is cancelled.", "%(count)d orders are cancelled.", "count"),
}


@dataclass(frozen=True, slots=True)
class OrderRow:
    """An order on the page that asks. `order` is not known where the table did not answer, or has none such.

    `unpaid` says that it is to be shipped although it is not paid. `problem` says why it is left out, `error` why it
    failed but may be tried again.
    """

    ref: OrderRef
    order: Order | None = None
    tracking: str = ""
    unpaid: bool = False
    problem: str = ""
    error: str = ""


@back_office.form("1 batch get", at="?order={shopper}/{order}")
def ship_orders(request: EditorRequest) -> HttpResponse:
    """Ask for tracking numbers, then mark orders shipped."""
    now, by = timezone.now(), request.user.username

    def ship(row: OrderRow) -> None:
        shipped = order_changes.ship(
            row.ref.username, row.ref.id, tracking=row.tracking, unpaid=row.unpaid, by=by, now=now
        )
        other = next(event.by for event in reversed(shipped.timeline) if event.status == SHIPPED)
        if other != by or shipped.tracking.casefold() != row.tracking.casefold():
            raise Conflict(_shipped_before("" if other == by else other, shipped.tracking))

    return _page(request, SHIPPED, ship)


@back_office.form("1 batch get", at="?order={shopper}/{order}")
def deliver_orders(request: EditorRequest) -> HttpResponse:
    """Ask, then mark orders delivered."""
    now, by = timezone.now(), request.user.username

    def deliver(row: OrderRow) -> None:
        order_changes.deliver(row.ref.username, row.ref.id, by=by, now=now)

    return _page(request, DELIVERED, deliver)


@back_office.form("1 batch get", at="?order={shopper}/{order}")
def cancel_orders(request: EditorRequest) -> HttpResponse:
    """Ask for the reason, then cancel orders."""
    now, by = timezone.now(), request.user.username
    reason = clean_text(request.POST.get("reason", "")).strip()
    wrong: Text = "" if reason else NO_REASON
    if len(reason) > NOTE_CHARACTERS:
        wrong = LONG_REASON % {"most": NOTE_CHARACTERS}

    def cancel(row: OrderRow) -> None:
        order = order_changes.cancel(row.ref.username, row.ref.id, by=by, reason=reason, now=now)
        if order.status != CANCELLED:
            messages.info(request, SENT_BEFORE % {"number": order.id[-6:]})

    return _page(request, CANCELLED, cancel, reason=reason, reason_error=wrong)


@back_office.action
def send_order_mail(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Send a mail about an order again, to the shopper's address of today: once, however often it is pressed."""
    now, time = timezone.now(), request.POST.get("time", "")
    order, shopper = orders.get(username, order_id), users.find(username)
    if not shopper or not shopper.email:
        messages.warning(request, _("The shopper has no confirmed e-mail address."))
        return redirect("cms_order", username, order_id)
    limits.count_use(request, "retry", now=now)
    number = int(time) if NUMBER.fullmatch(time) else 0
    about, words = read_time(request), {"to": shopper.email, "by": request.user.username}
    try:
        orders.send_mail_again(order, request.POST.get("status", ""), about, time=number, now=now, **words)
    except AlreadyExists as already:
        messages.info(request, str(already))
    else:
        messages.success(
            request, _("The mail is sent again, to %(email)s.") % {"email": shown_email(shopper.email)}
        )
    return redirect("cms_order", username, order_id)


@back_office.action
def note_order(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Add a note for the team, once for a form that is sent twice."""
    token = new_id(request.POST.get("token", ""), timezone.now())
    text = request.POST.get("note", "")
    return _change(request, username, order_id, order_notes.note_order, text=text, token=token)


@back_office.action
def tag_order(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Give an order a tag."""
    return _change(request, username, order_id, order_notes.tag_order, tag=request.POST.get("tag", ""))


@back_office.action
def untag_order(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Take a tag off an order."""
    return _change(request, username, order_id, order_notes.untag_order, tag=request.POST.get("tag", ""))


def _change(
    request: EditorRequest, username: str, order_id: str, change: Callable[..., Order], **said: str
) -> HttpResponse:
    """Change an order and lead back to its page, or show that with what was typed and why it was refused."""
    try:
        change(username, order_id, **said, by=request.user.username, now=timezone.now())
    except Invalid as wrong:
        return order_page(request, username, order_id, refused=wrong.fields)
    return redirect("cms_order", username, order_id)


def read_time(request: EditorRequest) -> datetime:
    """Return the time `at` which something happened to an order, by which a form means it; Invalid."""
    try:
        return from_iso(request.POST.get("at", ""))
    except (ValueError, OverflowError):
        raise Invalid(DAMAGED_FORM) from None


def _page(
    request: EditorRequest,
    status: str,
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
    rows = [
        OrderRow(
            ref,
            tracking=request.POST.get(f"tracking-{ref.id}", "").strip()[:200],
            unpaid=f"unpaid-{ref.id}" in request.POST,
        )
        for ref in refs
    ]
    context: dict[str, object] = {"status": status, "reason": reason, "next": back_to(request)}
    if not sent or reason_error:
        context["reason_error"] = reason_error if sent else ""
        return _ask(request, _read_rows(rows, status, {}), context, 422 if sent else 200)
    failures: dict[OrderRef, DataError] = {}
    for row in rows:
        try:
            carry_out(row)
        except (Conflict, Invalid, NotFound, Unavailable) as error:
            failures[row.ref] = error
    if done := len(refs) - len(failures):
        messages.success(request, DONE[status] % {"count": done})
    if not failures:
        return redirect(back_to(request))
    rows = [row for row in rows if row.ref in failures]
    is_away = any(isinstance(failure, Unavailable) for failure in failures.values())
    try:
        rows = _read_rows(rows, status, failures)
    except Unavailable:  # what was done must be said all the same
        is_away, rows = True, [replace(row, error=str(failures[row.ref])) for row in rows]
    return _ask(request, rows, context | {"failed": True}, 503 if is_away else 409)


def _ask(
    request: EditorRequest, rows: list[OrderRow], context: dict[str, object], status: int
) -> HttpResponse:
    context |= {"rows": rows, "open": sum(not row.problem for row in rows)}
    return render(request, "cms/orders/change_orders.html", context, status=status)


def _read_rows(
    asked: Sequence[OrderRow], status: str, failures: Mapping[OrderRef, DataError]
) -> list[OrderRow]:
    """Return the rows with their orders as they are now. 1 batch get."""
    found = {order.id: order for order in orders.get_many((row.ref.username, row.ref.id) for row in asked)}
    rows = []
    for row in asked:
        order, failure = found.get(row.ref.id), str(failures.get(row.ref, ""))
        problem = ""
        if order is None:
            problem = _("There is no such order.")
        elif order.status != BEFORE[status]:
            problem = failure or str(IT_IS[order.status])
        rows.append(replace(row, order=order, problem=problem, error="" if problem else failure))
    return rows


def _shipped_before(by: str, tracking: str) -> str:
    """Say who marked an order shipped before, '' for the reader, and with which tracking number."""
    if by and tracking:
        words = _("%(user)s marked it shipped before, with the tracking number %(number)s.")
    elif by:
        words = _("%(user)s marked it shipped before.")
    elif tracking:
        words = _("You marked it shipped before, with the tracking number %(number)s.")
    else:
        words = _("You marked it shipped before.")
    return words % {"user": by, "number": tracking}
