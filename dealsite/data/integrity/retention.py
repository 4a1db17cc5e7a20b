"""Spans of keeping that were changed are applied to what is there, and old drafts go to the trash.

New items get their `ttl` as they are written, so this reads the table only after DEALSITE_RETENTION has changed. It is
a migration: page by page, each item only while its `ttl` is as it was read, and where it was ended it goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from dealsite.data import keys, table
from dealsite.data.catalogue import drafts
from dealsite.data.editing.audit import AuditContext
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.work import SITE
from dealsite.data.integrity import migrations
from dealsite.data.integrity.problem import Pace
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import epoch_seconds, hash_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Update, equals, exists, missing

NAME = "retention"  # of the migration
AT_ONCE = 1000.0  # items a second
TTL = "ttl"
DAY = timedelta(days=1)
REACH = timedelta(days=5 * 365 - 30)  # Amazon deletes nothing whose `ttl` passed five years ago
DAMAGED = (AttributeError, KeyError, OverflowError, TypeError, ValueError)  # what reading such an item raises
UNSAVED = "Nobody has saved it for long."  # in the audit log


@dataclass(frozen=True, slots=True)
class Applied:
    """What a run came to: items of a new time, those that refused it or are damaged, drafts that went to the trash."""

    items: int
    refused: int
    drafts: int


def apply(
    *,
    now: datetime,
    renew: Callable[[], object] = lambda: None,
    pace: Pace | None = None,
    again: bool = False,
) -> Applied:
    """Apply the spans to what is there, if they have changed since that was last done, or `again`; drafts each time.

    `renew` is called at least each 500 items. VersionConflict if another process is at it. 1 get and 1 query for each
    100 drafts; after a change 1 scan for each 500 items, and 1 transaction for each 25 of another time.
    """
    spans = " ".join(f"{kind}={span}" for kind, span in sorted(settings.DEALSITE_RETENTION.items()))
    found, changed, refused = migrations.find(NAME), 0, 0
    damaged = list[Item]()

    def change(item: Item) -> Update | None:
        try:
            return write(item, now=now)
        except DAMAGED:
            damaged.append(item)
            return None

    if again or found is None or not found.is_done or found.aim != hash_of(spans):
        done = migrations.run(
            migrations.begin(NAME, aim=spans),
            pace=pace or Pace(AT_ONCE),
            advance=lambda _: renew(),
            change=change,
        )
        changed, refused = done.total(migrations.MIGRATED), done.total(migrations.CONTENDED)
    span = settings.DEALSITE_RETENTION["drafts"]
    discarded, damaged_drafts = (0, 0) if span is None else discard_drafts(span, now=now, renew=renew)
    return Applied(changed, refused + len(damaged) + damaged_drafts, discarded)


def write(item: Item, *, now: datetime) -> Update | None:
    """Return the write that lets an item go when its span says so, or yesterday; None if it does, or stays."""
    entity = ENTITIES.get(str(item.get("type")))
    if entity is None or entity.kept is None:
        return None
    ends, stored = entity.expiry(item), item.get(TTL)
    if ends is not None and ends <= epoch_seconds(now):
        if stored is not None and epoch_seconds(now - REACH) <= stored <= epoch_seconds(now):
            return None  # it goes already
        ends = max(ends, epoch_seconds(now - DAY))
    if ends == stored:
        return None
    as_seen = [equals(TTL, item[TTL]) if TTL in item else missing(TTL)]
    as_seen += (
        [equals("state", item["state"])] if "state" in item else []
    )  # a job may be tried again meanwhile
    return Update(
        key=(item["PK"], item["SK"]),
        set={} if ends is None else {TTL: ends},
        remove=(TTL,) if ends is None else (),
        when=(exists(), *as_seen),
    )


@access_pattern("move drafts to the trash that nobody has saved for long", "1 query + 2 gets + 1 transaction")
def discard_drafts(
    span: timedelta, *, now: datetime, renew: Callable[[], object] = lambda: None
) -> tuple[int, int]:
    """Move drafts to the trash that were not saved for a span; return how many, and how many are damaged.

    2 gets and 1 transaction each.
    """
    discarded = damaged = 0
    for row in table.query_all(keys.drafts.partition(), index=keys.GSI1):
        renew()
        try:
            draft = drafts.get(row["card"]["id"])
            if draft.updated_at <= now - span:
                drafts.delete(draft, by=SITE, now=now, audit_context=AuditContext(note=UNSAVED))
                discarded += 1
        except (NotFound, Conflict):
            continue  # published, deleted or saved meanwhile
        except DAMAGED:
            damaged += 1
    return discarded, damaged
