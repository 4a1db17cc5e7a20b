"""The command palette: the CMS's pages, deals, drafts and brands by name, what to do with the first, and searches.

What can be done on the page that is open, and with what is ticked there, the browser adds: palette.js.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.vary import vary_on_headers

from cms.deals.while_typing import similar_to
from cms.lists.deal_list import DealRow, deal_rows, id_in, query
from cms.order_list import LISTS, payments_found
from cms.shared.forms import DealForm
from cms.shared.navigation import Place, open_to
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import staff
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.table.ids import iso, new_ulid
from dealsite.search.brands import brands_like
from dealsite.search.lists import find_deals, words_in
from dealsite.search.office import CUSTOMER, ORDER, OfficeDocument
from dealsite.search.office_finding import find_by_text
from dealsite.text.writing import money

MOST_SHOWN = 5  # of deals, of drafts and of brands


@dataclass(frozen=True)
class Choice:
    """Something to go to, or to do where there are `fields` to send; `note` tells it from others of the same name."""

    title: str
    address: str
    icon: str
    note: str = ""
    fields: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Group:
    """Choices of one sort."""

    title: str
    choices: list[Choice]


@staff.page("1 query or 1 query + 2 batch gets", at=("?q=keyboard", "?q={live.content.link}"))
@vary_on_headers("HX-Request")
def palette(request: EditorRequest) -> HttpResponse:
    """What goes with the words typed so far, as a page or as the options of the dialog; all pages for no words."""
    asked = request.GET.get("q", "")
    words = words_in(asked.removeprefix(">"))
    places = [_choice(place) for place in open_to(request.user.roles) if _fits(place, words)]
    groups, searches = [Group(_("Go to"), places)], []
    if words and not asked.startswith(">"):
        groups = [*_found(request, words), *groups]
        searches = [Group(_("Search"), _searches(request, words))]
    found = [group for group in groups if group.choices]
    context = {"words": words, "is_found": bool(found), "groups": [*found, *searches]}
    template = "cms/home/_palette_found.html" if request.htmx else "cms/home/palette.html"
    return render(request, template, context)


def _found(request: EditorRequest, words: str) -> list[Group]:
    """Return what goes by these words, and what can be done with the deal that fits best. 1 query for editors.

    For a link up to 2 batch gets more.
    """
    of_office = _office(words) if request.user.has_role("back office") else []
    if not request.user.has_role("editor"):
        return of_office
    if deal_id := id_in(words):
        address = reverse("cms_find_deal") + query({"q": deal_id})
        return [Group(_("Deals"), [Choice(_("Open the deal with this id"), address, "tag", deal_id)])]
    if of_link := _of_link(request.GET["q"]):
        return [Group(_("Deals"), of_link)]
    deals, drafts = _rows(words, "all"), _rows(words, "draft")
    groups = [Group(_("Deals"), [_choice_of(row, "tag") for row in deals])]
    if deals:
        groups.append(Group(_("With “%(title)s”") % {"title": deals[0].card.title}, _verbs(deals[0])))
    of_drafts = Group(_("Drafts"), [_choice_of(row, "file-pen") for row in drafts])
    return [*groups, of_drafts, Group(_("Brands"), _brands(words)), *of_office]


def _office(words: str) -> list[Group]:
    """Return the orders, customers and payments that have these words. No requests."""
    found = find_by_text(words, ORDER, size=MOST_SHOWN).rows
    customers = find_by_text(words, CUSTOMER, size=MOST_SHOWN).rows
    return [
        Group(_("Orders"), [_order(one) for one in found]),
        Group(
            _("Customers"),
            [
                Choice(one.name, reverse("cms_customer", args=[one.username]), "user", one.username)
                for one in customers
            ],
        ),
        Group(
            _("Payments"),
            [
                Choice(money(one.amount), address, "credit-card", one.username)
                for one, address in payments_found(words)
            ],
        ),
    ]


def _order(one: OfficeDocument) -> Choice:
    address = reverse("cms_order", args=[one.username, one.id])
    note = f"{money(one.amount)}, {LISTS[one.status.lower()]}"
    return Choice(f"{one.id[-6:]} · {one.name}", address, "package", note)


def _of_link(asked: str) -> list[Choice]:
    """Return what can be done with a link, if that is what was asked for. Up to 1 query and 2 batch gets."""
    now, form = timezone.now(), DealForm.posted(QueryDict(mutable=True))
    form.data["link"] = asked
    if not form.is_valid() or not form.cleaned_data["link"]:
        return []
    found = [
        Choice(one.entry.content.title or _("Draft without a title"), one.address, "tag", _("The same link"))
        for one in similar_to(form, "", now)
    ]
    fields = {"link": form.cleaned_data["link"], "version": "0", "action": "read"}
    address = reverse("cms_draft", args=[new_ulid(now)])
    return [*found, Choice(_("New deal from this link"), address, "plus", fields=fields)]


def _rows(words: str, state: str) -> list[DealRow]:
    """Return the deals or drafts that fit best. No request to the table."""
    now = timezone.now()
    return deal_rows(find_deals(DealFilter(state, words=words), now=now).cards[:MOST_SHOWN], state, now)


def _choice_of(row: DealRow, icon: str) -> Choice:
    return Choice(row.card.title or _("Draft without a title"), row.address, icon, row.card.brand_name)


def _verbs(row: DealRow) -> list[Choice]:
    """Return what can be done with a deal."""
    card = row.card
    fields = {"deal": card.id, "asked_at": iso(timezone.now()), "next": row.address}
    verbs = [
        Choice(_("Change price or expiry"), row.price_and_expiry_address, "pencil"),
        Choice(_("Duplicate as a draft"), reverse("cms_do", args=["duplicate"]), "copy", fields=fields),
        Choice(_("History"), reverse("cms_history", args=[row.kind, card.id]), "history"),
    ]
    if row.state not in ("scheduled", "expired"):
        expire = Choice(_("Expire now"), reverse("cms_do", args=["expire"]), "circle-x", fields=fields)
        verbs.insert(1, expire)
    return verbs


def _searches(request: EditorRequest, words: str) -> list[Choice]:
    """Return the lists that can be searched for these words."""
    wanted = (
        ("editor", "tag", _("Deals with “%(words)s”"), "cms_deals", "q"),
        ("back office", "package", _("Orders with “%(words)s”"), "cms_orders", "q"),
        ("back office", "credit-card", _("Payments of “%(words)s”"), "cms_find_payment", "q"),
        ("admin", "users", _("The user “%(words)s”"), "cms_users", "find"),
    )
    return [
        Choice(title % {"words": words}, reverse(url_name) + query({name: words}), icon)
        for role, icon, title, url_name, name in wanted
        if request.user.has_role(role)
    ]


def _fits(place: Place, words: str) -> bool:
    """Tell whether each word begins one of the place's."""
    known = f"{place.title} {place.words}".casefold().split()
    return all(any(one.startswith(word) for one in known) for word in words.casefold().split())


def _choice(place: Place) -> Choice:
    return Choice(str(place.title), place.address, place.icon, place.shortcut)


def _brands(words: str) -> list[Choice]:
    """Return the brands that begin so, then those that have such words. 1 query."""
    found = brands_like(words, size=MOST_SHOWN).rows
    return [Choice(brand.name, reverse("cms_brand", args=[brand.slug]), "store") for brand in found]
