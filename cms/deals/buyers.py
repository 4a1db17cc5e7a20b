"""Who has a deal: in the cart, saved for later, bought, cancelled; newest first, or on a day."""

from django.http import HttpResponse
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
from dealsite.data.entities.commerce import ACTIVE, PURCHASED, RETURNED, SAVED
from dealsite.data.table.errors import NotFound
from dealsite.web.pages import page

LISTS = {
    "in-carts": (ACTIVE, gettext_lazy("In carts")),
    "saved": (SAVED, gettext_lazy("Saved for later")),
    "bought": (PURCHASED, gettext_lazy("Bought")),
    "returned": (RETURNED, gettext_lazy("Returned")),
}


@page("1 batch get + 1 query", at=("", "?list=bought&day=x"))
@role("back office")
@require_safe
def buyers(request: EditorRequest, deal_id: str) -> HttpResponse:
    """One page of the cart lines of a deal, with what they come to."""
    listed = request.GET.get("list", "in-carts")
    if listed not in LISTS:
        raise NotFound(_("There is no such list."))
    typed = request.GET.get("day", "")[:40]
    day, day_error = None, ""
    if typed:
        try:
            day = day_of(typed)
        except ValueError:
            day_error = _("Enter a day, such as 2026-11-27.")
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
        "newest": query(chosen) if request.GET.get("after") else "",
    }
    return render(request, "cms/deals/buyers.html", context, status=422 if day_error else 200)
