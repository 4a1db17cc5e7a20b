"""Files for the back office: who asked for which, the list of them, and what goes into one.

A job writes the file; another one, of the same transaction, deletes it a week later. Reading for a file takes as long
as it takes, page by page, and costs no page anything.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from dealsite.data import keys, table
from dealsite.data.commerce import orders, payments
from dealsite.data.commerce.orders import Order, OrderCard
from dealsite.data.commerce.payment import payment_lists
from dealsite.data.commerce.payment.payment_lists import PaymentRow
from dealsite.data.editing import audit
from dealsite.data.entities.work import ADMINS_EXPORT, EDITORS_EXPORT, EXPORT, EXPORTS
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job, job_write
from dealsite.data.jobs.payloads import from_item, to_item
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, NotFound
from dealsite.data.table.ids import iso, new_ulid, time_of
from dealsite.data.table.paging import newest_first, to_end
from dealsite.data.table.writes import Put, absent

DELETE_EXPORT = "delete_export"  # the kind of job
ORDERS, PAYMENTS, DEALS, DRAFTS, AUDIT = "orders", "payments", "deals", "drafts", "audit"
OFFICE, EDITORS, ADMINS = (EXPORTS[kind] for kind in (EXPORT, EDITORS_EXPORT, ADMINS_EXPORT))  # the audiences
CLOSED = "CLOSED"  # stands for processed payments of closed days, beside the statuses
PAYMENT_LISTS = (*payments.STATUSES, CLOSED)
PAGE_SIZE = 25
READ_AT_ONCE = 1000
ORDERS_AT_ONCE = 100
PAYMENTS_AT_ONCE = 500


def kept_for() -> timedelta:
    """Return how long a file is kept."""
    span: timedelta = settings.DEALSITE_RETENTION["exports"]
    return span


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Orders placed in a span, or payments of a status in it, as a file; '' for all statuses.

    `first` is included, `until` is not; times in the file are of the zone.
    """

    what: str
    status: str
    first: datetime
    until: datetime
    zone: str
    by: str

    @property
    def note(self) -> str:
        return f"{self.status or 'all'}, {iso(self.first)} to {iso(self.until)}"


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A list of the CMS as a file, as its filters show it; times in the file are of the zone."""

    what: str
    filters: dict[str, str]
    zone: str
    by: str

    @property
    def note(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in self.filters.items())


Payload = ExportRequest | ListRequest


@dataclass(frozen=True, slots=True)
class DeletionPayload:
    """The file that a job deletes, by the id of the job that wrote it."""

    export: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a file is: rows of the table read, rows written, of how many where that is known; its size at the end."""

    read: int = 0
    rows: int = 0
    total: int = 0
    bytes: int | None = None


def payload_of(job: Job) -> Payload:
    """Return what the file of a job is to hold; UnknownVersion."""
    if "filters" in job.payload:
        return from_item(ListRequest, job.payload)
    return from_item(ExportRequest, job.payload)


@dataclass(frozen=True, slots=True)
class Export:
    """A file that was asked for, and the job that writes it."""

    job: Job
    payload: Payload

    @property
    def kept_until(self) -> datetime:
        return time_of(self.job.id) + kept_for()


@dataclass(frozen=True, slots=True)
class ExportsPage:
    """Up to 25 files, the newest first, and the cursors of the older and the newer page."""

    exports: list[Export]
    after: str | None
    before: str | None


@access_pattern("ask for a file of orders, payments or a list", "1 transaction")
def request(payload: Payload, *, kind: str, job_id: str, now: datetime) -> None:
    """Ask for a file; `kind` is its job's, and says for whom. The same id again is harmless."""
    put = job_write(kind, to_item(payload), job_id=job_id, due=now)
    delete = to_item(DeletionPayload(job_id))
    deletion = job_write(DELETE_EXPORT, delete, job_id=new_ulid(now), due=time_of(job_id) + kept_for())
    what = f"asked for a file of {payload.what}"
    by, note = payload.by, payload.note
    entry = audit.entry_write(by=by, kind="export", subject=job_id, what=what, note=note, now=now)
    with suppress(AlreadyExists):  # a second click
        once = Put(key=put.key, item=put.item, when=(absent(),), otherwise=AlreadyExists())
        table.transact([once, deletion, entry])


@access_pattern("one of the files that were asked for", "1 get")
def get(job_id: str, *, now: datetime) -> Export:
    """Return a file that is asked for and still kept; NotFound."""
    job = jobs.get(job_id)
    if job.kind in EXPORTS and time_of(job_id) + kept_for() > now:
        return Export(job, payload_of(job))
    raise NotFound(_("There is no such file. Files are kept for %(days)s days.") % {"days": kept_for().days})


@access_pattern("files that were asked for", "1 query + 1 batch get")
def newest(audience: str = OFFICE, *, after: str | None = None, before: str | None = None) -> ExportsPage:
    """Return one page of the files that were asked for, for an audience; BadCursor."""
    partition = keys.exports_of.partition(audience) if audience else keys.exports.partition()
    page = newest_first(partition, "JOB#", index=keys.GSI2, after=after, before=before, size=PAGE_SIZE)
    found = jobs.get_many(page.ids)
    shown = [Export(found[one], payload_of(found[one])) for one in page.ids if one in found]
    return ExportsPage(shown, page.after, page.before)


@access_pattern(
    "orders for a file: a scan for each 1,000 rows, or a query for each 1,000 that wait", "2 scans"
)
def find_orders(payload: ExportRequest) -> Iterator[tuple[int, list[OrderCard]]]:
    """Yield how many rows were read so far, and the cards of those orders among the last ones that are wanted.

    Orders that wait are read from their lists: 1 query for each 1,000 of them and shard. All others are looked for
    in GSI2, which holds cards alone: 1 scan for each 1,000 rows of it, or 1 MB.
    """
    read, scan = 0, partial(table.scan_page, index=keys.GSI2)
    for rows in _waiting_rows(payload) if payload.status in keys.WAITING else _all_rows(scan):
        read += len(rows)
        cards = [OrderCard.from_item(row["card"]) for row in rows if row["type"] == "Order"]
        yield read, [card for card in cards if _is_wanted(card, payload)]


def _is_wanted(card: OrderCard, payload: ExportRequest) -> bool:
    return payload.status in ("", card.status) and payload.first <= card.placed_at < payload.until


def _waiting_rows(payload: ExportRequest) -> Iterator[list[Item]]:
    low, high = iso(payload.first), iso(payload.until)
    for shard in range(keys.ORDER_SHARDS):
        partition = keys.WAITING[payload.status].partition(shard)
        yield from _all_rows(partial(table.query_page, partition, index=keys.GSI3, low=low, high=high))


def _all_rows(read: Callable[..., table.Rows]) -> Iterator[list[Item]]:
    start: dict[str, Any] | None = None
    while True:
        page = read(limit=READ_AT_ONCE, start=start)
        yield page.items
        if (start := page.start) is None:
            return


def read_orders(found: list[OrderCard]) -> Iterator[list[Order]]:
    """Yield whole orders, 100 at a time, in the order in which they were placed. 1 batch get for each 100."""
    places = sorted((card.placed_at, card.id, card.username) for card in found)
    for first in range(0, len(places), ORDERS_AT_ONCE):
        some = places[first : first + ORDERS_AT_ONCE]
        yield orders.get_many((username, order_id) for _, order_id, username in some)


def find_payments(payload: ExportRequest) -> Iterator[list[PaymentRow]]:
    """Yield the wanted payments, 500 at a time, by status and time. 10 queries for each 500, 20 of failed ones."""
    statuses = (payload.status,) if payload.status else PAYMENT_LISTS
    first = payload.first.astimezone(UTC).date()
    last = (payload.until - timedelta(milliseconds=1)).astimezone(UTC).date()
    for status in statuses:
        of_status = partial(payment_lists.of_status, status)
        read = payment_lists.history_of if status == CLOSED else of_status
        for page in to_end(partial(read, first, last, limit=PAYMENTS_AT_ONCE)):
            yield [row for row in page.rows if payload.first <= row.listed_at < payload.until]
