"""Verbs that say when a deal ends, and when it goes live."""

from datetime import datetime

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data.catalogue.content import problems
from dealsite.data.catalogue.deal import editing, rescheduling
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.entries import Entry
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.verbs.fields import FieldVerb
from dealsite.data.editing.verbs.verb import BulkResult, Doing, Prefetched, Verb, sentences
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
        editing.expire_now(entry, by=doing.by, now=doing.now, audit_context=context)


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
        rescheduling.reschedule(entry, at, new_id=new_id, by=doing.by, now=doing.now, audit_context=context)
