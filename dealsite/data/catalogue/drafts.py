"""Drafts: deals in the making, which may be incomplete. A published one stays as a pointer to its deal.

What was there before a change is kept; a deleted one goes to the trash, and comes back under the same id. Deals and
drafts alike (entries) are read here, too, as is what needs an editor of those that search found.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, deals, display_names
from dealsite.data.catalogue.brands import Brand, BrandChanged, check_brand
from dealsite.data.catalogue.cards import OVER, DealCard, page_key
from dealsite.data.catalogue.content import (
    DealContent,
    audit_entry,
    audit_entry_of_many,
    content_from_item,
    problems,
    text_problems,
)
from dealsite.data.catalogue.deals import Deal, deal_from_items, with_offers
from dealsite.data.catalogue.featured import PAGES, FeaturedPage, from_item
from dealsite.data.editing import pending_edits, trash_record, versions
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.editing.versions import Version
from dealsite.data.entities.deals import DRAFT
from dealsite.data.entities.entity import reader
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid, iso, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import (
    Check,
    Condition,
    Delete,
    Put,
    Update,
    absent,
    at_version,
    equals,
    exists,
    missing,
)

GONE = gettext_lazy("It was deleted meanwhile.")
BACK_ALREADY = gettext_lazy("There is a draft with this id again, so the one in the trash cannot come back.")


@dataclass(frozen=True)
class Draft:
    """A draft; `version` counts its edits. Once published, only `published_as` (the deal's id) is of interest.

    `autosaved_since`: when the saving by itself began whose result this is; None for what was saved by a button.
    """

    kind: ClassVar = "draft"

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

    @property
    def history_id(self) -> str:
        return self.id

    @property
    def created_at(self) -> datetime:
        return time_of(self.id)


@access_pattern("several drafts", "1 batch get")
def get_many(draft_ids: Iterable[str]) -> dict[str, Draft]:
    """Return those of some drafts that exist, by id, the pointers of published ones too. 1 batch get for each 100."""
    items = table.batch_get(keys.draft(draft_id) for draft_id in draft_ids)
    return {item["id"]: draft_from_item(item) for item in items.values()}


@access_pattern("one draft", "1 get")
def get(draft_id: str) -> Draft:
    """Return a draft, or the pointer that a published one left; NotFound otherwise."""
    item = table.get(keys.draft(draft_id)) if is_ulid(draft_id) else None
    if item is None:
        raise NotFound(gettext_lazy("There is no such draft."))
    return draft_from_item(item)


def draft_from_item(item: Item) -> Draft:
    """Return the draft of its item."""
    card = DealCard.from_item(item.get("card", {"id": item["id"]}))
    return _read_draft(item, content=content_from_item(item, card, item.get("stock")), card=card)


_read_draft = reader(DRAFT.shape, Draft, "content", "card")


def draft_item(
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
    """Return a draft as it is stored."""
    card = replace(content.card(draft_id, brand.name if brand else content.brand), sold_out=False)
    values = {
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
    }
    return DRAFT.item(values)


def unpublished_at(version: int) -> tuple[Condition, ...]:
    """Return the conditions that a draft has a version and was not published."""
    return (*at_version(version), missing("published_as"))


def published_write(draft: Draft, deal_id: str) -> Put:
    """Return the write that turns a draft into a pointer to the deal that it became."""
    pointer = {
        "id": draft.id,
        "version": draft.version + 1,
        "published_as": deal_id,
        "created_by": draft.created_by,
        "updated_at": iso(draft.updated_at),
        "updated_by": draft.updated_by,
    }
    return Put(
        key=keys.draft(draft.id),
        item=DRAFT.item(pointer),
        when=unpublished_at(draft.version),
        otherwise=VersionConflict(gettext_lazy("This draft was edited or published meanwhile.")),
    )


def reopen_writes(
    pointer: Draft, content: DealContent, brand: Brand, *, deal_id: str, by: str, now: datetime
) -> tuple[Put, Check]:
    """Return the writes that make a published draft one to be worked on again, with what its deal holds."""
    content, token = replace(content, brand=brand.slug), new_ulid(now)
    put = Put(
        key=keys.draft(pointer.id),
        item=draft_item(pointer.id, content, brand, pointer.version + 1, token, pointer.created_by, by, now),
        when=(*at_version(pointer.version), equals("published_as", deal_id)),
        otherwise=VersionConflict(gettext_lazy("This draft was changed meanwhile.")),
    )
    return put, check_brand(brand)


def moved_write(draft_id: str, deal_id: str) -> Update:
    """Return the write that points a published draft to the new id of its rescheduled deal."""
    return Update(key=keys.draft(draft_id), set={"published_as": deal_id}, when=(exists(),))


@access_pattern("store a draft", "1 transaction")
def create(
    content: DealContent,
    *,
    draft_id: str,
    by: str,
    now: datetime,
    brand: Brand | None = None,
    audit_context: AuditContext = NO_CONTEXT,
    autosave: str = "",
) -> Draft:
    """Store a new draft under an id minted with the form; the same id again returns what is there.

    `autosave`: the token of a saving by itself, '' for a button.
    """
    _refuse_problems(content)
    since, token = (now if autosave else None), autosave or new_ulid(now)

    def attempt(content: DealContent, brand: Brand | None) -> Draft:
        item = draft_item(draft_id, content, brand, 1, token, by, by, now, autosaved_since=since)
        try:
            table.transact(
                [
                    Put(key=keys.draft(draft_id), item=item, when=(absent(),), otherwise=AlreadyExists()),
                    *display_names.known_by_write(draft_id, content.names),
                    audit_entry(
                        "draft", draft_id, "started", by=by, now=now, new=content, note=audit_context.note
                    ),
                    *([check_brand(brand)] if brand else []),
                    *audit_context.writes,
                ]
            )
        except AlreadyExists:
            return get(draft_id)
        return draft_from_item(item)

    return _of_brand(brand, content, attempt)


def _of_brand(
    brand: Brand | None, content: DealContent, attempt: Callable[[DealContent, Brand | None], Draft]
) -> Draft:
    """Write a draft of a brand, once more where that was renamed or merged meanwhile."""

    def once() -> Draft:
        nonlocal brand
        try:
            return attempt(replace(content, brand=brand.slug) if brand else content, brand)
        except BrandChanged:
            brand = brand and brands.get(brand.slug)
            raise

    return table.retrying(once, on=BrandChanged)


@access_pattern("store several drafts at once", "1 transaction")
def create_many(new: Sequence[tuple[str, DealContent, Brand]], *, by: str, now: datetime) -> None:
    """Store several new drafts, all or none.

    Meant for imports: `new` holds (draft id, content, brand), 30 at most. AlreadyExists if one of them is
    there, BrandChanged if a brand was renamed meanwhile.
    """
    puts = []
    for draft_id, content, brand in new:
        _refuse_problems(content)
        content = replace(content, brand=brand.slug) if brand else content
        item = draft_item(draft_id, content, brand, 1, new_ulid(now), by, by, now)
        puts.append(Put(key=keys.draft(draft_id), item=item, when=(absent(),), otherwise=AlreadyExists()))
        puts += display_names.known_by_write(draft_id, content.names)
    entry = audit_entry_of_many("draft", "started", new, by=by, now=now)
    checks = [check_brand(brand) for brand in {brand.slug: brand for _, _, brand in new if brand}.values()]
    table.transact([*puts, entry, *checks])


@access_pattern("change a draft, keep what it was", "1 transaction")
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
    """Change a draft. VersionConflict, with `current`, if it was edited, published or (None) deleted since `version`.

    `autosave`: the token of a saving by itself, '' for a button. What one editor's page saves by itself
    within ten minutes is one change: it is noted, and what was there before is kept, when it begins.
    """
    _refuse_problems(content)
    token = autosave or new_ulid(now)
    since = draft.autosaved_since
    goes_on = bool(autosave) and pending_edits.is_one_change(since, draft.updated_by, by=by, now=now)
    since = (since if goes_on else now) if autosave else None
    key, when = keys.draft(draft.id), unpublished_at(version)
    note, old = audit_context.note, draft.content
    kept = versions.keep_writes(draft.id, as_version(draft))
    named = display_names.known_by_write(draft.id, content.names, old.names)

    def attempt(content: DealContent, brand: Brand | None) -> Draft:
        item = draft_item(
            draft.id, content, brand, version + 1, token, draft.created_by, by, now, autosaved_since=since
        )
        put = Put(key=key, item=item, when=when, otherwise=VersionConflict())
        entry = audit_entry("draft", draft.id, "changed", by=by, now=now, old=old, new=content, note=note)
        writes = [put, *([] if goes_on else [entry, *kept]), *named, *audit_context.writes]
        try:
            table.transact([*writes, *([check_brand(brand)] if brand else [])])
        except VersionConflict as conflict:
            with contextlib.suppress(NotFound):
                conflict.current = get(draft.id)
            if conflict.current is None or conflict.current.last_edit != token:
                raise
        return draft_from_item(item)

    return _of_brand(brand, content, attempt)


@access_pattern("move a draft to the trash", "1 get + 1 transaction")
def delete(draft: Draft, *, by: str, now: datetime, audit_context: AuditContext = NO_CONTEXT) -> None:
    """Move a draft to the trash for 30 days; harmless if it is gone.

    VersionConflict, with `current`, if it was edited or published meanwhile.
    """
    item = table.get(keys.draft(draft.id))
    if item is None:
        if audit_context.writes:  # they did not happen
            raise NotFound(GONE)
        return
    current = draft_from_item(item)
    if current.version != draft.version or current.published_as:
        raise VersionConflict(current=current)
    key, when, note = keys.draft(draft.id), unpublished_at(draft.version), audit_context.note
    removed = Delete(key=key, when=when, otherwise=VersionConflict())
    kept = trash_record.keep_writes("draft", item, by=by, now=now)
    entry = audit_entry("draft", draft.id, "deleted", by=by, now=now, old=current.content, note=note)
    try:
        table.transact([removed, *kept, entry, *audit_context.writes])
    except VersionConflict as conflict:
        try:
            conflict.current = get(draft.id)
        except NotFound:
            if audit_context.writes:
                raise
            return
        raise


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
    emptied, or it was not deleted at `version`.
    """

    def attempt() -> Draft:
        found = trash_record.find_restorable("draft", draft_id, get, version, audit_context)
        if isinstance(found, Draft):
            return found
        kept = dict(found.kept or {})
        card, checks = kept["card"], list[Check]()
        with contextlib.suppress(NotFound):  # a draft may name a brand that does not exist any more
            if card.get("brand"):
                brand = brands.get(card["brand"])
                card |= {"brand": brand.slug, "brand_name": brand.name}
                checks.append(check_brand(brand))
        changed = kept | {
            "card": card,
            "version": kept["version"] + 1,
            "last_edit": new_ulid(now),
            "updated_at": iso(now),
            "updated_by": by,
        }
        item = DRAFT.item(changed)
        draft = draft_from_item(item)
        taken, note = AlreadyExists(BACK_ALREADY), audit_context.note
        put = Put(key=keys.draft(draft_id), item=item, when=(absent(),), otherwise=taken)
        entry = audit_entry("draft", draft_id, "restored", by=by, now=now, new=draft.content, note=note)
        table.transact([trash_record.take_write(found), put, entry, *audit_context.writes, *checks])
        return draft

    return table.retrying(attempt, on=(BrandChanged, VersionConflict))


def as_version(draft: Draft) -> Version:
    """Return what a draft is now, as it is kept when it becomes another."""
    return Version(draft.version, draft.content, draft.card.brand_name, draft.updated_at, draft.updated_by)


def _refuse_problems(content: DealContent) -> None:
    found = text_problems(content)
    if found:
        raise Invalid(**found)


Entry = Deal | Draft


def get_entry(kind: str, entry_id: str) -> Entry:
    """Return a deal with its stock, or a draft, or raise NotFound. 1 batch get, or 1 get."""
    return deals.get(entry_id) if kind == Deal.kind else get(entry_id)


def get_entries(kind: str, ids: Iterable[str]) -> dict[str, Entry]:
    """Return those of some deals or drafts that exist, by id. 2 batch gets for each 100 deals, 1 for drafts."""
    wanted = [one for one in ids if is_ulid(one)]
    return dict(with_offers(wanted)) if kind == Deal.kind else dict(get_many(wanted))


def became(entry: Entry) -> str:
    """Return the id of the deal that a draft became, '' for all else."""
    return entry.published_as if isinstance(entry, Draft) else ""


def refusals(entry: Entry, content: DealContent) -> dict[str, str]:
    """Return what stands against giving an entry another content, by field."""
    return problems(content, live_at=entry.live_at) if isinstance(entry, Deal) else text_problems(content)


@dataclass(frozen=True, slots=True)
class AttentionData:
    """Those of some deals and drafts that exist, by id, and the featured lists."""

    entries: dict[str, Entry] = field(default_factory=dict)
    pages: list[FeaturedPage] = field(default_factory=list)

    def over(self, now: datetime) -> Iterator[tuple[FeaturedPage, DealCard]]:
        """Yield what the featured lists hold that can no longer be had."""
        for page in self.pages:
            for card in page.cards:
                if card.state(now) in OVER:
                    yield page, card


@access_pattern("what needs an editor, as it is now", "1 batch get")
def attention_data(kinds: Mapping[str, str], *, pages: bool = False) -> AttentionData:
    """Return some deals and drafts, whose kinds are given by id; with `pages` the featured lists.

    1 batch get for each 100 of all that; none where nothing is asked for.
    """
    entry_keys = [keys.deal(id_) if kind == Deal.kind else keys.draft(id_) for id_, kind in kinds.items()]
    page_keys = {page_id: page_key(page_id) for page_id in PAGES} if pages else {}
    offers = {id_: keys.offer(id_) for id_, kind in kinds.items() if kind == Deal.kind}
    wanted = [*entry_keys, *offers.values(), *page_keys.values()]
    items = table.batch_get(wanted) if wanted else {}
    data = AttentionData(pages=[from_item(page_id, items.get(key)) for page_id, key in page_keys.items()])
    for (id_, kind), key in zip(kinds.items(), entry_keys, strict=True):
        if item := items.get(key):
            is_deal = kind == Deal.kind
            entry = deal_from_items(item, items.get(offers[id_])) if is_deal else draft_from_item(item)
            if not became(entry):
                data.entries[id_] = entry
    return data
