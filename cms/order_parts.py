"""A part of an order: shipped in a parcel, cancelled, taken back or made cheaper; and parcels that were delivered."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from cms.lists.deal_list import query
from cms.order_actions import read_time
from cms.order_list import order_lists
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import back_office, fresh
from dealsite.accounts.order_parts import PiecesForm, Way, answer_pieces
from dealsite.data.commerce import order_changes, order_returns, orders
from dealsite.data.commerce.addresses import CARRIERS
from dealsite.data.commerce.order_lines import OrderHistory, history, open_return
from dealsite.data.commerce.order_record import Order
from dealsite.data.entities.commerce import CANCELLED, REDUCED, RETURN_DECLINED, RETURNED, SHIPPED
from dealsite.search.office_finding import OrdersQuestion, find_orders

SHIP = Way(
    SHIPPED,
    gettext_lazy("New parcel"),
    gettext_lazy("Mark shipped"),
    gettext_lazy("The parcel is marked shipped."),
    gettext_lazy("Nothing of this order is left to be shipped."),
    order_changes.ship,
    ("pieces", "carrier", "tracking", "unpaid"),
    icon="truck",
)
CANCEL = Way(
    CANCELLED,
    gettext_lazy("Cancel lines"),
    gettext_lazy("Cancel the chosen pieces"),
    gettext_lazy("The chosen pieces are cancelled."),
    gettext_lazy("Nothing of this order can be cancelled: it is shipped, or cancelled already."),
    order_changes.cancel,
    ("pieces", "reason"),
    icon="circle-x",
    is_danger=True,
)
TAKE_BACK = Way(
    RETURNED,
    gettext_lazy("Take back"),
    gettext_lazy("Take the chosen pieces back"),
    gettext_lazy("The return is noted."),
    gettext_lazy("Nothing of this order is with the shopper."),
    order_returns.take_back,
    ("pieces", "amount", "restock", "reason"),
    icon="undo-2",
)
REDUCE = Way(
    REDUCED,
    gettext_lazy("Refund an amount"),
    gettext_lazy("Refund it"),
    gettext_lazy("So much less is to be paid."),
    gettext_lazy("Nothing of this order is left to be refunded."),
    order_returns.reduce,
    ("amount", "reason"),
    icon="wallet",
)


DECLINE = Way(
    RETURN_DECLINED,
    gettext_lazy("Decline the return"),
    gettext_lazy("Decline it"),
    gettext_lazy("The return is declined, and the shopper told why."),
    gettext_lazy("Nobody asks to return anything of this order."),
    order_returns.decline_return,
    ("reason",),
    icon="circle-x",
    is_danger=True,
)


class PartForm(PiecesForm):
    """How many pieces of which lines, or which amounts, and what else a way asks for."""

    carrier = forms.ChoiceField(
        label=gettext_lazy("Carrier"),
        choices=[("", gettext_lazy("Another, or none")), *((name, name) for name in CARRIERS)],
        required=False,
    )
    tracking = forms.CharField(
        label=gettext_lazy("Tracking number"),
        max_length=60,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    unpaid = forms.BooleanField(label=gettext_lazy("Ship it although it is not paid"), required=False)
    restock = forms.BooleanField(
        label=gettext_lazy("Put the pieces back into stock"), required=False, initial=True
    )

    def __init__(self, data: Any, *, way: Way, order: Order, became: OrderHistory, line: str) -> None:
        asked, lines, chosen = open_return(order), became.lines, dict[str, int]()
        if way is SHIP:
            chosen = {one.line.id: one.to_ship for one in lines}
        elif asked and way in (TAKE_BACK, DECLINE):
            chosen = {one.id: moved.pieces for one, moved in became.of(asked)}
        elif line:
            chosen = {one.line.id: one.left_for(way.status) for one in lines if one.line.id == line}
        super().__init__(data, way=way, lines=lines, chosen=chosen)
        if way is DECLINE:
            self.shown = [one for one in lines if one.line.id in chosen]
        for name in ("carrier", "tracking", "unpaid", "restock"):
            if name not in way.fields or (name == "unpaid" and order.card.may_ship):
                del self.fields[name]
        for one in lines if "amount" in way.fields else ():
            self.fields[f"amount-{one.line.id}"] = forms.DecimalField(
                label=_("Amount for %(title)s") % {"title": one.line.title},
                min_value=0,
                max_digits=14,
                decimal_places=2,
                required=False,
            )
        if "reason" in self.fields:
            self.fields["reason"].help_text = gettext_lazy("The shopper reads it.")


@back_office.form("1 get + 1 query")
def ship_part(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Ask what is in a parcel and who carries it, then mark it shipped."""
    return _page(request, username, order_id, SHIP)


@back_office.form("1 get + 1 query")
def cancel_part(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Ask which pieces, and why, then cancel them."""
    return _page(request, username, order_id, CANCEL)


def _is_for_good(request: HttpRequest) -> bool:
    return "preview" not in request.POST


@back_office.form("1 get + 1 query")
@fresh(when=_is_for_good)
def take_part_back(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Ask which pieces came back, then note it and refund them."""
    return _page(request, username, order_id, TAKE_BACK)


@back_office.form("1 get + 1 query")
@fresh(when=_is_for_good)
def reduce_order(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Ask for amounts and why, then have the order cost less."""
    return _page(request, username, order_id, REDUCE)


@back_office.form("1 get + 1 query")
def decline_return(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Ask why, then tell a shopper that what they asked to return is not taken back."""
    return _page(request, username, order_id, DECLINE)


@back_office.page("1 query")
def returns(request: EditorRequest) -> HttpResponse:
    """One page of the returns that shoppers asked for, oldest first."""
    after, before = request.GET.get("after") or None, request.GET.get("before") or None
    page = orders.returns_asked(after=after, before=before)
    context = {
        "listed": "returns",
        "lists": order_lists(find_orders(OrdersQuestion(), size=1), {}),
        "page": page,
        "now": timezone.now(),
        "after": page.after and query({"after": page.after}),
        "before": page.before and query({"before": page.before}),
    }
    return render(request, "cms/orders/returns.html", context)


@back_office.action
def deliver_parcel(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Mark a parcel delivered."""
    by, now = request.user.username, timezone.now()
    order_changes.deliver(username, order_id, parcel=read_time(request), by=by, now=now)
    messages.success(request, _("The parcel is marked delivered."))
    return redirect("cms_order", username, order_id)


def _page(request: EditorRequest, username: str, order_id: str, way: Way) -> HttpResponse:
    order, lines = orders.with_lines(orders.get(username, order_id))
    data, line = request.POST if request.method == "POST" else None, request.GET.get("line", "")
    form = PartForm(data, way=way, order=order, became=history(order, lines), line=line)
    back = reverse("cms_order", args=[username, order_id])
    trail = [(reverse("cms_orders"), _("Orders")), (back, order.card.name), ("", way.title)]
    return answer_pieces(request, "cms/orders/order_part.html", form, way, order, back=back, trail=trail)
