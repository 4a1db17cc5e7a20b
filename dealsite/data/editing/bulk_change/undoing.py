"""How what a bulk change did to one deal or draft is taken back, and why it cannot."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _

from dealsite.data.catalogue import brands, drafts
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.deal import deleting
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.catalogue.featured import MAX_CARDS
from dealsite.data.editing import bulk, trash, versions
from dealsite.data.editing.bulk import FIELDS, BulkChange, BulkResult
from dealsite.data.editing.bulk_change import applying
from dealsite.data.editing.bulk_change.applying import Note, Prefetched, Thing
from dealsite.data.table.access_patterns import access_pattern


def read_changed(change: BulkChange, rows: Iterable[BulkResult]) -> dict[str, Thing]:
    """Return what some rows are about, as it is now, by the rows' ids. As many requests as `applying.read`."""
    if change.action == bulk.DELETE:
        return {}
    if change.action == bulk.IMPORT:
        changed = [row.id for row in rows]
        return applying.read("deal", changed) | applying.read("draft", changed)
    if change.action == bulk.PUBLISH:
        ids = {row.after: row.id for row in rows}
        return {ids[deal_id]: deal for deal_id, deal in applying.read("deal", ids).items()}
    return applying.read(change.kind, [row.id for row in rows])


def refusal_to_undo(change: BulkChange, row: BulkResult, thing: Thing | None, prefetched: Prefetched) -> str:
    """Return why a change cannot be taken back, in a sentence; '' if it can, as far as can be seen."""
    if change.action == bulk.DELETE:
        return ""
    if thing is None or (isinstance(thing, Draft) and thing.published_as):
        is_draft = change.kind == "draft" or thing is not None
        return _("It was deleted since, or published.") if is_draft else _("It was deleted since.")
    if change.action in FIELDS or change.action in (bulk.PUBLISH, bulk.IMPORT):
        versions_after = {bulk.PUBLISH: "1", bulk.IMPORT: row.after}
        is_same = (
            str(thing.version) == versions_after[change.action]
            if change.action in versions_after
            else applying.value_in(change, thing) == row.after
        )
        return "" if is_same else _("%(name)s changed it since.") % {"name": thing.updated_by}
    assert isinstance(thing, Deal)  # noqa: S101 - only deals are featured
    listed = change.value in thing.featured_on
    if change.action == bulk.FEATURE:
        return "" if listed else _("It is not on this page any more.")
    return _("It is on this page again.") if listed else applying.no_room(prefetched)


@access_pattern("undo a bulk change of a deal", "1 transaction")
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
    """Restore what a change replaced, and note it in the same transaction; whatever its own module raises.

    1 transaction; 1 batch get more for featured deals and what an import changed, and 2 gets for what is restored from
    the trash or becomes a draft again.
    """
    if change.action == bulk.DELETE:
        version = int(row.before) if row.before else None
        trash.restore(change.kind, row.id, by=by, now=now, version=version, audit_context=note("", ""))
        return
    assert thing is not None  # noqa: S101 - it would have been refused
    if change.action == bulk.PUBLISH:
        assert isinstance(thing, Deal)  # noqa: S101 - it was published
        _withdraw(row, thing, note, by=by, now=now)
    elif change.action == bulk.IMPORT:
        content = _as_before(row, thing)
        needed = Prefetched(brands.get_many([content.brand] if content.brand else []))
        applying.save(thing, content, needed, note(row.after, row.before), by=by, now=now)
    elif change.action in FIELDS:
        content = applying.with_value(change, thing.content, row.before)
        applying.save(thing, content, prefetched, note(row.after, row.before), by=by, now=now)
    elif isinstance(thing, Deal):
        back = change.action == bulk.UNFEATURE
        place = int(row.before) if row.before else MAX_CARDS
        applying.feature(change, thing, prefetched, note, by=by, now=now, on=back, place=place)


def _as_before(row: BulkResult, thing: Thing) -> DealContent:
    """Return what a deal or draft held before an import; of the stock, what the import added is taken away."""
    history = thing.history_id if isinstance(thing, Deal) else thing.id
    before, stock = versions.get(history, int(row.before)).content, thing.content.stock
    if before.sold != thing.content.sold:
        stock = before.stock
    elif row.stock is not None:
        was = before.stock
        stock = was if was is None or stock is None else max(0, was + stock - row.stock)
    return replace(before, stock=stock)


def _withdraw(row: BulkResult, deal: Deal, note: Note, *, by: str, now: datetime) -> None:
    """Make a deal the draft again that it was published from; the deal goes to the trash."""
    pointer, context = drafts.get(row.id), note(row.after, "")
    brand = brands.get(deal.card.brand)
    reopen = drafts.reopen_writes(pointer, deal.content, brand, deal_id=deal.id, by=by, now=now)
    context = replace(context, writes=(*context.writes, *reopen))
    deleting.delete(deal, by=by, now=now, version=deal.version, audit_context=context)


def brands_before(change: BulkChange, rows: Iterable[BulkResult]) -> list[str]:
    """Return the brands that undoing some changes restores."""
    return [row.before for row in rows] if change.action == bulk.BRAND else []
