"""Featured deals: the front page, Editors' Choice and each category page hold a list of cards, in the editors' order.

The list is stored as `order` (deal ids) and `cards` (id -> card), so that a deal's own transaction can
renew or remove its card without knowing its place. An id in `order` without a card is a deal that
was deleted. The deal holds the pages that feature it, so both sides always agree.

The last few earlier lists are kept, each as the next one is set, for undo.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext as _

from dealsite.data import keys, table
from dealsite.data.catalogue.cards import EDITORS_CHOICE, FRONT, DealCard, page_key
from dealsite.data.catalogue.deals import Deal, deal_from_items, deal_write
from dealsite.data.catalogue.display_names import page_names
from dealsite.data.editing import audit
from dealsite.data.editing.audit import NO_CONTEXT, AuditContext
from dealsite.data.entities.deals import PAGES as PAGES
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.taxonomy import (
    EDITORS_CHOICE_PAGE,
    FEATURED_VERSION,
    FRONT_PAGE,
    MAX_CARDS as MAX_CARDS,
)
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import from_iso, iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Check, Delete, Put, Update, Write, equals, exists, missing

KEPT = 5  # of a page


@dataclass(frozen=True, slots=True)
class FeaturedPage:
    """The featured list of a page; `version` counts the times that it was set.

    `by_hand` is the version that somebody set last, and no plan: plans made on top of it hold while it stays.
    """

    id: str
    version: int
    cards: list[DealCard]
    updated_by: str = ""
    last_edit: str = ""
    by_hand: int = 0
    updated_at: datetime | None = None

    @property
    def title(self) -> str:
        """What the page is called now."""
        return page_names()[self.id]

    @property
    def ids(self) -> list[str]:
        return [card.id for card in self.cards]


@dataclass(frozen=True, slots=True)
class FeaturedEntry:
    """A deal of a list, with the title that it had then."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class FeaturedVersion:
    """A list that a page had: who set it, and when (None for one of before that was kept)."""

    page: str
    version: int
    deals: tuple[FeaturedEntry, ...]
    by: str
    at: datetime | None

    @property
    def ids(self) -> list[str]:
        return [deal.id for deal in self.deals]


def keep_version_writes(page: FeaturedPage) -> list[Write]:
    """Return the writes that keep a page's list of now, and forget the one of 5 versions before it."""
    if not page.version:
        return []
    now = FeaturedVersion(page.id, page.version, versions_of(page.cards), page.updated_by, page.updated_at)
    item = FEATURED_VERSION.item(_store_version(now))
    writes: list[Write] = [Put(key=keys.featured_version(page.id, page.version), item=item)]
    if page.version > KEPT:
        writes.append(Delete(key=keys.featured_version(page.id, page.version - KEPT)))
    return writes


@access_pattern("one earlier list of a page", "1 get")
def get_version(page_id: str, version: int) -> FeaturedVersion:
    """Return an earlier list of a page, or raise NotFound."""
    item = table.get(keys.featured_version(page_id, version))
    if item is None:
        raise NotFound(_("This list is no longer kept."))
    return version_from_item(item)


def versions_of(cards: Sequence[DealCard]) -> tuple[FeaturedEntry, ...]:
    """Return the deals of some cards."""
    return tuple(FeaturedEntry(card.id, card.title) for card in cards)


version_from_item = reader(FEATURED_VERSION.shape, FeaturedVersion)
_store_version = writer(FEATURED_VERSION.shape, FeaturedVersion)


TYPES = {FRONT: FRONT_PAGE.type, EDITORS_CHOICE: EDITORS_CHOICE_PAGE.type}


@access_pattern("the featured list of a page", "1 get")
def get(page_id: str) -> FeaturedPage:
    """Return the featured list of a page, empty if it was never set; NotFound for no such page."""
    return from_item(page_id, table.get(_key(page_id)))


@access_pattern("a featured list, and deals for it", "1 batch get")
def load(page_id: str, deal_ids: Iterable[str]) -> tuple[FeaturedPage, dict[str, Deal]]:
    """Return a page's list and those of some deals that exist, for setting the list."""
    deal_ids = list(deal_ids)
    items = table.batch_get([_key(page_id), *(keys.deal(deal_id) for deal_id in deal_ids)])
    deals = {
        deal_id: deal_from_items(items[keys.deal(deal_id)], None)
        for deal_id in deal_ids
        if keys.deal(deal_id) in items
    }
    return from_item(page_id, items.get(page_key(page_id))), deals


@access_pattern("set a featured list", "1 transaction")
def set_featured(
    page: FeaturedPage,
    deals: Sequence[Deal],
    *,
    version: int,
    by: str,
    now: datetime,
    audit_context: AuditContext = NO_CONTEXT,
    planned: bool = False,
) -> FeaturedPage:
    """Set the list of a page to some deals, in this order, and tell each deal so; keep the list of before.

    `planned`: at its time, as somebody planned it; other plans for this page go on holding.
    `page` and `deals` are as `load` gave them, `version` is the one that the editor saw. VersionConflict
    (with the page of now) if the list was set meanwhile; NotFound if a deal was deleted; Invalid for
    more than 24 or a deal twice. 1 transaction; a deal or page that changes at this very moment costs
    1 batch get and 1 transaction more.
    """
    ids = [deal.id for deal in deals]
    check_ids(ids)
    token = new_ulid(now)

    def attempt() -> FeaturedPage:
        nonlocal page, deals
        if page.last_edit == token:
            return page
        if page.version != version:
            raise VersionConflict(_("Somebody else set this list meanwhile."), current=page)
        try:
            by_hand = page.by_hand if planned else version + 1
            writes = _writes(
                page, deals, token=token, by=by, now=now, note=audit_context.note, by_hand=by_hand
            )
            table.transact([*writes, *audit_context.writes])
        except VersionConflict:
            page, found = load(page.id, ids)
            gone = [deal_id for deal_id in ids if deal_id not in found]
            if gone and page.last_edit != token:
                sentence = _("A deal of this list was deleted meanwhile: %(ids)s.")
                raise NotFound(sentence % {"ids": ", ".join(gone)}) from None
            deals = [found[deal_id] for deal_id in ids if deal_id in found]
            raise
        return replace(
            page,
            version=version + 1,
            cards=[deal.card for deal in deals],
            updated_by=by,
            last_edit=token,
            by_hand=by_hand,
            updated_at=now,
        )

    return table.retrying(attempt)


def check_ids(ids: Sequence[str]) -> None:
    """Raise Invalid for more deals than a page features, or for one that is there twice."""
    if len(ids) > MAX_CARDS:
        sentence = _("A page features up to %(most)d deals; remove %(more)d.")
        raise Invalid(deals=sentence % {"most": MAX_CARDS, "more": len(ids) - MAX_CARDS})
    if len(set(ids)) != len(ids):
        raise Invalid(deals=_("A deal can be featured once on a page."))


def _writes(
    page: FeaturedPage, deals: Sequence[Deal], *, token: str, by: str, now: datetime, note: str, by_hand: int
) -> list[Write]:
    """Return the transaction: the page, a check or change of each deal listed, a change of each deal dropped.

    And the list that it was until now, as one of its earlier ones.
    """
    changed = VersionConflict()
    cards = {deal.id: deal.card.as_item() for deal in deals}
    as_read = equals("featured_version", page.version) if page.version else missing("featured_version")
    item = {
        "order": [deal.id for deal in deals],
        "cards": cards,
        "featured_version": page.version + 1,
        "featured_at": iso(now),
        "featured_by": by,
        "featured_edit": token,
        "featured_by_hand": by_hand,
    }
    if page.id in TYPES:
        item["type"] = TYPES[page.id]
    before, after = {"deals": in_lines(page.cards)}, {"deals": in_lines([deal.card for deal in deals])}
    what = "set the featured list"
    writes: list[Write] = [
        Update(key=page_key(page.id), set=item, when=(as_read,), otherwise=changed),
        audit.entry_write(
            by=by, kind="page", subject=page.id, what=what, note=note, now=now, before=before, after=after
        ),
        *keep_version_writes(page),
    ]
    for deal in deals:
        if page.id in deal.featured_on:
            unchanged = (equals("writes", deal.writes),)
            writes.append(Check(key=keys.deal(deal.id), when=unchanged, otherwise=changed))
        else:
            writes.append(replace(deal_write(deal, {}), add={"featured_on": {page.id}, "writes": 1}))
    dropped = [deal_id for deal_id in page.ids if deal_id not in cards]
    gone = {"featured_on": {page.id}}
    return writes + [
        Update(key=keys.deal(one), discard=gone, add={"writes": 1}, when=(exists(),), otherwise=changed)
        for one in dropped
    ]


def shown_of(cards: Iterable[DealCard], now: datetime) -> list[DealCard]:
    """Return the cards of a list that shoppers see: neither scheduled nor expired."""
    return [card for card in cards if card.state(now) not in ("scheduled", "expired")]


def in_lines(deals: Sequence[DealCard | FeaturedEntry]) -> str:
    """Return a list as the audit log shows it, a line for each deal."""
    return "\n".join(f"{number}. {deal.title} ({deal.id})" for number, deal in enumerate(deals, 1))


def from_item(page_id: str, item: Item | None) -> FeaturedPage:
    """Return the featured list that a page's item holds."""
    item = item or {}
    cards = item.get("cards", {})
    return FeaturedPage(
        id=page_id,
        version=item.get("featured_version", 0),
        cards=[DealCard.from_item(cards[deal_id]) for deal_id in item.get("order", ()) if deal_id in cards],
        updated_by=item.get("featured_by", ""),
        last_edit=item.get("featured_edit", ""),
        by_hand=item["featured_by_hand"] if "featured_by_hand" in item else item.get("featured_version", 0),
        updated_at=from_iso(item["featured_at"]) if "featured_at" in item else None,
    )


def _key(page_id: str) -> keys.Key:
    if page_id not in PAGES:
        raise NotFound(_("There is no such page."))
    return page_key(page_id)
