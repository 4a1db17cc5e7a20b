"""What the back office finds: orders, customers and payments by all that people may know of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytest

from dealsite.data import keys
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.carts import Line, line_item, user_cart
from dealsite.data.commerce.order_record import Event, Order, OrderCard, OrderMoney, order_item
from dealsite.data.commerce.payment_record import Payment, payment_item
from dealsite.data.entities.people import PROFILE
from dealsite.data.table.convert import from_attributes, to_attributes
from dealsite.data.table.ids import iso
from dealsite.search import reader
from dealsite.search.office import CUSTOMER, PAYMENT, OfficeDocument, document_key
from dealsite.search.office_finding import (
    OrdersQuestion,
    every_order,
    find_by_text,
    find_orders,
    in_use,
    placed,
)
from dealsite.search.site_index import search_index
from tests.builders import DAY, HOUR, NOW, make_id
from tests.search.conftest import START, deal_item, in_a_folder, search, titles
from tests.search.test_projection import change

TOMAS = Address("Tomáš Dvořák", "Na Hrázi 21", "", "180 00", "Prague", "Czechia")
SOREN = Address("Søren Müller", "Ørstedsgade 4", "Flat 2", "5000", "Odense", "Denmark")
ID = "01M7YZMHG00000000000VZ3G2K"


def stored(item, key=()):
    item = dict(zip(("PK", "SK"), key, strict=False)) | item
    return from_attributes(to_attributes(item))  # as the table would give it back


def order(
    address: Address = TOMAS,
    *,
    order_id: str = "",
    username: str = "tomas",
    total: str = "2604.90",
    status: str = "PLACED",
    at: datetime = NOW - HOUR,
    tracking: str = "",
    paid: bool = True,
    tags: tuple[str, ...] = (),
):
    """Return the item of an order."""
    amount = Decimal(total)
    money = OrderMoney(processed=amount) if paid else OrderMoney(failed=amount)
    card = OrderCard(
        order_id or make_id(at), username, address.name, status, at, amount, pieces=1, lines=1, money=money
    )
    events = [Event("PLACED", at, username)]
    if tracking:
        events.append(Event("SHIPPED", at, "olga", carrier="DHL", tracking=tracking))
    email = f"{username}@shop.example"
    made = Order(card, 1, address, email, timeline=tuple(events), tags=tags)
    return stored(order_item(made), keys.order(username, card.id))


def line(of_order, title: str, deal: str = ""):
    """Return the item of a line that was bought."""
    made = Line(
        make_id(),
        deal or make_id(),
        "PURCHASED",
        NOW,
        1,
        title,
        "nordlicht",
        "Nordlicht",
        "sofas",
        Decimal("9.90"),
    )
    made = replace(made, order=of_order["id"], username=of_order["username"])
    owner = user_cart(of_order["username"])
    return stored(line_item(made, owner, None), owner.line(made.status, made.at, made.id))


def customer(username: str = "tomas", **more):
    shape = {"username": username, "name": username.title(), "email": f"{username}@shop.example"}
    return stored(
        PROFILE.item(shape | {"timezone": "", "created_at": iso(NOW), "version": 1} | more),
        keys.profile(username),
    )


def payment(**more):
    return stored(
        payment_item(Payment(make_id(), "tomas", Decimal("50.00"), NOW, NOW, cut=Decimal("1.50"), **more))
    )


def found(text: str = "", **filters) -> list[str]:
    return [one.name for one in find_orders(OrdersQuestion(text, **filters)).orders]


KNOWN_OF_IT = (
    *("Tomáš", "tomas", "TOMAS DVORAK", "Dvořák, Tomáš", "dvor", "dvo pra"),
    *("tomas@shop.example", "tomas@shop", "hrazi 21", "180 00", "18000", "Czechia"),
    *("JD 0146 2000", "jd01462000", "JD-0146-2000", "4620", "dhl"),
    *(ID, ID.lower(), "VZ3G2K", "vz3g2k", "#VZ3G2K", "VZ3-G2K", "z3g", "O1M7YZMHG"),
    *("2604.90", "2604,90", "2.604,90", "2,604.90", "€2,604.90", "2604", "2604.9"),
    *("Dvorka", "Tomsa", "Dvorrak Pragu", "bedsheet projector", "prague bedsheet"),
)


def test_an_order_is_found_by_what_people_know_of_it(index, subtests):
    mine = order(order_id=ID, tracking="JD 0146 2000")
    other = order(SOREN, username="soren", total="26.04", order_id="01KZZZZHG00000000000QQQQQQ")
    index(line(mine, "Bedsheet Cinema projector"), mine, line(other, "Little Atlas puzzle"), other)
    for text in KNOWN_OF_IT:
        with subtests.test(text=text):
            assert found(text) == ["Tomáš Dvořák"]
    for text in ("xyzzy", "2604.91", "26", "dvorak odense", "VZ3G2L", "0x", "dq"):
        with subtests.test(text=text):
            assert found(text) == ([] if text != "26" else ["Søren Müller"])
    for text in ("", " ", "#", "€", "\u202e", "\x00"):
        with subtests.test(text=text):
            assert len(found(text)) == 2


def test_letters_are_found_however_people_write_them(index, subtests):
    index(order(SOREN), order())
    for text in ("Soren", "Sören", "søren", "Soeren", "Muller", "Mueller", "orstedsgade", "oerstedsgade"):
        with subtests.test(text=text):
            assert found(text) == ["Søren Müller"]


def test_a_typo_is_forgiven_only_where_nothing_is_found_otherwise(index):
    index(order(replace(TOMAS, name="Anna Meier")), order(replace(TOMAS, name="Anna Maier")))
    assert found("meier") == ["Anna Meier"]
    assert found("mejer") == ["Anna Meier"]


def test_numbers_are_never_taken_for_typos_of_others(index):
    index(order(tracking="12345678"))
    assert found("12345679") == []


def test_orders_are_narrowed_by_every_filter(index):
    deal = make_id()
    mine, other = order(at=NOW - DAY, paid=False, status="SHIPPED"), order(SOREN, total="10.00")
    index(mine, line(mine, "Red lamp", deal), other, line(other, "Blue lamp"))
    tomas, both = ["Tomáš Dvořák"], ["Søren Müller", "Tomáš Dvořák"]
    assert found() == both
    for filters in (
        {"listed": "shipped"},
        {"listed": "failed"},
        {"payment_state": "declined"},
        {"country": "Czechia"},
        {"product": deal},
        {"product": deal.lower()},
        {"product": "red lamp"},
        {"until": NOW - 2 * HOUR},
        {"first": NOW - DAY, "until": NOW - DAY + HOUR},
        {"least": Decimal("10.01")},
    ):
        assert found(**filters) == tomas, filters
    assert found(product="lamp") == found(first=NOW - DAY) == found(least=Decimal("10.00")) == both
    assert (
        found(until=NOW - DAY)
        == found(most=Decimal("9.99"))
        == found(least=Decimal(5), most=Decimal(4))
        == []
    )


def test_orders_are_found_and_narrowed_by_their_tags_in_capitals_or_not(index):
    index(order(tags=("Held back", "VIP")), order(SOREN, tags=("Gebäck",)), order(replace(TOMAS, name="Eve")))
    assert found("held back") == found("vip") == found("hel") == found("vip dvorak") == ["Tomáš Dvořák"]
    assert (
        found("gebaeck") == found(tag="gebäck") == found(tag="GEBÄCK", country="Denmark") == ["Søren Müller"]
    )
    assert found(tag="held back") == found(tag="HELD BACK") == ["Tomáš Dvořák"]
    assert found(tag="held") == found(tag="vip", country="Denmark") == []
    narrowed = find_orders(OrdersQuestion(tag="vip"))
    assert (narrowed.total, in_use()["tag"]) == (1, ["gebäck", "held back", "vip"])
    assert narrowed.orders[0].tags == ["Held back", "VIP"]


def test_a_tag_that_is_taken_off_finds_nothing_any_more(index):
    mine = order(tags=("Held back",))
    index(mine)
    projection = search_index()
    projection.open()
    projection.apply([change({name: value for name, value in mine.items() if name != "tags"}, 9)])
    projection.commit(START)
    projection.close()
    assert found("held") == found(tag="held back") == in_use()["tag"] == []
    assert found() == ["Tomáš Dvořák"]


def test_lists_say_how_many_there_are_and_what_they_come_to(index):
    index(order(), order(total="0.10"), order(SOREN, status="DELIVERED", total="5.00", paid=False))
    everything = find_orders(OrdersQuestion())
    assert everything.numbers == {"": 3, "placed": 2, "delivered": 1, "failed": 1}
    assert (everything.total, everything.sum) == (3, Decimal("2610.00"))
    to_ship = find_orders(OrdersQuestion(listed="placed"))
    assert (to_ship.total, to_ship.sum) == (2, Decimal("2605.00"))
    assert in_use()["country"] == ["CZ", "DK"]


def test_what_was_placed_in_a_span_counts_unless_it_was_cancelled(index):
    made = [
        order(at=NOW - 2 * HOUR, total="10.10", order_id=make_id(NOW, 1)),
        order(at=NOW - HOUR, total="20.20", order_id=make_id(NOW, 2), status="SHIPPED"),
        order(at=NOW - HOUR, total="99.00", order_id=make_id(NOW, 3), status="CANCELLED"),
        order(at=NOW, total="40.00", order_id=make_id(NOW, 4)),
    ]
    index(*made)
    assert placed(NOW - 2 * HOUR, NOW) == (2, Decimal("30.30"))
    assert placed(NOW - HOUR, NOW + HOUR) == (2, Decimal("60.20"))
    assert placed(NOW + HOUR, NOW + DAY) == (0, Decimal())


def test_what_waits_comes_oldest_first_and_all_else_newest_first_page_by_page(index):
    index(*(order(replace(TOMAS, name=f"n{n}"), at=NOW - n * HOUR) for n in range(5)))
    assert found() == ["n0", "n1", "n2", "n3", "n4"]
    assert found(listed="placed") == ["n4", "n3", "n2", "n1", "n0"]
    second = find_orders(OrdersQuestion(), page=2, size=2)
    assert ([one.name for one in second.orders], second.pages) == (["n2", "n3"], 3)
    assert [one.name for one in every_order(OrdersQuestion(text="180 00"))] == ["n4", "n3", "n2", "n1", "n0"]


def test_a_customer_is_found_by_name_address_and_where_they_live(index):
    index(customer(address=TOMAS.as_item()), customer("soren"))
    for text in ("tomas", "dvorak", "tomas@shop.example", "prague", "dvorka"):
        assert [one.username for one in find_by_text(text, CUSTOMER, size=5).rows] == ["tomas"], text
    assert find_by_text("xyz", CUSTOMER, size=5).rows == []


def test_a_payment_is_found_by_amount_account_and_transaction(index):
    mine = payment(status="PROCESSED", transaction_id="ch_3NXX77", processed_at=NOW)
    index(mine)
    for text in ("48.50", "48", "ch_3Nxx77", "nxx7", "tomas"):
        (one,) = find_by_text(text, PAYMENT, size=5).rows
        assert (one.id, one.amount, one.at) == (mine["id"], Decimal("48.50"), NOW)


@pytest.mark.parametrize("first", [0, 1])
def test_lines_that_come_before_their_order_or_after_it_are_both_found(index, first):
    index()
    mine = order()
    both = [mine, line(mine, "Red lamp"), line(mine, "Blue chair")]
    projection = search_index()
    projection.open()
    for number, item in enumerate(both if first else both[::-1], 1):
        projection.apply([change(item, number)])
        projection.commit(START)
    projection.apply([change(mine | {"version": 2}, 9)])
    projection.commit(START)
    projection.close()
    assert found("red") == found("chair lamp") == ["Tomáš Dvořák"]


def test_what_is_deleted_leaves_the_index_and_late_records_bring_nothing_back(index):
    mine, somebody = order(), customer()
    index(mine, line(mine, "Red lamp"), somebody)
    projection = search_index()
    projection.open()
    projection.apply([change(mine, 5, gone=True), change(somebody, 6, gone=True), change(mine, 4)])
    projection.commit(START)
    projection.close()
    assert found() == found("red") == []
    assert find_by_text("tomas", CUSTOMER, size=5).rows == []
    assert "tomas" not in document_key((somebody["PK"], somebody["SK"]))


@in_a_folder
def test_orders_are_in_no_index_that_shoppers_and_editors_search(index):
    mine = order()
    index(deal_item("Lamp"), mine, line(mine, "Red lamp"), customer())
    assert titles(search("lamp")) == ["Lamp"]
    assert titles(search("tomas", for_editors=True, kind="any")) == []
    assert b"dvorak" not in b"".join(
        file.read_bytes()
        for file in reader.current_generation(reader.index_root()).iterdir()
        if file.is_file()
    )


@in_a_folder
def test_nobody_else_may_read_the_files(index):
    index(deal_item("Lamp"), order())
    projection = search_index()
    projection.open()
    for number in range(9):  # segments are merged meanwhile
        projection.apply([change(order(), number)])
        projection.commit(START)
    projection.close()
    generation = reader.current_generation(reader.index_root())
    modes = {file.relative_to(generation): file.stat().st_mode & 0o777 for file in generation.rglob("*")}
    assert len(modes) > 10
    assert {mode for path, mode in modes.items() if path.name != OfficeDocument.part} == {0o600}
    assert modes[(generation / OfficeDocument.part).relative_to(generation)] == 0o700


def test_without_an_index_it_is_said_that_there_is_none():
    assert not find_orders(OrdersQuestion("tomas")).ready
    assert placed(NOW - HOUR, NOW) is None
    assert find_by_text("tomas", CUSTOMER, size=5).rows == []
