"""The card of a deal: what every list shows of it, copied into indexes and featured lists, which follow it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property

from dealsite.data import keys
from dealsite.data.entities.deals import DRAFT_CARD, EDITORS_CHOICE as EDITORS_CHOICE, FRONT as FRONT, PICTURE
from dealsite.data.entities.entity import reader, writer
from dealsite.data.names import slugify
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import VersionConflict
from dealsite.data.table.ids import time_of
from dealsite.data.table.writes import Update, equals, present

ENDING_SOON = timedelta(hours=48)
OVER = ("expired", "sold_out")  # states of what can no longer be had
LOOKED_BACK = timedelta(days=30)  # for the lowest price before a reduction
LEAST_PERCENT = 5  # less off is no reduction to speak of
CENTRE = 50  # percent: where the focal point of a picture is until somebody chooses another


@dataclass(frozen=True, slots=True)
class Picture:
    """A stored picture: its name in the media storage, its size in pixels, and its alt text.

    The focal point, in percent from the left and from the top, is what stays in view where the picture is cropped.
    """

    name: str
    width: int
    height: int
    alt: str = ""
    focal_x: int = CENTRE
    focal_y: int = CENTRE

    @property
    def is_centred(self) -> bool:
        """Whether nobody has chosen another focal point than the middle."""
        return (self.focal_x, self.focal_y) == (CENTRE, CENTRE)

    def as_item(self) -> Item:
        item: Item = {"name": self.name, "width": self.width, "height": self.height, "alt": self.alt}
        return item if self.is_centred else item | {"focal_x": self.focal_x, "focal_y": self.focal_y}

    @classmethod
    def from_item(cls, item: Item | None) -> Picture | None:
        return _read_picture(item) if item else None


@dataclass(frozen=True)
class DealCard:
    """What a list shows of a deal or a draft (a draft's may be half empty); aware UTC times, prices with cents.

    `condition` is what there is instead of a price ("20 % off all shoes"), '' where there is one.

    `was_price` is what the maker asks (the RRP), or, if an editor saw it at `low_seen_at` on `low_seen_on`, what the
    seller states as its lowest price of 30 days. `low` is the lowest price of the 30 days before the one that holds,
    where it is known, `raised_from` the one before it if that was lower. `sold` is HERE, SHOP or CODE, '' where a
    build of before wrote it; `shop` is the host of what a shop sells.
    """

    id: str
    title: str
    brand: str
    brand_name: str
    category: str
    price: Decimal | None
    condition: str = ""
    was_price: Decimal | None = None
    low_seen_at: str = ""
    low_seen_on: date | None = None
    low: Decimal | None = None
    raised_from: Decimal | None = None
    picture: Picture | None = None
    sold: str = ""
    shop: str = ""
    is_ad: bool = False
    voucher_code: str = ""
    article_number: str = ""
    expires_at: datetime | None = None
    sold_out: bool = False
    changed_at: datetime | None = None

    @cached_property
    def live_at(self) -> datetime:
        """The publication time, which is the id's."""
        return time_of(self.id)

    @property
    def updated_at(self) -> datetime:
        """When what shoppers read of it changed last."""
        return max(self.live_at, self.changed_at or self.live_at)

    @cached_property
    def slug(self) -> str:
        return slugify(self.title) or "deal"

    @property
    def saving(self) -> Decimal | None:
        """How much less it costs than the lowest price of the 30 days before; None for no true reduction."""
        return (
            self.low - self.price if self.low and self.price is not None and self.price < self.low else None
        )

    @cached_property
    def percent_off(self) -> int | None:
        """The saving in whole percents, rounded down; None under 5."""
        percent = int(self.saving * 100 // self.low) if self.saving and self.low else 0
        return percent if percent >= LEAST_PERCENT else None

    @property
    def rrp(self) -> Decimal | None:
        """What the maker asks, where nothing else may be said of an earlier price."""
        says_more = self.low_seen_on or self.saving or self.raised_from
        return None if says_more else self.was_price

    def state(self, now: datetime) -> str:
        """Return scheduled, expired, sold_out, ending (within 48 hours) or live."""
        if self.live_at > now:
            return "scheduled"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        if self.sold_out:
            return "sold_out"
        if self.expires_at is not None and self.expires_at <= now + ENDING_SOON:
            return "ending"
        return "live"

    def is_live(self, now: datetime) -> bool:
        """Tell whether it can be had."""
        return self.state(now) in ("ending", "live")

    def is_visible(self, now: datetime) -> bool:
        """Tell whether shoppers may know of it yet."""
        return self.live_at <= now

    def as_item(self) -> Item:
        """Return the map stored under `card`; what is empty is left out."""
        return _store_card(self)

    @classmethod
    def from_item(cls, card: Item) -> DealCard:
        return _read_card(card)


_read_picture = reader(PICTURE, Picture)
_read_card, _store_card = reader(DRAFT_CARD, DealCard), writer(DRAFT_CARD, DealCard)


# Featured copies


def page_key(page_id: str) -> keys.Key:
    """Return the key of the item that holds a page's featured list; a category's page id is its slug."""
    if page_id == FRONT:
        return keys.front_page()
    return keys.editors_choice_page() if page_id == EDITORS_CHOICE else keys.category(page_id)


def renew_featured(pages: Iterable[str], card: DealCard) -> list[Update]:
    """Return the writes that put a changed card on the pages that feature it."""
    changes, when = {("cards", card.id): card.as_item()}, (present(("cards", card.id)),)
    return [Update(key=page_key(page), set=changes, when=when, otherwise=VersionConflict()) for page in pages]


def remove_featured(pages: Iterable[str], deal_id: str) -> list[Update]:
    """Return the writes that take a deleted deal's card from the pages that feature it."""
    card = ("cards", deal_id)
    when = (present(card),)
    return [
        Update(key=page_key(page), remove=(card,), when=when, otherwise=VersionConflict()) for page in pages
    ]


def replace_featured(places: dict[str, int], old_id: str, card: DealCard) -> list[Update]:
    """Return the writes that put a rescheduled deal's card in its old one's place: page id -> index in `order`."""
    return [
        Update(
            key=page_key(page),
            set={("cards", card.id): card.as_item(), ("order", place): card.id},
            remove=(("cards", old_id),),
            when=(equals(("order", place), old_id), present(("cards", old_id))),
            otherwise=VersionConflict(),
        )
        for page, place in places.items()
    ]
