"""Starting drafts and changing them; what was there before a change is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dealsite.data import keys, table
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import DealContent, in_words, text_problems
from dealsite.data.catalogue.draft.draft_record import Draft, draft_from_item, draft_item, get
from dealsite.data.editing import audit, versions
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.editing.versions import Version
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import AlreadyExists, Invalid, VersionConflict
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Put, absent, at_version, missing


@access_pattern("store a draft", "DRAFT#id", "1 transaction")
def create(
    content: DealContent,
    *,
    draft_id: str,
    by: str,
    now: datetime,
    brand: Brand | None = None,
    autosave: str = "",
) -> Draft:
    """Store a new draft under an id minted with the form; the same id again returns what is there. 1 transaction.

    `autosave`: the token of a saving by itself, '' for a button.
    """
    _refuse_problems(content)
    since = now if autosave else None
    item = draft_item(
        draft_id, content, brand, 1, autosave or new_ulid(now), by, by, now, autosaved_since=since
    )
    try:
        table.transact(
            [
                Put(key=keys.draft(draft_id), item=item, when=(absent(),), otherwise=AlreadyExists()),
                noted(draft_id, "started", by=by, now=now, new=content),
            ]
        )
    except AlreadyExists:
        return get(draft_id)
    return draft_from_item(item)


@access_pattern("store several drafts at once", "DRAFT#id", "1 transaction")
def create_many(new: Sequence[tuple[str, DealContent, Brand]], *, by: str, now: datetime) -> None:
    """Store several new drafts, all or none. 1 transaction.

    Meant for imports: `new` holds (draft id, content, brand), 99 at most. AlreadyExists if one of them is there.
    """
    puts = []
    for draft_id, content, brand in new:
        _refuse_problems(content)
        item = draft_item(draft_id, content, brand, 1, new_ulid(now), by, by, now)
        puts.append(Put(key=keys.draft(draft_id), item=item, when=(absent(),), otherwise=AlreadyExists()))
    (first, content, _), *others = new
    after = {"title": content.title} | ({"others": " ".join(one[0] for one in others)} if others else {})
    what = f"started with {len(others)} others" if others else "started"
    entry = audit.entry_write(by=by, kind="draft", subject=first, what=what, now=now, after=after)
    table.transact([*puts, entry])


@access_pattern("change a draft, keep what it was", "DRAFT#id, VERSIONS#id / itself, number", "1 transaction")
def save(
    draft: Draft,
    content: DealContent,
    *,
    version: int,
    by: str,
    now: datetime,
    brand: Brand | None = None,
    audit_context: AuditContext = NO_CONTEXT,
    autosave: str = "",
) -> Draft:
    """Change a draft. VersionConflict, with `current`, if it was edited or published since `version`. 1 transaction.

    `autosave`: the token of a saving by itself, '' for a button. What one editor's page saves by itself within ten
    minutes is one change: it is noted, and what was there before is kept, when it begins.
    """
    _refuse_problems(content)
    token = autosave or new_ulid(now)
    goes_on = bool(autosave) and draft.goes_on(by, now)
    since = (draft.autosaved_since if goes_on else now) if autosave else None
    item = draft_item(
        draft.id, content, brand, version + 1, token, draft.created_by, by, now, autosaved_since=since
    )
    put = Put(
        key=keys.draft(draft.id),
        item=item,
        when=(*at_version(version), missing("published_as")),
        otherwise=VersionConflict(),
    )
    entry = noted(
        draft.id, "changed", by=by, now=now, old=draft.content, new=content, note=audit_context.note
    )
    kept = versions.keep_writes(draft.id, as_version(draft))
    try:
        table.transact(
            [put, *audit_context.writes] if goes_on else [put, entry, *kept, *audit_context.writes]
        )
    except VersionConflict as conflict:
        current = get(draft.id)
        if current.last_edit != token:
            conflict.current = current
            raise
    return draft_from_item(item)


def as_version(draft: Draft) -> Version:
    """Return what a draft is now, as it is kept when it becomes another."""
    return Version(draft.version, draft.content, draft.card.brand_name, draft.updated_at, draft.updated_by)


def noted(
    draft_id: str,
    what: str,
    *,
    by: str,
    now: datetime,
    old: DealContent | None = None,
    new: DealContent | None = None,
    note: str = "",
) -> Put:
    """Return the write that notes in the audit log what was done to a draft."""
    differing = audit.changed(in_words(old) if old else {}, in_words(new) if new else {})
    return audit.entry_write(
        by=by, kind="draft", subject=draft_id, what=what, now=now, note=note, **differing
    )


def _refuse_problems(content: DealContent) -> None:
    found = text_problems(content)
    if found:
        raise Invalid(**found)
