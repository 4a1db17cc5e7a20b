"""Announcements: a deal that editors tell all users of, or those who watch its brand or category.

An announcement is a job of the kind `send_message`, carried out by `fan_out`. Its id is the id of each of its
messages, minted for the time at which they go out. One that is written with its deal has the deal's own id.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.categories import Counts
from dealsite.data.catalogue.content import DealContent
from dealsite.data.editing import audit
from dealsite.data.entities.people import HEADLINE_CHARACTERS, HOT_DEAL, NEW_DEAL, TEXT_CHARACTERS
from dealsite.data.entities.work import SEND_MESSAGE
from dealsite.data.jobs.jobs import job_write
from dealsite.data.jobs.payloads import from_item, stored_as, to_item
from dealsite.data.people.users import count as count_users
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from dealsite.data.table.ids import time_of
from dealsite.data.table.paging import newest_first
from dealsite.data.table.writes import Check, Put, absent, exists

PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class Audience:
    """Who is told: all users, or the watchers of a brand, of a category, or of either (slugs)."""

    brand: str = ""
    category: str = ""

    @property
    def everyone(self) -> bool:
        return not (self.brand or self.category)

    @property
    def is_union(self) -> bool:
        """Tell whether somebody may belong to it twice, so that counters say only how many it can be at most."""
        return bool(self.brand and self.category)

    @property
    def kind(self) -> str:
        """The kind of its messages."""
        return HOT_DEAL if self.everyone else NEW_DEAL

    def stored(self) -> StoredAudience:
        return StoredAudience(self.brand or None, self.category or None, self.everyone or None)


@dataclass(frozen=True, slots=True)
class StoredAudience:
    """An audience as jobs store it."""

    brand: str | None = None
    category: str | None = None
    everyone: bool | None = stored_as("all", default=None)

    def audience(self) -> Audience:
        return Audience(self.brand or "", self.category or "")


@dataclass(frozen=True, slots=True)
class AnnouncementPayload:
    """What a job of this kind sends, and to whom; one that follows its deal takes both from it when it goes out."""

    kind: str
    deal: str
    headline: str
    text: str
    audience: StoredAudience
    by: str
    follows_deal: bool | None = None


@dataclass(frozen=True, slots=True)
class AnnouncementCheckpoint:
    """What the deal said when the first turn began, where the announcement follows it."""

    headline: str
    audience: StoredAudience


@dataclass(frozen=True, slots=True)
class AnnouncementProgress:
    """How many users it reaches at most, how many were sent it or do not want it, and how long that took."""

    total: int = 0
    sent: int = 0
    skipped: int = 0
    milliseconds: int = 0


@dataclass(frozen=True, slots=True)
class Announcement:
    """A row of the list of announcements; `going_out_at` is when its messages go, or went, out."""

    id: str
    state: str
    headline: str
    deal: str
    audience: Audience

    @property
    def going_out_at(self) -> datetime:
        return time_of(self.id)


@dataclass(frozen=True, slots=True)
class Announcements:
    """Up to 25 of them, newest first, and the cursors of the older and newer page."""

    rows: list[Announcement]
    after: str | None
    before: str | None


class Reach(NamedTuple):
    """The brands whose watchers an announcement reaches, and how many users at most: of a union, or who muted, less."""

    brands: tuple[str, ...]
    users: int


@access_pattern("whom an announcement reaches", "1 batch get")
def reach(audience: Audience) -> Reach:
    """Return whom an announcement reaches: of a brand, also who watches what was merged into it.

    1 get and 1 batch get more for a brand of a merge.
    """
    if audience.everyone:
        return Reach((), count_users())
    slug, told = audience.brand, tuple[str, ...](filter(None, [audience.brand]))
    category = [keys.category_counts(audience.category)] if audience.category else []
    items = table.batch_get([*map(keys.brand, told), *map(keys.brand_counts, told), *category])
    if told and items.pop(keys.brand(slug), {}).keys() & {"merged", "merged_into"}:
        told = brands.with_merged(slug)
        items = table.batch_get([*map(keys.brand_counts, told), *category])
    return Reach(told, sum(Counts.from_item(item).watches for item in items.values()))


def problems(headline: str, text: str) -> dict[str, str]:
    """Return what is wrong with the words of an announcement, by field."""
    found = {}
    if not headline.strip():
        found["headline"] = _("Enter a headline.")
    elif len(headline) > HEADLINE_CHARACTERS:
        found["headline"] = _("Shorten the headline to %(most)s characters.") % {"most": HEADLINE_CHARACTERS}
    if len(text) > TEXT_CHARACTERS:
        found["text"] = _("Shorten the text to %(most)s characters.") % {"most": TEXT_CHARACTERS}
    return found


@access_pattern("order a message about a deal, now or at a time", "1 transaction")
def send(
    deal_id: str, *, message_id: str, headline: str, text: str, audience: Audience, by: str, now: datetime
) -> None:
    """Send a message about a deal at the time that `message_id` was minted for; at once if that has passed.

    Repeating it is harmless. NotFound if the deal is gone, Invalid if the words will not do or the deal is not
    live at that time.
    """
    if found := problems(headline, text):
        raise Invalid(**found)
    if deal_id[:10] > message_id[:10]:
        raise Invalid(send_at=gettext_lazy("The deal is not live at that time yet."))
    payload = _payload(deal_id, headline=headline, text=text, audience=audience, by=by)
    no_deal = NotFound(gettext_lazy("There is no such deal."))
    what = "planned" if time_of(message_id) > now else "sent"
    to = ", ".join(slug for slug in (audience.brand, audience.category) if slug) or "all users"
    changes = audit.changed({}, {"headline": payload.headline, "text": text, "deal": deal_id, "to": to})
    writes = [
        _announcement(payload, message_id, time_of(message_id)),
        Check(key=keys.deal(deal_id), when=(exists(),), otherwise=no_deal),
        audit.entry_write(by=by, kind="message", subject=message_id, what=what, now=now, **changes),
    ]
    try:
        table.transact(writes)
    except SendState:
        return


def with_deal(deal_id: str, content: DealContent, *, by: str, state: str = "open") -> Put:
    """Return the write that announces a deal when it goes live, to all who watch its brand or category.

    Whom it tells and under which headline is decided then, by what the deal is then.
    """
    audience = Audience(content.brand, content.category)
    payload = _payload(deal_id, headline=content.title, text="", audience=audience, by=by)
    return _announcement(replace(payload, follows_deal=True), deal_id, time_of(deal_id), state)


@access_pattern("messages planned and sent, newest first", "1 query")
def newest(*, after: str | None = None, before: str | None = None) -> Announcements:
    """Return one page of all announcements, planned ones first; BadCursor."""
    page = newest_first(
        keys.announcements.partition(), "JOB#", index=keys.GSI2, after=after, before=before, size=PAGE_SIZE
    )
    return Announcements([_announcement_of(row) for row in page.rows], page.after, page.before)


class SendState(Conflict):
    """This announcement is there already."""


def _payload(deal_id: str, *, headline: str, text: str, audience: Audience, by: str) -> AnnouncementPayload:
    return AnnouncementPayload(
        audience.kind, deal_id, headline[:HEADLINE_CHARACTERS], text, audience.stored(), by
    )


def _announcement(payload: AnnouncementPayload, job_id: str, due: datetime, state: str = "open") -> Put:
    item = to_item(payload)
    card = {name: item[name] for name in ("deal", "headline", "audience")}
    put = job_write(SEND_MESSAGE, item, job_id=job_id, due=due, card=card, state=state)
    return Put(key=put.key, item=put.item, when=(absent(),), otherwise=SendState())


def _announcement_of(row: dict[str, Any]) -> Announcement:
    card = row["card"]
    audience = from_item(StoredAudience, card["audience"]).audience()
    return Announcement(
        row["SK"].removeprefix("JOB#"), card["state"], card["headline"], card["deal"], audience
    )
