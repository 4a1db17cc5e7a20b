"""One payment: what happened to it; and trying it again, cancelling it, refunding it."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from cms.lists.deal_list import query
from cms.payments.payments import address_of
from cms.shared.requests import EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.decorators import fresh, role
from dealsite.data.commerce.payment.payment_actions import cancel, refund, retry_now
from dealsite.data.commerce.payment.payment_record import Payment
from dealsite.data.commerce.payments import get
from dealsite.data.entities.payments import FAILED, PENDING, PROCESSED, REASON_CHARACTERS, SCHEDULED
from dealsite.data.names import clean_text
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import from_iso, iso
from dealsite.text.lazy import Text
from dealsite.web.pages import page

NO_REASON = gettext_lazy("Say why: it is kept with the payment.")
LONG_REASON = gettext_lazy("Shorten this to %(most)s characters.")
MAY = {FAILED: ("retry", "cancel"), SCHEDULED: ("cancel",), PROCESSED: ("refund",)}


def may(payment: Payment) -> tuple[str, ...]:
    """Return what can be done with a payment now: retry, cancel, refund."""
    return () if payment.refund else MAY.get(payment.status, ())


def _asked(request: EditorRequest, payment_id: str) -> Payment:
    """Return the payment that an address or a form names; NotFound."""
    data = request.POST if request.method == "POST" else request.GET
    try:
        return get(data.get("account", ""), from_iso(data.get("due", "")), payment_id)
    except (ValueError, OverflowError):  # what no account or time can be
        raise NotFound(_("There is no such payment.")) from None


@page("1 batch get", at="?account={shopper}&due={due}")
@role("back office")
@require_safe
def payment(request: EditorRequest, payment_id: str) -> HttpResponse:
    """One payment: its state, and what happened to it."""
    found = _asked(request, payment_id)
    here = query({"account": found.account, "due": iso(found.due_at)})
    account_address = reverse("cms_account_payments") + query({"account": found.account})
    next_is = {
        SCHEDULED: _("Will be charged"),
        FAILED: _("Will be tried again"),
        PENDING: _("With a runner until"),
    }
    context = {
        "payment": found,
        "history": found.timeline[::-1],
        "may": [(what, reverse(f"cms_{what}_payment", args=[found.id]) + here) for what in may(found)],
        "next_is": next_is.get("" if found.final else found.status, ""),
        "account_address": account_address,
        "trail": [(reverse("cms_payments"), _("Payments")), (account_address, found.account), ("", found.id)],
    }
    return render(request, "cms/payments/payment.html", context)


@dataclass(frozen=True, slots=True)
class PaymentAction:
    """What can be done to a payment, and the status by which one knows that it was done already."""

    what: str
    said: Text
    carry_out: Callable[..., Payment]
    has_reason: bool = True


RETRY = PaymentAction(
    "retry", gettext_lazy("The payment is tried again within seconds."), retry_now, has_reason=False
)
CANCEL = PaymentAction("cancel", gettext_lazy("The payment is cancelled."), cancel)
REFUND = PaymentAction("refund", gettext_lazy("The money is refunded within seconds."), refund)


@page("1 batch get", at="?account={shopper}&due={due}")
@role("back office")
@require_http_methods(["GET", "HEAD", "POST"])
def retry_payment(request: EditorRequest, payment_id: str) -> HttpResponse:
    """Ask, then have a failed payment tried again now."""
    return _page(request, payment_id, RETRY)


@page("1 batch get", at="?account={shopper}&due={due}")
@role("back office")
@require_http_methods(["GET", "HEAD", "POST"])
def cancel_payment(request: EditorRequest, payment_id: str) -> HttpResponse:
    """Ask for the reason, then cancel a payment."""
    return _page(request, payment_id, CANCEL)


@page("1 batch get", at="?account={shopper}&due={due}")
@role("back office")
@fresh
@require_http_methods(["GET", "HEAD", "POST"])
def refund_payment(request: EditorRequest, payment_id: str) -> HttpResponse:
    """Ask for the reason, then have a payment refunded."""
    return _page(request, payment_id, REFUND)


def _page(request: EditorRequest, payment_id: str, change: PaymentAction) -> HttpResponse:
    found = _asked(request, payment_id)
    reason, wrong = " ".join(clean_text(request.POST.get("reason", "")).split()), ""
    if request.method == "POST":
        if change.has_reason and len(reason) > REASON_CHARACTERS:
            wrong = LONG_REASON % {"most": REASON_CHARACTERS}
        elif change.has_reason and not reason:
            wrong = str(NO_REASON)
        if not wrong:
            return _carry_out(request, found, change, reason)
    elif change.what not in may(found):
        messages.info(request, _("This cannot be done to the payment as it is now."))
        return redirect(address_of(found))
    context = {
        "payment": found,
        "change": change,
        "due": iso(found.due_at),
        "back": address_of(found),
        "reason": reason,
        "reason_error": wrong,
    }
    return render(request, "cms/payments/change_payment.html", context, status=422 if wrong else 200)


def _carry_out(request: EditorRequest, found: Payment, change: PaymentAction, reason: str) -> HttpResponse:
    now = timezone.now()
    if change is RETRY:
        limits.count_use(request, "retry", now=now)
    words = {"by": request.user.username} | ({"reason": reason} if change.has_reason else {})
    try:
        change.carry_out(found.account, found.due_at, found.id, now=now, **words)
    except Conflict as conflict:
        messages.warning(request, str(conflict))
    else:
        messages.success(request, change.said)
    return redirect(address_of(found))
