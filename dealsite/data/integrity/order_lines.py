"""Orders: lines, total, status and log agree. What money hangs on is reported and never mended by itself."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from dealsite.data import keys
from dealsite.data.commerce.cart.cart_record import PURCHASED, RETURNED, line_from_item
from dealsite.data.commerce.order.order_record import (
    CANCELLED,
    DONE,
    MESSAGE_KIND,
    PLACED,
    Order,
    order_from_item,
)
from dealsite.data.integrity.problem import Problem, differences, key_of, repair_write
from dealsite.data.table.convert import Item

Name = tuple[str, str]  # of whom, and the order's id


@dataclass
class _Lines:
    """What the lines of an order come to, and where they stand."""

    count: int = 0
    pieces: int = 0
    total: Decimal = Decimal("0.00")
    deals: set[str] = field(default_factory=set)
    places: set[tuple[str, datetime]] = field(default_factory=set)
    stored: list[tuple[str, str]] = field(default_factory=list)


class Orders:
    """Keeps each order's numbers until all its lines are seen."""

    def __init__(self) -> None:
        self.orders: dict[Name, Order] = {}
        self.lines: dict[Name, _Lines] = defaultdict(_Lines)
        self.logged: dict[str, Counter[str]] = defaultdict(Counter)
        self.messages: list[tuple[keys.Key, Name]] = []
        self.found: list[Problem] = []

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Order":
                self._see_order(item)
            case "CartLine" if item["status"] in (PURCHASED, RETURNED):
                line = line_from_item(item)
                lines = self.lines[line.username, line.order]
                lines.count += 1
                lines.pieces += line.quantity
                lines.total += line.total
                lines.deals.add(line.deal)
                lines.places.add((line.status, line.at))
                lines.stored.append(key_of(item))
            case "AuditEntry" if item["card"]["kind"] == "order":
                self.logged[item["card"]["subject"]][item["card"]["what"]] += 1
            case "Message" if item["card"]["kind"] == MESSAGE_KIND:
                self.messages.append((key_of(item), (item["username"], item["card"]["order"])))

    def _see_order(self, item: Item) -> None:
        card = item["card"]
        right = {name: item[name] for name in ("id", "username", "status", "placed_at")}
        right |= {"name": item["address"]["name"]}
        if wrong := differences(card, right):
            texts = [f"{name} in its card is {card.get(name)!r}, should be {right[name]!r}" for name in wrong]
            self.found.append(
                Problem(key_of(item), "; ".join(texts) + ".", (repair_write(item, {"card": card | right}),))
            )
        self.orders[item["username"], item["id"]] = order_from_item(item | {"card": card | right})

    def problems(self) -> Iterator[Problem]:
        yield from self.found
        for name, order in self.orders.items():
            if said := [*_disagreements(order, self.lines.pop(name, _Lines())), *self._unlogged(order)]:
                yield Problem(keys.order(*name), " ".join(said))
        for name, lines in self.lines.items():
            for key in lines.stored:
                yield Problem(key, f"This line is of the order {name[1]}, which does not exist.")
        for key, name in self.messages:
            if name not in self.orders:
                yield Problem(key, f"This message is of the order {name[1]}, which does not exist.")

    def _unlogged(self, order: Order) -> Iterator[str]:
        for event in order.timeline:
            if not self.logged[order.id][DONE[event.status]]:
                yield f"That it was {DONE[event.status]} is not in the log."


def _disagreements(order: Order, lines: _Lines) -> Iterator[str]:
    for what, said, counted in (
        ("lines", order.card.lines, lines.count),
        ("pieces", order.card.pieces, lines.pieces),
        ("total", order.total, lines.total),
        ("instalments", order.card.plan if order.total else 0, len(order.payments)),
    ):
        if said != counted:
            yield f"{what} is {said}, counted {counted}."
    if len(lines.deals) < lines.count:
        yield "A deal stands in it twice."
    returned = order.timeline[-1].status == CANCELLED if order.timeline else False
    place = (RETURNED, order.closed_at) if returned else (PURCHASED, order.placed_at)
    if lines.places - {place}:
        yield f"Its lines are not all {place[0]}."
    if not order.timeline or order.timeline[-1].status != order.status:
        yield f"It is {order.status}, and its timeline is not."
    if not order.timeline or (order.timeline[0].status, order.timeline[0].at) != (PLACED, order.placed_at):
        yield "Its timeline does not begin with its being placed."
