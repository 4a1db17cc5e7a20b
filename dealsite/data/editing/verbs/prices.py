"""Verbs that change what deals cost, each its own price by one rule for all, and when they end or go live."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data.catalogue import deal_changes, publishing
from dealsite.data.catalogue.content import DealContent, problems
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Entry
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.verbs.fields import FieldVerb
from dealsite.data.editing.verbs.verb import BulkResult, Doing, Prefetched, Verb, sentences
from dealsite.data.entities.attributes import CENT
from dealsite.data.table.ids import first_ulid_of, from_iso, iso, time_of

RANDOM_PART = slice(10, 26)  # of a ULID; the first ten characters are its time


class SetEnd(FieldVerb):
    """Let it end at a time; '' is never."""

    name, icon, label = "expiry", "clock", gettext_lazy("Set expiry")
    asks, fields = "end", ("expires_at",)
    same = gettext_lazy("It expires then already.")
    says = gettext_lazy("Set expiry to %(value)s")
    did = gettext_lazy("The end of “%(title)s” is now: %(value)s.")

    def refusal(self, value: str, entry: Entry, prefetched: Prefetched, now: datetime) -> str:
        if value and from_iso(value) <= now:
            return _("This time has passed. Choose a later one.")
        return super().refusal(value, entry, prefetched, now)

    def changed_since(
        self, value: str, row: BulkResult, entry: Entry, prefetched: Prefetched, now: datetime
    ) -> str:
        if row.before and from_iso(row.before) <= now:
            return _("The end that it had has passed meanwhile.")
        return super().changed_since(value, row, entry, prefetched, now)


class End(SetEnd):
    """Let a live deal end now."""

    name, icon, label = "expire", "circle-x", gettext_lazy("Expire now")
    asks, kinds = "", ("deal",)
    says = gettext_lazy("Let deals expire now")
    did = gettext_lazy("“%(title)s” has ended. Shoppers can still reach it, marked as over.")

    def value_after(self, value: str, entry: Entry, now: datetime) -> str:
        return iso(now)

    def refusal(self, value: str, entry: Entry, prefetched: Prefetched, now: datetime) -> str:
        assert isinstance(entry, Deal)  # noqa: S101 - no draft ends
        if entry.live_at > now:
            return _("It is not published yet; delete it, or move its time.")
        return _("It has expired already.") if entry.card.state(now) == "expired" else ""

    def carry_out(self, entry: Entry, doing: Doing) -> None:
        assert isinstance(entry, Deal)  # noqa: S101 - no draft ends
        context = doing.note(self.value_in(entry.content), iso(doing.now))
        deal_changes.expire_now(entry, by=doing.by, now=doing.now, audit_context=context)


class Reschedule(Verb[Deal]):
    """Let a scheduled deal go live at another time, which is another id: the new time with the old random part."""

    name, icon, label = "reschedule", "calendar-clock", gettext_lazy("Change time")
    asks, kinds, makes = "future", ("deal",), "deal"
    says = gettext_lazy("Publish at %(value)s")
    did = gettext_lazy("“%(title)s” goes live at its new time: %(value)s.")

    def refusal(self, value: str, entry: Deal, prefetched: Prefetched, now: datetime) -> str:
        if entry.live_at <= now:
            return _("It is live already, so its publication time cannot change any more.")
        live_at = from_iso(value)
        if live_at <= now:
            return _("This time has passed. Choose a later one.")
        if live_at == entry.live_at:
            return _("It goes live then already.")
        return sentences(problems(entry.content, live_at=live_at))

    def carry_out(self, entry: Deal, doing: Doing) -> None:
        new_id = first_ulid_of(from_iso(doing.value))[:10] + entry.id[RANDOM_PART]
        self._move(entry, new_id, doing.note(entry.id, new_id), doing)

    def changed_since(
        self, value: str, row: BulkResult, entry: Deal, prefetched: Prefetched, now: datetime
    ) -> str:
        return self.refusal(iso(time_of(row.before)), entry, prefetched, now)

    def take_back(self, kind: str, row: BulkResult, entry: Deal, doing: Doing) -> None:
        self._move(entry, row.before, doing.note(row.after, row.before), doing)

    def _move(self, entry: Deal, new_id: str, context: AuditContext, doing: Doing) -> None:
        at = time_of(new_id)
        publishing.reschedule(entry, at, new_id=new_id, by=doing.by, now=doing.now, audit_context=context)


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
