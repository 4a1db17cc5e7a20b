"""Orders that were placed elsewhere, from a file of JSON lines: one for each line of an order, an order's together.

Fields: `user_id`, `order_id`, `ts` (ISO 8601 with a zone), `sku`, `title`, `qty`, `unit_price`, and `country`, which
may be missing. The site keeps one line for each deal, and up to 25 lines and 999 pieces of a deal in an order: the
same product twice adds up, and what is too much for one order becomes several of the same moment, as a shopper would
have to do it.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from dealsite.data.entities.attributes import CENT, YEARS
from dealsite.data.entities.commerce import MAX_ACTIVE, MAX_QUANTITY
from dealsite.data.entities.deals import MAX_PRICE, TITLE_CHARACTERS
from dealsite.data.names import normalise, normalise_username, without_joiners
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import RANDOM_BITS, new_ulid
from dealsite.imports.csv_files import BadFile, lines_of, opened

SKU_CHARACTERS = 60


class Product(NamedTuple):
    """What was sold at one price: a deal of its own, since a price in the past cannot be edited into another."""

    sku: str
    price: Decimal


class SaleLine(NamedTuple):
    """One line of an order."""

    product: Product
    title: str
    quantity: int


@dataclass(frozen=True, slots=True)
class OrderEntry:
    """An order as the file has it."""

    id: str
    username: str
    at: datetime
    country: str
    lines: tuple[SaleLine, ...]

    def parts(self) -> list[dict[Product, int]]:
        """Return what the site places as one order each: pieces by product."""
        pieces: dict[Product, int] = {}
        for line in self.lines:
            pieces[line.product] = pieces.get(line.product, 0) + line.quantity
        whole: list[dict[Product, int]] = []
        while pieces:
            first = itertools.islice(pieces, MAX_ACTIVE)
            taken = {product: min(pieces[product], MAX_QUANTITY) for product in first}
            whole.append(taken)
            left = {product: number - taken.get(product, 0) for product, number in pieces.items()}
            pieces = {product: number for product, number in left.items() if number}
        return whole

    def part_id(self, number: int) -> str:
        return derived_id(self.at, "order", self.id, number)


def derived_id(at: datetime, *parts: object) -> str:
    """Return the same ULID for the same parts, so that what was loaded is known again."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return new_ulid(at, int.from_bytes(digest[: RANDOM_BITS // 8], "big"))


def read(path: Path) -> Iterator[OrderEntry]:
    """Yield the orders of a file; BadFile names the line that cannot be taken."""
    for order_id, rows in itertools.groupby(_rows(path), key=lambda row: row[1]["order_id"]):
        taken = list(rows)
        number, first = taken[0]
        try:
            yield OrderEntry(
                id=str(order_id),
                username=normalise_username(first["user_id"]),
                at=_time(first["ts"]),
                country=normalise(str(first.get("country") or ""))[:100] or "-",
                lines=tuple(_sold(number, row) for number, row in taken),
            )
        except (Invalid, AttributeError, KeyError, TypeError, ValueError) as error:
            raise BadFile(f"Line {number:,} is no line of an order: {str(error).rstrip('.')}.") from None


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with opened(path) as file:
        for number, line in enumerate(lines_of(file, "utf-8"), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.encode(), parse_float=Decimal)
                yield number, {**row, "order_id": row["order_id"]}
            except (KeyError, TypeError, ValueError):
                raise BadFile(f"Line {number:,} is no line of an order.") from None


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError("ts needs a time zone, such as 2026-12-01T09:00:00Z.")
    at = at.astimezone(UTC)
    if at.year not in YEARS:
        raise ValueError(f"the year of ts should be from {YEARS[0]} to {YEARS[-1]} in UTC.")
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def _sold(number: int, row: dict[str, Any]) -> SaleLine:
    try:
        price = Decimal(str(row["unit_price"]))
        title, sku = normalise(row["title"])[:TITLE_CHARACTERS], without_joiners(normalise(row["sku"]))
        quantity = int(row["qty"])
    except (InvalidOperation, KeyError, TypeError, ValueError) as error:
        raise BadFile(f"Line {number:,} is no line of an order ({error!r}).") from None
    if not price.is_finite() or not 0 <= price <= MAX_PRICE or price != price.quantize(CENT):
        raise BadFile(f"Line {number:,}: {price} is no price.")
    if not 1 <= quantity <= 1_000_000 or not title or not 1 <= len(sku) <= SKU_CHARACTERS:
        raise BadFile(f"Line {number:,} lacks a title, a product number of up to 60 characters, or pieces.")
    return SaleLine(Product(sku, price.quantize(CENT)), title, quantity)
