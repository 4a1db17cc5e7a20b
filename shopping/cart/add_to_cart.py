"""What puts deals into a cart: the buttons on deals, and the way back of what was removed."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from dealsite.accounts import cookies
from dealsite.accounts.requests import SiteRequest
from dealsite.data.commerce import carts
from dealsite.data.commerce.carts import CartOwner
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.ids import iso, new_ulid
from dealsite.web.page_cache import from_this_site
from dealsite.web.pages import action
from shopping.cart.cart import change
from shopping.cart.cart_forms import AddForm, UndoForm
from shopping.cart.owner import owner_of


@action
@require_POST
@from_this_site
def add_to_cart(request: SiteRequest) -> HttpResponse:
    """Add a deal to the cart; a visitor without one gets one. 1 batch get + 1 transaction, for htmx 1 get more."""
    now = timezone.now()
    owner = owner_of(request)
    new_key = "" if owner else cookies.new_key()
    owner = owner or carts.visitor_cart(new_key)
    try:
        deal = carts.add(owner, AddForm(request.POST).wanted(now=now), now=now)
    except (Conflict, Invalid) as error:
        return _answer(request, str(error), status=error.status)
    count = carts.read_head(owner, now=now).active if request.htmx else 0
    response = _answer(request, _("“%(title)s” is in your cart.") % {"title": deal.card.title}, count=count)
    if new_key:
        cookies.set_cart(response, new_key)
    return response


def _answer(request: SiteRequest, said: str, *, status: int = 200, count: int = 0) -> HttpResponse:
    """Say what happened: to htmx beside the page, to others on the cart's page."""
    response: HttpResponse
    refused = status != 200
    if request.htmx:
        context = {"said": said, "refused": refused, "count": count, "token": new_ulid(timezone.now())}
        response = render(request, "shopping/cart/_added.html", context, status=status)
    else:
        messages.add_message(request, messages.ERROR if refused else messages.SUCCESS, said)
        response = HttpResponseRedirect(reverse("cart"))
    patch_cache_control(response, private=True, no_store=True)
    return response


@action
@require_POST
def undo_removal(request: SiteRequest) -> HttpResponse:
    """Put a removed line back to where it was. 1 get, 1 batch get + 1 transaction; twice if it was saved for later."""
    now = timezone.now()
    form = UndoForm(request.POST)

    def put_back(owner: CartOwner) -> str:
        wanted = form.wanted(now=now)
        if wanted.deal in carts.read_head(owner, now=now).lines:
            return _("The deal is back.")
        deal = carts.add(owner, wanted, now=now)
        if form.cleaned_data["saved"]:
            carts.move(owner, f"{carts.ACTIVE}.{iso(now)}.{wanted.line_id}", carts.SAVED, now=now)
        return _("“%(title)s” is back.") % {"title": deal.card.title}

    return change(request, put_back)
