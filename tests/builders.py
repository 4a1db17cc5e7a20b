"""Makes what tests are about, with everything that they do not mention filled in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

from dealsite.data.catalogue import brands, categories, drafts, publishing
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.content import DealContent, sold_by
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.entities.deals import HERE
from dealsite.data.names import slugify
from dealsite.data.people import announcements
from dealsite.data.people.announcements import Audience
from dealsite.data.table import errors, ids
from dealsite.data.table.paging import to_end

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
EVER = datetime(9000, 1, 1, tzinfo=UTC)  # after all that tests and the machine's clock do
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
EDITOR = "eve"
WORKER = ids.new_ulid(NOW, 0)  # the token of a take
LINK = "https://shop.example/keyboard"
PICTURE = Picture("pictures/ab/abcdef", 1200, 900, "A keyboard on a desk")
_numbers = count(1)


class Clock:
    """Seconds that pass when told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


STATED: dict[str, Any] = {"low_seen_at": "its shop window", "low_seen_on": NOW.date()}  # of a was-price
CONDITION: dict[str, Any] = {  # of a deal without a price
    "price": None,
    "was_price": None,
    "condition": "20 % off all shoes",
    "link": LINK,
}


def make_id(live_at: datetime = NOW - HOUR, number: int | None = None) -> str:
    """Return a deal id for a publication time; of one time, later ids sort after earlier ones."""
    return ids.new_ulid(live_at, next(_numbers) if number is None else number)


def make_content(**overrides: Any) -> DealContent:
    """Return what an editor would publish: at a shop if a link or code but no stock is given."""
    filled: dict[str, Any] = {
        "title": "Mechanical keyboard",
        "brand": "nordlicht",
        "category": "peripherals-networking",
        "price": Decimal("79.90"),
        "was_price": Decimal("119.00"),
        "sold": HERE,
        "description": "Quiet switches.",
    }
    if overrides.keys() & {"link", "voucher_code"}:
        filled |= {"sold": sold_by(overrides.get("stock"), overrides.get("voucher_code", "")), "link": LINK}
    return DealContent(**(filled | overrides))


def make_brand(name: str = "Nordlicht", **overrides: Any) -> Brand:
    """Return the brand of a name, created where it is missing."""
    try:
        filled: dict[str, Any] = {"by": EDITOR, "now": NOW}
        return brands.create(name, **(filled | overrides))
    except errors.AlreadyExists:
        return brands.get(slugify(name))


def all_brands() -> list[brands.BrandName]:
    """Return all brands, from A to Z."""
    return [brand for page in to_end(brands.names) for brand in page.rows]


def make_deal(
    *,
    deal_id: str | None = None,
    live_at: datetime = NOW - HOUR,
    brand: str = "Nordlicht",
    by: str = EDITOR,
    now: datetime = NOW,
    draft: Draft | None = None,
    announce: bool = False,
    **content: Any,
) -> Deal:
    """Publish a deal with its brand (given by display name) and category, created where missing."""
    made = make_content(**({"brand": slugify(brand)} | content))
    make_category(made.category)
    of_brand = make_brand(brand)
    return publishing.publish(
        made,
        deal_id=deal_id or make_id(live_at),
        brand=of_brand,
        by=by,
        now=now,
        draft=draft,
        announce=announce,
    )


def make_category(slug: str) -> None:
    """Create a category where it is missing."""
    try:
        categories.create(slug)
    except errors.AlreadyExists:
        return


def make_draft(
    *, draft_id: str | None = None, brand: str = "", by: str = EDITOR, now: datetime = NOW, **content: Any
) -> Draft:
    """Store a draft; only what is named is filled in, the brand by its display name."""
    of_brand = make_brand(brand) if brand else None
    made = DealContent(**content, brand=of_brand.slug if of_brand else "")
    return drafts.create(made, draft_id=draft_id or make_id(now), by=by, now=now, brand=of_brand)


def make_announcement(deal_id: str, message_id: str, **overrides: Any) -> str:
    """Order a message about a deal, to all users unless it is said; return its id."""
    words: dict[str, Any] = {"headline": "Look", "text": "", "audience": Audience(), "by": EDITOR, "now": NOW}
    announcements.send(deal_id, message_id=message_id, **(words | overrides))
    return message_id
