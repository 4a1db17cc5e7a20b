"""Makes small snapshots for questions: items as the table holds them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from dealsite.ask import numbers
from dealsite.data import keys
from dealsite.data.commerce import carts
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso, new_ulid
from dealsite.lake import snapshots

TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)  # questions ask of the last days
DAY = timedelta(days=1)
DEALS = {  # title: brand, category, price
    "Kettle": ("nordlicht", "home-furniture", "20.00"),
    "Keyboard": ("aurora", "peripherals-networking", "80.00"),
    "=Robot": ("aurora", "toys-hobbies", "5.50"),
}


class Shop:
    """A table's items by their keys."""

    def __init__(self) -> None:
        self.items: dict[keys.Key, Item] = {}

    def put(self, key: keys.Key, /, **item: Any) -> None:
        self.items[key] = item


def deal_id(title: str) -> str:
    return new_ulid(TODAY - 60 * DAY, list(DEALS).index(title))


def card(title: str, **more: Any) -> dict[str, Any]:
    brand, category, price = DEALS[title]
    return {
        "title": title,
        "brand": brand,
        "brand_name": brand.title(),
        "category": category,
        "price": Decimal(price),
        **more,
    }


def shop() -> Shop:
    """Two users, three deals, two orders and a cancelled one, a cart left alone, payments of every state."""
    tell = Shop()
    for slug in ("nordlicht", "aurora"):
        tell.put(
            keys.brand(slug), type="Brand", slug=slug, name=slug.title(), created_at=iso(TODAY - 90 * DAY)
        )
    for name, days in (("ann", 40), ("bob", 2)):
        joined = iso(TODAY - days * DAY)
        tell.put(
            keys.user(name),
            type="User",
            username=name,
            email=f"{name}@example.org",
            password="argon2id$secret",
            created_at=joined,
        )
        watch = {"type": "BrandWatch", "slug": "aurora", "username": name, "created_at": joined}
        tell.put(keys.brand_watch("aurora", name), **watch)
    for number, title in enumerate(DEALS):
        deal, brand = deal_id(title), DEALS[title][0]
        item = {"type": "Deal", "id": deal, "version": 1, "card": card(title, id=deal)}
        tell.put(keys.deal(deal), **item)
        offer = {"id": deal, "brand": brand, "price": Decimal(DEALS[title][2]), "stock": 10 * number}
        tell.put(keys.offer(deal), type="Offer", **offer)
        if title == "Keyboard":
            for days, price in ((60, "80.00"), (30, "90.00"), (20, "80.00")):
                since, id_ = TODAY - days * DAY, new_ulid(TODAY - days * DAY)
                price_item = {"id": id_, "deal": deal, "since": iso(since), "price": Decimal(price)}
                tell.put(keys.price(deal, since, id_), type="Price", **price_item)
    buy(tell, "ann", 1, {"Kettle": 2, "Keyboard": 1}, TODAY - 10 * DAY)
    buy(tell, "bob", 2, {"Keyboard": 3}, TODAY - DAY, country="FR")
    buy(tell, "bob", 3, {"Kettle": 1}, TODAY - 3 * DAY, status="CANCELLED", note="Ordered twice.")
    into_cart(tell, "ann", 4, "=Robot", 4, TODAY - 5 * DAY)
    for number, (status, due) in enumerate(
        [("PROCESSED", -5), ("FAILED", -4), ("SCHEDULED", -3), ("SCHEDULED", 30)]
    ):
        payment_id, due_at = new_ulid(TODAY, number), TODAY + due * DAY
        tell.put(
            keys.payment("ann", due_at, payment_id),
            type="Payment",
            id=payment_id,
            account="ann",
            order=new_ulid(TODAY, 1),
            number=number + 1,
            of=4,
            amount=Decimal("32.00") if status == "FAILED" else Decimal("30.00"),
            **({"cut": Decimal("2.00")} if status == "FAILED" else {}),
            due_at=iso(due_at),
            status=status,
            tries=2,
            reason="card expired" if status == "FAILED" else "",
            method="tok_secret",
        )
    for name in ("ann", "bob"):
        message_id = new_ulid(TODAY - DAY, 7)
        unread = keys.unread_messages(name, message_id) if name == "bob" else {}
        sent = {"id": message_id, "kind": "hot_deal", "headline": "Hot", "deal": deal_id("Kettle")}
        key = keys.message(name, message_id)
        tell.put(key, type="Message", id=message_id, username=name, card=sent, **unread)
    return tell


def into_cart(
    tell: Shop, username: str, number: int, title: str, quantity: int, at: datetime
) -> dict[str, Any]:
    """Put a line into a user's cart; returns the item."""
    line_id = new_ulid(at, number)
    item = {
        "type": "CartLine",
        "id": line_id,
        "deal": deal_id(title),
        "username": username,
        "status": "ACTIVE",
        "at": iso(at),
        "card": card(title, deal=deal_id(title), quantity=quantity, username=username),
    }
    tell.put(carts.user_cart(username).line("ACTIVE", at, line_id), **item)
    return item


def buy(
    tell: Shop,
    username: str,
    number: int,
    lines: dict[str, int],
    at: datetime,
    *,
    status: str = "PLACED",
    note: str = "",
    country: str = "DE",
) -> None:
    """Put lines into the cart an hour before, then order them."""
    order_id, owner = new_ulid(at, number), carts.user_cart(username)
    early, total = at - timedelta(hours=1), Decimal()
    state = "RETURNED" if status == "CANCELLED" else "PURCHASED"
    for n, (title, quantity) in enumerate(lines.items()):
        held = into_cart(tell, username, number * 10 + n, title, quantity, early)
        del tell.items[owner.line("ACTIVE", early, held["id"])]
        bought = held | {"status": state, "at": iso(at), "order": order_id}
        tell.put(owner.line(state, at, held["id"]), **bought)
        total += Decimal(DEALS[title][2]) * quantity
    step = {"status": status, "at": iso(at + timedelta(hours=2)), "by": username, "note": note}
    tell.put(
        keys.order(username, order_id),
        type="Order",
        id=order_id,
        username=username,
        status=status,
        placed_at=iso(at),
        plan=1,
        address={"name": "Secret Name", "country": country, "postcode": "12345"},
        timeline=[step],
        card={"id": order_id, "total": total, "pieces": sum(lines.values()), "lines": len(lines)},
    )


def write(root: Path, shop: Shop, *, at: datetime = TODAY) -> Path:
    """Write a snapshot of a moment with its numbers; returns its folder."""
    folder = root / new_ulid(at)
    snapshots.write(shop.items.values(), folder)
    numbers.write(folder, last=at.date() - DAY)
    return folder
