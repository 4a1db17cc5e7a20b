"""The card that a user pays with: entered at the gateway, kept here as what the gateway calls it.

The built-in test gateway has no page of its own, so ours asks for the number and hands it on; it is never kept.
"""

from collections.abc import Mapping

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dealsite.accounts import limits
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.requests import UserRequest, destination
from dealsite.data.commerce.order import saved_details
from dealsite.data.commerce.order.saved_details import PaymentCard
from dealsite.data.jobs import site_switch
from dealsite.data.table.ids import new_ulid
from dealsite.gateways import choice
from dealsite.gateways.interface import CardRefused, GatewayUnavailable
from dealsite.text import stored_words
from dealsite.web.closed_site import closed_page
from dealsite.web.pages import action, page

SILENT = gettext_lazy("The payment service does not answer just now. Please try again in a moment.")


class NumberForm(forms.Form):
    """The number of a test card."""

    number = forms.CharField(
        label=gettext_lazy("Card number"),
        max_length=30,
        widget=forms.TextInput(attrs={"autocomplete": "off", "inputmode": "numeric"}),
    )


@page("1 get")
@signed_in
@require_safe
def card(request: UserRequest) -> HttpResponse:
    """Show the card that pays, and the ways to another one. 1 get."""
    kept = saved_details.buyer(request.user.username).card
    return render(request, "shopping/my/card.html", {"card": kept, "next": _next(request)})


@action
@signed_in
@require_POST
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


@page("none")
@signed_in
@sensitive_post_parameters("number")
@require_http_methods(["GET", "POST"])
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


@action
@signed_in
@require_POST
def forget_card(request: UserRequest) -> HttpResponse:
    """Forget the card. 1 transaction."""
    now = timezone.now()
    saved_details.forget_card(request.user.username, job_id=new_ulid(now), now=now)
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
    saved_details.save_card(username, kept, job_id=new_ulid(now), now=now)
    messages.success(request, _("%(label)s pays from now on.") % {"label": stored_words.shown(saved.label)})
    return HttpResponseRedirect(_next(request))


def _next(request: UserRequest) -> str:
    return destination(request, reverse("card"))
