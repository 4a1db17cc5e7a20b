"""How an order is made, by its shopper at checkout or for them by the back office: its form, plans, first charge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from threading import BoundedSemaphore
from typing import Any, NamedTuple, Self

import structlog
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from dealsite.accounts.addressing import BILL, AddressForm, fetch_fields, typed_address
from dealsite.data.commerce import cart_changes, charging, payments
from dealsite.data.commerce.carts import CartOwner
from dealsite.data.commerce.order_record import Buyer, Order
from dealsite.data.entities.commerce import MAX_ACTIVE, PLANS
from dealsite.data.entities.deals import LAST_VERSION
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from dealsite.gateways import choice
from dealsite.text.stored_words import Text
from dealsite.text.writing import money, number_in

CHARGE_SECONDS = 5.0  # that is waited for the gateway; what it answers later is recorded, too
CHARGES = 4  # at once in this process: where a gateway is slow, runners charge the others
_charges = ThreadPoolExecutor(CHARGES, "checkout")
_free = BoundedSemaphore(CHARGES)
logger = structlog.get_logger(__name__)
NUMBER = gettext_lazy("Enter a whole number from 1 to 999.")
OTHER_SUM = gettext_lazy("Your order said %(shown)s, now it comes to %(now)s.")


class WrongQuantity(NamedTuple):
    """What was typed for a number of pieces, and why it cannot be."""

    typed: str
    reason: str


def have_quantities(
    owner: CartOwner, sent: QueryDict, *, pressed: str = "", step: int = 0, now: datetime
) -> dict[str, WrongQuantity]:
    """Have as many pieces of each deal as its field says, of one that was pressed a step more; return what cannot be.

    Fields that say what they showed are left alone: 1 batch get + 1 transaction for each other one.
    """
    wrong: dict[str, WrongQuantity] = {}
    # A form that does not say what its fields showed means each of them: no id is a number.
    ids, typed = sent.getlist("deal")[:MAX_ACTIVE], sent.getlist("quantity")
    for deal_id, text, shown in zip(ids, typed, sent.getlist("shown") or ids, strict=False):
        more = step if deal_id == pressed else 0
        if text == shown and not more:
            continue
        try:
            if (number := number_in(text.strip(), most=8)) is None:
                raise Invalid(NUMBER)
            number = max(number + more, 1) if more else number
            cart_changes.change_quantity(owner, deal_id, number, now=now)
        except (Conflict, NotFound, Invalid) as error:
            wrong[deal_id] = WrongQuantity(text, str(error))
    return wrong


class OrderForm(AddressForm):
    """Where it and its bill go and how it is paid; `version` and `total` are the cart's as it was shown.

    `bill` is the form of where the bill goes, if `bill_elsewhere` is ticked.
    """

    bill_elsewhere = forms.BooleanField(
        label=gettext_lazy("The bill goes to another address"), required=False
    )
    plan = forms.TypedChoiceField(
        label=gettext_lazy("How you pay"),
        coerce=int,
        choices=[(plan, str(plan)) for plan in PLANS],
        widget=forms.RadioSelect,
    )
    version = forms.IntegerField(min_value=1, max_value=LAST_VERSION, widget=forms.HiddenInput)
    total = forms.DecimalField(min_value=0, max_digits=14, decimal_places=2, widget=forms.HiddenInput)

    def __init__(
        self, data: QueryDict | None = None, *, bill_to: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(data, **kwargs)
        self.initial["bill_elsewhere"] = bill_to is not None
        self.fields["bill_elsewhere"].widget.attrs |= fetch_fields(BILL, is_own=self.is_own) | {
            "hx-target": "#bill-fields",
            "hx-swap": "innerHTML",
        }
        sent = data if self["bill_elsewhere"].value() else None
        self.bill = AddressForm(sent, prefix=BILL, is_own=self.is_own, initial=bill_to)

    @classmethod
    def of(cls, buyer: Buyer, *, is_own: bool = True) -> Self:
        """Return the form with what somebody typed or used last."""
        bill_to = asdict(buyer.bill_to) if buyer.bill_to else None
        return cls(initial=asdict(buyer.address), bill_to=bill_to, is_own=is_own)

    def __iter__(self) -> Iterator[forms.BoundField]:
        """All fields, those of the bill among them, by which a page says what is wrong with any."""
        yield from super().__iter__()
        yield from self.bill

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not cleaned["bill_elsewhere"]:
            return cleaned | {"bill_to": None}
        if not self.bill.is_valid():
            raise ValidationError(_("Complete where the bill goes."))
        return cleaned | {"bill_to": self.bill.cleaned_data["address"]}

    def expect_total(self, total: Decimal) -> None:
        """Have a form that said another sum say both."""
        if (said := self.cleaned_data.get("total", total)) != total:
            self.add_error(None, OTHER_SUM % {"shown": money(said), "now": money(total)})

    def add_errors(self, fields: Mapping[str, Text]) -> None:
        """Say at its fields, or above it, why an order cannot be."""
        for name, reason in fields.items():
            self.add_error(name if name in self.fields else None, reason)


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """A way to pay: in how many instalments, when what is due."""

    number: int
    instalments: list[tuple[datetime, Decimal]]

    @classmethod
    def of(cls, total: Decimal, number: int, first: datetime) -> PlanChoice:
        return cls(number, payments.instalments(total, number, first=first))

    @property
    def first(self) -> Decimal:
        return self.instalments[0][1]

    @property
    def words(self) -> str:
        """What is due today and what after it: €35.80 today, then 2 × €35.79."""
        later = [
            _("then %(amounts)s") % {"amounts": amounts}
            for amounts in counted(amount for _at, amount in self.instalments[1:])
        ]
        return ", ".join([_("%(amount)s today") % {"amount": money(self.first)}, *later])


def counted(amounts: Iterable[Decimal]) -> list[str]:
    """Return amounts in words, like ones as one: 2 × €35.79."""
    return [f"{len(list(same))}\u00a0×\u00a0{money(amount)}" for amount, same in groupby(amounts)]


def typed_bill(sent: QueryDict) -> dict[str, str] | None:
    """Return what a form sent of where the bill goes, as it was typed; None for the same address."""
    return typed_address(sent, BILL) if "bill_elsewhere" in sent else None


def chosen_plan(text: str, plans: Sequence[int]) -> int:
    """Return the plan that was chosen, at once if it cannot be."""
    return next((plan for plan in plans if str(plan) == text), 1)


def charge_at_once(order: Order) -> None:
    """Charge what is due of an order that was just placed, and wait a moment for what comes of it."""
    if order.payments and _free.acquire(blocking=False):
        wait([_charges.submit(copy_context().run, _charge, order)], CHARGE_SECONDS)


def _charge(order: Order) -> None:
    """Charge it as a runner would, which goes on where this fails: the order is placed, whatever goes wrong."""
    currency = settings.DEALSITE_CURRENCY
    try:
        charging.charge_first(order, choice.current(), currency=currency, clock=timezone.now)
    except Exception as error:  # noqa: BLE001 - of a gateway that is not set up, of a table that is away
        logger.warning("charge_at_checkout_failed", order=order.id, error=repr(error))
    finally:
        _free.release()
