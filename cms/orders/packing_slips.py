"""Packing slips to print: what goes into each parcel, and where to."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from cms.orders.orders import back_to, none_chosen, read_refs
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.commerce import orders
from dealsite.web.pages import page


@page("1 batch get + 25 queries", at="?order={shopper}/{order}")
@role("back office")
@require_safe
def packing_slips(request: EditorRequest) -> HttpResponse:
    """The slips of up to 25 orders, each on a page of its own."""
    refs = read_refs(request.GET.getlist("order"))
    if not refs:
        return none_chosen(request)
    found = orders.get_many((ref.username, ref.id) for ref in refs)
    context = {
        "slips": [(order, orders.lines_of(order)) for order in found],
        "missing": len(refs) - len(found),
        "next": back_to(request),
    }
    return render(request, "cms/orders/packing_slips.html", context)
