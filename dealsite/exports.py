"""The worker's part of files for the back office: writes them as CSV into private storage, and deletes them.

Spreadsheets open such files: they begin with a byte order mark, without which Excel takes UTF-8 for another
encoding, and no cell can be taken for a formula.
"""

from __future__ import annotations

import csv
import io
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import Storage, storages

from dealsite import exported_lists
from dealsite.data import exports, jobs
from dealsite.data.exports import Wanted, WantedList
from dealsite.data.jobs import Handler, Job
from dealsite.data.orders import Order, OrderCard
from dealsite.data.payments.lists import PaymentRow

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
NOTE_SECONDS = 2.0  # between two notes of progress, which renew the lease

ORDER_COLUMNS = (
    *("Order", "State", "Placed", "State since", "User name", "E-mail"),
    *("Name", "Street", "Extra", "Postcode", "City", "Country"),
    *("Pieces", "Lines", "Total", "Currency", "Instalments", "Tracking number"),
)
PAYMENT_COLUMNS = (
    *("Payment", "Account", "Order", "Instalment", "Of", "State", "Amount", "Currency"),
    *("Due", "State since", "Transaction", "Reason", "Day closed"),
)

Note = Callable[..., None]
monotonic: Callable[[], float] = time.monotonic  # replaced in tests


def storage() -> Storage:
    """Return where the files lie: never the storage of pictures, which everybody may read."""
    return storages["private"]


def file_name(job_id: str) -> str:
    return f"exports/{job_id}.csv"


def write_export(job: Job, now: datetime) -> None:
    """Write the file of a job; it begins anew after a crash, and takes the place of whatever was there."""
    wanted = exports.wanted_of(job)
    began = last = monotonic()
    counts = {"read": 0, "rows": 0, "total": 0}

    def note(**changes: int) -> None:
        nonlocal last
        counts.update(changes)
        if monotonic() - last >= NOTE_SECONDS:
            last = monotonic()
            jobs.save_progress(job, dict(counts), now=now + timedelta(seconds=last - began))

    with tempfile.TemporaryFile() as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        write = csv.writer(text).writerow
        titles, rows = _content(wanted, note, now)
        write(titles)
        for row in rows:
            write([safe_cell(cell) for cell in row])
            note(rows=counts["rows"] + 1)
        text.flush()
        counts["bytes"] = file.tell()
        file.seek(0)
        storage().save(file_name(job.id), File(file))
        text.detach()
    jobs.save_progress(job, counts, now=now + timedelta(seconds=monotonic() - began))


def _content(
    wanted: Wanted | WantedList, note: Note, now: datetime
) -> tuple[list[str], Iterable[Sequence[object]]]:
    """Return the titles and the rows of a file."""
    if isinstance(wanted, WantedList):
        return exported_lists.titles(wanted), exported_lists.rows(wanted, now)
    if wanted.what == exports.ORDERS:
        return _titled(ORDER_COLUMNS, wanted.zone), _order_rows(wanted, note)
    return _titled(PAYMENT_COLUMNS, wanted.zone), _payment_rows(wanted)


def delete_export(job: Job, now: datetime) -> None:
    """Delete the file that a job names; harmless if it is gone."""
    storage().delete(file_name(job.payload["export"]))


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(jobs.EXPORTS, write_export),
    exports.DELETE_EXPORT: delete_export,
}


def safe_cell(cell: object) -> str:
    """Return a cell as text that no spreadsheet takes for a formula: an apostrophe goes before what begins as one."""
    text = "" if cell is None else str(cell)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _titled(columns: Sequence[str], zone: str) -> list[str]:
    """Return the column titles; those of times name the zone."""
    times = ("Placed", "State since", "Due")
    return [f"{column} ({zone})" if column in times else column for column in columns]


def _order_rows(wanted: Wanted, note: Note) -> Iterator[list[object]]:
    found: list[OrderCard] = []
    for read, cards in exports.find_orders(wanted):
        found += cards
        note(read=read, total=len(found))
    zone = ZoneInfo(wanted.zone)
    for batch in exports.read_orders(found):
        yield from (_order_row(order, zone) for order in batch)


def _order_row(order: Order, zone: ZoneInfo) -> list[object]:
    card, to = order.card, order.address
    return [
        *(order.id, order.status, _local(order.placed_at, zone), _local(order.closed_at, zone)),
        *(order.username, order.email),
        *(to.name, to.street, to.extra, to.postcode, to.city, to.country),
        *(card.pieces, card.lines, order.total, settings.DEALSITE_CURRENCY, card.plan, order.tracking),
    ]


def _payment_rows(wanted: Wanted) -> Iterator[list[object]]:
    zone = ZoneInfo(wanted.zone)
    for batch in exports.find_payments(wanted):
        yield from (_payment_row(row, zone) for row in batch)


def _payment_row(row: PaymentRow, zone: ZoneInfo) -> list[object]:
    return [
        *(row.id, row.account, row.order, row.number, row.of, row.status),
        *(row.amount, settings.DEALSITE_CURRENCY, _local(row.due_at, zone), _local(row.at, zone)),
        *(row.transaction_id, row.reason, "yes" if row.closed else "no"),
    ]


def _local(moment: datetime | None, zone: ZoneInfo) -> str:
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S") if moment else ""
