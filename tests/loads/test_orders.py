"""load_orders: real orders through the site's own cart and checkout, once, however often they are loaded."""

from __future__ import annotations

import contextlib
import gzip
import json
from collections import Counter
from decimal import Decimal
from functools import partial
from io import StringIO

import pytest
from django.contrib.auth.hashers import check_password
from django.core.management import CommandError, call_command

from dealsite.data.catalogue import deals
from dealsite.data.commerce import carts, orders
from dealsite.data.integrity import checks
from dealsite.data.people import profiles, users
from dealsite.data.table import errors
from dealsite.data.table.ids import from_iso
from dealsite.imports.csv_files import BadFile
from dealsite.loads import placing as loading
from dealsite.loads.orders_file import derived_id, read
from tests.crashes import Crash, Crasher
from tests.people import make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")
AT = "2026-07-23T08:37:00Z"


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
    out = StringIO()
    call_command(
        "load_orders", str(path), "--yes", "--processes", "1", *options, stdout=out, stderr=StringIO()
    )
    return out.getvalue()


def placed(username="u901") -> list[orders.Order]:
    return [orders.get(username, card.id) for card in reversed(orders.of_user(username).orders)]


def titles(order) -> dict[str, int]:
    return {line.title: line.quantity for line in orders.lines_of(order)}


def test_an_order_is_placed_as_it_was(file):
    said = load(file(row(), row(sku="B2", quantity=1, price="10"), name="orders.jsonl.gz"))
    assert "1 orders of 1 users and 2 products" in said
    assert "1 orders placed, 0 were there already" in said
    (order,) = placed()
    assert (order.placed_at, order.total, order.status) == (from_iso(AT), Decimal("16.50"), orders.PLACED)
    assert titles(order) == {"PRODUCT A1": 2, "PRODUCT B2": 1}
    assert (order.address.name, order.address.country) == ("u901", "United Kingdom")
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


def test_more_than_one_order_can_hold_is_split_and_said(file):
    said = load(file(*(row(sku=f"S{n}") for n in range(60)), row(order_id="2", quantity=2500)))
    assert "2 orders hold more than 25 products, or 999 pieces of one: they are split, so 6 orders" in said
    found = placed()
    assert Counter(order.card.lines for order in found) == {25: 2, 10: 1, 1: 3}
    assert sorted(order.card.pieces for order in found) == [20, 50, 50, 502, 999, 999]
    assert sum(order.card.pieces for order in found) == 60 * 2 + 2500
    assert {order.placed_at for order in found} == {from_iso(AT)}


def test_loading_again_places_what_is_missing(file):
    load(file(row()))
    said = load(
        file(row(), row(order_id="2", user_id="u902", ts="2026-07-24T08:00:00+02:00"), row(order_id="3"))
    )
    assert "2 orders placed, 1 were there already" in said
    assert (len(placed()), len(placed("u902"))) == (2, 1)


def test_a_load_that_ends_anywhere_goes_on(file):
    path = file(row(), row(sku="B2"), row(order_id="2"), row(order_id="3", user_id="u902"))
    contents = loading.survey(path)
    loading.publish_products(contents)
    for when in ("before", "after"):
        for at in (1, 3, 5, 6, 7, 8, 10, 13, 17):
            with Crasher(at, when), contextlib.suppress(Crash):
                loading.load(path, contents, processes=1, advance=lambda _: None)
            assert [str(problem) for problem in checks.find()] == []
    assert "were there already" in load(path)
    assert [titles(order) for order in placed()] == [{"PRODUCT A1": 2, "PRODUCT B2": 2}, {"PRODUCT A1": 2}]
    assert len(placed("u902")) == 1


def test_several_loads_at_once_place_each_order_once(file):
    path = file(*(row(order_id=str(n), sku=f"S{n % 3}") for n in range(8)))
    contents = loading.survey(path)
    loading.publish_products(contents)
    results = at_once(*[partial(loading.load, path, contents, processes=1, advance=lambda _: None)] * 3)
    assert results == [None] * 3
    assert [order.card.pieces for order in placed()] == [2] * 8
    assert carts.read_head(carts.user_cart("u901"), now=from_iso(AT)).lines == {}
    assert "0 orders placed, 8 were there already" in load(path)


def test_what_another_load_left_of_the_same_product_is_not_added_to(file):
    path = file(row(), row(order_id="2"))
    contents = loading.survey(path)
    loading.publish_products(contents)
    first, second = read(path)
    loading.make_user("u901", from_iso(AT))
    loading.place(first, contents)
    (product,) = contents.products
    deal, line, token = contents.deal_id(product), derived_id(from_iso(AT), "left"), first.part_id(0)
    left = carts.CartAddition(deal=deal, quantity=2, line_id=line, token=token)
    carts.add(carts.user_cart("u901"), left, now=from_iso(AT))
    assert loading.place(second, contents) == (1, 0)
    assert [order.card.pieces for order in placed()] == [2, 2]


def test_several_processes_share_the_users(file):
    path = file(*(row(order_id=str(n), user_id=f"u90{n % 4}") for n in range(12)))
    said = load(path, "--processes", "2")
    assert "12 orders placed" in said
    assert [len(placed(f"u90{n}")) for n in range(4)] == [3] * 4


def test_nobody_signs_in_as_a_loaded_user(file):
    load(file(row()))
    user = users.get("u901")
    assert user.password == loading.NO_PASSWORD
    assert profiles.get("u901").email == "u901@example.org"
    assert not any(check_password(password, user.password) for password in ("", "!", "u901"))


def test_nothing_is_ordered_in_the_name_of_somebody_else(file):
    make_user("u901")
    with pytest.raises(CommandError, match="The user u901 is there already, and was not loaded"):
        load(file(row()))
    assert placed() == []


def test_a_deal_that_cannot_be_bought_any_more_stops_the_load(file):
    path = file(row())
    contents = loading.survey(path)
    loading.publish_products(contents)
    (deal_id,) = map(contents.deal_id, contents.products)
    deals.expire_now(deals.get(deal_id), by="eve", now=from_iso(AT))
    with pytest.raises(CommandError, match=r"Order 1 cannot be placed: The deal .* has expired"):
        load(path)
    with pytest.raises(errors.NotFound):
        orders.get("u901", next(iter(read(path))).part_id(0))


@pytest.mark.parametrize(
    "damage",
    [
        {"qty": 0},
        {"qty": "x"},
        {"unit_price": "NaN"},
        {"unit_price": "1.005"},
        {"unit_price": "-1"},
        {"title": " "},
        {"sku": ""},
        {"ts": "2026-07-23T08:37:00"},
        {"ts": "yesterday"},
        {"ts": "2000-01-01T00:30:00+01:00"},
        {"ts": "9999-12-31T23:30:00-01:00"},
        {"user_id": "a#b"},
        {"user_id": 7},
    ],
)
def test_a_line_that_cannot_be_taken_is_named(damage, file):
    with pytest.raises(BadFile, match="Line 2"):
        list(read(file(row(), row(order_id="2", **damage))))
    with pytest.raises(CommandError, match="Line 2"):
        load(file(row(), row(order_id="2", **damage)))


def test_a_file_of_something_else_is_refused(tmp_path, subtests):
    for content in [
        b"",
        b"[]\n",
        b"{}\n",
        b'{"order_id": 1}\n',
        b"not json\n",
        b"\xff\x00",
        b"\x1f\x8b",
        gzip.compress(b"{}", mtime=0)[:-4],
    ]:
        with subtests.test(content=content):
            path = tmp_path / "x.jsonl"
            path.write_bytes(content)
            with pytest.raises(CommandError):
                load(path)
            with pytest.raises(CommandError):
                load(tmp_path / "missing.jsonl")


def test_a_table_of_somebody_else_is_left_alone(file, settings):
    settings.DEALSITE_EMBEDDED = False
    with pytest.raises(CommandError, match="is not of the embedded engine"):
        call_command("load_orders", str(file(row())), stdout=StringIO(), stderr=StringIO())
    with pytest.raises(errors.NotFound):
        users.get("u901")
