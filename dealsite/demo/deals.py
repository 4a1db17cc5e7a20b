"""Makes up the demo's deals from the catalogue: always the same ones, dated from a given moment."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from dealsite.data.content import DealContent
from dealsite.data.ids import RANDOM_BITS, first_ulid_of, new_ulid, slugify
from dealsite.demo.art import SHAPES, STAGES, Scene
from dealsite.demo.brands import BRANDS, FASHION, GROCERY, HOME, DemoBrand
from dealsite.demo.catalogue import PRODUCTS, Product
from dealsite.demo.people import EDITORS

DEALS = 400
SCHEDULED = 14
DAYS = 60
DAYS_AHEAD = 4
DRAFTS = 9
FEATURED = {"front": 9, "editors-choice": 12}
FEATURED_IN_CATEGORY = 6

REMARKS = (
    "Delivery is free.",
    "Returns are free for thirty days.",
    "The guarantee is two years, from {brand} itself.",
    "It has not been this cheap all year.",
    "Somebody here ordered it before this was written.",
    "The price holds while the shop has some left.",
    "New in the shop, and already reduced.",
    "Our readers asked for this one again and again.",
)


@dataclass(frozen=True)
class DemoDeal:
    """A deal as the demo makes it; its picture is drawn from `scene` and named by `alt`."""

    id: str
    content: DealContent
    brand: DemoBrand
    scene: Scene
    alt: str
    by: str


@dataclass(frozen=True)
class DemoDraft:
    """A draft, of which some fields are still missing."""

    id: str
    deal: DemoDeal
    content: DealContent
    has_picture: bool
    updated_at: datetime


def all_deals(now: datetime) -> list[DemoDeal]:
    """Return the 400 deals, oldest first: the last 60 days before `now`, and some in the days after it."""
    times = _times(now)
    order = _products()
    return [_deal(n, *order[n % len(order)], live_at=live_at, now=now) for n, live_at in enumerate(times)]


def all_drafts(now: datetime) -> list[DemoDraft]:
    """Return some drafts: the first ones complete, the others with fields still missing."""
    order = _products()
    drafts = []
    for n in range(DRAFTS):
        deal = _deal(DEALS + n, *order[(n * 13 + 5) % len(order)], live_at=now + timedelta(days=1), now=now)
        content = replace(deal.content, expires_at=None)
        if n > 2:
            content = replace(content, price=None, was_price=None)
        if n > 4:
            content = replace(content, link="", description="")
        if n > 6:
            content = replace(content, category="", brand="")
        updated_at = now - timedelta(hours=3 + 17 * n)
        drafts.append(
            DemoDraft(new_ulid(updated_at, _bits(f"draft {n}")), deal, content, n % 3 != 2, updated_at)
        )
    return drafts


def featured(deals: list[DemoDeal], now: datetime) -> dict[str, list[str]]:
    """Return the ids that each page features: deals that are live, reduced, and do not expire."""
    rng = random.Random("featured")  # noqa: S311 (nothing secret: the demo is the same everywhere)
    good = [
        deal
        for deal in deals
        if deal.content.expires_at is None
        and deal.content.stock != 0
        and deal.content.was_price is not None
        and deal.id < first_ulid_of(now)
    ][-90:]
    rng.shuffle(good)
    pages: dict[str, list[str]] = {}
    taken: set[str] = set()
    led: set[str] = set()
    for page, count in FEATURED.items():
        there = [deal for deal in good if deal.id not in taken]
        leaders = [deal for deal in there if _leads(deal) and deal.content.category not in led]
        leader = max(leaders, key=lambda deal: deal.content.price or 0)
        led.add(leader.content.category)
        pages[page] = _spread([leader, *there], count)
        taken |= set(pages[page])
    for category in PRODUCTS:
        there = [deal for deal in good if deal.content.category == category]
        there.sort(key=lambda deal: deal.id in taken)  # new faces first
        leader = next(deal for deal in there if _leads(deal))
        ids = dict.fromkeys(deal.id for deal in [leader, *there])
        pages[category] = list(ids)[:FEATURED_IN_CATEGORY]
    return pages


def _leads(deal: DemoDeal) -> bool:
    """Tell whether a deal may stand first on a page, with a large picture."""
    return deal.scene.tint == 0 and deal.scene.turn == 0 and deal.scene.shape in ("podium", "arch", "sun")


def _spread(deals: list[DemoDeal], count: int) -> list[str]:
    """Take a number of deals of as many categories and products as there are."""
    chosen: list[DemoDeal] = []
    for mixed in (True, False):
        for deal in deals:
            near = {one.content.category for one in chosen[-7:]} if mixed else set()
            objects = {one.scene.objects[0] for one in chosen}
            fits = deal.scene.objects[0] not in objects and deal.content.category not in near
            if fits and len(chosen) < count:
                chosen.append(deal)
    return [deal.id for deal in chosen]


def _times(now: datetime) -> list[datetime]:
    """Return the publication times: mostly by day, a little denser towards now, to the minute."""
    rng = random.Random("times")  # noqa: S311
    start = now.replace(second=0, microsecond=0)
    past: set[datetime] = set()
    while len(past) < DEALS - SCHEDULED:
        ago = timedelta(days=DAYS * rng.random() ** 1.25)
        moment = start - timedelta(minutes=4) - ago
        if 7 <= moment.hour < 22:
            past.add(moment.replace(second=0, microsecond=0))
    future: set[datetime] = set()
    while len(future) < SCHEDULED:
        future.add(start + timedelta(minutes=rng.randrange(90, DAYS_AHEAD * 24 * 60)))
    return sorted(past) + sorted(future)


def _products() -> list[tuple[str, Product]]:
    """Return every product with its category, in an order that mixes the categories."""
    rng = random.Random("products")  # noqa: S311
    queues = {category: rng.sample(products, len(products)) for category, products in PRODUCTS.items()}
    mixed: list[tuple[str, Product]] = []
    while any(queues.values()):
        for category in rng.sample(list(queues), len(queues)):
            if queues[category]:
                mixed.append((category, queues[category].pop()))
    return mixed


def _deal(n: int, category: str, product: Product, *, live_at: datetime, now: datetime) -> DemoDeal:
    rng = random.Random(f"deal {n}")  # noqa: S311
    brand = rng.choice(makers(product))
    variant = rng.randrange(len(product.variants))
    price = _price(rng, product, variant)
    was_price = _was_price(rng, price)
    title = f"{brand.name} {rng.choice(product.models)} {product.noun}, {product.variants[variant]}"
    voucher = ""
    if rng.random() < 0.24:
        voucher = f"{slugify(brand.name).replace('-', '').upper()[:8]}{rng.choice((5, 10, 15, 20))}"
    stock = rng.choice((3, 8, 12, 25, 40, 60, 120)) if rng.random() < 0.3 else None
    if n % 83 == 40:
        stock = 0
    content = DealContent(
        title=title,
        brand=slugify(brand.name),
        category=category,
        price=price,
        was_price=was_price,
        voucher_code=voucher,
        link=f"https://{slugify(brand.name)}.example/shop/{slugify(title)}",
        description=_description(rng, product, brand, voucher, stock),
        stock=stock,
        expires_at=_expiry(rng, live_at, now),
    )
    deal_id = new_ulid(live_at, _bits(f"deal {n}"))
    return DemoDeal(deal_id, content, brand, _scene(rng, category, product), product.alt, rng.choice(EDITORS))


def makers(product: Product) -> list[DemoBrand]:
    """Return the brands that make a product."""
    return [brand for brand in BRANDS if any(word in product.noun for word in brand.makes)]


def _price(rng: random.Random, product: Product, variant: int) -> Decimal:
    """Return a price in the product's range, higher for the later variants, with the ending that shops like."""
    share = (variant + rng.random()) / len(product.variants)
    amount = product.low + (product.high - product.low) * share**1.3
    if amount >= 150:
        return Decimal(int(amount / 10) * 10 + 9)
    return Decimal(int(amount)) + rng.choice(
        (Decimal("0.99"), Decimal("0.90"), Decimal("0.49"), Decimal("0.95"))
    )


def _was_price(rng: random.Random, price: Decimal) -> Decimal | None:
    if rng.random() < 0.14:
        return None
    before = float(price) / (1 - rng.choice((0.1, 0.15, 0.2, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)))
    if before >= 150:
        return Decimal(round(before / 10) * 10 + 9)
    return Decimal(round(before)) + Decimal("0.99")


def _description(
    rng: random.Random, product: Product, brand: DemoBrand, voucher: str, stock: int | None
) -> str:
    points = "\n".join(f"- {point}" for point in product.points)
    remarks = [remark.format(brand=brand.name) for remark in rng.sample(REMARKS, 2)]
    if voucher:
        remarks.insert(0, f"Enter **{voucher}** at the checkout to get this price.")
    if stock:
        remarks[-1] = f"The shop has put {stock} of them aside for us."
    return f"{product.pitch}\n\n{points}\n\n{' '.join(remarks)}"


def _expiry(rng: random.Random, live_at: datetime, now: datetime) -> datetime | None:
    """Return when a deal ends: often never, sometimes within the next two days, mostly at a day's end."""
    chance = rng.random()
    if chance < 0.4:
        return None
    if chance < 0.5 and live_at < now:
        return now + timedelta(hours=rng.randrange(5, 47), minutes=rng.randrange(60))
    days = rng.choice((3, 5, 7, 10, 14, 21, 30, 45))
    return (live_at + timedelta(days=days)).replace(hour=22, minute=0, second=0)


def _scene(rng: random.Random, category: str, product: Product) -> Scene:
    shape = rng.choice(SHAPES)
    poses = ["one", "one"] + (["companion", "companion"] if len(product.objects) > 1 else ["one"])
    if category != HOME:
        poses.append("pair")
    if shape in ("sun", "waves", "plain") and category != HOME:
        poses.append("trio")
    pose = rng.choice(poses)
    turns = (0.0, 0.0, -7.0, 7.0) if category in (FASHION, GROCERY) and shape != "podium" else (0.0,)
    tint = rng.choice((0.0, 0.0, 0.48, 0.6, 0.74, 0.88)) if product.tints else 0.0
    return Scene(product.objects, rng.randrange(len(STAGES)), shape, pose, rng.choice(turns), tint)


def _bits(text: str) -> int:
    digest = hashlib.sha256(f"dealsite demo: {text}".encode()).digest()
    return int.from_bytes(digest[: RANDOM_BITS // 8])
