"""Customers: all, found by what is known of them; one with their orders, payments, messages, cart and sessions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.vary import vary_on_headers

from cms.lists.deal_list import places, query
from cms.lists.list_address import Tab
from cms.order_list import OF_CUSTOMER, order_rows, order_table
from cms.payments import with_addresses
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import back_office
from dealsite.accounts.requests import device_name
from dealsite.data.catalogue import relations
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.catalogue.relations import RelationEntry
from dealsite.data.commerce import carts, order_notes, order_record, orders, payment_lists
from dealsite.data.commerce.carts import user_cart
from dealsite.data.names import is_username
from dealsite.data.people import messages as inboxes, sessions, users
from dealsite.data.table.errors import BadCursor, Conflict, Invalid, NotFound
from dealsite.data.table.parallel import together
from dealsite.search.finding import known_of
from dealsite.search.lists import NOT_READY, page_number, words_in
from dealsite.search.office import CUSTOMER
from dealsite.search.office_finding import CustomerSums, find_by_text, sums_of
from dealsite.text.stored_words import Text


@back_office.page("none", at=("", "?q=nobody"))
@vary_on_headers("HX-Request")
def customer_list(request: EditorRequest) -> HttpResponse:
    """One page of customers, the newest first, all or those that have some words."""
    words, number = words_in(request.GET.get("q", "")), page_number(request.GET.get("page", "1"))
    if not number:
        raise BadCursor()
    found = find_by_text(words, CUSTOMER, page=number)
    sums = sums_of([one.username for one in found.rows])
    context = {
        "words": words,
        "rows": [(one, sums.get(one.username, CustomerSums())) for one in found.rows],
        "total": found.total,
        "empty": _("No customer fits.") if found.ready else NOT_READY,
        **places({"q": words}, number, found.pages, len(found.rows)),
    }
    template = "cms/customers/_customer_rows.html" if request.htmx else "cms/customers/customers.html"
    return render(request, template, context)


Beginning = dict[str, str | None]  # after or before which row a page begins


def _orders(username: str, begins: Beginning) -> dict[str, Any]:
    page = orders.of_user(username, after=begins["after"], before=begins["before"])
    of_table = order_table(OF_CUSTOMER)
    return {"rows": order_rows(page.rows), "after": page.after, "before": page.before, **of_table}


def _payments(username: str, begins: Beginning) -> dict[str, Any]:
    page = payment_lists.of_account(username, after=begins["after"])
    return {"rows": with_addresses(page.rows), "after": page.after}


def _messages(username: str, begins: Beginning) -> dict[str, Any]:
    page = inboxes.inbox(username, after=begins["after"], before=begins["before"])
    return {"rows": page.rows, "after": page.after, "before": page.before}


def _cart(username: str, _begins: Beginning) -> dict[str, Any]:
    cart = carts.read(user_cart(username), now=timezone.now())
    return {"rows": [*cart.active, *cart.saved]}


def _likes(username: str, _begins: Beginning) -> dict[str, Any]:
    liked, watched = together(partial(relations.likes_of, username), partial(relations.watched_by, username))
    titles = _titles([*liked, *watched])
    rows = [(titles[one.target, one.slug], one, _("Likes")) for one in liked]
    return {"rows": rows + [(titles[one.target, one.slug], one, _("Watches")) for one in watched]}


def _titles(entries: list[RelationEntry]) -> dict[tuple[str, str], str]:
    """Return what deals, brands and categories are called, those that are gone by their ids."""
    known = known_of(one.slug for one in entries if one.target == "deal")
    names = {
        "deal": {id_: stored.card.title for id_, stored in known.items() if stored.card},
        "brand": brand_names.names([one.slug for one in entries if one.target == "brand"]),
        "category": category_names.names(),
    }
    return {(one.target, one.slug): names[one.target].get(one.slug, one.slug) for one in entries}


def _sessions(username: str, _begins: Beginning) -> dict[str, Any]:
    account = users.find(username)
    found = sessions.of_user(username, roles=account.roles if account else (), now=timezone.now())
    return {"rows": [(device_name(one.user_agent), one) for one in found]}


@dataclass(frozen=True, slots=True)
class Part:
    """What a customer has of one sort: its words, and what reads a page of it."""

    words: Text
    read: Callable[[str, Beginning], dict[str, Any]]


PARTS = {
    "": Part(gettext_lazy("Orders"), _orders),
    "payments": Part(gettext_lazy("Payments"), _payments),
    "messages": Part(gettext_lazy("Messages"), _messages),
    "cart": Part(gettext_lazy("Cart"), _cart),
    "likes": Part(gettext_lazy("Likes and watches"), _likes),
    "sessions": Part(gettext_lazy("Sessions"), _sessions),
}


@back_office.page(
    "2 gets + 1 query or 2 gets + 2 queries or 3 gets + 1 query", at=tuple(f"?part={name}" for name in PARTS)
)
def customer(request: EditorRequest, username: str) -> HttpResponse:
    """One customer, what their orders come to, and a page of what they have; who is gone has orders still."""
    return _page(request, username)


@back_office.action
def note_customer(request: EditorRequest, username: str) -> HttpResponse:
    """Keep what the team is to know of a customer."""
    note, before = request.POST.get("note", ""), request.POST.get("before", "")
    try:
        order_notes.note_customer(username, note, before=before)
    except (Conflict, Invalid) as refused:
        return _page(request, username, refused=str(refused))
    messages.success(request, _("The note is kept."))
    return redirect("cms_customer", username)


def _page(request: EditorRequest, username: str, *, refused: str = "") -> HttpResponse:
    part, now = request.GET.get("part", ""), timezone.now()
    if part not in PARTS or not is_username(username):
        raise NotFound(_("There is no such customer."))
    begins = {way: request.GET.get(way) or None for way in ("after", "before")}
    account, buyer, shown = together(
        partial(users.find, username),
        partial(order_record.buyer, username),
        partial(PARTS[part].read, username, begins),
    )
    sums = sums_of([username]).get(username, CustomerSums())
    if account is None and not sums.orders and not shown.get("rows"):
        raise NotFound(_("There is no such customer."))
    name = buyer.address.name or (account.name if account else username)
    own = reverse("cms_customer", args=[username])
    context = {
        "username": username,
        "name": name,
        "account": account,
        "buyer": buyer,
        "sums": sums,
        "refused": refused,
        "typed": request.POST.get("note", buyer.note),
        "credit": settings.DEALSITE_CREDIT_OPEN,
        "largest": settings.DEALSITE_CREDIT_ORDER,
        "listed": part,
        "lists": [Tab(one, of.words, own + query({"part": one})) for one, of in PARTS.items()],
        "now": now,
        "here": request.get_full_path(),
        "trail": [(reverse("cms_customers"), _("Customers")), ("", name)],
        **shown,
    }
    for way in begins:
        context[way] = shown.get(way) and query({"part": part, way: shown[way]})
    return render(request, "cms/customers/customer.html", context, status=422 if refused else 200)
