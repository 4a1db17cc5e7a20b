"""Deals, drafts, and what they were or are to become."""

from decimal import Decimal

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    Flag,
    Link,
    Map,
    Money,
    SetOf,
    Shape,
    Slug,
    Text,
    Time,
    Ulid,
    Whole,
)
from dealsite.data.entities.entity import At, Entity
from dealsite.data.table.convert import Item

TITLE_CHARACTERS = 300
DESCRIPTION_CHARACTERS = 20_000
VOUCHER_CODE_CHARACTERS = 100
ALT_CHARACTERS = 500
MAX_PRICE = Decimal("9999999.99")
MAX_STOCK = 1_000_000

PICTURE: Shape = {
    "name": Text(most=200, about="in the media storage"),
    "width": Whole(least=1, most=100_000, unit="pixels"),
    "height": Whole(least=1, most=100_000, unit="pixels"),
    "alt": Text(least=0, most=ALT_CHARACTERS, optional=True),
    "focal_x": Whole(most=100, unit="percent", optional=True),
    "focal_y": Whole(most=100, unit="percent", optional=True),
}


def card(*, of_draft: bool = False) -> Shape:
    """Return what lists show of a deal; a draft's may be half empty."""
    return {
        "id": Ulid(copy_of="id"),
        "title": Text(most=TITLE_CHARACTERS, optional=of_draft),
        "brand": Slug(refers="" if of_draft else "Brand", optional=of_draft),
        "brand_name": Text(copy_of="Brand.name", most=300, optional=of_draft),
        "category": Slug(refers="" if of_draft else "Category", optional=of_draft),
        "price": Money(most=MAX_PRICE, optional=of_draft),
        "was_price": Money(most=MAX_PRICE, optional=True),
        "picture": Map(PICTURE, optional=True),
        "voucher_code": Text(most=VOUCHER_CODE_CHARACTERS, optional=True),
        "expires_at": Time(optional=True),
        "sold_out": Flag(optional=True, about="its offer has a stock of 0"),
    }


DEAL_CARD, DRAFT_CARD = card(), card(of_draft=True)


def was_price_is_above(item: Item) -> str:
    """Say what is wrong with a published deal's was-price."""
    shown = item["card"]
    is_so = "was_price" not in shown or shown["was_price"] > shown["price"]
    return "" if is_so else "The was-price on its card is not above the price."


DEAL = Entity(
    type="Deal",
    about="a published or scheduled deal",
    key=At(keys.deal, deal="id"),
    rows=[At(keys.feed_rows, deal="id", brand="card.brand", category="card.category")],
    shape={
        "id": Ulid(about="its time is that of publication"),
        "card": Map(DEAL_CARD),
        "link": Link(),
        "description": Text(least=0, most=DESCRIPTION_CHARACTERS),
        "featured_on": SetOf(Text(most=60), optional=True, about="pages whose featured list has it"),
        "version": Whole(least=1, about="counts its edits"),
        "writes": Whole(least=1, about="counts all changes, also of copies"),
        "last_edit": Ulid(optional=True),
        "created_at": Time(),
        "created_by": Text(most=60, personal=True),
        "updated_at": Time(),
        "updated_by": Text(most=60, personal=True),
        "draft": Ulid(optional=True, about="the draft that it was"),
        "announced": Flag(optional=True, about="a job of its id sends messages about it"),
        "has_prices": Flag(optional=True, about="its prices are kept from its publication on"),
        "history": Ulid(optional=True, about="under which its versions are kept, if not its own"),
    },
    rules=(was_price_is_above,),
)

OFFER = Entity(
    type="Offer",
    about="price, expiry and stock of a deal, which checkouts read and change",
    key=At(keys.offer, deal="id"),
    rows=[At(keys.expiry_rows, deal="id", brand="brand", category="category", end="expires_at")],
    shape={
        "id": Ulid(refers="Deal"),
        "brand": Slug(copy_of="Deal.card.brand"),
        "category": Slug(copy_of="Deal.card.category"),
        "price": Money(most=MAX_PRICE, copy_of="Deal.card.price"),
        "expires_at": Time(optional=True, copy_of="Deal.card.expires_at"),
        "stock": Whole(most=MAX_STOCK, optional=True, unit="pieces", about="absent: not counted"),
    },
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
        "was_price": Money(most=MAX_PRICE, optional=True),
    },
)
