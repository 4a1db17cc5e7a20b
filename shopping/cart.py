"""Whose cart a request means, and what becomes of a visitor's cart when they sign in.

What the forms say that put a deal into a cart.

The cart: its page, and what the buttons on it do.

Each button answers htmx with the cart as it is then, others with a redirect to its page; both say what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

import structlog
from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from dealsite.accounts import limits, requests
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.forms import PiecesField
from dealsite.accounts.ordering import NUMBER, WrongQuantity, have_quantities
from dealsite.accounts.requests import Anonymous, SignedIn, SiteRequest, UserRequest
from dealsite.data.commerce import cart_changes, carts
from dealsite.data.commerce.cart_changes import CartAddition, MergeResult
from dealsite.data.commerce.carts import CartChanged, CartOwner, Line
from dealsite.data.entities.commerce import ACTIVE, MAX_ACTIVE, MAX_QUANTITY, SAVED
from dealsite.data.jobs import site_switch
from dealsite.data.names import DAMAGED_FORM
from dealsite.data.table.errors import Conflict, DataError, Invalid, NotFound
from dealsite.data.table.ids import is_ulid, iso, new_ulid
from dealsite.text.stored_words import Text
from dealsite.web.page_cache import from_this_site
from dealsite.web.pages import everyone

logger = structlog.get_logger(__name__)


def owner_of(request: SiteRequest) -> CartOwner | None:
    """Return the user whose cart it is, or the visitor; None for a visitor who has put nothing into one yet."""
    user: Anonymous | SignedIn = request.user
    if user.is_authenticated:
        return carts.user_cart(user.username)
    key = requests.cart(request)
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
    key = requests.cart(request)
    if key and site_switch.of_process.current().is_open:  # else the cart waits with its cookie
        _tell(request, cart_changes.merge(carts.visitor_cart(key), username, now=now))
        requests.forget_cart(response)


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


UNDO = "undo"


class AddForm(forms.Form):
    """What a deal's button says: `offer` is the deal and the price that stood beside the button, as `id:price`."""

    offer = forms.CharField(max_length=60)
    quantity = PiecesField(min_value=1, max_value=MAX_QUANTITY, required=False)
    token = forms.CharField(max_length=26, required=False)

    def clean_offer(self) -> tuple[str, Decimal | None]:
        deal, _, price = self.cleaned_data["offer"].partition(":")
        seen = forms.DecimalField(min_value=0, max_digits=12, decimal_places=2, required=False).clean(price)
        if not is_ulid(deal):
            raise ValidationError(DAMAGED_FORM)
        return deal, seen

    def clean_quantity(self) -> int:
        """Return 1 for a button without a field; a field that was emptied says nothing."""
        quantity: int | None = self.cleaned_data["quantity"]
        if quantity is None and "quantity" in self.data:
            raise ValidationError(NUMBER)
        return quantity or 1

    def clean_token(self) -> str:
        token: str = self.cleaned_data["token"]
        if token and not is_ulid(token):
            raise ValidationError(DAMAGED_FORM)
        return token

    def wanted(self, *, now: datetime) -> CartAddition:
        """Return what the form asks for; Invalid for what no page sends."""
        if not self.is_valid():
            raise Invalid(NUMBER if set(self.errors) == {"quantity"} else DAMAGED_FORM)
        deal, seen = self.cleaned_data["offer"]
        quantity = self.cleaned_data["quantity"]
        return CartAddition(deal, quantity, new_ulid(now), token=self.cleaned_data["token"], seen=seen)


class UndoForm(AddForm):
    """What puts a removed line back, to where it was."""

    saved = forms.BooleanField(required=False)


@dataclass(frozen=True, slots=True)
class RemovedLine:
    """A removed line as the form holds it that puts it back; its text fits into the tags of a message."""

    offer: str
    quantity: int
    token: str
    saved: bool

    @classmethod
    def of(cls, line: Line, *, now: datetime) -> RemovedLine:
        return cls(f"{line.deal}:{line.price}", line.quantity, new_ulid(now), line.status == SAVED)

    def __str__(self) -> str:
        return f"{UNDO} {self.offer} {self.quantity} {self.token} {'saved' if self.saved else 'active'}"

    @classmethod
    def from_tags(cls, tags: str) -> RemovedLine | None:
        """Return what a message's tags say was removed; None for a message about something else."""
        words = tags.split()
        if len(words) != 5 or words[0] != UNDO:
            return None
        return cls(words[1], int(words[2]), words[3], words[4] == "saved")


NOT_THERE = gettext_lazy("This deal is not in your cart any more.")
QUANTITY_CHANGED = gettext_lazy("The number of pieces is changed.")
OF_ANOTHER = gettext_lazy("You are signed in with another account now. This is its cart.")


@everyone.page("2 queries + 1 batch get", seen_by="shopper")
def cart(request: SiteRequest) -> HttpResponse:
    """Show the cart, and what changed in it since the shopper last looked. 2 queries + 1 batch get."""
    return cart_page(request)


@everyone.action
@from_this_site
def add_to_cart(request: SiteRequest) -> HttpResponse:
    """Add a deal to the cart; a visitor without one gets one. 1 batch get + 1 transaction, for htmx 1 get more."""
    now, owner = timezone.now(), owner_of(request)
    limits.count_use(request, "cart" if owner else "new-cart", now=now)
    new_key = "" if owner else requests.new_key()
    owner = owner or carts.visitor_cart(new_key)
    try:
        deal = cart_changes.add(owner, AddForm(request.POST).wanted(now=now), now=now)
    except (Conflict, Invalid) as error:
        return _say_added(request, str(error), status=error.status)
    count = carts.read_head(owner, now=now).active if request.htmx else 0
    response = _say_added(
        request, _("“%(title)s” is in your cart.") % {"title": deal.card.title}, count=count
    )
    if new_key:
        requests.set_cart(response, new_key)
    return response


@everyone.action
def change_quantity(request: SiteRequest) -> HttpResponse:
    """Have as many pieces as the fields say, and go on to checkout where that was pressed.

    1 batch get + 1 transaction for each field that was changed.
    """
    return change(request, then=_next_page(request))


@everyone.action
def remove_from_cart(request: SiteRequest) -> HttpResponse:
    """Take a line out of the cart, with a way back. 1 batch get + 1 transaction."""
    removed: list[Line] = []

    def remove(owner: CartOwner) -> str:
        line = cart_changes.remove(owner, request.POST.get("line", ""), now=timezone.now())
        if line is None:
            raise NotFound(NOT_THERE)
        removed.append(line)
        return _("“%(title)s” is removed.") % {"title": line.title}

    return change(request, remove, removed=removed)


@everyone.action
def undo_removal(request: SiteRequest) -> HttpResponse:
    """Put a removed line back to where it was. 1 get, 1 batch get + 1 transaction; twice if it was saved for later."""
    now, form = timezone.now(), UndoForm(request.POST)

    def put_back(owner: CartOwner) -> str:
        wanted = form.wanted(now=now)
        if wanted.deal in carts.read_head(owner, now=now).lines:
            return _("The deal is back.")
        deal = cart_changes.add(owner, wanted, now=now)
        if form.cleaned_data["saved"]:
            cart_changes.move(owner, f"{ACTIVE}.{iso(now)}.{wanted.line_id}", SAVED, now=now)
        return _("“%(title)s” is back.") % {"title": deal.card.title}

    return change(request, put_back)


@everyone.action
def save_for_later(request: SiteRequest) -> HttpResponse:
    """Keep a line out of the next order. 1 batch get + 1 transaction."""
    return _move(request, SAVED, gettext_lazy("“%(title)s” is saved for later."))


@everyone.action
def move_to_cart(request: SiteRequest) -> HttpResponse:
    """Take a saved line back into the cart. 1 batch get + 1 transaction."""
    return _move(request, ACTIVE, gettext_lazy("“%(title)s” is in your cart again."))


@everyone.action
def accept_changes(request: SiteRequest) -> HttpResponse:
    """Make the cart what its deals have become, if that is what was shown; go on to checkout where that was pressed.

    2 queries + 1 batch get + 1 transaction.
    """

    def accept(owner: CartOwner) -> str:
        cart_changes.accept(owner, seen=request.POST.get("seen", ""), now=timezone.now())
        return _("Your cart is up to date.")

    return change(request, accept, then=_next_page(request))


@signed_in.action
def merge_cart(request: UserRequest) -> HttpResponse:
    """Bring over the cart from before signing in, where that failed then. 1 query + 1 get + 1 transaction."""
    response = HttpResponseRedirect(reverse("cart"))
    add_visitor_cart(request, response, request.user.username, now=timezone.now())
    return response


@everyone.part("none or 1 get")
def cart_badge(request: SiteRequest) -> HttpResponse:
    """Show how many deals are in the cart, on any page. 1 get.

    Each page asks for it in the background: whatever is wrong, the page does not need to hear of it.
    """
    try:
        owner = owner_of(request)
        count = carts.read_head(owner, now=timezone.now()).active if owner else 0
    except DataError:
        return _private(HttpResponse(status=204))
    return _private(render(request, "shopping/cart/_cart_badge.html", {"count": count}))


def cart_page(request: SiteRequest, status: int = 200, **context: Any) -> HttpResponse:
    """Return the cart's page, or for htmx its part, as the cart is now. 2 queries + 1 batch get."""
    owner, now = owner_of(request), timezone.now()
    context |= {
        "look": carts.view(carts.read(owner, now=now), now=now) if owner else None,
        "left_behind": bool(request.user.is_authenticated and requests.cart(request)),
        "most": MAX_QUANTITY,
        "signed_out": not request.user.is_authenticated and settings.SESSION_COOKIE_NAME in request.COOKIES,
    }
    template = "shopping/cart/_cart_answer.html" if request.htmx else "shopping/cart/cart.html"
    response = render(request, template, context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    return _private(response)


def change(
    request: SiteRequest,
    make: Callable[[CartOwner], str] | None = None,
    *,
    removed: list[Line] | None = None,
    then: str = "cart",
) -> HttpResponse:
    """Change the numbers of pieces that were typed, then the cart by a function that returns what to say, and show it.

    The function puts the line that it takes out into `removed`, and the shopper gets a button to take that back. A form
    that shows a user's cart asks them to sign in once their session has ended.
    """
    carry_out = partial(_change, make=make, removed=[] if removed is None else removed, then=then)
    return signed_in.guard(carry_out)(request) if request.POST.get("username") else carry_out(request)  # type: ignore[return-value]


def _change(
    request: SiteRequest, *, make: Callable[[CartOwner], str] | None, removed: list[Line], then: str
) -> HttpResponse:
    owner, now = owner_of(request), timezone.now()
    limits.count_use(request, "cart", now=now)
    wrong: dict[str, WrongQuantity] = {}
    try:
        if owner is None:
            raise NotFound(NOT_THERE)
        if request.POST.get("username", request.user.username) not in ("", request.user.username):
            raise CartChanged(OF_ANOTHER)
        wrong = have_quantities(owner, request.POST, now=now)
        said, status = make(owner) if make else "" if wrong else str(QUANTITY_CHANGED), 200
    except (Conflict, NotFound, Invalid) as error:
        said, status = str(error), 409
    if wrong:
        said, status = " ".join([said, *{one.reason: "" for one in wrong.values()}]).strip(), 409
    undo = RemovedLine.of(removed[0], now=now) if removed else None
    if request.htmx:
        return cart_page(request, status, said=said, refused=status != 200, undo=undo, wrong=wrong)
    if status == 200 and then != "cart":
        return HttpResponseRedirect(reverse(then))
    level = messages.SUCCESS if status == 200 else messages.ERROR
    messages.add_message(request, level, said, extra_tags=str(undo or ""))
    return cart_page(request, status, wrong=wrong) if wrong else HttpResponseRedirect(reverse("cart"))


def _next_page(request: SiteRequest) -> str:
    return "checkout" if request.POST.get("do") == "checkout" else "cart"


def _move(request: SiteRequest, status: str, said: Text) -> HttpResponse:
    def move(owner: CartOwner) -> str:
        line = cart_changes.move(owner, request.POST.get("line", ""), status, now=timezone.now())
        if line is None:
            raise NotFound(NOT_THERE)
        return said % {"title": line.title}

    return change(request, move)


def _say_added(request: SiteRequest, said: str, *, status: int = 200, count: int = 0) -> HttpResponse:
    """Say what happened: to htmx beside the page, to others on the cart's page."""
    refused = status != 200
    if request.htmx:
        context = {"said": said, "refused": refused, "count": count, "token": new_ulid(timezone.now())}
        return _private(render(request, "shopping/cart/_added.html", context, status=status))
    messages.add_message(request, messages.ERROR if refused else messages.SUCCESS, said)
    return _private(HttpResponseRedirect(reverse("cart")))


def _private(response: HttpResponse) -> HttpResponse:
    patch_cache_control(response, private=True, no_store=True)
    return response
