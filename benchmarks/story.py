"""Real orders as the table would hold them: users, deals, prices, offers, cart lines, orders, payments."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from dealsite.data import keys
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.commerce import carts
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso, new_ulid

BRANDS = 40
MOST_LINES = 25  # of one order here, as in a cart
SHOPPING = timedelta(minutes=30)  # from putting something into the cart to buying it
MONTH = timedelta(days=30)


class Story:
    """The items of what happened, moved in time so that the last order is of now."""

    def __init__(self, path: Path, *, now: datetime) -> None:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = sorted(map(json.loads, file), key=itemgetter("ts", "order_id", "line_no"))
        self.now = now
        self.items: list[Item] = []
        self._shift = now - datetime.fromisoformat(lines[-1]["ts"])
        self._begin = datetime.fromisoformat(lines[0]["ts"]) + self._shift - timedelta(days=1)
        self._cards: dict[str, Item] = {}
        self._users: set[str] = set()
        for number in range(BRANDS):
            slug = f"brand-{number}"
            brand = {"type": "Brand", "slug": slug, "name": f"Brand {number}", "created_at": iso(self._begin)}
            self._tell(keys.brand(slug), brand)
        for number, (ordered, group) in enumerate(groupby(lines, key=itemgetter("ts", "order_id"))):
            at = datetime.fromisoformat(ordered[0]) + self._shift
            self._order(number, at, list(group)[:MOST_LINES])

    def _tell(self, key: keys.Key, item: Item) -> None:
        pk, sk = key
        self.items.append({"PK": pk, "SK": sk, **item})

    def _user(self, username: str, at: datetime) -> None:
        if username in self._users:
            return
        self._users.add(username)
        joined = at - timedelta(days=len(self._users) % 90)
        user = {"type": "User", "username": username, "email": f"{username}@example.org"}
        self._tell(keys.user(username), user | {"created_at": iso(joined)})
        slug = f"brand-{len(self._users) % BRANDS}"
        watch = {"type": "BrandWatch", "slug": slug, "username": username, "created_at": iso(at)}
        self._tell(keys.brand_watch(slug, username), watch)

    def _card(self, line: dict[str, Any]) -> Item:
        if line["sku"] not in self._cards:
            number = len(self._cards)
            deal_id = new_ulid(self._begin, number)
            price = Decimal(line["unit_price"])
            card = {
                "id": deal_id,
                "title": line["title"] or "Untitled",
                "brand": f"brand-{number % BRANDS}",
                "brand_name": f"Brand {number % BRANDS}",
                "category": list(CATEGORIES)[number % len(CATEGORIES)],
                "price": price,
            }
            self._cards[line["sku"]] = card
            deal = {"type": "Deal", "id": deal_id, "card": card, "version": 1}
            self._tell(keys.deal(deal_id), deal)
            for change in range(3 if number % 3 == 0 else 1):
                since = self._begin + change * MONTH / 2
                price_id = new_ulid(since, number)
                had = {"type": "Price", "id": price_id, "deal": deal_id, "since": iso(since)}
                self._tell(keys.price(deal_id, since, price_id), had | {"price": price + change % 2})
            offer = {"type": "Offer", "id": deal_id, "brand": card["brand"], "category": card["category"]}
            self._tell(keys.offer(deal_id), offer | {"price": price, "stock": number})
        return self._cards[line["sku"]]

    def _order(self, number: int, at: datetime, lines: list[dict[str, Any]]) -> None:
        username = lines[0]["user_id"]
        self._user(username, at)
        order_id, owner, total, pieces = new_ulid(at, number), carts.user_cart(username), Decimal(), 0
        for n, line in enumerate(lines):
            card, line_id = self._card(line), new_ulid(at - SHOPPING, number * 100 + n)
            held = {
                "type": "CartLine",
                "id": line_id,
                "deal": card["id"],
                "username": username,
                "status": "ACTIVE",
                "at": iso(at - SHOPPING),
                "card": card | {"deal": card["id"], "quantity": line["qty"], "username": username},
            }
            if (number + n) % 10 == 0:  # it stays in the cart
                self._tell(owner.line("ACTIVE", at - SHOPPING, line_id), held)
                continue
            bought = held | {"status": "PURCHASED", "at": iso(at), "order": order_id}
            self._tell(owner.line("PURCHASED", at, line_id), bought)
            total, pieces = total + card["price"] * line["qty"], pieces + line["qty"]
        status = "CANCELLED" if number % 17 == 0 else "DELIVERED" if number % 3 else "PLACED"
        note = "Ordered twice." if number % 2 else "Changed my mind."
        card = {"id": order_id, "username": username, "status": status, "placed_at": iso(at), "total": total}
        placed = {"status": "PLACED", "at": iso(at), "by": username, "note": ""}
        order = {
            "type": "Order",
            "id": order_id,
            "username": username,
            "status": status,
            "placed_at": iso(at),
            "plan": 3,
            "address": {"country": lines[0]["country"], "postcode": "12345"},
            "timeline": [placed, {"status": status, "at": iso(at + SHOPPING), "by": username, "note": note}],
            "card": card | {"pieces": pieces, "lines": len(lines)},
        }
        self._tell(keys.order(username, order_id), order)
        for part in range(3):
            self._payment(number * 3 + part, username, order_id, part, total / 3, at + part * MONTH)

    def _payment(
        self, number: int, username: str, order_id: str, part: int, amount: Decimal, due_at: datetime
    ) -> None:
        failed = number % 23 == 0
        status = "FAILED" if failed else "SCHEDULED" if due_at > self.now - MONTH / 15 else "PROCESSED"
        payment_id = new_ulid(due_at, number)
        payment = {
            "type": "Payment",
            "id": payment_id,
            "account": username,
            "order": order_id,
            "number": part + 1,
            "of": 3,
            "amount": round(amount, 2),
            "due_at": iso(due_at),
            "status": status,
            "tries": 3 if failed else 0,
            "reason": "insufficient funds" if number % 2 else "card expired",
        }
        self._tell(keys.payment(username, due_at, payment_id), payment)
