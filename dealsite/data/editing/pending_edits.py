"""Changes of a deal that shoppers do not see yet, one draft of them a deal; and who has a form open just now.

They stand beside the deal's versions, under the id of its history: so they stay with it when it gets another time,
lie in the trash and come back with it, and go when the trash is emptied.

An open form says so every 20 seconds; who has not said so for a minute is gone. It stands in the partition of
the deal or draft, so that one query tells both.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import DealContent, content_from_item, in_words, text_problems
from dealsite.data.catalogue.deals import Deal
from dealsite.data.editing import audit
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.entities.deals import DEAL_CHANGES
from dealsite.data.entities.entity import reader
from dealsite.data.entities.work import PRESENCE
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import epoch_seconds, from_iso, iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.schema import has_expired
from dealsite.data.table.writes import (
    Check,
    Delete,
    Put,
    Update,
    Write,
    absent,
    at_version,
    exists,
    missing,
    present,
)

KEPT = timedelta(seconds=60)
AT_ONCE = 50  # a query's limit; there are never so many


@dataclass(frozen=True, slots=True)
class OpenForm:
    """One who has a form open, and since when."""

    username: str
    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Who else has the form open, who came first first; version 0 is a deal or draft that is not there.

    `published`: it was a draft, and is none any more.
    """

    others: list[OpenForm]
    version: int = 0
    updated_by: str = ""
    updated_at: datetime | None = None
    published: bool = False


@access_pattern("open a form, see who else has it open", "1 query + 1 put")
def heartbeat(kind: str, entry_id: str, *, username: str, name: str, now: datetime) -> Heartbeat:
    """Say that somebody has a form open, and return who else has."""
    key = keys.TARGETS[kind](entry_id)
    rows = table.query(key[0], low=key[1], high=keys.presence.between()[1], limit=AT_ONCE, consistent=True)
    there = [row for row in rows if row["type"] == "Presence" and not has_expired(row, now=now)]
    mine = next((row for row in there if row["username"] == username), None)
    since, ttl = mine["since"] if mine else iso(now), epoch_seconds(now + KEPT)
    named = {"kind": kind, "of": entry_id, "username": username, "name": name}
    item = PRESENCE.item({**named, "since": since, "ttl": ttl})
    table.write(Put(key=keys.presence(kind, entry_id, username), item=item))
    users = ((row["username"], row["name"], from_iso(row["since"])) for row in there)
    others = [OpenForm(*one) for one in users if one[0] != username]
    stored = next((row for row in rows if row["SK"] == key[1]), {})
    return Heartbeat(
        others=sorted(others, key=lambda one: one.since),
        version=int(stored.get("version", 0)),
        updated_by=stored.get("updated_by", ""),
        updated_at=from_iso(stored["updated_at"]) if "updated_at" in stored else None,
        published="published_as" in stored,
    )


@access_pattern("close a form", "1 delete")
def leave_form(kind: str, entry_id: str, *, username: str) -> None:
    """Say that somebody has closed a form; harmless to repeat."""
    table.write(Delete(key=keys.presence(kind, entry_id, username)))


TOGETHER = timedelta(minutes=10)  # what is saved by itself within this time is one change
MOST_LISTED = 50


class PendingEditsConflict(Conflict):
    """Somebody went on with the unpublished changes, or published or discarded them, since they were read."""

    def __init__(self) -> None:
        super().__init__(
            gettext_lazy("Somebody went on with the unpublished changes meanwhile. Open them again.")
        )


@dataclass(frozen=True)
class PendingEdits:
    """What a deal is to become. `base` is the deal's version that they began from, `seen` what their form showed of it.

    `version` counts their own edits. Discarded ones can be restored until others are kept.
    """

    deal_id: str
    history_id: str
    content: DealContent
    brand_name: str
    base: int
    seen: str
    version: int
    begun_at: datetime
    updated_at: datetime
    updated_by: str
    last_edit: str = ""
    autosaved_since: datetime | None = None
    is_discarded: bool = False


def is_one_change(since: datetime | None, updated_by: str, *, by: str, now: datetime) -> bool:
    """Tell whether what is saved by itself now goes on with what was saved by itself, since a time, for an editor."""
    return since is not None and updated_by == by and now - since < TOGETHER


@access_pattern("the unpublished changes of a deal", "1 get")
def find(deal: Deal) -> PendingEdits | None:
    """Return the unpublished changes of a deal, discarded ones too; None if there are none. 1 get.

    What was begun for another deal, which had this one's id before, counts as discarded.
    """
    item = table.get(keys.changes(deal.history_id))
    if item is None:
        return None
    kept = from_item(item)
    return replace(kept, deal_id=deal.id, is_discarded=kept.is_discarded or not _is_of(kept, deal))


def _is_of(kept: PendingEdits, deal: Deal) -> bool:
    """Tell whether changes are those of a deal: an import may bring the id of one that was deleted or moved again."""
    return kept.deal_id == deal.id and kept.begun_at >= deal.created_at


@access_pattern("keep what a deal is to become", "1 transaction")
def keep(
    deal: Deal,
    content: DealContent,
    *,
    brand_name: str,
    base: int,
    seen: str,
    before: PendingEdits | None,
    by: str,
    now: datetime,
    autosave: str = "",
) -> PendingEdits:
    """Keep what a deal is to become, in the place of what was kept `before`; shoppers see nothing of it. 1 transaction.

    VersionConflict, with `current`, if somebody else was faster; NotFound if the deal is gone. `autosave`: the token of
    a saving by itself, '' for a button; what is saved by itself within ten minutes is noted once.
    """
    if found := text_problems(content):
        raise Invalid(**found)
    begun = before if before and not before.is_discarded else None
    goes_on = autosave and begun and is_one_change(begun.autosaved_since, begun.updated_by, by=by, now=now)
    kept = PendingEdits(
        deal_id=deal.id,
        history_id=deal.history_id,
        content=content,
        brand_name=brand_name,
        base=base,
        seen=seen,
        version=before.version + 1 if before else 1,
        begun_at=begun.begun_at if begun else now,
        updated_at=now,
        updated_by=by,
        last_edit=autosave or new_ulid(now),
        autosaved_since=(begun.autosaved_since if begun and goes_on else now) if autosave else None,
    )
    unchanged = at_version(before.version if before else 0)
    gone = gettext_lazy("There is no such deal.")
    put = Put(
        key=keys.changes(deal.history_id), item=_item(kept), when=unchanged, otherwise=VersionConflict()
    )
    there = Check(key=keys.deal(deal.id), when=(exists(),), otherwise=NotFound(gone))
    diff = audit.changed(in_words(begun.content if begun else deal.content), in_words(content))
    entry = _entry(deal.id, "kept unpublished changes", by=by, now=now, **diff)
    try:
        table.transact([there, put] if goes_on else [there, put, entry])
    except VersionConflict as conflict:
        current = find(deal)
        if current is None or current.last_edit != kept.last_edit:
            conflict.current = current
            raise
    return kept


@access_pattern("discard the unpublished changes of a deal", "1 transaction")
def discard(
    changes: PendingEdits, *, by: str, now: datetime, audit_context: AuditContext = NO_CONTEXT
) -> None:
    """Discard unpublished changes. VersionConflict, with `current`, if somebody went on with them."""
    update = Update(
        key=keys.changes(changes.history_id),
        set={"discarded_at": iso(now), "version": changes.version + 1},
        remove=list(keys.changed_deals(changes.updated_at, changes.history_id)),
        when=(*at_version(changes.version), missing("discarded_at")),
        otherwise=VersionConflict(),
    )
    entry = _entry(changes.deal_id, "discarded unpublished changes", by=by, now=now)
    _write(changes, update, entry, *audit_context.writes)


@access_pattern("restore discarded changes of a deal", "1 transaction")
def restore(
    changes: PendingEdits, *, by: str, now: datetime, audit_context: AuditContext = NO_CONTEXT
) -> None:
    """Take back that changes were discarded. VersionConflict if others were kept since."""
    update = Update(
        key=keys.changes(changes.history_id),
        set={"version": changes.version + 1, **keys.changed_deals(changes.updated_at, changes.history_id)},
        remove=["discarded_at"],
        when=(*at_version(changes.version), present("discarded_at")),
        otherwise=VersionConflict(),
    )
    entry = _entry(changes.deal_id, "brought back unpublished changes", by=by, now=now)
    _write(changes, update, entry, *audit_context.writes)


def publish_write(changes: PendingEdits) -> Delete:
    """Return the write that ends unpublished changes, for the transaction that makes the deal what they hold."""
    key, when = keys.changes(changes.history_id), at_version(changes.version)
    return Delete(key=key, when=when, otherwise=PendingEditsConflict())


@access_pattern("what deals are to become, as lists show it", "1 query")
def cards() -> list[DealCard]:
    """Return what deals are to become, as lists show it, last changed first, up to 50. 1 query.

    Also of a deal that lies in the trash: whether it is there is for the caller to see.
    """
    partition = keys.changed_deals.partition()
    rows = table.query(partition, index=keys.GSI1, newest_first=True, limit=MOST_LISTED)
    return [DealCard.from_item(row["card"]) for row in rows]


def moved_write(deal: Deal, new_id: str, changes: PendingEdits | None) -> Write:
    """Return the write that tells a deal's changes, if it has any, that it moves to a new id, one version up."""
    key = keys.changes(deal.history_id)
    if changes is None:
        return Check(key=key, when=(absent(),), otherwise=VersionConflict())
    base = changes.base + (changes.base == deal.version)  # the move changes nothing of theirs
    return Update(
        key=key,
        set={"deal": new_id, ("card", "id"): new_id, "base": base},
        when=at_version(changes.version),
        otherwise=VersionConflict(),
    )


def from_item(item: Item) -> PendingEdits:
    """Return the changes of an item."""
    card = DealCard.from_item(item["card"])
    content = content_from_item(item, card, item.get("stock"))
    is_discarded = "discarded_at" in item
    return _read_changes(item, content=content, brand_name=card.brand_name, is_discarded=is_discarded)


_read_changes = reader(DEAL_CHANGES.shape, PendingEdits, deal_id="deal", history_id="of")


def _item(changes: PendingEdits) -> Item:
    content, since = changes.content, changes.autosaved_since
    names = ("base", "seen", "version", "last_edit", "updated_by")
    values = {
        "of": changes.history_id,
        "deal": changes.deal_id,
        "card": replace(content.card(changes.deal_id, changes.brand_name), sold_out=False).as_item(),
        "link": content.link,
        "description": content.description,
        "stock": content.stock,
        "begun_at": iso(changes.begun_at),
        "updated_at": iso(changes.updated_at),
        "autosaved_since": iso(since) if since else None,
        **{name: getattr(changes, name) for name in names},
    }
    return DEAL_CHANGES.item(values)


def _write(changes: PendingEdits, *writes: Write) -> None:
    try:
        table.transact(writes)
    except VersionConflict as conflict:
        item = table.get(keys.changes(changes.history_id))
        conflict.current = from_item(item) if item else None
        raise


def _entry(deal_id: str, what: str, **more: Any) -> Put:
    return audit.entry_write(kind="deal", subject=deal_id, what=what, **more)
