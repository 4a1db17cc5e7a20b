"""Who has a deal: in the cart, saved for later, bought, cancelled; newest first, or on a day."""

from collections.abc import Iterator
from datetime import date, datetime
from functools import partial

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from cms.lists.deal_list import query
from cms.shared.fields import day_of
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import deals
from dealsite.data.commerce import orders
from dealsite.data.commerce.carts import Line
from dealsite.data.entities.commerce import ACTIVE, PURCHASED, RETURNED, SAVED
from dealsite.data.table.errors import NotFound
from dealsite.web.pages import page
from dealsite.worker.list_export import every, exported

LISTS = {
    "in-carts": (ACTIVE, gettext_lazy("In carts")),
    "saved": (SAVED, gettext_lazy("Saved for later")),
    "bought": (PURCHASED, gettext_lazy("Bought")),
    "returned": (RETURNED, gettext_lazy("Returned")),
}


def _asked(query: QueryDict) -> tuple[str, date | None, str]:
    """Return which list is asked for, of which day, and what is wrong with the day."""
    listed, typed = query.get("list", "in-carts"), query.get("day", "")[:40]
    if listed not in LISTS:
        raise NotFound(_("There is no such list."))
    try:
        return listed, day_of(typed) if typed else None, ""
    except ValueError:
        return listed, None, _("Enter a day, such as 2026-11-27.")


def _all_lines(query: QueryDict, now: datetime, deal_id: str) -> Iterator[Line]:
    listed, day, _error = _asked(query)
    status = LISTS[listed][0]
    return every(partial(orders.carts_with, deal_id, status, day=day, size=orders.TOTALLED), "shown")


@page("1 batch get + 1 query", at=("", "?list=bought&day=x"))
@role("back office")
@require_safe
@exported(
    gettext_lazy("Carts and buyers"),
    "@since=at, user_name=username, pieces=quantity, price, amount=total, order, deal, title",
    _all_lines,
)
def buyers(request: EditorRequest, deal_id: str) -> HttpResponse:
    """One page of the cart lines of a deal, with what they come to."""
    listed, day, day_error = _asked(request.GET)
    found = deals.get_many([deal_id])
    page = orders.carts_with(deal_id, LISTS[listed][0], day=day, after=request.GET.get("after") or None)
    chosen = {"list": listed, "day": day.isoformat() if day else ""}
    context = {
        "deal": found.get(deal_id),
        "deal_id": deal_id,
        "state": found[deal_id].card.state(timezone.now()) if deal_id in found else "",
        "listed": listed,
        "status": LISTS[listed][0],
        "label": LISTS[listed][1],
        "lists": [(name, words, query(chosen | {"list": name})) for name, (_, words) in LISTS.items()],
        "day": chosen["day"],
        "day_error": day_error,
        "page": page,
        "after": page.after and query(chosen | {"after": page.after}),
        "first_page": query(chosen) if request.GET.get("after") else "",
    }
    return render(request, "cms/deals/buyers.html", context, status=422 if day_error else 200)
