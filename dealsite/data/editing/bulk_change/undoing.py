"""How what a bulk change did to one deal or draft is taken back, and why it cannot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _

from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.catalogue.featured import MAX_CARDS
from dealsite.data.editing import trash
from dealsite.data.editing.bulk import (
    BRAND,
    DELETE,
    FEATURE,
    FIELDS,
    PUBLISH,
    UNFEATURE,
    BulkChange,
    BulkResult,
)
from dealsite.data.editing.bulk_change import applying
from dealsite.data.editing.bulk_change.applying import (
    Note,
    Prefetched,
    Thing,
    feature,
    no_room,
    save,
    value_in,
    with_value,
)
from dealsite.data.table.access_patterns import access_pattern


def read_changed(change: BulkChange, rows: Iterable[BulkResult]) -> dict[str, Thing]:
    """Return what some rows are about, as it is now, by the rows' ids. As many requests as `bulk_changes.read`."""
    if change.action == DELETE:
        return {}
    if change.action == PUBLISH:
        ids = {row.after: row.id for row in rows}
        return {ids[deal_id]: deal for deal_id, deal in applying.read("deal", ids).items()}
    return applying.read(change.kind, [row.id for row in rows])


def refusal_to_undo(change: BulkChange, row: BulkResult, thing: Thing | None, prefetched: Prefetched) -> str:
    """Return why a change cannot be taken back, in a sentence; '' if it can, as far as can be seen."""
    if change.action == DELETE:
        return ""
    if thing is None or (isinstance(thing, Draft) and thing.published_as):
        return (
            _("It was deleted since, or published.") if change.kind == "draft" else _("It was deleted since.")
        )
    whose = {"name": thing.updated_by}
    if change.action in FIELDS:
        if value_in(change, thing) != row.after:
            return _("%(name)s changed it since.") % whose
        return ""
    if change.action == PUBLISH:
        return _("%(name)s changed it since.") % whose if thing.version != 1 else ""
    assert isinstance(thing, Deal)  # noqa: S101 - only deals are featured
    listed = change.value in thing.featured_on
    if change.action == FEATURE:
        return "" if listed else _("It is not on this page any more.")
    if listed:
        return _("It is on this page again.")
    return no_room(prefetched)


@access_pattern(
    "undo a bulk change of a deal",
    "as the change itself, BULK#job, JOB#id",
    "3 gets + 2 queries + 2 batch gets + 1 update + 2 transactions",
)
def take_back(
    change: BulkChange,
    row: BulkResult,
    thing: Thing | None,
    prefetched: Prefetched,
    note: Note,
    *,
    by: str,
    now: datetime,
) -> None:
    """Bring back what a change replaced, and note it in the same transaction; whatever its own module raises.

    1 transaction; 1 batch get more for featured deals, and 2 gets for what is restored from the trash or
    becomes a draft again.
    """
    if change.action == DELETE:
        version = int(row.before) if row.before else None
        trash.restore(change.kind, row.id, by=by, now=now, version=version, audit_context=note("", ""))
        return
    assert thing is not None  # noqa: S101 - it would have been refused
    if change.action == PUBLISH:
        _withdraw(row, thing, note, by=by, now=now)
    elif change.action in FIELDS:
        content = with_value(change, thing.content, row.before)
        save(thing, content, prefetched, note(row.after, row.before), by=by, now=now)
    elif isinstance(thing, Deal):
        back = change.action == UNFEATURE
        place = int(row.before) if row.before else MAX_CARDS
        feature(change, thing, prefetched, note, by=by, now=now, on=back, place=place)


def _withdraw(row: BulkResult, deal: Thing, note: Note, *, by: str, now: datetime) -> None:
    """Make a deal the draft again that it was published from; the deal goes to the trash."""
    pointer = drafts.get(row.id)
    audit_context = note(row.after, "")
    reopen = drafts.reopen_write(pointer, deal.content, deal.card, by=by, now=now)
    assert isinstance(deal, Deal)  # noqa: S101 - it was published
    audit_context = replace(audit_context, writes=(*audit_context.writes, reopen))
    deals.delete(deal, by=by, now=now, version=deal.version, audit_context=audit_context)


def brands_before(change: BulkChange, rows: Iterable[BulkResult]) -> list[str]:
    """Return the brands that taking some changes back brings back."""
    return [row.before for row in rows] if change.action == BRAND else []
