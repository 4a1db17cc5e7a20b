"""What the back office and its shopper change of an order: which pieces of it, and where it goes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from dealsite.accounts.addressing import AddressForm
from dealsite.accounts.forms import PiecesField, answer_form
from dealsite.accounts.requests import UserRequest
from dealsite.data.commerce.order_changes import change_address, too_late
from dealsite.data.commerce.order_lines import OrderLine
from dealsite.data.commerce.order_record import Order
from dealsite.data.commerce.order_returns import preview
from dealsite.data.entities.commerce import MAX_QUANTITY, NOTE_CHARACTERS, REDUCED, TAKEN_BACK
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.text.stored_words import Text


@dataclass(frozen=True, slots=True)
class Way:
    """What can become of a part of an order, the page's words for it, and which fields its form has."""

    status: str
    title: Text
    button: Text
    done: Text
    nothing: Text
    carry_out: Callable[..., Order]
    fields: tuple[str, ...]
    icon: str = ""
    help: Text = ""
    is_danger: bool = False

    @property
    def takes_off(self) -> bool:
        """Whether less is to be paid then, which can be looked at before."""
        return self.status in (*TAKEN_BACK, REDUCED)


class PiecesForm(forms.Form):
    """How many pieces of which lines of an order something is to happen to, and why; `seen` events were known.

    It reads all `lines`, so that what is sent twice is read twice; `shown` are those that can be chosen now.
    """

    reason = forms.CharField(
        label=gettext_lazy("Reason"), max_length=NOTE_CHARACTERS, widget=forms.Textarea(attrs={"rows": 2})
    )
    seen = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, data: Any, *, way: Way, lines: Sequence[OrderLine], chosen: Mapping[str, int]) -> None:
        super().__init__(data)
        self.lines = lines
        has_pieces, status = "pieces" in way.fields, way.status
        self.shown = [one for one in lines if (one.left_for(status) if has_pieces else one.worth)]
        self.status = status
        self.is_chosen = has_pieces and (len(self.shown) == 1 or any(chosen.values()))  # when the page opens
        for one in lines if has_pieces else ():
            left = one.left_for(status)
            self.fields[f"pieces-{one.line.id}"] = PiecesField(
                label=_("Pieces of %(title)s") % {"title": one.line.title},
                min_value=0,
                max_value=MAX_QUANTITY,
                required=False,
                initial=chosen.get(one.line.id, left if len(self.shown) == 1 else 0),
                widget=forms.NumberInput(attrs={"max": left}),
            )
        if "reason" not in way.fields:
            del self.fields["reason"]

    def field_of(self, what: str, one: OrderLine) -> forms.BoundField | None:
        name = f"{what}-{one.line.id}"
        return self[name] if name in self.fields else None

    def rows(self) -> list[tuple[OrderLine, int, forms.BoundField | None, forms.BoundField | None]]:
        """Return each line with how many of its pieces this is about, and its fields."""
        return [
            (
                one,
                one.left_for(self.status) or one.kept,
                self.field_of("pieces", one),
                self.field_of("amount", one),
            )
            for one in self.shown
        ]

    def others(self) -> list[forms.BoundField]:
        """Return the fields that are not about one line."""
        return [field for field in self.visible_fields() if "-" not in field.name]

    def chosen(self) -> dict[str, Any]:
        """Return what was sent: pieces and amounts by the ids of lines, if it asks for them."""
        found: dict[str, Any] = {}
        for name, value in self.cleaned_data.items():
            what, _dash, line = name.partition("-")
            if not line:
                found[what] = value
                continue
            by_line = found.setdefault("amounts" if what == "amount" else what, {})
            if value is not None:
                by_line[line] = value
        return found


def answer_pieces(
    request: UserRequest,
    template: str,
    form: PiecesForm,
    way: Way,
    order: Order,
    *,
    back: str,
    **context: Any,
) -> HttpResponse:
    """Show the form of a way, or do what a valid one asks for and lead `back`, as where it can happen to nothing.

    With `preview`, only what that does to payments is shown, for which no reason is needed: 1 batch get.
    """
    if not form.is_bound and not form.shown:
        messages.info(request, way.nothing)
        return redirect(back)
    context |= {"order": order, "way": way}
    is_preview = way.takes_off and "preview" in request.POST
    if is_preview:
        form.errors.pop("reason", None)
        template = "accounts/_take_off.html" if request.htmx else template

    def act() -> HttpResponse | None:
        by, now, chosen = request.user.username, timezone.now(), form.chosen()
        try:
            if is_preview:
                lines, pieces = [one.line for one in form.lines], chosen.get("pieces", {})
                amounts, seen = chosen.get("amounts"), chosen["seen"]
                plan = preview(order, lines, way.status, pieces, amounts, seen=seen, by=by, now=now)
                return render(request, template, context | {"form": form, "plan": plan})
            way.carry_out(order.username, order.id, **chosen, by=by, now=now)
        except Invalid as wrong:
            form.add_error(None, str(wrong))
            return None
        messages.success(request, way.done)
        return redirect(back)

    return answer_form(request, template, form, act, refusals=(Conflict,), **context)


def answer_address(
    request: UserRequest, template: str, order: Order, *, back: str, **context: Any
) -> HttpResponse:
    """Show the form of where an order goes instead, or have it go there and lead `back`, as where it is too late."""
    sent, by = request.POST if request.method == "POST" else None, request.user.username
    form = AddressForm(sent, initial=asdict(order.address), is_own=by == order.username)
    if form.is_valid():
        try:
            change_address(order.username, order.id, form.cleaned_data["address"], by=by, now=timezone.now())
        except Conflict as conflict:
            messages.warning(request, str(conflict))
        else:
            own, other = _("Your order goes to this address now."), _("The order goes to this address now.")
            messages.success(request, own if by == order.username else other)
    elif why_not := too_late(order):
        messages.warning(request, why_not)
    else:
        context |= {"form": form, "order": order, "back": back}
        return render(request, template, context, status=422 if form.errors else 200)
    return redirect(back)
