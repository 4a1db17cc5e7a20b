"""Deleting a draft, which goes to the trash, and bringing it back from there under the same id."""

from __future__ import annotations

import contextlib
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.draft.draft_record import Draft, draft_from_item, get
from dealsite.data.catalogue.draft.saving import noted
from dealsite.data.editing import trash_record
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import AlreadyExists, Busy, NotFound, VersionConflict
from dealsite.data.table.ids import iso, new_ulid
from dealsite.data.table.writes import Delete, Put, absent, at_version, missing

TRIES = 5
GONE = gettext_lazy("It was deleted meanwhile.")
BACK_ALREADY = gettext_lazy("There is a draft with this id again, so the one in the trash cannot come back.")


@access_pattern("move a draft to the trash", "DRAFT#id, JOB#id / itself, TRASH", "1 get + 1 transaction")
def delete(draft: Draft, *, by: str, now: datetime, audit_context: AuditContext = NO_CONTEXT) -> None:
    """Move a draft to the trash for 30 days; harmless if it is gone.

    VersionConflict, with `current`, if it was edited or published meanwhile. 1 get + 1 transaction.
    """
    item = table.get(keys.draft(draft.id))
    if item is None:
        if audit_context.writes:  # they did not happen
            raise NotFound(GONE)
        return
    current = draft_from_item(item)
    if current.version != draft.version or current.published_as:
        raise VersionConflict(current=current)
    try:
        table.transact(
            [
                Delete(
                    key=keys.draft(draft.id),
                    when=(*at_version(draft.version), missing("published_as")),
                    otherwise=VersionConflict(),
                ),
                *trash_record.keep_writes("draft", item, by=by, now=now),
                noted(draft.id, "deleted", by=by, now=now, old=current.content, note=audit_context.note),
                *audit_context.writes,
            ]
        )
    except VersionConflict as conflict:
        try:
            conflict.current = get(draft.id)
        except NotFound:
            if audit_context.writes:
                raise
            return
        raise


@access_pattern("restore a draft", "DRAFT#id / itself, TRASH", "2 gets + 1 transaction")
def restore(
    draft_id: str,
    *,
    by: str,
    now: datetime,
    version: int | None = None,
    audit_context: AuditContext = NO_CONTEXT,
) -> Draft:
    """Bring a draft back from the trash; harmless if it is back.

    NotFound if it is not in the trash (any more), Conflict if its id is taken again, the trash is being
    emptied, or it was not deleted at `version`. 2 gets + 1 transaction.
    """
    for _ in range(TRIES):
        found = trash_record.find("draft", draft_id)
        if found is None:
            if audit_context.writes:  # they did not happen
                raise NotFound(gettext_lazy("This draft is not in the trash any more."))
            try:
                return get(draft_id)
            except NotFound:
                raise NotFound(gettext_lazy("This draft is not in the trash any more.")) from None
        trash_record.check_restorable(found, version)
        kept = dict(found.kept or {})
        card = kept["card"]
        with contextlib.suppress(NotFound):  # a draft may name a brand that does not exist any more
            card |= {"brand_name": brands.get(card["brand"]).name} if card.get("brand") else {}
        item = kept | {
            "card": card,
            "version": kept["version"] + 1,
            "last_edit": new_ulid(now),
            "updated_at": iso(now),
            "updated_by": by,
            **keys.draft_rows(draft_id, card.get("brand", ""), card.get("category", "")),
        }
        draft = draft_from_item(item)
        put = Put(
            key=keys.draft(draft_id), item=item, when=(absent(),), otherwise=AlreadyExists(BACK_ALREADY)
        )
        entry = noted(draft_id, "restored", by=by, now=now, new=draft.content, note=audit_context.note)
        try:
            table.transact([trash_record.take_write(found), put, entry, *audit_context.writes])
        except VersionConflict:
            continue
        return draft
    raise Busy()
