"""The trash: its list, restoring from it, and emptying it when 30 days are over, or at once.

    deleted -> restored | emptied

Both ends take the item from the trash in their transaction, so one of them happens, once.
"""

from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes, deals, drafts, relations
from dealsite.data.editing import audit, trash_record, versions
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.editing.trash_record import EMPTY_TRASH, KEPT_FOR, EmptyTrashPayload, TrashEntry, find
from dealsite.data.entities.work import SITE
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job
from dealsite.data.jobs.payloads import payload_from_item
from dealsite.data.table.errors import AlreadyExists, BadCursor, NotFound, VersionConflict
from dealsite.data.table.ids import from_iso, is_ulid, iso, previous_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, first_page
from dealsite.data.table.writes import MAX_ACTIONS, Check, Delete, Update, Write, absent, equals

PAGE_SIZE = 50
EMPTIED_AT_ONCE = 25


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What came back; `was_featured_on` are pages (ids) that showed it when it was deleted."""

    kind: str
    id: str
    title: str
    was_featured_on: tuple[str, ...] = ()


@access_pattern("what is in the trash, newest first", "1 query")
def newest(*, after: str | None = None) -> Page[TrashEntry]:
    """Return one page of what lies in the trash, without what `kept` and `offer` hold; BadCursor."""
    high = keys.TOP
    if after:
        at, _, name = after.partition("#")
        kind, _, entry_id = name.partition("#")
        try:
            sound = kind in keys.TARGETS and is_ulid(entry_id) and iso(from_iso(at)) == at
        except ValueError:
            sound = False
        if not sound:
            raise BadCursor()
        high = keys.trashed.position(from_iso(at), kind, previous_ulid(entry_id))
    partition, limit = keys.trashed.partition(), PAGE_SIZE + 1
    rows = table.query(partition, index=keys.GSI1, low="0", high=high, newest_first=True, limit=limit)
    page = first_page(rows, PAGE_SIZE, itemgetter("GSI1SK"))
    return page.showing([trash_record.from_item(row) for row in page.rows])


@access_pattern("restore a deal or draft", "2 gets + 1 transaction")
def restore(
    kind: str,
    entry_id: str,
    *,
    by: str,
    now: datetime,
    version: int | None = None,
    audit_context: AuditContext = NO_CONTEXT,
) -> RestoreResult:
    """Restore a deal or draft under its id, with all it had but its featured places; harmless if it is back.

    NotFound if it is not in the trash (any more); Conflict, with a sentence, if its brand is gone, its id
    taken again, or it is being deleted for good. With `version`, Conflict too if it was not deleted at that one:
    somebody restored it and deleted it again.
    """
    if kind == "deal":
        deal, found = deal_changes.restore(
            entry_id, by=by, now=now, version=version, audit_context=audit_context
        )
        return RestoreResult(kind, entry_id, deal.content.title, found.featured_on if found else ())
    if kind == "draft":
        draft = drafts.restore(entry_id, by=by, now=now, version=version, audit_context=audit_context)
        return RestoreResult(kind, entry_id, draft.content.title)
    raise NotFound(gettext_lazy("This is not in the trash."))


@access_pattern(
    "delete for good, with up to 40 versions and prices each", "1 get + 3 queries + 1 transaction"
)
def purge(kind: str, entry_id: str, *, by: str, now: datetime, until: datetime | None = None) -> bool:
    """Delete for good what lies in the trash, with its versions, prices and likes; False if it is not there (any more).

    With `until`, only what was deleted by then. What was begun goes on when it is called again. 1 get + 3 queries
    + 1 transaction, and again 2 queries + 1 transaction for each 40 versions or prices, and 1 + 1 for each 97 likes.
    """

    def attempt() -> bool:
        found = find(kind, entry_id)
        if found is None or (until and found.at > until):
            return False
        _purge(found, by=by, now=now)
        return True

    return table.retrying(attempt)


def _purge(found: TrashEntry, *, by: str, now: datetime) -> None:
    own = Check(key=keys.TARGETS[found.kind](found.id), when=(absent(),), otherwise=AlreadyExists())
    kind, what, before = found.kind, "deleted for good", {"title": found.card.title}
    entry = audit.entry_write(by=by, kind=kind, subject=found.id, what=what, now=now, before=before)
    same = (equals("token", found.token),)
    last = Delete(key=keys.trash(found.kind, found.id), when=same, otherwise=VersionConflict())
    mark = Update(key=last.key, set={"emptying": True}, when=same, otherwise=VersionConflict())
    try:
        while kind == "deal" and (likes := relations.deletions_of_deal(found.id, room=MAX_ACTIONS - 2)):
            table.transact([mark, own, *likes])
        history = _history(found)
        while len(history) >= versions.ROOM:
            table.transact([mark, own, *history])
            history = _history(found)
        table.transact([last, own, entry, *history])
    except AlreadyExists:  # the id is in use again, and its prices with it
        table.transact([last, entry])


def _history(found: TrashEntry) -> list[Write]:
    """Return the writes that delete its versions and, of a deal, its prices; or the first of them if they are many."""
    of_versions = versions.deletions(found.history_id)
    if found.kind == "draft":
        return of_versions
    return [Delete(key=keys.deal_counts(found.id)), *of_versions, *deals.price_deletions(found.id)]


def empty(job: Job, now: datetime) -> datetime | None:
    """Delete for good what was deleted more than 30 days ago, a few things at a time."""
    payload_from_item(EmptyTrashPayload, job.payload)
    until = now - KEPT_FOR
    partition, high = keys.trashed.partition(), keys.trashed.until(until)[1]
    rows = table.query(partition, index=keys.GSI1, low="0", high=high, limit=EMPTIED_AT_ONCE)
    for row in rows:
        thing = trash_record.from_item(row)
        purge(thing.kind, thing.id, by=SITE, now=now, until=until)
    return now if len(rows) == EMPTIED_AT_ONCE else None


HANDLERS: dict[str, jobs.Handler] = {EMPTY_TRASH: empty}
