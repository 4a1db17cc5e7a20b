"""A user's payments: what failed, what is due within 90 days, what was; paying early, and trying again.

The card that a user pays with: entered at the gateway, kept here as what the gateway calls it.

The built-in test gateway has no page of its own, so ours asks for the number and hands it on; it is never kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters

from dealsite.accounts import limits
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.requests import UserRequest, destination
from dealsite.data.commerce import order_record, payment_lists
from dealsite.data.commerce.order_record import PaymentCard
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.commerce.payments import pay_early, retry_now
from dealsite.data.entities.commerce import CANCELLED, FAILED, PENDING, PROCESSED, REFUNDED, SCHEDULED
from dealsite.data.jobs import site_switch
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import from_iso, iso, new_ulid, time_of
from dealsite.gateways import choice
from dealsite.gateways.interface import CardRefused, GatewayUnavailable
from dealsite.templatetags.design import state_look, state_words
from dealsite.text import stored_words
from dealsite.text.writing import money
from dealsite.web.closed_site import closed_page

SILENT = gettext_lazy("The payment service does not answer just now. Please try again in a moment.")


class NumberForm(forms.Form):
    """The number of a test card."""

    number = forms.CharField(
        label=gettext_lazy("Card number"),
        max_length=30,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "numeric"}),
    )


@signed_in.page("1 get")
def card(request: UserRequest) -> HttpResponse:
    """Show the card that pays, and the ways to another one. 1 get."""
    kept = order_record.buyer(request.user.username).card
    return render(request, "shopping/my/card.html", {"card": kept, "next": _next(request)})


@signed_in.action
def begin_card(request: UserRequest) -> HttpResponse:
    """Lead to the page on which the gateway asks for a card."""
    return to_gateway(request, back=_next(request))


def to_gateway(request: UserRequest, *, back: str) -> HttpResponse:
    """Redirect to where the gateway asks the signed-in user for a card; in the end they come to `back`."""
    card, query = reverse("card"), urlencode({"next": back})
    try:
        address = choice.current().begin_card(
            return_url=request.build_absolute_uri(f"{reverse('finish_card')}?{query}"),
            cancel_url=request.build_absolute_uri(f"{card}?{query}"),
            account=request.user.username,
        )
    except GatewayUnavailable:
        messages.error(request, SILENT)
        address = f"{card}?{query}"
    return HttpResponseRedirect(address)


@signed_in.form("none")
@sensitive_post_parameters("number")
def finish_card(request: UserRequest) -> HttpResponse:
    """Keep the card that was entered at the gateway, and go on. 1 transaction."""
    switch = site_switch.of_process.current()
    if not switch.is_open:  # a gateway sends its visitors here by GET
        return closed_page(request, finish_card, switch)
    if not choice.current().takes_card_numbers:
        try:
            return _keep(request, request.GET.dict())
        except (CardRefused, GatewayUnavailable) as error:
            messages.error(request, str(error) if isinstance(error, CardRefused) else SILENT)
        return HttpResponseRedirect(f"{reverse('card')}?{urlencode({'next': _next(request)})}")
    form = NumberForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            return _keep(request, form.cleaned_data)
        except CardRefused as error:
            form.add_error("number", str(error))
    status = 422 if form.errors else 200
    context = {"form": form, "next": _next(request)}
    return render(request, "shopping/my/card_number.html", context, status=status)


@signed_in.action
def forget_card(request: UserRequest) -> HttpResponse:
    """Forget the card. 1 transaction."""
    now = timezone.now()
    order_record.forget_card(request.user.username, job_id=new_ulid(now), now=now)
    messages.success(
        request, _("Your card is removed. Open instalments are charged to no card until you add one.")
    )
    return HttpResponseRedirect(reverse("card"))


def _keep(request: UserRequest, parameters: Mapping[str, str]) -> HttpResponse:
    gateway, username = choice.current(), request.user.username
    limits.count_use(request, "card", now=timezone.now())
    saved = gateway.finish_card(parameters, account=username)
    now = timezone.now()
    kept = PaymentCard(gateway.name, saved.token, saved.label)
    order_record.save_card(username, kept, job_id=new_ulid(now), now=now)
    messages.success(request, _("%(label)s pays from now on.") % {"label": stored_words.shown(saved.label)})
    return HttpResponseRedirect(_next(request))


def _next(request: UserRequest) -> str:
    return destination(request, reverse("card"))


@dataclass(frozen=True, slots=True)
class OrderPayments:
    """Payments of one order; '' for those that belong to none."""

    order: str
    payments: list[Payment]

    @property
    def placed_at(self) -> datetime | None:
        return time_of(self.order) if self.order else None


@signed_in.page("3 queries + 1 get")
def payments(request: UserRequest) -> HttpResponse:
    """Show what failed, what comes within 90 days and what was, by order. 3 queries + 1 get."""
    username, now = request.user.username, timezone.now()
    after, past = request.GET.get("after") or None, request.GET.get("past") or None
    coming = payment_lists.coming(username, now=now, after=after)
    history = payment_lists.done(username, now=now, after=past)
    context = {
        "failed": [payment for payment in coming.rows if payment.status == FAILED],
        "coming": by_order(payment for payment in coming.rows if payment.status != FAILED),
        "history": by_order(history.rows),
        "after": f"?{urlencode({'after': coming.after})}" if coming.after else "",
        "past": f"?{urlencode({'past': history.after})}" if history.after else "",
        "first": not (after or past),
        "card": order_record.buyer(username).card,
    }
    return render(request, "shopping/my/payments.html", context)


@signed_in.action
def pay(request: UserRequest, payment_id: str) -> HttpResponse:
    """Charge a payment now, early or after it failed. 1 get + 1 batch get + 1 transaction."""
    username, now = request.user.username, timezone.now()
    due_at = _due_at(request.POST.get("due_at", ""))
    card = order_record.buyer(username).card
    back = destination(request, reverse("payments"))
    if card is None:
        messages.warning(request, _("Add a card first, then pay."))
        return HttpResponseRedirect(f"{reverse('card')}?{urlencode({'next': back})}")
    limits.count_use(request, "retry", now=now)
    act = retry_now if request.POST.get("again") else pay_early
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


def state_of(found: Sequence[Payment]) -> tuple[str, str] | None:
    """Return in words how far an order's payments are, and how that looks; None where there is nothing to pay."""
    left = [one for one in found if one.kept and one.status != CANCELLED]
    statuses, paid = {one.status for one in found}, [one.kept for one in left if one.status == PROCESSED]
    if not found:
        return None
    if FAILED in statuses:
        return _("Payment failed"), state_look(FAILED)
    if not left:
        if statuses - {CANCELLED, REFUNDED}:
            return _("Being refunded"), state_look(PENDING)
        return (_("Refunded") if REFUNDED in statuses else _("Not charged")), ""
    if len(paid) == len(left):
        return _("Paid: %(total)s") % {"total": money(sum(paid, Decimal(0)))}, state_look(PROCESSED)
    if paid:
        words = {"paid": len(paid), "plan": len(left)}
        return _("%(paid)d of %(plan)d paid") % words, state_look(SCHEDULED)
    unpaid = PENDING if PENDING in statuses else SCHEDULED
    return (state_words(PENDING) if unpaid == PENDING else _("Not paid yet")), state_look(unpaid)


def _due_at(text: str) -> datetime:
    with suppress(ValueError, OverflowError):
        if iso(due_at := from_iso(text)) == text:
            return due_at
    raise NotFound(_("There is no such payment."))
