"""A draft as it is stored, reading it, and what publishing makes of it: a pointer to its deal."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import DealContent, content_from_item
from dealsite.data.entities.conversion import reader
from dealsite.data.entities.drafts import DRAFT
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid, iso, new_ulid
from dealsite.data.table.writes import Condition, Put, Update, at_version, equals, exists, missing

TOGETHER = timedelta(minutes=10)  # what is saved by itself within this time is one change


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


def reopen_write(pointer: Draft, content: DealContent, card: DealCard, *, by: str, now: datetime) -> Put:
    """Return the write that makes a published draft one to be worked on again, with what its deal holds."""
    brand = Brand(card.brand, card.brand_name)
    token = new_ulid(now)
    return Put(
        key=keys.draft(pointer.id),
        item=draft_item(pointer.id, content, brand, pointer.version + 1, token, pointer.created_by, by, now),
        when=(*at_version(pointer.version), equals("published_as", card.id)),
        otherwise=VersionConflict(gettext_lazy("This draft was changed meanwhile.")),
    )


def moved_write(draft_id: str, deal_id: str) -> Update:
    """Return the write that points a published draft to the new id of its rescheduled deal."""
    return Update(key=keys.draft(draft_id), set={"published_as": deal_id}, when=(exists(),))
