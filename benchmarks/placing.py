"""Placing orders of a file by the site's own code: deals are published, users made, carts filled and ordered.

What is made has ids that follow from the file, so an order is placed once, however often it is loaded. The times are
the file's.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.orders_file import OrderEntry, Product, derived_id, read
from benchmarks.sharing import share
from dealsite.data.catalogue import brands, categories, deals, publishing
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import DealContent
from dealsite.data.commerce import cart_changes, carts, order_changes, order_record, orders
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.countries import country_of, rules_of
from dealsite.data.commerce.order_changes import Purchase
from dealsite.data.entities.deals import HERE
from dealsite.data.names import slugify
from dealsite.data.people import users
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from dealsite.imports.csv_files import BadFile

BRAND, CATEGORY = "Loaded products", "home-furniture"
BY = "load"  # who publishes the deals
METHOD = "test:approve"  # the card that the built-in test gateway approves
NO_PASSWORD = "!"  # noqa: S105 - no hash of any password: nobody signs in as these users
LEAD = timedelta(hours=1)  # by which a deal is published before its first order
PUBLISHED_AT_ONCE = 10


class CannotLoad(Exception):
    """What is in the table is in the way; a sentence."""


class FirstSale(NamedTuple):
    """When a product was first sold at its price, and what it was called."""

    at: datetime
    title: str


@dataclass
class Contents:
    """What a file holds."""

    orders: int = 0
    parts: int = 0
    split: int = 0
    products: dict[Product, FirstSale] = field(default_factory=dict)
    users: dict[str, datetime] = field(default_factory=dict)

    def deal_id(self, product: Product) -> str:
        first = self.products[product]
        return derived_id(first.at - LEAD, "deal", product.sku, product.price)


class Step(NamedTuple):
    """What became of one order of the file: how many orders of the site were placed, or were there."""

    placed: int
    there: int


Advance = Callable[[Step], None]


def survey(path: Path) -> Contents:
    """Return what a file holds; BadFile. It is read once more when its orders are placed."""
    found = Contents()
    for order in read(path):
        parts = len(order.parts())
        found.orders += 1
        found.parts += parts
        found.split += parts > 1
        found.users.setdefault(order.username, order.at)
        for line in order.lines:
            found.products.setdefault(line.product, FirstSale(order.at, line.title))
    if not found.orders:
        raise BadFile("There are no orders in this file.")
    return found


def publish_products(contents: Contents) -> None:
    """Publish the deals that are missing: one for each product and price, an hour before it was first sold."""
    categories.create_all()
    brand = _brand(min(first.at for first in contents.products.values()) - LEAD)
    wanted = {contents.deal_id(product): product for product in contents.products}
    there = deals.get_many(wanted)
    missing = iter(deal_id for deal_id in sorted(wanted) if deal_id not in there)
    while batch := list(islice(missing, PUBLISHED_AT_ONCE)):
        new = [(one, _content(wanted[one], contents.products[wanted[one]], brand), brand) for one in batch]
        try:
            publishing.publish_many(new, by=BY, now=contents.products[wanted[batch[-1]]].at)
        except errors.TooLarge:
            for deal_id, content, _ in new:
                publishing.publish(
                    content, deal_id=deal_id, brand=brand, by=BY, now=contents.products[wanted[deal_id]].at
                )


def _brand(now: datetime) -> Brand:
    try:
        return brands.create(BRAND, by=BY, now=now)
    except errors.AlreadyExists:
        return brands.get(slugify(BRAND))


def _content(product: Product, first: FirstSale, brand: Brand) -> DealContent:
    return DealContent(
        title=first.title,
        brand=brand.slug,
        category=CATEGORY,
        price=product.price,
        sold=HERE,
        article_number=product.sku,
        description="Sold before; loaded with the orders of then.",
    )


def make_user(username: str, now: datetime) -> None:
    """Make a user with a card, with whom nobody can sign in; CannotLoad if the name is somebody else's."""
    try:
        users.create(
            username=username,
            email=f"{username}@example.org",
            password=NO_PASSWORD,
            registration=derived_id(now, "user", username),
            now=now,
        )
    except errors.AlreadyExists:
        raise CannotLoad(f"The user {username} is there already, and was not loaded.") from None
    card = order_record.PaymentCard("test", METHOD, "Visa ending in 4242")
    order_record.save_card(username, card, job_id=new_ulid(now), now=now)


def place(order: OrderEntry, contents: Contents) -> Step:
    """Place what is missing of an order. For each 25 lines 1 get, 1 batch get, 2 queries and 2 transactions."""
    parts = list(enumerate(order.parts()))
    placed = sum(_place_part(order, order.part_id(number), pieces, contents) for number, pieces in parts)
    return Step(placed, len(parts) - placed)


def _place_part(order: OrderEntry, order_id: str, pieces: dict[Product, int], contents: Contents) -> bool:
    """Place one order of the site; False if it is there."""
    if _is_placed(order.username, order_id):
        return False
    owner = carts.user_cart(order.username)
    wanted = [
        cart_changes.CartAddition(
            deal=contents.deal_id(product),
            quantity=quantity,
            line_id=derived_id(order.at, "line", order_id, product.sku, product.price),
            token=order_id,
            seen=product.price,
        )
        for product, quantity in pieces.items()
    ]
    added = cart_changes.add_many(owner, wanted, now=order.at)
    head, lines = carts.read_active(owner, now=order.at)
    if {line.deal: line.quantity for line in lines} != {one.deal: one.quantity for one in wanted}:
        refusal = next(iter(added.refused.values()), "its shopper's cart holds other deals.")
        raise CannotLoad(f"Order {order.id} cannot be placed: {refusal}")
    purchase = Purchase(
        order_id=order_id,
        username=order.username,
        name=order.username,
        email=f"{order.username}@example.org",
        version=head.version,
        total=sum((line.total for line in lines), Decimal("0.00")),
        address=somewhere(order.country, order.username),
        method=METHOD,
    )
    try:
        order_changes.place(purchase, now=order.at)
    except carts.CartChanged as changed:
        raise CannotLoad(f"Order {order.id} cannot be placed: {changed}") from None
    return True


def somewhere(country: str, name: str) -> Address:
    """Return an address in a country, of which files say no more; in the United Kingdom where it is none."""
    code = country_of(country) or "GB"
    rules = rules_of(code)
    pairs = [(state, postcode) for state in rules.states or [""] for postcode in rules.examples or [""]]
    state, postcode = next(
        pair for pair in pairs if rules_of(code, pair[0]).postcodes_of_state.match(pair[1])
    )
    return Address(name, "Not in the file", "", postcode, "Not in the file", code, state)


def _is_placed(username: str, order_id: str) -> bool:
    try:
        orders.get(username, order_id)
    except errors.NotFound:
        return False
    return True


def load(path: Path, contents: Contents, *, processes: int, advance: Advance) -> None:
    """Place all orders of a file in their order; CannotLoad, BadFile. Ended at any point, it can be repeated.

    Each of several processes has its own users, since a user's orders go through one cart.
    """

    def load_share(number: int, report: Advance) -> None:
        made: set[str] = set()
        for order in read(path):
            if zlib.crc32(order.username.encode()) % processes != number:
                continue
            if order.username not in made:
                make_user(order.username, contents.users[order.username])
            made.add(order.username)
            report(place(order, contents))

    share(range(processes), load_share, processes=processes, advance=advance)
