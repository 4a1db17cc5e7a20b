"""Files for the back office: who asked for which, the list of them, and what goes into one.

A job writes the file; another one, of the same transaction, deletes it a week later. Reading for a file takes as long
as it takes, page by page, and costs no page anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from dealsite.data import audit, jobs, keys, orders, payments, table
from dealsite.data.errors import AlreadyExists, NotFound
from dealsite.data.ids import from_iso, iso, new_ulid, time_of
from dealsite.data.jobs import ADMINS_EXPORT, EDITORS_EXPORT, EXPORT, EXPORTS, Job, job_write
from dealsite.data.orders import Order, OrderCard
from dealsite.data.paging import newest_first
from dealsite.data.payments import lists
from dealsite.data.payments.lists import PaymentRow
from dealsite.data.writes import Put, absent

KEPT = timedelta(days=7)
DELETE_EXPORT = "delete_export"  # the kind of job
ORDERS, PAYMENTS = "orders", "payments"
DEALS, DRAFTS, BRANDS, CATEGORIES = "deals", "drafts", "brands", "categories"
MESSAGES, JOBS, USERS, AUDIT = "messages", "jobs", "users", "audit"
ATTENTION, TRASH, IMPORTS = "attention", "trash", "imports"
PLANS, EARLIER = "planned-lists", "earlier-lists"  # of featured deals
HOLDERS = "holders"  # of a deal
KIND_OF = {
    **dict.fromkeys((ORDERS, PAYMENTS, HOLDERS), EXPORT),
    **dict.fromkeys((DEALS, DRAFTS, ATTENTION, TRASH, IMPORTS), EDITORS_EXPORT),
    **dict.fromkeys((BRANDS, CATEGORIES, PLANS, EARLIER, MESSAGES, JOBS), EDITORS_EXPORT),
    **dict.fromkeys((USERS, AUDIT), ADMINS_EXPORT),
}
OFFICE, EDITORS, ADMINS = (EXPORTS[kind] for kind in (EXPORT, EDITORS_EXPORT, ADMINS_EXPORT))  # the audiences
CLOSED = "CLOSED"  # stands for processed payments of closed days, beside the statuses
PAYMENT_LISTS = (*payments.STATUSES, CLOSED)
PAGE_SIZE = 25
READ_AT_ONCE = 1000
ORDERS_AT_ONCE = 100
PAYMENTS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a file is to hold: orders placed in a span, or payments of a status in it; '' for all statuses.

    `first` is included, `until` is not; times in the file are of the zone.
    """

    what: str
    status: str
    first: datetime
    until: datetime
    zone: str
    by: str

    def as_item(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "status": self.status,
            "first": iso(self.first),
            "until": iso(self.until),
            "zone": self.zone,
            "by": self.by,
        }

    @classmethod
    def from_item(cls, item: dict[str, Any]) -> Wanted:
        times = {"first": from_iso(item["first"]), "until": from_iso(item["until"])}
        return cls(what=item["what"], status=item["status"], zone=item["zone"], by=item["by"], **times)


@dataclass(frozen=True, slots=True)
class WantedList:
    """A list of the CMS that a file is to hold, as its filters show it; times in the file are of the zone."""

    what: str
    filters: dict[str, str]
    zone: str
    by: str

    def as_item(self) -> dict[str, Any]:
        return {"what": self.what, "filters": dict(self.filters), "zone": self.zone, "by": self.by}

    @classmethod
    def from_item(cls, item: dict[str, Any]) -> WantedList:
        return cls(what=item["what"], filters=item["filters"], zone=item["zone"], by=item["by"])


def wanted_of(job: Job) -> Wanted | WantedList:
    """Return what the file of a job is to hold."""
    return WantedList.from_item(job.payload) if "filters" in job.payload else Wanted.from_item(job.payload)


@dataclass(frozen=True, slots=True)
class Export:
    """A file that was asked for, and the job that writes it."""

    job: Job
    wanted: Wanted | WantedList

    @property
    def audience(self) -> str:
        return EXPORTS[self.job.kind]

    @property
    def kept_until(self) -> datetime:
        return time_of(self.job.id) + KEPT


@dataclass(frozen=True, slots=True)
class ExportsPage:
    """Up to 25 files, the newest first, and the cursors of the older and the newer page."""

    exports: list[Export]
    after: str | None
    before: str | None


def request(wanted: Wanted | WantedList, *, job_id: str, now: datetime) -> None:
    """Ask for a file; asking again with the same id is harmless. 1 transaction."""
    put = job_write(KIND_OF[wanted.what], wanted.as_item(), job_id=job_id, due=now)
    deletion = job_write(DELETE_EXPORT, {"export": job_id}, job_id=new_ulid(now), due=time_of(job_id) + KEPT)
    what = f"asked for a file of {wanted.what}"
    if isinstance(wanted, WantedList):
        note = ", ".join(f"{name}: {value}" for name, value in wanted.filters.items())
    else:
        note = f"{wanted.status or 'all'}, {iso(wanted.first)} to {iso(wanted.until)}"
    entry = audit.entry_write(by=wanted.by, kind="export", subject=job_id, what=what, note=note, now=now)
    try:
        table.transact(
            [Put(key=put.key, item=put.item, when=(absent(),), otherwise=_Asked()), deletion, entry]
        )
    except _Asked:
        return


class _Asked(AlreadyExists):
    """This file was asked for before: a second click."""


def get(job_id: str, *, now: datetime) -> Export:
    """Return a file that is asked for and still kept; NotFound. 1 get."""
    job = jobs.get(job_id)
    if job.kind not in EXPORTS or time_of(job_id) + KEPT <= now:
        days = {"days": KEPT.days}
        raise NotFound(_("There is no such file. Files are kept for %(days)s days.") % days)
    return Export(job, wanted_of(job))


def newest(audience: str = OFFICE, *, after: str | None = None, before: str | None = None) -> ExportsPage:
    """Return one page of the files that were asked for, for an audience; BadCursor. 1 query + 1 batch get."""
    page = newest_first(
        keys.exports(audience), "JOB#", index=keys.GSI2, after=after, before=before, size=PAGE_SIZE
    )
    found = jobs.get_many(page.ids)
    shown = [Export(found[one], wanted_of(found[one])) for one in page.ids if one in found]
    return ExportsPage(shown, page.after, page.before)


# What goes into a file


def find_orders(wanted: Wanted) -> Iterator[tuple[int, list[OrderCard]]]:
    """Yield how many rows were read so far, and the cards of those orders among the last ones that are wanted.

    Orders that wait are read from their lists: 1 query for each 1,000 of them and shard. All others are looked for
    in GSI2, which holds cards alone: 1 scan for each 1,000 rows of it, or 1 MB.
    """
    read = 0
    for rows in _waiting_rows(wanted) if wanted.status in keys.WAITING else _all_rows():
        read += len(rows)
        cards = [OrderCard.from_item(row["card"]) for row in rows if row["type"] == "Order"]
        yield read, [card for card in cards if _is_wanted(card, wanted)]


def _is_wanted(card: OrderCard, wanted: Wanted) -> bool:
    return wanted.status in ("", card.status) and wanted.first <= card.placed_at < wanted.until


def _waiting_rows(wanted: Wanted) -> Iterator[list[dict[str, Any]]]:
    low, high = iso(wanted.first), iso(wanted.until)
    for shard in range(keys.ORDER_SHARDS):
        start: dict[str, Any] | None = None
        while True:
            page = table.query_page(
                keys.waiting_orders(wanted.status, shard),
                index=keys.GSI3,
                low=low,
                high=high,
                limit=READ_AT_ONCE,
                start=start,
            )
            yield page.items
            if (start := page.start) is None:
                break


def _all_rows() -> Iterator[list[dict[str, Any]]]:
    start: dict[str, Any] | None = None
    while True:
        page = table.scan_page(index=keys.GSI2, limit=READ_AT_ONCE, start=start)
        yield page.items
        if (start := page.start) is None:
            return


def read_orders(found: list[OrderCard]) -> Iterator[list[Order]]:
    """Yield whole orders, 100 at a time, in the order in which they were placed. 1 batch get for each 100."""
    places = sorted((card.placed_at, card.id, card.username) for card in found)
    for first in range(0, len(places), ORDERS_AT_ONCE):
        yield orders.get_many(
            (username, order_id) for _, order_id, username in places[first : first + ORDERS_AT_ONCE]
        )


def find_payments(wanted: Wanted) -> Iterator[list[PaymentRow]]:
    """Yield the wanted payments, 500 at a time, by status and time. 10 queries for each 500, 20 of failed ones."""
    statuses = (wanted.status,) if wanted.status else PAYMENT_LISTS
    first = wanted.first.astimezone(UTC).date()
    last = (wanted.until - timedelta(milliseconds=1)).astimezone(UTC).date()
    for status in statuses:
        after: str | None = None
        while True:
            if status == CLOSED:
                page = lists.history_of(first, last, after=after, limit=PAYMENTS_AT_ONCE)
            else:
                page = lists.of_status(status, first, last, after=after, limit=PAYMENTS_AT_ONCE)
            yield [row for row in page.rows if wanted.first <= row.listed_at < wanted.until]
            if (after := page.after) is None:
                break
