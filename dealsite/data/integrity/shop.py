"""Carts and orders: the head of a cart knows its lines; lines, total, status and log of an order agree.

What money depends on is reported, and never repaired automatically, but for lines that cancelling an order had left.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from dealsite.data import keys
from dealsite.data.commerce.carts import CartOwner, line_from_item, saved_limit
from dealsite.data.commerce.order.fulfilment import late_returns
from dealsite.data.commerce.order.order_record import DONE, MESSAGE_KIND, Order, order_from_item
from dealsite.data.entities.commerce import ACTIVE, CANCELLED, MAX_ACTIVE, PLACED, PURCHASED, RETURNED, SAVED
from dealsite.data.integrity.problem import (
    Problem,
    as_seen,
    differences,
    differing,
    kept,
    key_of,
    repair_write,
)
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import epoch_seconds, from_iso
from dealsite.data.table.writes import Check, Delete, Put, Write, absent, exists

Name = tuple[str, str]  # of whom, and the order's id
NOT_ALL = "Its lines are not all {}."


class Carts:
    """Keeps the heads, and of each line in a cart where it stands and how many pieces it has."""

    takes_part = frozenset({"CartLine"})

    def __init__(self) -> None:
        self.heads: dict[str, Item] = {}
        self.lines: dict[str, dict[keys.Key, Item]] = defaultdict(dict)

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "CartHead":
                self.heads[item["PK"]] = item
            case "CartLine":
                self._see_line(item)

    def _see_line(self, item: Item) -> None:
        if item["status"] in (ACTIVE, SAVED):
            line = kept(item, "id", "deal", "status", "at", "username", "visitor", "ttl")
            self.lines[item["PK"]][key_of(item)] = line | {"quantity": item["card"]["quantity"]}

    def problems(self) -> Iterator[Problem]:
        now = epoch_seconds(datetime.now(UTC))
        for partition, head in self.heads.items():
            if head.get("ttl", now + 1) > now:  # else its lines expire, each by itself
                yield from self._head_problems(head, self.lines.get(partition, {}))
        for partition, lines in self.lines.items():
            users = {key: line for key, line in lines.items() if "username" in line}
            if partition not in self.heads and users:
                yield _lost_head(partition, users)

    def _head_problems(self, head: Item, lines: dict[keys.Key, Item]) -> Iterator[Problem]:
        owner = _owner(head)
        there: Item = {}
        named: set[keys.Key] = set()
        missing: list[keys.Key] = []
        for deal, entry in head["lines"].items():
            place = owner.line(entry["status"], from_iso(entry["at"]), entry["line"])
            line = lines.get(place)
            if line is None or line["deal"] != deal:
                missing.append(place)
                continue
            named.add(place)
            there[deal] = entry | {"quantity": line["quantity"]}
            if wrong := differences(line, {"ttl": head.get("ttl")}):
                yield differing("{} is {}, its cart's is {}", line, wrong, _unchanged(head))
        counts = _counts(there)
        right: Item = {"lines": there, **counts}
        if wrong := differences(head, right):
            texts = [
                f"{name} is {head.get(name)}, counted {counts[name]}" for name in counts if name in wrong
            ]
            said = head["lines"]
            texts += [
                f"the line of {deal} is not as it says"
                for deal in sorted(said)
                if said[deal] != there.get(deal)
            ]
            renew = repair_write(head, wrong | {"version": head["version"] + 1})
            gone = [Check(key=place, when=(absent(),)) for place in missing if place not in lines]
            yield Problem(key_of(head), "; ".join(texts) + ".", (renew, *gone))
        if counts["active"] > MAX_ACTIVE or counts["saved"] > saved_limit(owner):
            yield Problem(key_of(head), "It holds more lines than a cart can.")
        for place in lines.keys() - named:
            if owner.username:  # a visitor's may be what is left of a cart that ended
                drop = Delete(key=place, when=(exists(),))
                yield Problem(place, "The cart does not know this line.", (drop, _unchanged(head)))


def _owner(head: Item) -> CartOwner:
    return CartOwner(head.get("username", ""), head.get("visitor", ""))


def _counts(entries: Item) -> dict[str, int]:
    statuses = [entry["status"] for entry in entries.values()]
    return {"active": statuses.count(ACTIVE), "saved": statuses.count(SAVED)}


def _unchanged(head: Item) -> Check:
    return Check(key=key_of(head), when=as_seen(head, ["version"]))


def _lost_head(partition: str, lines: dict[keys.Key, Item]) -> Problem:
    """Return what makes a head anew: of several lines of a deal, it knows the newest."""
    newest = sorted(lines.values(), key=lambda line: (line["at"], line["id"]))
    entries = {
        line["deal"]: {name: line[name] for name in ("status", "at", "quantity")}
        | {"line": line["id"], "token": ""}
        for line in newest
    }
    head = {"type": "CartHead", "username": newest[0]["username"], "version": 1, "lines": entries}
    head |= _counts(entries)
    key = (partition, "HEAD")
    return Problem(key, "The head of this cart is missing.", (Put(key=key, item=head, when=(absent(),)),))


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

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Order":
                self.orders[item["username"], item["id"]] = order_from_item(item)
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

    def problems(self) -> Iterator[Problem]:
        for name, order in self.orders.items():
            if said := [*_disagreements(order, self.lines.pop(name, _Lines())), *self._unlogged(order)]:
                yield Problem(keys.order(*name), " ".join(said), _returns(order, said))
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


def _returns(order: Order, said: list[str]) -> tuple[Write, ...]:
    """Return what finishes a cancellation that left lines PURCHASED, if nothing else is wrong with the order."""
    if order.status != CANCELLED or said != [NOT_ALL.format(RETURNED)]:
        return ()
    return tuple(late_returns(order, now=datetime.now(UTC)))


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
        yield NOT_ALL.format(place[0])
    if not order.timeline or order.timeline[-1].status != order.status:
        yield f"It is {order.status}, and its timeline is not."
    if not order.timeline or (order.timeline[0].status, order.timeline[0].at) != (PLACED, order.placed_at):
        yield "Its timeline does not begin with its being placed."
