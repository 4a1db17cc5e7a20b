"""Entries of the trash: deleted deals and drafts, whole as they were, for 30 days.

The transaction that deletes a thing puts it there, and sees to it that a job of that day empties the
trash. Versions and prices stay where they are until then.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.editing.audit import AuditContext
from dealsite.data.entities.deals import TRASH
from dealsite.data.entities.entity import INDEX_KEYS
from dealsite.data.jobs.jobs import job_write
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import from_iso, is_ulid, iso, last_ulid_until, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Delete, Put, Update, Write, equals, missing

KEPT_FOR = timedelta(days=30)
EMPTY_TRASH = "empty_trash"  # the kind of job that empties what was deleted on a day
DAY = timedelta(days=1)
OWN = ("PK", "SK", *INDEX_KEYS)  # made anew at restoring
NOT_THERE = {
    "deal": gettext_lazy("This deal is not in the trash any more."),
    "draft": gettext_lazy("This draft is not in the trash any more."),
}
Target = TypeVar("Target")


@dataclass(frozen=True, slots=True)
class TrashEntry:
    """A thing in the trash; `kind` is deal or draft, `token` tells this deletion from others of the same thing.

    `kept` and `offer` are what was stored, without keys; `featured_on` are the pages that showed it.
    """

    kind: str
    id: str
    card: DealCard
    at: datetime
    by: str
    token: str = ""
    kept: Mapping[str, Any] | None = None
    offer: Mapping[str, Any] | None = None
    is_being_emptied: bool = False

    @property
    def until(self) -> datetime:
        """Until when it is kept for certain."""
        return self.at + KEPT_FOR

    @property
    def history_id(self) -> str:
        """Under which id its versions are kept."""
        return str((self.kept or {}).get("history") or self.id)

    @property
    def featured_on(self) -> tuple[str, ...]:
        return tuple(sorted((self.kept or {}).get("featured_on", ())))


@dataclass(frozen=True, slots=True)
class EmptyTrashPayload:
    """The day on which was deleted what a job deletes for good."""

    day: date


@access_pattern("whether a deal or draft is in the trash", "1 get")
def find(kind: str, entry_id: str) -> TrashEntry | None:
    """Return what lies in the trash under an id, None if nothing does."""
    if kind not in keys.TARGETS or not is_ulid(entry_id):
        return None
    item = table.get(keys.trash(kind, entry_id))
    return from_item(item) if item else None


def get(kind: str, entry_id: str) -> TrashEntry:
    """Return what lies in the trash under an id, or raise NotFound. 1 get."""
    found = find(kind, entry_id)
    if found is None:
        raise NotFound(gettext_lazy("This is not in the trash."))
    return found


def keep_writes(kind: str, item: Item, *, by: str, now: datetime, offer: Item | None = None) -> list[Write]:
    """Return the writes that keep a thing, for the transaction that deletes it."""
    entry_id = item["id"]
    kept = {
        "kind": kind,
        "id": entry_id,
        "token": new_ulid(now),
        "kept": _without_keys(item),
        "offer": _without_keys(offer) if offer else None,
        "card": item["card"] | {"kind": kind, "deleted_at": iso(now), "deleted_by": by},
    }
    return [
        Put(key=keys.trash(kind, entry_id), item=TRASH.item(kept)),
        emptying_write(now.astimezone(UTC).date()),
    ]


def take_write(entry: TrashEntry) -> Delete:
    """Return the write that takes a thing out of the trash; VersionConflict where somebody else did."""
    return Delete(
        key=keys.trash(entry.kind, entry.id),
        when=(equals("token", entry.token), missing("emptying")),
        otherwise=VersionConflict(),
    )


def find_restorable(
    kind: str, entry_id: str, get: Callable[[str], Target], version: int | None, audit_context: AuditContext
) -> TrashEntry | Target:
    """Return what lies in the trash and can come back; or the thing, if it is back and nothing else waits for that.

    NotFound; Conflict for what is being emptied, or was restored and deleted again since it was at `version`. 1 get,
    1 more for what is back.
    """
    entry = find(kind, entry_id)
    if entry is None:
        if not audit_context.writes:  # else they did not happen
            with suppress(NotFound):
                return get(entry_id)
        raise NotFound(NOT_THERE[kind])
    if entry.is_being_emptied:
        raise Conflict(gettext_lazy("This is being deleted for good and cannot come back."))
    if version is not None and (entry.kept or {}).get("version") != version:
        raise Conflict(_("%(name)s changed it since.") % {"name": entry.by})
    return entry


def emptying_write(day: date) -> Update:
    """Return the write that has a job empty what is deleted on a day; each deletion of the day writes the same."""
    beginning = datetime.combine(day, time(), UTC)
    due = beginning + DAY + KEPT_FOR
    put = job_write(EMPTY_TRASH, EmptyTrashPayload(day), job_id=emptying_id(day), due=due)
    return Update(key=put.key, set=put.item)


def emptying_id(day: date) -> str:
    """Return the id of the job that empties what was deleted on a day."""
    return last_ulid_until(datetime.combine(day, time(), UTC))


def from_item(item: Item) -> TrashEntry:
    """Return what lies in the trash from its item, or from its row in the index."""
    card = item["card"]
    return TrashEntry(
        kind=card["kind"],
        id=card["id"],
        card=DealCard.from_item(card),
        at=from_iso(card["deleted_at"]),
        by=card["deleted_by"],
        is_being_emptied=bool(item.get("emptying")),
        token=item.get("token", ""),
        **{name: table.current(item[name]) for name in ("kept", "offer") if name in item},
    )


def _without_keys(item: Item) -> Item:
    return {name: value for name, value in item.items() if name not in OWN}
