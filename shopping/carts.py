"""The cart: its page, and what the buttons on it do.

Each button answers htmx with the cart as it is then, others with a redirect to its page; both say what happened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from dealsite.accounts import carts as carts_of_visitors
from dealsite.accounts import cookies
from dealsite.accounts.carts import owner_of
from dealsite.accounts.decorators import signed_in
from dealsite.data import carts
from dealsite.data.carts import CartOwner, Line
from dealsite.data.errors import Conflict, DataError, Invalid, NotFound, Text
from dealsite.digits import number_in
from shopping.cart_forms import NUMBER, Removed

NOT_THERE = gettext_lazy("This deal is not in your cart any more.")


@require_safe
def cart(request: HttpRequest) -> HttpResponse:
    """Show the cart, and what changed in it since the shopper last looked. 2 queries + 1 batch get."""
    return cart_page(request)


@require_POST
def change_quantity(request: HttpRequest) -> HttpResponse:
    """Have so many pieces of a deal. 1 batch get + 1 transaction."""
    number = number_in(request.POST.get("quantity", "").strip(), most=8)
    deal_id = request.POST.get("deal", "")

    def have(owner: CartOwner) -> str:
        if number is None:
            raise Invalid(NUMBER)
        carts.change_quantity(owner, deal_id, number, now=timezone.now())
        return _("The number of pieces is changed.")

    return change(request, have)


@require_POST
def remove_from_cart(request: HttpRequest) -> HttpResponse:
    """Take a line out of the cart, with a way back. 1 batch get + 1 transaction."""
    removed: list[Line] = []

    def remove(owner: CartOwner) -> str:
        line = carts.remove(owner, request.POST.get("line", ""), now=timezone.now())
        if line is None:
            raise NotFound(NOT_THERE)
        removed.append(line)
        return _("“%(title)s” is removed.") % {"title": line.title}

    return change(request, remove, removed=removed)


@require_POST
def save_for_later(request: HttpRequest) -> HttpResponse:
    """Keep a line out of the next order. 1 batch get + 1 transaction."""
    return _move(request, carts.SAVED, gettext_lazy("“%(title)s” is saved for later."))


@require_POST
def move_to_cart(request: HttpRequest) -> HttpResponse:
    """Take a saved line back into the cart. 1 batch get + 1 transaction."""
    return _move(request, carts.ACTIVE, gettext_lazy("“%(title)s” is in your cart again."))


@require_POST
def accept_changes(request: HttpRequest) -> HttpResponse:
    """Make the cart what its deals have become, if that is what was shown. 2 queries + 1 batch get + 1 transaction."""

    def accept(owner: CartOwner) -> str:
        carts.accept(owner, seen=request.POST.get("seen", ""), now=timezone.now())
        return _("Your cart is up to date.")

    return change(request, accept)


@signed_in
@require_POST
def merge_cart(request: HttpRequest) -> HttpResponse:
    """Bring over the cart from before signing in, where that failed then. 1 query + 1 get + 1 transaction."""
    username: str = request.user.username  # type: ignore[union-attr]
    came_over = carts_of_visitors.bring_over(request, username, now=timezone.now())
    response = HttpResponseRedirect(reverse("cart"))
    if came_over:
        cookies.forget_cart(response)
    return response


@require_safe
def cart_badge(request: HttpRequest) -> HttpResponse:
    """Show how many deals are in the cart, on any page. 1 get.

    Each page asks for it in the background: whatever is wrong, the page does not need to hear of it.
    """
    try:
        owner = owner_of(request)
        count = carts.read_head(owner, now=timezone.now()).active if owner else 0
    except DataError:
        response = HttpResponse(status=204)
    else:
        response = render(request, "shopping/_cart_badge.html", {"count": count})
    patch_cache_control(response, private=True, no_store=True)
    return response


def cart_page(request: HttpRequest, status: int = 200, **context: Any) -> HttpResponse:
    """Return the cart's page, or for htmx its part, as the cart is now. 2 queries + 1 batch get."""
    owner, now = owner_of(request), timezone.now()
    context |= {
        "look": carts.look(carts.read(owner, now=now), now=now) if owner else None,
        "left_behind": bool(request.user.is_authenticated and cookies.cart(request)),
        "most": carts.MAX_QUANTITY,
    }
    template = "shopping/_cart_answer.html" if request.htmx else "shopping/cart.html"  # type: ignore[attr-defined]
    response = render(request, template, context, status=status)
    patch_cache_control(response, private=True, no_store=True)
    patch_vary_headers(response, ["HX-Request"])
    return response


def change(
    request: HttpRequest, make: Callable[[CartOwner], str], *, removed: list[Line] | None = None
) -> HttpResponse:
    """Change the visitor's cart by a function that returns what to say, and show it.

    The function puts the line that it takes out into `removed`, and the shopper gets a button to take that back.
    """
    owner = owner_of(request)
    try:
        if owner is None:
            raise NotFound(NOT_THERE)
        said, status = make(owner), 200
    except (Conflict, NotFound, Invalid) as error:
        said, status = str(error), 409
    undo = Removed.of(removed[0], now=timezone.now()) if removed else None
    if request.htmx:  # type: ignore[attr-defined]
        return cart_page(request, status, said=said, refused=status != 200, undo=undo)
    level = messages.SUCCESS if status == 200 else messages.ERROR
    messages.add_message(request, level, said, extra_tags=str(undo or ""))
    return HttpResponseRedirect(reverse("cart"))


def _move(request: HttpRequest, status: str, said: Text) -> HttpResponse:
    def move(owner: CartOwner) -> str:
        line = carts.move(owner, request.POST.get("line", ""), status, now=timezone.now())
        if line is None:
            raise NotFound(NOT_THERE)
        return said % {"title": line.title}

    return change(request, move)
