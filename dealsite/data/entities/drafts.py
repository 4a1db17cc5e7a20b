"""Drafts, and what deals and drafts were, are to become, or were when they were deleted."""

from dealsite.data import keys
from dealsite.data.entities.attributes import Expiry, Flag, Map, Plain, Shape, Time, Whole
from dealsite.data.entities.deals import (
    BY,
    DEAL,
    DESCRIPTION_CHARACTERS,
    DRAFT_CARD,
    MAX_STOCK,
    OFFER,
    card,
)
from dealsite.data.entities.entity import At, Entity, since
from dealsite.data.entities.texts import Link, Text, Ulid
from dealsite.data.table.convert import Item

LAST_VERSION = 99_999_999  # no version has a higher number; what stands after it in a partition is no version
EDIT = "[0-7][0-9A-HJKMNP-TV-Z]{25}|[0-9a-f]{32}"  # a ULID, or what a form made up for its autosaves


def content(of: str, *, optional: bool = False) -> Shape:
    """Return what editors write of a deal, half empty as it may be."""
    return {
        "card": Map(card(of_draft=True, of=of), optional=optional),
        "link": Link(least=0, optional=optional),
        "description": Text(least=0, most=DESCRIPTION_CHARACTERS, optional=optional),
        "stock": Whole(most=MAX_STOCK, optional=True, unit="pieces"),
    }


def autosaved(*, optional: bool = False) -> Shape:
    """Return what tells the writes of autosaves apart."""
    return {
        "last_edit": Text(pattern=EDIT, optional=optional, about="the token of its last write"),
        "autosaved_since": Time(optional=True, about="when the autosave began whose result this is"),
    }


WORK: Shape = {**content("id", optional=True), **autosaved(optional=True)}


def is_draft_or_pointer(item: Item) -> str:
    """Say what is wrong with a draft that is neither all there nor published."""
    if "published_as" in item:
        more = sorted(WORK.keys() & item.keys())
        return f"It is published, and still holds {', '.join(more)}." if more else ""
    gone = [name for name in ("card", "link", "description", "last_edit") if name not in item]
    return f"It is not published, and has no {', '.join(gone)}." if gone else ""


DRAFT = Entity(
    type="Draft",
    about="a deal in the making; once it is published, a pointer to its deal, which may have been deleted since",
    key=At(keys.draft, draft="id"),
    rows=[
        At(keys.draft_rows, draft="id", brand="card.brand", category="card.category", unless="published_as")
    ],
    shape={
        "id": Ulid(),
        **WORK,
        "version": Whole(least=1, about="counts its edits"),
        "created_by": BY,
        "updated_at": Time(),
        "updated_by": BY,
        "published_as": Ulid(optional=True, about="its deal"),
    },
    rules=(is_draft_or_pointer,),
)


DEAL_CHANGES = Entity(
    type="DealChanges",
    about="what a deal is to become and shoppers do not see yet",
    key=At(keys.changes, history="of"),
    rows=[At(keys.changed_deals, at="updated_at", history="of", unless="discarded_at")],
    shape={
        "of": Ulid(about="under which id the deal's versions are kept: the one that it had first"),
        "deal": Ulid(refers="Deal or Trash"),
        **content("deal"),
        **autosaved(),
        "base": Whole(least=1, about="the deal's version that they began from"),
        "seen": Text(least=0, about="what their form showed of it, as fingerprints"),
        "version": Whole(least=1, about="counts their own edits"),
        "begun_at": Time(),
        "updated_at": Time(),
        "updated_by": BY,
        "discarded_at": Time(optional=True),
    },
)

VERSION = Entity(
    type="Version",
    about="what a deal or draft was before a change; it goes with the deal or draft that has its id as `history`",
    key=At(keys.version, history="of", number="version"),
    shape={
        "of": Ulid(about="the first id of the deal or draft"),
        "version": Whole(least=1, most=LAST_VERSION),
        **content("of"),
        "made_at": Time(),
        "made_by": BY,
        "ttl": Expiry(optional=True),
    },
    kept=since("versions", "made_at"),
)


def keeps_what_can_come_back(item: Item) -> str:
    """Say what is wrong with the deal or draft that the trash keeps, or with its offer."""
    kept, offer, kind = item["kept"], item.get("offer"), DEAL if item["kind"] == "deal" else DRAFT
    if kept["type"] != kind.type or kept["id"] != item["id"]:
        return f"It keeps the {kept['type']} {kept['id']}."
    said = list(kind.problems(kept))
    if offer is not None:
        said += OFFER.problems(offer)
        if kind is DRAFT or (offer["type"], offer["id"]) != (OFFER.type, item["id"]):
            said.append(f"The offer is the {offer['type']} {offer['id']}.")
    return f"What it keeps is not whole: {' '.join(said)}" if said else ""


TRASH_CARD: Shape = {
    **DRAFT_CARD,
    "kind": Text(one_of=("deal", "draft"), copy_of="kind"),
    "deleted_at": Time(),
    "deleted_by": BY,
}
TRASH = Entity(
    type="Trash",
    about="a deleted deal or draft, whole as it was, for 30 days",
    key=At(keys.trash, kind="kind", target="id"),
    rows=[At(keys.trashed, at="card.deleted_at", kind="kind", target="id")],
    shape={
        "kind": Text(one_of=("deal", "draft")),
        "id": Ulid(),
        "token": Ulid(about="tells this deletion from others of the same thing"),
        "kept": Plain(about="the item of the deal or draft, without its index rows"),
        "offer": Plain(optional=True, about="that of the deal's offer, if it had one"),
        "card": Map(TRASH_CARD),
        "emptying": Flag(optional=True, about="it is being deleted for good"),
    },
    rules=(keeps_what_can_come_back,),
)
