"""Announcements: a deal that editors tell all users of, or those who watch its brand or category.

An announcement is a job of the kind `send_message`. Its id is the id of each of its messages, minted for the time at
which they go out. One that is written with its deal has the deal's own id.

The recipients are split into up to 16 parts (`jobs/parts.py`): all users by a parallel scan of UserIndex, watchers by
ranges of their names, those of a brand and of a category merged as they come. After each batch of up to 100 a
part notes where it is. A batch may be sent twice, by the next worker after a crash or by two at once: a
message that is there is left as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.utils.translation import gettext as _, gettext_lazy, gettext_noop

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, deals
from dealsite.data.catalogue.categories import Counts
from dealsite.data.catalogue.content import DealContent
from dealsite.data.editing import audit
from dealsite.data.entities.people import HEADLINE_CHARACTERS, HOT_DEAL, NEW_DEAL, TEXT_CHARACTERS, is_muted
from dealsite.data.entities.work import SEND_MESSAGE
from dealsite.data.jobs import jobs, parts
from dealsite.data.jobs.jobs import job_write
from dealsite.data.jobs.parts import PartPayload
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item, stored_as
from dealsite.data.people import messages
from dealsite.data.people.users import count as count_users
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from dealsite.data.table.ids import time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, newest_first
from dealsite.data.table.writes import Check, Put, absent, exists

WATCHER_PARTS = (*"0bcdegjklmnprstw",)  # where the ranges of watchers begin, if there are 16
PART_USERS = 1000  # for fewer than that a part is too much work
PAGE = 1000  # recipients read at once
BATCH = 100  # recipients between two checkpoints
FRESH_SECONDS = 5.0  # a page that was read longer ago is read again: of its users, some may be gone

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


@dataclass(frozen=True, slots=True)
class Recipient:
    """A user, whether they want no such message, and the row to go on after them."""

    username: str
    muted: bool
    row: Item


@access_pattern("split an announcement", "2 batch gets + 1 transaction")
def send_message(job: jobs.Job, now: datetime) -> datetime | None:
    """Carry out a job of this kind; returns when it is to be looked after again, None when it is done.

    Raises jobs.Cancelled where the deal is gone or over, Conflict where another worker or an editor has taken
    the job. Later 1 batch get, and what looking after its parts costs.
    """
    job = _as_of_now(job, now)
    if job.parts:
        return parts.look_after(job, now=now)
    users = reach(_words(job).audience.audience()).users
    count = 1
    while count < parts.MOST and count * PART_USERS < users:
        count *= 2
    progress = payload_to_item(AnnouncementProgress(total=users))
    return parts.split(job, [parts.ANY] * count, progress=progress, now=now)


@access_pattern("send a part of an announcement", "1 batch get + 1 scan + 1 batch insert + 1 update")
def send_part(job: jobs.Job, part: jobs.Job, now: datetime) -> datetime | None:
    """Send a part of an announcement, from wherever it has come to; returns when it goes on, None when it is done.

    1 batch get; for each 1,000 recipients 1 get and 1 scan, or 1 query for each brand and category; for each 100 of
    them 4 requests and 1 update.
    """
    return _Sending(job, part, now).run()


class _Sending:
    """One worker's turn at one part."""

    def __init__(self, job: jobs.Job, part: jobs.Job, now: datetime) -> None:
        self.job, self.part, self.now, self.began = job, part, now, monotonic()
        self.which = parts.payload_of(part)
        payload, words = payload_from_item(AnnouncementPayload, job.payload), _words(job)
        self.audience = words.audience.audience()
        self.reach = reach(self.audience)
        self.message = {"kind": self.audience.kind, "headline": words.headline, "deal": payload.deal}
        self.message["text"] = payload.text
        self.start: Item = part.checkpoint.get("start", {})
        self.sent, self.skipped = (part.progress.get(name, 0) for name in ("sent", "skipped"))

    def run(self) -> datetime | None:
        """Send page after page until none is left or the turn is over."""
        while True:
            read_at = monotonic()
            page, is_last = self._users() if self.audience.everyone else self._watchers()
            for first in range(0, len(page), BATCH):
                if monotonic() - read_at > FRESH_SECONDS:
                    is_last = False
                    break
                self._send(page[first : first + BATCH])
            if is_last:
                return None
            if monotonic() - self.began > jobs.TURN_SECONDS:
                return self._moment()
            parts.job_of(self.part)  # it may have been cancelled

    def _moment(self) -> datetime:
        return self.now + timedelta(seconds=monotonic() - self.began)

    def _send(self, batch: list[Recipient]) -> None:
        wanted = [one.username for one in batch if not one.muted]
        messages.deliver(messages.message_item(name, self.job.id, **self.message) for name in wanted)
        table.tell("messages", len(wanted))
        self.start = batch[-1].row
        self.sent, self.skipped = self.sent + len(wanted), self.skipped + len(batch) - len(wanted)
        progress = {"sent": self.sent, "skipped": self.skipped}
        self.part = jobs.save_checkpoint(
            self.part, {"start": self.start}, now=self._moment(), progress=progress
        )

    def _users(self) -> tuple[list[Recipient], bool]:
        """Return the next of all users, and whether they are the last ones of this part."""
        part, start = (self.which.number, self.which.count), self.start or None
        rows = table.scan_page(index=keys.USER_INDEX, limit=PAGE, start=start, segment=part)
        found = []
        for row in rows.items:
            key = {name: row[name] for name in ("PK", "SK", keys.USER_INDEX)}
            found.append(Recipient(row["PK"].partition("#")[2], is_muted(row), key))
        return found, rows.start is None

    def _watchers(self) -> tuple[list[Recipient], bool]:
        """Merge the next watchers of brand and category, as far as all have been read; consistent."""
        low, high = watchers_between(self.which, self.start.get("username", ""))
        muted: dict[str, bool] = {}
        horizon = None
        watches = [keys.brand_watch.partition(slug) for slug in self.reach.brands]
        if self.audience.category:
            watches.append(keys.category_watch.partition(self.audience.category))
        for partition in watches:
            rows = table.query_page(partition, low=low, high=high, limit=PAGE, consistent=True)
            for row in rows.items:
                muted[row["SK"]] = muted.get(row["SK"], True) and bool(row.get("muted"))
            if rows.start is not None:
                last = rows.items[-1]["SK"] if rows.items else low
                horizon = last if horizon is None else min(horizon, last)
        names = sorted(name for name in muted if horizon is None or name <= horizon)
        usernames = [name.removeprefix("USER#") for name in names]
        found = [Recipient(one, muted[f"USER#{one}"], {"username": one}) for one in usernames]
        return found, horizon is None


def watchers_between(part: PartPayload, after: str) -> tuple[str, str]:
    """Return the lowest and highest sort key of one part of a watch partition, after a user name.

    `!` sorts before every character that a user name can go on with.
    """
    user = keys.brand_watch.between()[0]
    starts = WATCHER_PARTS[:: len(WATCHER_PARTS) // part.count]
    is_last = part.number + 1 == part.count
    end = keys.TOP if is_last else chr(ord(starts[part.number + 1]) - 1) + keys.TOP
    return f"{user}{after}!" if after else f"{user}{starts[part.number]}", f"{user}{end}"


def _as_of_now(job: jobs.Job, now: datetime) -> jobs.Job:
    """Check that the deal is there to be seen; and once, at the first turn, keep what it says for all turns."""
    payload = payload_from_item(AnnouncementPayload, job.payload)
    try:
        deal = deals.get_visible(payload.deal, now=now)
    except NotFound:
        raise jobs.Cancelled(gettext_noop("The deal was deleted, or moved to another time.")) from None
    if deal.card.state(now) == "expired":
        raise jobs.Cancelled(gettext_noop("The deal has expired."))
    if job.checkpoint or not payload.follows_deal:
        return job
    audience = Audience(deal.content.brand, deal.content.category)
    words = AnnouncementCheckpoint(deal.content.title, audience.stored())
    return jobs.save_checkpoint(job, payload_to_item(words), now=now)


def _words(job: jobs.Job) -> AnnouncementPayload | AnnouncementCheckpoint:
    """Return what says what it tells, and to whom."""
    if job.checkpoint:
        return payload_from_item(AnnouncementCheckpoint, job.checkpoint)
    return payload_from_item(AnnouncementPayload, job.payload)


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
    noted_at: datetime | None = None


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
def newest(*, after: str | None = None, before: str | None = None) -> Page[Announcement]:
    """Return one page of all announcements, planned ones first; BadCursor."""
    page = newest_first(
        keys.announcements.partition(), "JOB#", index=keys.GSI2, after=after, before=before, size=PAGE_SIZE
    )
    return page.showing([_announcement_of(row) for row in page.rows])


class SendState(Conflict):
    """This announcement is there already."""


def _payload(deal_id: str, *, headline: str, text: str, audience: Audience, by: str) -> AnnouncementPayload:
    return AnnouncementPayload(
        audience.kind, deal_id, headline[:HEADLINE_CHARACTERS], text, audience.stored(), by
    )


def _announcement(payload: AnnouncementPayload, job_id: str, due: datetime, state: str = "open") -> Put:
    item = payload_to_item(payload)
    card = {name: item[name] for name in ("deal", "headline", "audience")}
    put = job_write(SEND_MESSAGE, item, job_id=job_id, due=due, card=card, state=state)
    return Put(key=put.key, item=put.item, when=(absent(),), otherwise=SendState())


def _announcement_of(row: dict[str, Any]) -> Announcement:
    card = row["card"]
    audience = payload_from_item(StoredAudience, card["audience"]).audience()
    return Announcement(
        row["SK"].removeprefix("JOB#"), card["state"], card["headline"], card["deal"], audience
    )
