"""A part of an order: shipped in a parcel, cancelled, taken back or made cheaper; and parcels that were delivered."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from cms.order_actions import read_time
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import back_office, fresh
from dealsite.data.commerce import order_changes, order_returns, orders
from dealsite.data.commerce.addresses import CARRIERS
from dealsite.data.commerce.order_lines import OrderLine, history
from dealsite.data.commerce.order_record import Order
from dealsite.data.entities.commerce import (
    CANCELLED,
    MAX_QUANTITY,
    NOTE_CHARACTERS,
    REDUCED,
    RETURNED,
    SHIPPED,
)
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.text.stored_words import Text


@dataclass(frozen=True, slots=True)
class Way:
    """What can become of a part of an order, the page's words for it, and which fields its form has."""

    status: str
    title: Text
    button: Text
    icon: str
    done: Text
    nothing: Text
    carry_out: Callable[..., Order]
    fields: tuple[str, ...]
    is_danger: bool = False


SHIP = Way(
    SHIPPED,
    gettext_lazy("New parcel"),
    gettext_lazy("Mark shipped"),
    "truck",
    gettext_lazy("The parcel is marked shipped."),
    gettext_lazy("Nothing of this order is left to be shipped."),
    order_changes.ship,
    ("pieces", "carrier", "tracking", "unpaid"),
)
CANCEL = Way(
    CANCELLED,
    gettext_lazy("Cancel lines"),
    gettext_lazy("Cancel the chosen pieces"),
    "circle-x",
    gettext_lazy("The chosen pieces are cancelled."),
    gettext_lazy("Nothing of this order can be cancelled: it is shipped, or cancelled already."),
    order_changes.cancel,
    ("pieces", "reason"),
    is_danger=True,
)
TAKE_BACK = Way(
    RETURNED,
    gettext_lazy("Take back"),
    gettext_lazy("Take the chosen pieces back"),
    "undo-2",
    gettext_lazy("The return is noted."),
    gettext_lazy("Nothing of this order is with the shopper."),
    order_returns.take_back,
    ("pieces", "amount", "restock", "reason"),
)
REDUCE = Way(
    REDUCED,
    gettext_lazy("Refund an amount"),
    gettext_lazy("Refund it"),
    "wallet",
    gettext_lazy("So much less is to be paid."),
    gettext_lazy("Nothing of this order is left to be refunded."),
    order_returns.reduce,
    ("amount", "reason"),
)


class PartForm(forms.Form):
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
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=NOTE_CHARACTERS,
        help_text=gettext_lazy("The shopper reads it."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    seen = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, data: Any, *, way: Way, order: Order, lines: Sequence[OrderLine], line: str) -> None:
        super().__init__(data, initial={"seen": len(order.timeline)})
        self.way, self.lines = way, lines
        for name in ("carrier", "tracking", "unpaid", "restock", "reason"):
            if name not in way.fields or (name == "unpaid" and order.card.may_ship):
                del self.fields[name]
        for one in lines:
            words = {"title": one.line.title}
            if "pieces" in way.fields:
                left = one.left_for(way.status)
                self.fields[f"pieces-{one.line.id}"] = forms.IntegerField(
                    label=_("Pieces of %(title)s") % words,
                    min_value=0,
                    max_value=MAX_QUANTITY,
                    required=False,
                    initial=left if way is SHIP or line == one.line.id or len(lines) == 1 else 0,
                    widget=forms.NumberInput(attrs={"max": left}),
                )
            if "amount" in way.fields:
                self.fields[f"amount-{one.line.id}"] = forms.DecimalField(
                    label=_("Amount for %(title)s") % words,
                    min_value=0,
                    max_digits=14,
                    decimal_places=2,
                    required=False,
                )

    def rows(self) -> list[tuple[OrderLine, int, Any, Any]]:
        """Return each line with how many pieces can be chosen, and its fields."""
        has_pieces, has_amount = ("pieces" in self.way.fields, "amount" in self.way.fields)
        return [
            (
                one,
                one.left_for(self.way.status) if has_pieces else one.kept,
                self[f"pieces-{one.line.id}"] if has_pieces else None,
                self[f"amount-{one.line.id}"] if has_amount else None,
            )
            for one in self.lines
        ]

    def others(self) -> list[Any]:
        """Return the fields that are not about one line."""
        return [field for field in self.visible_fields() if "-" not in field.name]

    def chosen(self) -> dict[str, Any]:
        """Return what the way is given."""
        data: dict[str, Any] = dict(self.cleaned_data)
        found: dict[str, Any] = {name: value for name, value in data.items() if "-" not in name}
        if "pieces" in self.way.fields:
            found["pieces"] = {one.line.id: data[f"pieces-{one.line.id}"] or 0 for one in self.lines}
        if "amount" in self.way.fields:
            amounts: dict[str, Decimal | None] = {
                one.line.id: data[f"amount-{one.line.id}"] for one in self.lines
            }
            found["amounts"] = {line: amount for line, amount in amounts.items() if amount is not None}
        return found


@back_office.form("1 get + 1 query")
def ship_part(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Ask what is in a parcel and who carries it, then mark it shipped."""
    return _page(request, username, order_id, SHIP)


@back_office.form("1 get + 1 query")
def cancel_part(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Ask which pieces, and why, then cancel them."""
    return _page(request, username, order_id, CANCEL)


@back_office.form("1 get + 1 query")
@fresh
def take_part_back(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Ask which pieces came back, then note it and refund them."""
    return _page(request, username, order_id, TAKE_BACK)


@back_office.form("1 get + 1 query")
@fresh
def reduce_order(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Ask for amounts and why, then have the order cost less."""
    return _page(request, username, order_id, REDUCE)


@back_office.action
def deliver_parcel(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Mark a parcel delivered."""
    by, now = request.user.username, timezone.now()
    order_changes.deliver(username, order_id, parcel=read_time(request), by=by, now=now)
    messages.success(request, _("The parcel is marked delivered."))
    return redirect("cms_order", username, order_id)


def _form(
    request: EditorRequest, username: str, order_id: str, way: Way, *, is_seen: bool = False
) -> tuple[Order, PartForm]:
    """Return an order as it is now, and the form for it; `is_seen`: what was sent is shown with that."""
    order, lines = orders.with_lines(orders.get(username, order_id))
    there = [
        one
        for one in history(order, lines).lines
        if (one.left_for(way.status) if "pieces" in way.fields else one.worth)
    ]
    data = request.POST.copy() if request.method == "POST" else None
    if data and is_seen:
        data["seen"] = str(len(order.timeline))
    return order, PartForm(data, way=way, order=order, lines=there, line=request.GET.get("line", ""))


def _page(request: EditorRequest, username: str, order_id: str, way: Way) -> HttpResponse:
    order, form = _form(request, username, order_id, way)
    status = 422 if form.is_bound else 200
    if form.is_valid():
        by, now = request.user.username, timezone.now()
        try:
            way.carry_out(username, order_id, **form.chosen(), by=by, now=now)
        except (Conflict, Invalid) as error:
            order, form = _form(request, username, order_id, way, is_seen=True)
            form.add_error(None, str(error))
            status = 409 if isinstance(error, Conflict) else 422
        else:
            messages.success(request, way.done)
            return redirect("cms_order", username, order_id)
    if not form.lines:
        messages.info(request, way.nothing)
        return redirect("cms_order", username, order_id)
    context = {
        "order": order,
        "way": way,
        "form": form,
        "trail": [
            (reverse("cms_orders"), _("Orders")),
            (reverse("cms_order", args=[username, order.id]), order.card.name),
            ("", way.title),
        ],
    }
    return render(request, "cms/orders/order_part.html", context, status=status)
