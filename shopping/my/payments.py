"""A user's payments: what failed, what is due within 90 days, what was; paying early, and trying again."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dealsite.accounts import limits
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.requests import UserRequest, destination
from dealsite.data.commerce.order import saved_details
from dealsite.data.commerce.payment import payment_actions, payment_lists
from dealsite.data.commerce.payment.payment_record import Payment
from dealsite.data.entities.payments import CANCELLED, FAILED, PENDING, PROCESSED, REFUNDED, SCHEDULED
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import from_iso, iso, time_of
from dealsite.templatetags.design import money, payment_state, payment_status
from dealsite.text import stored_words
from dealsite.web.pages import action, page


@dataclass(frozen=True, slots=True)
class OrderPayments:
    """Payments of one order; '' for those that belong to none."""

    order: str
    payments: list[Payment]

    @property
    def placed_at(self) -> datetime | None:
        return time_of(self.order) if self.order else None


@page("3 queries + 1 get")
@signed_in
@require_safe
def payments(request: UserRequest) -> HttpResponse:
    """Show what failed, what comes within 90 days and what was, by order. 3 queries + 1 get."""
    username, now = request.user.username, timezone.now()
    after, past = request.GET.get("after") or None, request.GET.get("past") or None
    coming = payment_lists.coming(username, now=now, after=after)
    history = payment_lists.done(username, now=now, after=past)
    context = {
        "failed": [payment for payment in coming.payments if payment.status == FAILED],
        "coming": by_order(payment for payment in coming.payments if payment.status != FAILED),
        "history": by_order(history.payments),
        "after": f"?{urlencode({'after': coming.after})}" if coming.after else "",
        "past": f"?{urlencode({'past': history.after})}" if history.after else "",
        "first": not (after or past),
        "card": saved_details.buyer(username).card,
    }
    return render(request, "shopping/my/payments.html", context)


@action
@signed_in
@require_POST
def pay(request: UserRequest, payment_id: str) -> HttpResponse:
    """Charge a payment now, early or after it failed. 1 get + 1 batch get + 1 transaction."""
    username, now = request.user.username, timezone.now()
    due_at = _due_at(request.POST.get("due_at", ""))
    card = saved_details.buyer(username).card
    back = destination(request, reverse("payments"))
    if card is None:
        messages.warning(request, _("Add a card first, then pay."))
        return HttpResponseRedirect(f"{reverse('card')}?{urlencode({'next': back})}")
    limits.count_use(request, "retry", now=now)
    act = payment_actions.retry_now if request.POST.get("again") else payment_actions.pay_early
    try:
        act(username, due_at, payment_id, method=card.token, by=username, now=now)
    except Conflict as error:
        messages.error(request, str(error))
    else:
        said = _("%(label)s is being charged. You get a message about it.")
        messages.success(request, said % {"label": stored_words.shown(card.label)})
    return HttpResponseRedirect(back)


def by_order(found: Iterable[Payment]) -> list[OrderPayments]:
    """Group payments by their order, in the order in which the first of each comes."""
    groups: dict[str, list[Payment]] = {}
    for payment in found:
        groups.setdefault(payment.order, []).append(payment)
    return [OrderPayments(order, payments) for order, payments in groups.items()]


def state_of(found: Sequence[Payment], *, plan: int) -> tuple[str, str] | None:
    """Return in words how far an order's payments are, and how that looks; None where there is nothing to pay."""
    statuses, paid = {one.status for one in found}, sum(one.status == PROCESSED for one in found)
    if not found:
        return None
    if FAILED in statuses:
        return _("Payment failed"), payment_state(FAILED)
    if all(one.refund or one.status in (CANCELLED, REFUNDED) for one in found):
        if statuses - {CANCELLED, REFUNDED}:
            return _("Being refunded"), payment_state(PENDING)
        return (_("Refunded") if REFUNDED in statuses else _("Not charged")), ""
    if paid == len(found):
        total = money(sum((one.amount for one in found), Decimal("0.00")))
        return _("Paid: %(total)s") % {"total": total}, payment_state(PROCESSED)
    if paid:
        return _("%(paid)d of %(plan)d paid") % {"paid": paid, "plan": plan}, payment_state(SCHEDULED)
    unpaid = PENDING if PENDING in statuses else SCHEDULED
    return (payment_status(PENDING) if unpaid == PENDING else _("Not paid yet")), payment_state(unpaid)


def _due_at(text: str) -> datetime:
    with suppress(ValueError, OverflowError):
        if iso(due_at := from_iso(text)) == text:
            return due_at
    raise NotFound(_("There is no such payment."))
