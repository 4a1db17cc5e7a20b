"""The columns of the list of deals: all that a card holds; which of them an editor sees, he chooses."""

from __future__ import annotations

from collections.abc import Iterable

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from cms.lists.list_address import list_query
from cms.shared.requests import EditorRequest, editor_action
from dealsite.data.people import preferences

COLUMNS = {
    "picture": _("Picture"),
    "brand": _("Brand"),
    "category": _("Category"),
    "price": _("Price"),
    "was_price": _("Was-price"),
    "discount": _("Discount"),
    "state": _("State"),
    "live": _("Published"),
    "expires": _("Expires"),
    "voucher": _("Voucher"),
    "id": _("Id"),
}
USUAL = ("picture", "brand", "price", "was_price", "state", "live", "expires")
WITH_THE_TITLE = ("picture", "brand")  # stand in the title's own column
WITH_THE_PRICE = ("was_price", "discount")  # stand in the price's, if that is shown


def columns_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return those names that are columns, in the order in which they stand; the usual ones for none."""
    wanted = set(names)
    return tuple(name for name in COLUMNS if name in wanted) or USUAL


def columns_in(text: str) -> tuple[str, ...]:
    """Return the columns that an address names (`price,state`), () where it names none."""
    return columns_of(text[:400].split(",")) if text else ()


def shown_columns(request: EditorRequest, named: str) -> tuple[str, ...]:
    """Return the columns that an editor sees: those that the address names, or else those of his choice."""
    return columns_in(named) or columns_of(request.user.preferences.columns)


def own_columns(columns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return (name, heading) of what stands in a column of its own."""
    beside = WITH_THE_TITLE + (WITH_THE_PRICE if "price" in columns else ())
    return [(name, str(COLUMNS[name])) for name in columns if name not in beside]


@editor_action
def choose_columns(request: EditorRequest) -> HttpResponse:
    """Keep the columns that were ticked, none for the usual ones, and lead back to the list."""
    ticked = set(request.POST.getlist("column"))
    chosen = tuple(name for name in COLUMNS if name in ticked)
    preferences.save(request.user.username, columns=() if chosen == USUAL else chosen)
    return redirect(reverse("cms_deals") + list_query(request.POST.get("back", ""), without=("columns",)))
