"""What the forms say that put a deal into a cart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

from dealsite.data.commerce.cart.changing import CartAddition
from dealsite.data.commerce.carts import Line
from dealsite.data.entities.commerce import MAX_QUANTITY, SAVED
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import is_ulid, new_ulid

DAMAGED = gettext_lazy("This form is damaged. Load the page again.")
NUMBER = gettext_lazy("Enter a whole number from 1 to 999.")
UNDO = "undo"


class AddForm(forms.Form):
    """What a deal's button says: `offer` is the deal and the price that stood beside the button, as `id:price`."""

    offer = forms.CharField(max_length=60)
    quantity = forms.IntegerField(min_value=1, max_value=MAX_QUANTITY, required=False)
    token = forms.CharField(max_length=26, required=False)

    def clean_offer(self) -> tuple[str, Decimal | None]:
        deal, _, price = self.cleaned_data["offer"].partition(":")
        seen = forms.DecimalField(min_value=0, max_digits=12, decimal_places=2, required=False).clean(price)
        if not is_ulid(deal):
            raise ValidationError(DAMAGED)
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
            raise ValidationError(DAMAGED)
        return token

    def wanted(self, *, now: datetime) -> CartAddition:
        """Return what the form asks for; Invalid for what no page sends."""
        if not self.is_valid():
            raise Invalid(NUMBER if set(self.errors) == {"quantity"} else DAMAGED)
        deal, seen = self.cleaned_data["offer"]
        quantity = self.cleaned_data["quantity"]
        return CartAddition(deal, quantity, new_ulid(now), token=self.cleaned_data["token"], seen=seen)


class UndoForm(AddForm):
    """What puts a removed line back, to where it was."""

    saved = forms.BooleanField(required=False)


class WrongQuantity(NamedTuple):
    """What was typed for a number of pieces, and why it cannot be."""

    typed: str
    reason: str


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
