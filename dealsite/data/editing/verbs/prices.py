"""Verbs that change what deals cost: each its own price, by one rule for all."""

import re
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data.catalogue.content import DealContent
from dealsite.data.editing.verbs.fields import FieldVerb
from dealsite.data.entities.attributes import CENT

RULE = re.compile(r"(=|[+-])(\d{1,8}(?:\.\d{1,2})?)(%?)( \.99)?( was)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class PriceRule:
    """How an amount comes from a price: `=` is set to a number, `+` and `-` change by it, or by so many percent.

    `ends_in_99`: it goes down to the next amount that ends so. `keeps_was`: a price leaves the one before as what it
    is compared with. As text: `-10% .99 was`.
    """

    how: str
    number: Decimal
    is_percent: bool = False
    ends_in_99: bool = False
    keeps_was: bool = False

    @classmethod
    def parse(cls, text: str) -> "PriceRule":
        """Return the rule that a text holds; ValueError for none."""
        found = RULE.fullmatch(text)
        if found is None or (found[1] == "=" and found[3]):
            raise ValueError(text)
        how, number, percent, ending, was = found.groups()
        return cls(how, Decimal(number), bool(percent), bool(ending), bool(was))

    def __str__(self) -> str:
        signs = (
            "%" if self.is_percent else "",
            " .99" if self.ends_in_99 else "",
            " was" if self.keeps_was else "",
        )
        return f"{self.how}{self.number}{''.join(signs)}"

    def applied_to(self, price: Decimal) -> Decimal:
        """Return the amount that comes from a price, to the cent; it may be below zero."""
        change = price * self.number / 100 if self.is_percent else self.number
        amount = {"=": self.number, "+": price + change, "-": price - change}[self.how]
        amount = amount.quantize(CENT, ROUND_HALF_UP)
        if self.ends_in_99:
            amount = (amount + CENT).to_integral_value(ROUND_FLOOR) - CENT
        return amount


class SetPrice(FieldVerb):
    """Give deals another price, by a rule."""

    name, icon, label, asks = "price", "badge-percent", gettext_lazy("Change price"), "price"
    fields = ("price", "was_price", "low_seen_at", "low_seen_on")
    same = gettext_lazy("It costs that already.")
    says = gettext_lazy("Change price: %(value)s")
    did = gettext_lazy("“%(title)s” has its new price.")

    def content_after(self, value: str, content: DealContent) -> DealContent:
        rule, price = PriceRule.parse(value), content.price
        if price is None:
            return replace(content, price=rule.number, condition="") if rule.how == "=" else content
        changed = replace(content, price=rule.applied_to(price))
        return changed.with_rrp(price) if rule.keeps_was and changed.price != price else changed

    def misfit(self, value: str, content: DealContent) -> str:
        rule = PriceRule.parse(value)
        if rule.how == "=":
            return _("It has a condition instead of a price.") if content.condition else ""
        if content.price is None:
            return _("It has no price that could change.")
        return _("Its price would be below one cent.") if rule.applied_to(content.price) < CENT else ""


class SetWasPrice(FieldVerb):
    """Say what the price of deals is compared with, by a rule from the price; '' is with nothing."""

    name, icon, label, asks = "was_price", "tag", gettext_lazy("Change RRP"), "was_price"
    fields = ("was_price", "low_seen_at", "low_seen_on")
    same = gettext_lazy("It is compared with that already.")
    says = gettext_lazy("Change RRP: %(value)s")
    did = gettext_lazy("“%(title)s” has its new RRP.")

    def content_after(self, value: str, content: DealContent) -> DealContent:
        if not value:
            return content.with_rrp(None)
        rule = PriceRule.parse(value)
        price = content.price or Decimal(0)
        return content.with_rrp(rule.number if rule.how == "=" else rule.applied_to(price))

    def misfit(self, value: str, content: DealContent) -> str:
        return _("It has no price to compare with.") if value and content.price is None else ""
