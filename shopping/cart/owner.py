"""Whose cart a request means, and what becomes of a visitor's cart when they sign in."""

from collections.abc import Sequence
from datetime import datetime

import structlog
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dealsite.accounts import cookies
from dealsite.accounts.requests import Anonymous, SignedIn, SiteRequest
from dealsite.data.commerce import carts
from dealsite.data.commerce.cart import changing
from dealsite.data.commerce.cart.changing import MergeResult
from dealsite.data.commerce.carts import CartOwner, Line
from dealsite.data.entities.commerce import MAX_ACTIVE
from dealsite.data.jobs import site_switch
from dealsite.data.table.errors import DataError

logger = structlog.get_logger(__name__)


def owner_of(request: SiteRequest) -> CartOwner | None:
    """Return the user whose cart it is, or the visitor; None for a visitor who has put nothing into one yet."""
    user: Anonymous | SignedIn = request.user
    if user.is_authenticated:
        return carts.user_cart(user.username)
    key = cookies.cart(request)
    return carts.visitor_cart(key) if key else None


def merge_visitor_cart(request: HttpRequest, response: HttpResponse, username: str, *, now: datetime) -> None:
    """Merge the cart of this browser's visitor into a user's, say what was added, and drop the visitor's cookie.

    Where that fails, the cookie stays for another try. Never raises: signing in is more than the cart. No request
    without such a cookie; else 1 query, and 1 get + 1 transaction if there is a cart.
    """
    try:
        add_visitor_cart(request, response, username, now=now)
    except DataError as error:
        logger.warning("cart_not_merged", reason=repr(error))
        said = _("The cart that you filled before you signed in could not be merged. See your cart.")
        messages.warning(request, said)


def add_visitor_cart(request: HttpRequest, response: HttpResponse, username: str, *, now: datetime) -> None:
    """Do the same, and raise what keeps it from being done."""
    key = cookies.cart(request)
    if key and site_switch.of_process.current().is_open:  # else the cart waits with its cookie
        _tell(request, changing.merge(carts.visitor_cart(key), username, now=now))
        cookies.forget_cart(response)


def _tell(request: HttpRequest, merged: MergeResult) -> None:
    if count := len(merged.lines):
        said = ngettext(
            "Your cart came with you: %(count)d deal, added to what was there.",
            "Your cart came with you: %(count)d deals, added to what was there.",
            count,
        )
        messages.success(request, said % {"count": count})
    if merged.saved:
        said = _("A cart holds up to %(most)d deals. Saved for later instead: %(titles)s.")
        messages.warning(request, said % {"most": MAX_ACTIVE, "titles": _named(merged.saved)})
    if merged.left_out:
        said = _("There was no room for: %(titles)s.")
        messages.warning(request, said % {"titles": _named(merged.left_out)})


def _named(lines: Sequence[Line], most: int = 5) -> str:
    """Return the titles of some lines; a cookie carries the sentence, so it is kept short."""
    titles = ", ".join(f"“{line.title[:60]}”" for line in lines[:most])
    more = len(lines) - most
    return _("%(titles)s and %(more)d more") % {"titles": titles, "more": more} if more > 0 else titles
