"""Deals and drafts: what is sold, at which price, and what it was before or is to become."""

from decimal import Decimal

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    LINK_CHARACTERS,
    Day,
    Expiry,
    Flag,
    Link,
    ListOf,
    Map,
    Money,
    Plain,
    SetOf,
    Shape,
    Slug,
    Text,
    Time,
    Ulid,
    Username,
    Whole,
)
from dealsite.data.entities.entity import At, Entity, since
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso, time_of

FRONT, EDITORS_CHOICE = "front", "editors-choice"
CATEGORIES = {
    "computers-components": "Computers",
    "peripherals-networking": "Peripherals",
    "audio-tv-photo": "Audio, TV & Photo",
    "office-software": "Office & Software",
    "home-furniture": "Home & Furniture",
    "grocery-household": "Grocery",
    "fashion-beauty": "Fashion & Beauty",
    "toys-hobbies": "Toys & Hobbies",
}
PAGES = (FRONT, EDITORS_CHOICE, *CATEGORIES)  # their ids


TITLE_CHARACTERS = 300
DESCRIPTION_CHARACTERS = 20_000
VOUCHER_CODE_CHARACTERS = 100
CONDITION_CHARACTERS = 60
SEEN_AT_CHARACTERS = 200  # a link or a place
ARTICLE_NUMBER_CHARACTERS = 70
ALT_CHARACTERS = 500
NAME_CHARACTERS = 80  # of a brand or category
MAX_PRICE = Decimal("9999999.99")
MAX_STOCK = 1_000_000
MOST_HOT = 500
HERE, SHOP, CODE = SOLD = ("here", "shop", "code")  # by the site itself, at a shop, or there with a code
AT_SHOPS = (SHOP, CODE)
BY = Username(personal=True, also=("-",), about="the user name of whoever did it; - is the site itself")

PICTURE: Shape = {
    "name": Text(most=200, about="in the media storage"),
    "width": Whole(least=1, most=100_000, unit="pixels"),
    "height": Whole(least=1, most=100_000, unit="pixels"),
    "alt": Text(least=0, most=ALT_CHARACTERS, optional=True),
    "focal_x": Whole(most=100, unit="percent", optional=True),
    "focal_y": Whole(most=100, unit="percent", optional=True),
}


CATEGORY_OF = Text(one_of=tuple(CATEGORIES), refers="Category")
LINK_CHECK: Shape = {
    "link": Link(about="which was checked; the deal may have another by now"),
    "failures": Whole(least=1, optional=True, about="checks in a row that found nothing behind it"),
    "since": Time(optional=True, about="the first of them"),
    "last": Time(optional=True),
    "reason": Text(most=40, optional=True, about="the status that the shop answered, or `name`"),
    "accepted_until": Time(optional=True, about="until then an editor's word holds that it is fine"),
}


def card(*, of_draft: bool = False, of: str = "id") -> Shape:
    """Return what lists show of a deal; a draft's may be half empty. `of` is the attribute that says whose it is.

    What was, and what is to come, keeps the name that the brand had then.
    """
    return {
        "id": Ulid(copy_of=of),
        "title": Text(most=TITLE_CHARACTERS, optional=of_draft),
        "brand": Slug(refers="" if of_draft else "Brand", optional=of_draft),
        "brand_name": Text(
            copy_of="Brand.name" if of == "id" else "", most=NAME_CHARACTERS, optional=of_draft
        ),
        "category": Slug(optional=True) if of_draft else CATEGORY_OF,
        "price": Money(most=MAX_PRICE, optional=True),
        "condition": Text(most=CONDITION_CHARACTERS, optional=True, about="what there is instead of a price"),
        "was_price": Money(most=MAX_PRICE, optional=True, about="the RRP, or the 30-day low that was seen"),
        "low_seen_at": Text(most=SEEN_AT_CHARACTERS, optional=True, about="where the seller states it"),
        "low_seen_on": Day(optional=True),
        "low": Money(
            most=MAX_PRICE, optional=True, about="lowest price of the 30 days before the one that holds"
        ),
        "raised_from": Money(most=MAX_PRICE, optional=True, about="the price before, if it was lower"),
        "picture": Map(PICTURE, optional=True),
        "sold": Text(one_of=SOLD, optional=True, about="by the site itself, at a shop, or there with a code"),
        "shop": Text(most=LINK_CHARACTERS, optional=True, about="the host of the link of what a shop sells"),
        "is_ad": Flag(optional=True, about="the site earns from its link"),
        "voucher_code": Text(most=VOUCHER_CODE_CHARACTERS, optional=True),
        "article_number": Text(
            most=ARTICLE_NUMBER_CHARACTERS, optional=True, about="the shop's or supplier's"
        ),
        "expires_at": Time(optional=True),
        "sold_out": Flag(optional=True, about="its offer has a stock of 0"),
        "changed_at": Time(optional=True, about="the last edit since its publication"),
    }


DEAL_CARD, DRAFT_CARD = card(), card(of_draft=True)


def is_priced(item: Item) -> str:
    """Say what is wrong with a published deal of which nobody knows what it costs, or whose was-price is too low."""
    shown = item["card"]
    if "price" not in shown and "condition" not in shown:
        return "It has neither a price nor a condition."
    is_so = "was_price" not in shown or shown["was_price"] > shown.get("price", shown["was_price"])
    return "" if is_so else "The was-price is not above the price."


def ends_after_publication(item: Item) -> str:
    """Say what is wrong with a deal that was over before it was there."""
    ends = item["card"].get("expires_at")
    is_so = ends is None or ends >= iso(time_of(item["id"]))
    return "" if is_so else f"It ended at {ends}, before its publication."


def link_check_is_whole(item: Item) -> str:
    """Say what is missing of a failed check."""
    found, whole = item.get("link_check", {}).keys(), {"failures", "since", "last", "reason"}
    return "" if found.isdisjoint(whole) or whole <= found else "What was found of its link is not whole."


DEAL = Entity(
    type="Deal",
    about="a published or scheduled deal",
    key=At(keys.deal, deal="id"),
    rows=[At(keys.feed_rows, deal="id", brand="card.brand", category="card.category")],
    shape={
        "id": Ulid(about="its time is that of publication"),
        "card": Map(DEAL_CARD),
        "link": Link(optional=True, about="kept aside, unseen, if the site itself sells it"),
        "description": Text(least=0, most=DESCRIPTION_CHARACTERS),
        "featured_on": SetOf(Text(one_of=PAGES), optional=True, about="pages whose featured list has it"),
        "version": Whole(least=1, about="counts its edits"),
        "writes": Whole(least=1, about="counts all changes, also of copies"),
        "last_edit": Ulid(optional=True),
        "created_at": Time(),
        "created_by": BY,
        "updated_at": Time(),
        "updated_by": BY,
        "draft": Ulid(optional=True, about="the draft that it was, which may lie in no table of today"),
        "announced": Flag(optional=True, about="a job of its id sends messages about it"),
        "has_prices": Flag(optional=True, about="its prices are kept from its publication on"),
        "history": Ulid(optional=True, about="under which its versions are kept, if not its own"),
        "link_check": Map(
            LINK_CHECK, optional=True, about="what the last checks of its link found, if not all is well"
        ),
    },
    rules=(is_priced, ends_after_publication, link_check_is_whole),
)

OFFER = Entity(
    type="Offer",
    about="price, expiry and stock of a deal, which checkouts read and change",
    key=At(keys.offer, deal="id"),
    rows=[At(keys.expiry_rows, deal="id", brand="brand", category="category", end="expires_at")],
    shape={
        "id": Ulid(refers="Deal"),
        "brand": Slug(copy_of="Deal.card.brand"),
        "category": Text(one_of=tuple(CATEGORIES), copy_of="Deal.card.category"),
        "price": Money(most=MAX_PRICE, optional=True, copy_of="Deal.card.price"),
        "expires_at": Time(optional=True, copy_of="Deal.card.expires_at"),
        "stock": Whole(most=MAX_STOCK, optional=True, unit="pieces", about="absent: not counted"),
        "elsewhere": Flag(optional=True, about="a shop sells it: no cart takes it"),
    },
)

DEAL_BY = Entity(
    type="DealBy",
    about="a deal or draft that has, or had, a link or article number; its key holds the hash of that",
    key=At(keys.deal_by, target="id"),
    shape={"id": Ulid(about="which may have others by now, or be gone")},
)

PRICE = Entity(
    type="Price",
    about="a price that a deal has had",
    key=At(keys.price, deal="deal", since="since", entry="id"),
    shape={
        "deal": Ulid(refers="Deal or Trash"),
        "id": Ulid(),
        "since": Time(),
        "price": Money(most=MAX_PRICE),
        "new_seller": Flag(optional=True, about="another sold it before"),
    },
    gone=("was_price",),
)

ACTIVITY = Entity(
    type="Clicks",
    about="how many visitors went to the shop of a deal on a day, and ordered it; may outlive the deal",
    key=At(keys.activity, deal="deal", day="day"),
    rows=[At(keys.active, deal="deal", day="day")],
    shape={
        "deal": Ulid(),
        "day": Day(about="UTC"),
        "visitors": SetOf(
            Text(most=4), optional=True, about="two bytes of a hash for each, while the day is open"
        ),
        "clicks": Whole(optional=True, about="how many they were, once it is closed"),
        "orders": Whole(optional=True),
        "ttl": Expiry(),
    },
)

HOT_DEALS = Entity(
    type="HotDeals",
    about="the hot deals, the hottest first, as a worker ranked them last",
    key=At(keys.hot_deals),
    shape={
        "deals": ListOf(
            Map(
                {
                    "id": Ulid(),
                    "brand": Slug(),
                    "category": Text(one_of=tuple(CATEGORIES)),
                    "likes": Whole(),
                    "expires_at": Time(optional=True),
                }
            ),
            most=MOST_HOT,
        ),
        "at": Time(),
    },
    is_passing=True,
)


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
