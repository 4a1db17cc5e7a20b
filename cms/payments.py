"""Payments of all accounts: by state and day, overdue ones, those of an account; one, to retry, cancel or refund."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import gettext as _, gettext_lazy

from cms.lists.deal_list import query
from cms.lists.list_address import Tab
from cms.shared.fields import day_of
from cms.shared.requests import EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.decorators import back_office, fresh
from dealsite.data.commerce import payment_lists, payment_record
from dealsite.data.commerce.payment_lists import PaymentRow, RowsPage
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.commerce.payments import cancel, get, refund, retry_now
from dealsite.data.entities.commerce import FAILED, PENDING, PROCESSED, REASON_CHARACTERS, SCHEDULED, STATUSES
from dealsite.data.names import clean_text
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from dealsite.data.table.ids import from_iso, iso, new_ulid
from dealsite.data.table.parallel import together
from dealsite.templatetags.design import state_words
from dealsite.text.stored_words import Text
from dealsite.worker.exports import every, exported

MOST_DAYS = 31
ALL, MOST_EXPORTED_DAYS = "all", 366  # the list of a file alone, beside those on screen
EXPORTED_AT_ONCE = 500
CLOSED = "closed"  # the list of closed days, beside those of the statuses
OVERDUE = "overdue"  # beside all of them, by age
LISTS = {status.lower(): lazy(state_words, str)(status) for status in STATUSES} | {
    CLOSED: gettext_lazy("Closed days")
}
USUAL_DAYS = dict.fromkeys(LISTS, (-6, 0)) | {"scheduled": (0, 6), "failed": (-23, 7)}  # from today on
SORTED_BY = {  # what the time means by which a list is sorted
    "scheduled": gettext_lazy("To be charged"),
    "pending": gettext_lazy("Due"),
    "processed": gettext_lazy("Paid"),
    "failed": gettext_lazy("Next try"),
    "cancelled": gettext_lazy("Cancelled"),
    "refunded": gettext_lazy("Refunded"),
    CLOSED: gettext_lazy("Paid"),
}
SUMS = (
    ("open", gettext_lazy("To be paid")),
    ("failed", gettext_lazy("Failed")),
    ("processed", gettext_lazy("Paid")),
    ("cancelled", gettext_lazy("Cancelled")),
    ("refunded", gettext_lazy("Refunded")),
)


def address_of(payment: Payment | PaymentRow) -> str:
    """Return the address of a payment's page; an account's name may hold anything, so it stands in the query."""
    return payment_address(payment.id, payment.account, payment.due_at)


def payment_address(payment_id: str, account: str, due_at: datetime) -> str:
    """Return the address of the page of a payment of an account that is due at a time."""
    return reverse("cms_payment", args=[payment_id]) + query({"account": account, "due": iso(due_at)})


def with_addresses(found: Iterable[Payment | PaymentRow]) -> list[tuple[Payment | PaymentRow, str]]:
    return [(payment, address_of(payment)) for payment in found]


@dataclass(frozen=True, slots=True)
class Span:
    """The days (UTC, both included) that were asked for; `error` says what is wrong with them."""

    first: date
    last: date
    typed: tuple[str, str]
    error: str = ""


def read_span(query: QueryDict, today: date, listed: str, *, most_days: int = MOST_DAYS) -> Span:
    """Return the days that a form asks for; if it asks for none, a week that suits the list."""
    typed = query.get("first", "")[:40], query.get("last", "")[:40]
    try:
        first, last = (day_of(text) if text else None for text in typed)
    except ValueError:
        return Span(today, today, ("", ""), _("Enter days such as 2026-11-27."))
    if not first and not last:
        first, last = (today + timedelta(days=days) for days in USUAL_DAYS[listed])
    first = first or last or today
    last = last or first
    if last < first:
        return Span(today, today, typed, _("The last day is before the first one."))
    if (last - first).days >= most_days:
        error = _("Up to %(most_days)s days are shown at once.")
        return Span(today, today, typed, error % {"most_days": most_days})
    return Span(first, last, (first.isoformat(), last.isoformat()))


def _listed(query: QueryDict) -> str:
    listed = query.get("list", "scheduled")
    if listed not in LISTS:
        raise NotFound(_("There is no such list of payments."))
    return listed


def _tabs(chosen: dict[str, str]) -> list[Tab]:
    """Return each list of the days that are chosen, and of what is overdue."""
    own = reverse("cms_payments")
    lists = [Tab(name, words, own + query(chosen | {"list": name})) for name, words in LISTS.items()]
    return [*lists, Tab(OVERDUE, _("Overdue"), reverse("cms_overdue_payments"))]


def _month(listed: str, now: datetime) -> str:
    """Return the address of a list of as many days as one may show, on the same sides of today as its usual ones."""
    today, usual = now.astimezone(UTC).date(), USUAL_DAYS[listed]
    times = (MOST_DAYS - 1) // (usual[1] - usual[0])
    first, last = (str(today + timedelta(days=times * days)) for days in usual)
    return reverse("cms_payments") + query({"list": listed, "first": first, "last": last})


def _reading(listed: str) -> Callable[..., RowsPage]:
    return payment_lists.history_of if listed == CLOSED else partial(payment_lists.of_status, listed.upper())


def _all_rows(query: QueryDict, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield the payments of a list, or of all. 10 queries for each 500, 20 of failed ones."""
    is_all = query.get("list") == ALL
    lists, most_days = ([*LISTS], MOST_EXPORTED_DAYS) if is_all else ([_listed(query)], MOST_DAYS)
    span = read_span(query, now.astimezone(UTC).date(), lists[0], most_days=most_days)
    if span.error:
        raise Invalid(span.error)
    for listed in lists:
        for row in every(partial(_reading(listed), span.first, span.last, limit=EXPORTED_AT_ONCE)):
            yield {"payment": row, "currency": settings.DEALSITE_CURRENCY}


@back_office.page(
    "1 batch get + 10 queries or 20 queries + 4 batch gets",
    at=("", "?list=processed", "?list=scheduled&first=2026-11-21&last=x"),
)
@exported(
    gettext_lazy("Payments"),
    "Payment=payment.id, Account=payment.account, Order=payment.order, Instalment=payment.number, Of=payment.of, "
    "State=payment.status, Amount=payment.to_charge, Lowered by=payment.cut, Refunded=payment.refunded, "
    "Currency=currency, @Due=payment.due_at, @State since=payment.at, "
    "Transaction=payment.transaction_id, Reason=payment.reason, Day closed=payment.closed",
    _all_rows,
)
def payment_list(request: EditorRequest) -> HttpResponse:
    """One page of the payments of a state in a span of days, and what all payments due in it come to."""
    listed, now = _listed(request.GET), timezone.now()
    span = read_span(request.GET, now.astimezone(UTC).date(), listed)
    after = request.GET.get("after") or None
    days, page = together(
        partial(payment_record.totals_of_days, span.first, span.last),  # first: of a month, it takes longest
        partial(_reading(listed), span.first, span.last, after=after),
    )
    sums = payment_record.whole_totals(days)
    chosen = {"list": listed, "first": span.typed[0], "last": span.typed[1]}
    context = {
        "listed": listed,
        "label": LISTS[listed],
        "listed_by": SORTED_BY[listed] if any(row.listed_at != row.due_at for row in page.rows) else "",
        "lists": _tabs(chosen if request.GET.get("first") or request.GET.get("last") else {}),
        "span": span,
        "token": new_ulid(now),
        "sums": [(words, sums[state]) for state, words in SUMS],
        "wider": _month(listed, now) if (span.last - span.first).days < MOST_DAYS - 1 else "",
        "rows": with_addresses(page.rows),
        "first_page": query(chosen) if after else "",
        "after": page.after and query(chosen | {"after": page.after}),
    }
    return render(request, "cms/payments/payments.html", context, status=422 if span.error else 200)


@back_office.page("30 queries + 4 batch gets")
def overdue_payments(request: EditorRequest) -> HttpResponse:
    """What is due and not paid, by age."""
    now = timezone.now()
    found, today = payment_lists.overdue(now=now), now.astimezone(UTC).date()

    def days(newest: int, oldest: int) -> dict[str, str]:
        first, last = today - timedelta(days=oldest), today - timedelta(days=newest)
        return {"first": first.isoformat(), "last": last.isoformat()}

    buckets = [
        (_("Today"), found.today, days(0, 0), False),
        (_("1 to 7 days"), found.week, days(1, 7), False),
        (_("8 to 30 days"), found.month, days(8, 30), False),
        (_("Older"), found.older, days(31, 61), found.older_at_least),
    ]
    context = {"listed": OVERDUE, "lists": _tabs({}), "buckets": buckets, "now": now}
    return render(request, "cms/payments/overdue_payments.html", context)


@back_office.page("3 queries", at="?q=nothing")
def find_payment(request: EditorRequest) -> HttpResponse:
    """Lead to the payment of a transaction id, or to the payments of an account."""
    text = request.GET.get("q", "").strip()[:300]
    if text:
        if row := payment_lists.by_transaction(text):
            return redirect(address_of(row))
        for closed in ("", "yes"):
            if _of_account(text, closed=bool(closed)).rows:
                return redirect(reverse("cms_account_payments") + query({"account": text, "closed": closed}))
    return render(request, "cms/payments/find_payment.html", {"text": text}, status=404 if text else 200)


def _of_account(account: str, *, closed: bool, after: str | None = None) -> payment_lists.PaymentsPage:
    return (payment_lists.history if closed else payment_lists.of_account)(account, after=after)


@back_office.page("1 query", at=("?account={shopper}", "?account=x"))
def account_payments(request: EditorRequest) -> HttpResponse:
    """One page of an account's payments: those of open days by when they are due, or those of closed days."""
    account, closed = request.GET.get("account", "")[:300], bool(request.GET.get("closed"))
    after = request.GET.get("after") or None
    page = _of_account(account, closed=closed, after=after)
    chosen = {"account": account, "closed": "yes" if closed else ""}
    context = {
        "account": account,
        "closed": closed,
        "listed": chosen["closed"],
        "lists": [
            Tab(value, words, query(chosen | {"closed": value}))
            for value, words in (("", _("Not closed yet")), ("yes", _("Closed days")))
        ],
        "rows": with_addresses(page.rows),
        "first_page": query(chosen) if after else "",
        "after": page.after and query(chosen | {"after": page.after}),
        "trail": [(reverse("cms_payments"), _("Payments")), ("", account)],
    }
    return render(request, "cms/payments/account_payments.html", context)


NO_REASON = gettext_lazy("Say why: it is kept with the payment.")
LONG_REASON = gettext_lazy("Shorten this to %(most)s characters.")
MAY = {FAILED: ("retry", "cancel"), SCHEDULED: ("cancel",), PROCESSED: ("refund",)}


def may(payment: Payment) -> tuple[str, ...]:
    """Return what can be done with a payment now: retry, cancel, refund."""
    return MAY.get(payment.status, ()) if payment.kept else ()


def address_to(what: str, payment: Payment) -> str:
    """Return the page that does something with a payment: retry, cancel, refund."""
    named = query({"account": payment.account, "due": iso(payment.due_at)})
    return reverse(f"cms_{what}_payment", args=[payment.id]) + named


def _asked(request: EditorRequest, payment_id: str) -> Payment:
    """Return the payment that an address or a form names; NotFound."""
    data = request.POST if request.method == "POST" else request.GET
    try:
        return get(data.get("account", ""), from_iso(data.get("due", "")), payment_id)
    except (ValueError, OverflowError):  # what no account or time can be
        raise NotFound(_("There is no such payment.")) from None


@back_office.page("1 batch get", at="?account={shopper}&due={due}")
def payment(request: EditorRequest, payment_id: str) -> HttpResponse:
    """One payment: its state, and what happened to it."""
    found = _asked(request, payment_id)
    account_address = reverse("cms_account_payments") + query({"account": found.account})
    next_is = {
        SCHEDULED: _("Will be charged"),
        FAILED: _("Will be tried again"),
        PENDING: _("With a runner until"),
    }
    context = {
        "payment": found,
        "history": found.timeline[::-1],
        "may": [(what, address_to(what, found)) for what in may(found)],
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


@back_office.form("1 batch get", at="?account={shopper}&due={due}")
def retry_payment(request: EditorRequest, payment_id: str) -> HttpResponse:
    """Ask, then have a failed payment tried again now."""
    return _page(request, payment_id, RETRY)


@back_office.form("1 batch get", at="?account={shopper}&due={due}")
def cancel_payment(request: EditorRequest, payment_id: str) -> HttpResponse:
    """Ask for the reason, then cancel a payment."""
    return _page(request, payment_id, CANCEL)


@back_office.form("1 batch get", at="?account={shopper}&due={due}")
@fresh
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
