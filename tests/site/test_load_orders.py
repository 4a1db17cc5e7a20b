"""load_orders: real orders through the site's own cart and checkout, once, however often they are loaded."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from decimal import Decimal

import pytest

from benchmarks import load_orders
from dealsite.data import table
from dealsite.data.catalogue import deals
from dealsite.data.commerce import carts, order_record, orders
from dealsite.data.entities.commerce import PLACED
from dealsite.data.integrity import checks
from dealsite.data.table.ids import from_iso
from tests.people import make_user

pytestmark = pytest.mark.usefixtures("whole_table")
AT = "2026-07-23T08:37:00Z"


@pytest.fixture(autouse=True)
def as_patient_as_before(monkeypatch):
    """Who waits longer for answers must not make the tests after it wait."""
    monkeypatch.setattr(table, "be_patient", lambda: None)


def row(order_id="1", sku="A1", quantity=2, price="3.25", **more) -> dict:
    filled = {
        "user_id": "u901",
        "order_id": order_id,
        "line_no": 1,
        "ts": AT,
        "sku": sku,
        "title": f"PRODUCT {sku}",
        "qty": quantity,
        "unit_price": price,
        "currency": "GBP",
        "country": "United Kingdom",
    }
    return filled | more


@pytest.fixture
def file(tmp_path):
    """A function that writes rows to a file."""

    def write(*rows, name="orders.jsonl"):
        path = tmp_path / name
        text = "".join(f"{json.dumps(one)}\n" for one in rows)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write


def load(path, *options) -> str:
    said = load_orders.main([str(path), "--yes", "--processes", "1", *options])
    assert checks.find() == []
    return said


def placed(username="u901") -> list[order_record.Order]:
    return [orders.get(username, card.id) for card in reversed(orders.of_user(username).rows)]


def titles(order) -> dict[str, int]:
    return {line.title: line.quantity for line in orders.lines_of(order)}


def test_an_order_is_placed_as_it_was(file):
    path = file(row(), row(sku="B2", quantity=1, price="10"), name="orders.jsonl.gz")
    assert load(path).startswith("1 orders of 1 users, placed as 1: 1 now, 0 before.")
    assert load(path).startswith("1 orders of 1 users, placed as 1: 0 now, 1 before.")
    (order,) = placed()
    assert (order.placed_at, order.total, order.status) == (from_iso(AT), Decimal("16.50"), PLACED)
    assert titles(order) == {"PRODUCT A1": 2, "PRODUCT B2": 1}
    assert (order.address.name, order.address.country) == ("u901", "GB")
    assert carts.read(carts.user_cart("u901"), now=from_iso(AT)).head.lines == {}
    for line in orders.lines_of(order):
        assert deals.get(line.deal).card.price == line.price
        assert deals.get(line.deal).live_at < order.placed_at


def test_the_same_product_twice_adds_up_and_another_price_is_another_deal(file):
    load(file(row(quantity=2), row(quantity=3), row(price="2.95", quantity=1)))
    (order,) = placed()
    assert sorted((line.quantity, line.price) for line in orders.lines_of(order)) == [
        (1, Decimal("2.95")),
        (5, Decimal("3.25")),
    ]
    assert order.total == Decimal("19.20")


def test_more_than_one_order_can_hold_is_split(file):
    said = load(file(*(row(sku=f"S{n}") for n in range(60)), row(order_id="2", quantity=2500)))
    assert said.startswith("2 orders of 1 users, placed as 6: 6 now")
    found = placed()
    assert Counter(order.card.lines for order in found) == {25: 2, 10: 1, 1: 3}
    assert sorted(order.card.pieces for order in found) == [20, 50, 50, 502, 999, 999]
    assert sum(order.card.pieces for order in found) == 60 * 2 + 2500
    assert {order.placed_at for order in found} == {from_iso(AT)}


def test_several_processes_share_the_users(file):
    path = file(*(row(order_id=str(n), user_id=f"u90{n % 4}") for n in range(12)))
    said = load(path, "--processes", "2")
    assert "12 now" in said
    assert [len(placed(f"u90{n}")) for n in range(4)] == [3] * 4


def test_nothing_is_ordered_in_the_name_of_somebody_else(file):
    make_user("u901")
    with pytest.raises(SystemExit, match="The user u901 is there already, and was not loaded"):
        load(file(row()))
    assert placed() == []


@pytest.mark.parametrize(
    "damage", [{"qty": 0}, {"unit_price": "1.005"}, {"ts": "2026-07-23T08:37:00"}, {"user_id": 7}]
)
def test_a_line_that_cannot_be_taken_is_named(damage, file):
    with pytest.raises(SystemExit, match="Line 2"):
        load(file(row(), row(order_id="2", **damage)))
