"""Drafts: deals in the making, which may be incomplete. A published one stays as a pointer to its deal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils.translation import gettext_lazy

from dealsite.data import audit, brands, keys, table, trashed, versions
from dealsite.data.audit import NO_ERRAND, Errand
from dealsite.data.brands import Brand
from dealsite.data.cards import DealCard
from dealsite.data.content import DealContent, content_from_item, in_words, text_problems
from dealsite.data.convert import Item
from dealsite.data.errors import AlreadyExists, Busy, Invalid, NotFound, VersionConflict
from dealsite.data.ids import from_iso, is_ulid, iso, new_ulid
from dealsite.data.versions import Version
from dealsite.data.writes import Delete, Put, Update, absent, at_version, equals, exists, missing

TRIES = 5
TOGETHER = timedelta(minutes=10)  # what is saved by itself within this time is one change
GONE = gettext_lazy("It was deleted meanwhile.")
BACK_ALREADY = gettext_lazy("There is a draft with this id again, so the one in the trash cannot come back.")


@dataclass(frozen=True)
class Draft:
    """A draft; `version` counts its edits. Once published, only `published_as` (the deal's id) is of interest.

    `autosaved_since`: when the saving by itself began whose result this is; None for what was saved by a button.
    """

    id: str
    content: DealContent
    card: DealCard
    version: int
    created_by: str
    updated_at: datetime
    updated_by: str
    published_as: str = ""
    last_edit: str = ""
    autosaved_since: datetime | None = None

    def goes_on(self, by: str, now: datetime) -> bool:
        """Tell whether what is saved by itself now goes on with what was saved by itself for the same editor."""
        since = self.autosaved_since
        return since is not None and self.updated_by == by and now - since < TOGETHER


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
    item = _item(draft_id, content, brand, 1, autosave or new_ulid(now), by, by, now, autosaved_since=since)
    try:
        table.transact(
            [
                Put(key=keys.draft(draft_id), item=item, when=(absent(),), otherwise=AlreadyExists()),
                _noted(draft_id, "started", by=by, now=now, new=content),
            ]
        )
    except AlreadyExists:
        return get(draft_id)
    return draft_from_item(item)


def create_many(new: Sequence[tuple[str, DealContent, Brand]], *, by: str, now: datetime) -> None:
    """Store several new drafts, all or none. 1 transaction.

    Meant for imports: `new` holds (draft id, content, brand), 99 at most. AlreadyExists if one of them is there.
    """
    puts = []
    for draft_id, content, brand in new:
        _refuse_problems(content)
        item = _item(draft_id, content, brand, 1, new_ulid(now), by, by, now)
        puts.append(Put(key=keys.draft(draft_id), item=item, when=(absent(),), otherwise=AlreadyExists()))
    (first, content, _), *others = new
    after = {"title": content.title} | ({"others": " ".join(one[0] for one in others)} if others else {})
    what = f"started with {len(others)} others" if others else "started"
    entry = audit.entry_write(by=by, kind="draft", subject=first, what=what, now=now, after=after)
    table.transact([*puts, entry])


def get_many(draft_ids: Iterable[str]) -> dict[str, Draft]:
    """Return those of some drafts that exist, by id, the pointers of published ones too. 1 batch get for each 100."""
    items = table.batch_get(keys.draft(draft_id) for draft_id in draft_ids)
    return {item["id"]: draft_from_item(item) for item in items.values()}


def get(draft_id: str) -> Draft:
    """Return a draft, or the pointer that a published one left; NotFound otherwise. 1 get."""
    item = table.get(keys.draft(draft_id)) if is_ulid(draft_id) else None
    if item is None:
        raise NotFound(gettext_lazy("There is no such draft."))
    return draft_from_item(item)


def save(
    draft: Draft,
    content: DealContent,
    *,
    version: int,
    by: str,
    now: datetime,
    brand: Brand | None = None,
    errand: Errand = NO_ERRAND,
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
    item = _item(
        draft.id, content, brand, version + 1, token, draft.created_by, by, now, autosaved_since=since
    )
    put = Put(
        key=keys.draft(draft.id),
        item=item,
        when=(*at_version(version), missing("published_as")),
        otherwise=VersionConflict(),
    )
    entry = _noted(draft.id, "changed", by=by, now=now, old=draft.content, new=content, note=errand.note)
    kept = versions.keep_writes(draft.id, as_version(draft))
    try:
        table.transact([put, *errand.writes] if goes_on else [put, entry, *kept, *errand.writes])
    except VersionConflict as conflict:
        current = get(draft.id)
        if current.last_edit != token:
            conflict.current = current
            raise
    return draft_from_item(item)


def as_version(draft: Draft) -> Version:
    """Return what a draft is now, as it is kept when it becomes another."""
    return Version(draft.version, draft.content, draft.card.brand_name, draft.updated_at, draft.updated_by)


def delete(draft: Draft, *, by: str, now: datetime, errand: Errand = NO_ERRAND) -> None:
    """Move a draft to the trash for 30 days; harmless if it is gone.

    VersionConflict, with `current`, if it was edited or published meanwhile. 1 get + 1 transaction.
    """
    item = table.get(keys.draft(draft.id))
    if item is None:
        if errand.writes:  # they did not happen
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
                *trashed.keep_writes("draft", item, by=by, now=now),
                _noted(draft.id, "deleted", by=by, now=now, old=current.content, note=errand.note),
                *errand.writes,
            ]
        )
    except VersionConflict as conflict:
        try:
            conflict.current = get(draft.id)
        except NotFound:
            if errand.writes:
                raise
            return
        raise


def restore(
    draft_id: str, *, by: str, now: datetime, version: int | None = None, errand: Errand = NO_ERRAND
) -> Draft:
    """Bring a draft back from the trash; harmless if it is back.

    NotFound if it is not in the trash (any more), Conflict if its id is taken again, the trash is being
    emptied, or it was not deleted at `version`. 2 gets + 1 transaction.
    """
    for _ in range(TRIES):
        found = trashed.find("draft", draft_id)
        if found is None:
            if errand.writes:  # they did not happen
                raise NotFound(gettext_lazy("This draft is not in the trash any more."))
            try:
                return get(draft_id)
            except NotFound:
                raise NotFound(gettext_lazy("This draft is not in the trash any more.")) from None
        trashed.refuse_emptied(found)
        trashed.refuse_other(found, version)
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
        entry = _noted(draft_id, "restored", by=by, now=now, new=draft.content, note=errand.note)
        try:
            table.transact([trashed.take_write(found), put, entry, *errand.writes])
        except VersionConflict:
            continue
        return draft
    raise Busy()


def _noted(
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


def published_write(draft: Draft, deal_id: str) -> Put:
    """Return the write that turns a draft into a pointer to the deal that it became."""
    item = {
        "type": "Draft",
        "id": draft.id,
        "version": draft.version + 1,
        "published_as": deal_id,
        "created_by": draft.created_by,
        "updated_at": iso(draft.updated_at),
        "updated_by": draft.updated_by,
    }
    return Put(
        key=keys.draft(draft.id),
        item=item,
        when=(*at_version(draft.version), missing("published_as")),
        otherwise=VersionConflict(gettext_lazy("This draft was edited or published meanwhile.")),
    )


def reopen_write(pointer: Draft, content: DealContent, card: DealCard, *, by: str, now: datetime) -> Put:
    """Return the write that makes a published draft one to be worked on again, with what its deal holds."""
    brand = Brand(card.brand, card.brand_name)
    token = new_ulid(now)
    return Put(
        key=keys.draft(pointer.id),
        item=_item(pointer.id, content, brand, pointer.version + 1, token, pointer.created_by, by, now),
        when=(*at_version(pointer.version), equals("published_as", card.id)),
        otherwise=VersionConflict(gettext_lazy("This draft was changed meanwhile.")),
    )


def moved_write(draft_id: str, deal_id: str) -> Update:
    """Return the write that points a published draft to the new id of its rescheduled deal."""
    return Update(key=keys.draft(draft_id), set={"published_as": deal_id}, when=(exists(),))


def draft_from_item(item: Item) -> Draft:
    """Return the draft of its item."""
    card = DealCard.from_item(item.get("card", {"id": item["id"]}))
    content = content_from_item(item, card, item.get("stock"))
    return Draft(
        id=item["id"],
        content=content,
        card=card,
        version=item["version"],
        created_by=item["created_by"],
        updated_at=from_iso(item["updated_at"]),
        updated_by=item["updated_by"],
        published_as=item.get("published_as", ""),
        last_edit=item.get("last_edit", ""),
        autosaved_since=from_iso(item["autosaved_since"]) if item.get("autosaved_since") else None,
    )


def _item(
    draft_id: str,
    content: DealContent,
    brand: Brand | None,
    version: int,
    token: str,
    created_by: str,
    by: str,
    now: datetime,
    *,
    autosaved_since: datetime | None = None,
) -> Item:
    card = replace(content.card(draft_id, brand.name if brand else content.brand), sold_out=False)
    return {
        "type": "Draft",
        "id": draft_id,
        "card": card.as_item(),
        "link": content.link,
        "description": content.description,
        "stock": content.stock,
        "version": version,
        "last_edit": token,
        "created_by": created_by,
        "updated_at": iso(now),
        "updated_by": by,
        "autosaved_since": iso(autosaved_since) if autosaved_since else None,
        **keys.draft_rows(draft_id, content.brand, content.category),
    }


def _refuse_problems(content: DealContent) -> None:
    found = text_problems(content)
    if found:
        raise Invalid(**found)
