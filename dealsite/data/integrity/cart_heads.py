"""Carts: the head knows each line where it stands, and how many there are; a deal has one line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

from dealsite.data import keys
from dealsite.data.commerce.cart.cart_record import ACTIVE, MAX_ACTIVE, SAVED, saved_limit
from dealsite.data.integrity.index_rows import cart_owner
from dealsite.data.integrity.problem import Problem, as_seen, differences, key_of, repair_write
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import epoch_seconds, from_iso
from dealsite.data.table.writes import Check, Delete, Put, absent, exists

KEPT = ("PK", "SK", "id", "deal", "status", "at", "username", "visitor", "ttl")


class Carts:
    """Keeps the heads, and of each line in a cart where it stands and how many pieces it has."""

    def __init__(self) -> None:
        self.heads: dict[str, Item] = {}
        self.lines: dict[str, dict[keys.Key, Item]] = defaultdict(dict)
        self.found: list[Problem] = []

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "CartHead":
                self.heads[item["PK"]] = item
            case "CartLine":
                self._see_line(item)

    def _see_line(self, item: Item) -> None:
        card = item["card"]
        right = {"deal": item["deal"], "username": item.get("username"), "order": item.get("order")}
        if wrong := differences(card, right):
            texts = [f"{name} in its card is {card.get(name)!r}" for name in wrong]
            wanted = {name: value for name, value in (card | right).items() if value is not None}
            self.found.append(
                Problem(key_of(item), "; ".join(texts) + ".", (repair_write(item, {"card": wanted}),))
            )
        if item["status"] in (ACTIVE, SAVED):
            kept = {name: item[name] for name in KEPT if name in item}
            self.lines[item["PK"]][key_of(item)] = kept | {"quantity": card["quantity"]}

    def problems(self) -> Iterator[Problem]:
        yield from self.found
        now = epoch_seconds(datetime.now(UTC))
        for partition, head in self.heads.items():
            if head.get("ttl", now + 1) > now:  # else its lines expire, each by itself
                yield from self._head_problems(head, self.lines.get(partition, {}))
        for partition, lines in self.lines.items():
            users = {key: line for key, line in lines.items() if "username" in line}
            if partition not in self.heads and users:
                yield _lost_head(partition, users)

    def _head_problems(self, head: Item, lines: dict[keys.Key, Item]) -> Iterator[Problem]:
        owner = cart_owner(head)
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
                what = f"ttl is {line.get('ttl')}, its cart's is {head.get('ttl')}."
                yield Problem(place, what, (repair_write(line, wrong), _unchanged(head)))
        counts = _counts(there)
        right: Item = {"lines": there, **counts}
        if wrong := differences(head, right):
            texts = [
                f"{name} is {head.get(name)}, counted {counts[name]}" for name in counts if name in wrong
            ]
            texts += [f"the line of {deal} is not as it says" for deal in _differences(head["lines"], there)]
            renew = repair_write(head, wrong | {"version": head["version"] + 1})
            gone = [Check(key=place, when=(absent(),)) for place in missing if place not in lines]
            yield Problem(key_of(head), "; ".join(texts) + ".", (renew, *gone))
        if counts["active"] > MAX_ACTIVE or counts["saved"] > saved_limit(owner):
            yield Problem(key_of(head), "It holds more lines than a cart can.")
        for place in lines.keys() - named:
            if owner.username:  # a visitor's may be what is left of a cart that ended
                drop = Delete(key=place, when=(exists(),))
                yield Problem(place, "The cart does not know this line.", (drop, _unchanged(head)))


def _differences(said: Item, there: Item) -> list[str]:
    return sorted(deal for deal in said if said[deal] != there.get(deal))


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
    head = {
        "type": "CartHead",
        "username": newest[0]["username"],
        "version": 1,
        "lines": entries,
        **_counts(entries),
    }
    key = (partition, "HEAD")
    return Problem(key, "The head of this cart is missing.", (Put(key=key, item=head, when=(absent(),)),))
