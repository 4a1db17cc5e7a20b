"""Lists as CSV: beside its view a list says what its columns are and where its rows come from; the rest follows.

Long ones are written by a job into private storage, and deleted by another.

Spreadsheets open such files: they begin with a byte order mark, without which Excel takes UTF-8 for another
encoding, and no cell can be taken for a formula.
"""

import csv
import io
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import IO, Any, TypeVar

from django.core.files.base import File
from django.core.files.storage import Storage, storages
from django.http import HttpResponseBase, QueryDict
from django.urls import Resolver404, resolve
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy

from dealsite.accounts.locales import zone_of
from dealsite.data.jobs import exports, jobs
from dealsite.data.jobs.exports import DeletionPayload, ExportPayload, Progress
from dealsite.data.jobs.jobs import Handler, Job
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.data.people import users
from dealsite.data.table.errors import NotFound, Text
from dealsite.data.table.paging import to_end
from dealsite.text.writing import safe_cell

MOST_CHARACTERS = 4_000  # of an address
AT_ONCE = 100
PLACES = (
    "after",
    "before",
    "page",
    "from",
)  # what an address says of the page that is shown, not of the list
View = TypeVar("View", bound=Callable[..., HttpResponseBase])
Row = TypeVar("Row")
Source = Callable[..., Iterable[Any]]


@dataclass(frozen=True, slots=True)
class ListExport:
    """How a list is exported.

    A column is `title=where.its.value.stands`, or both in one word; an @ marks times. Of several values that stand
    there, what follows is taken of each. `columns` may be a function of
    the address's query. `source` is given the query, `now`, and what stands in the path.
    """

    title: Text
    columns: str | Callable[[QueryDict], str]
    source: Source


def exported(
    title: Text, columns: str | Callable[[QueryDict], str], source: Source
) -> Callable[[View], View]:
    """Declare, below the decorator with the role, that whoever may see a list may export it."""

    def declare(view: View) -> View:
        view.export = ListExport(title, columns, source)  # type: ignore[attr-defined]
        return view

    return declare


def every(read: Callable[..., Any], name: str = "rows") -> Iterator[Any]:
    """Yield what stands under a name on each page of a list; `read` takes the cursor `after`."""
    return (row for page in to_end(read) for row in getattr(page, name))


def in_batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows 100 at a time."""
    left = iter(rows)
    while some := list(islice(left, AT_ONCE)):
        yield some


@dataclass(frozen=True, slots=True)
class ShownList:
    """A list as an address shows it, `address` without its page; `roles` may see it."""

    name: str
    address: str
    export: ListExport
    roles: frozenset[str]
    query: QueryDict
    parts: Mapping[str, Any]

    def write(self, file: IO[bytes], *, now: datetime, note: Callable[[int], None]) -> None:
        """Write all pages of the list; times are in the current zone. `note` hears how many rows there are so far."""
        columns = (
            self.export.columns if isinstance(self.export.columns, str) else self.export.columns(self.query)
        )
        titles, _, places = zip(*(one.partition("=") for one in columns.split(", ")), strict=True)
        wheres = [(place or title).removeprefix("@") for title, place in zip(titles, places, strict=True)]
        zone = timezone.get_current_timezone_name()
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        write = csv.writer(text).writerow
        with translation.override("en"):  # as the titles are
            write([f"{title[1:]} ({zone})" if title.startswith("@") else title for title in titles])
            for rows, row in enumerate(self.export.source(self.query, now, **self.parts), 1):
                write([safe_cell(_shown(_value(row, where))) for where in wheres])
                note(rows)
        text.flush()
        text.detach()


def list_at(address: str) -> ShownList:
    """Return the list that an address of this site shows; NotFound."""
    path, _, query = address.partition("?")
    try:
        match = resolve(path)
    except Resolver404:
        match = None
    export: ListExport | None = getattr(match.func, "export", None) if match else None
    if match is None or export is None or len(address) > MOST_CHARACTERS or not address.isascii():
        raise NotFound(gettext_lazy("There is no such list."))
    name = str(match.url_name).removeprefix("cms_").replace("_", "-")
    roles: frozenset[str] = match.func.required_roles  # type: ignore[attr-defined]
    given = QueryDict(query, mutable=True)
    for place in PLACES:
        given.pop(place, None)
    address = f"{path}?{given.urlencode()}" if given else path
    return ShownList(name, address, export, roles, QueryDict(query), match.kwargs)


def _value(row: Any, where: str) -> Any:
    name, _, rest = where.partition(".")
    if row is None or not name:
        return row
    if isinstance(row, tuple | list):
        return [_value(one, where) for one in row]
    return _value(row.get(name) if isinstance(row, Mapping) else getattr(row, name), rest)


def _shown(cell: Any) -> object:
    match cell:
        case datetime():
            return f"{timezone.localtime(cell):%Y-%m-%d %H:%M:%S}"
        case bool():
            return "yes" if cell else "no"
        case tuple() | list():
            return "; ".join(map(str, cell))
    return cell


NOTE_SECONDS = 2.0  # between two notes of progress, which renew the lease

monotonic: Callable[[], float] = time.monotonic  # replaced in tests


def storage() -> Storage:
    """Return where the files lie: never the storage of pictures, which everybody may read."""
    return storages["private"]


def save(name: str, file: IO[bytes], *, until: datetime, clock: Callable[[], datetime]) -> None:
    """Save a file that another job deletes at `until`; Cancelled once that is over, and then nothing is left of it."""
    refuse_if_over(name, until, clock())
    storage().save(name, File(file))
    refuse_if_over(name, until, clock())


def refuse_if_over(name: str, until: datetime, now: datetime) -> None:
    """Raise Cancelled where a file's time is over, without the file: the job that deletes it may have come already."""
    if now >= until:
        storage().delete(name)
        raise jobs.Cancelled("The time for which this file is kept is over.")


def file_name(job_id: str) -> str:
    return f"exports/{job_id}.csv"


def write_export(job: Job, now: datetime) -> None:
    """Write the file of a job; it begins anew after a crash, and takes the place of whatever was there."""
    payload = payload_from_item(ExportPayload, job.payload)
    name, until = file_name(job.id), exports.kept_until(job)
    refuse_if_over(name, until, now)
    began = last = monotonic()
    progress = Progress()

    def clock() -> datetime:
        return now + timedelta(seconds=monotonic() - began)

    def note(rows: int) -> None:
        nonlocal last, progress
        progress = Progress(rows)
        if monotonic() - last >= NOTE_SECONDS:
            last = monotonic()
            jobs.save_progress(job, payload_to_item(progress), now=clock())

    shown = list_at(payload.address)
    with (
        timezone.override(zone_of(_zone_of_reader(payload.by, shown.roles))),
        tempfile.TemporaryFile() as file,
    ):
        shown.write(file, now=job.created_at, note=note)
        size = file.tell()
        file.seek(0)
        save(name, file, until=until, clock=clock)
    jobs.save_progress(job, payload_to_item(Progress(progress.rows, size)), now=clock())


def _zone_of_reader(username: str, roles: frozenset[str]) -> str:
    """Return the zone of whoever asked for a file; Cancelled where they may not see the list any more."""
    try:
        user = users.get(username)
    except NotFound:
        user = None
    if user is None or user.suspended_at or not user.roles & {"admin", *roles}:
        raise jobs.Cancelled("Whoever asked for this file may not see the list any more.")
    return user.timezone


def delete_export(job: Job, now: datetime) -> None:
    """Delete the file that a job names; harmless if it is gone."""
    storage().delete(file_name(payload_from_item(DeletionPayload, job.payload).export))


HANDLERS: dict[str, Handler] = {exports.EXPORT_LIST: write_export, exports.DELETE_EXPORT: delete_export}
