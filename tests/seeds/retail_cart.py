"""The retail cart: a challenge and sample solution of AWS's workshop on DynamoDB."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from itertools import groupby

from django.conf import settings

from dealsite.ask import runs
from dealsite.ask.lake import lake_in
from dealsite.data.commerce import cart_changes, carts, orders
from dealsite.data.entities.commerce import ACTIVE, PURCHASED, SAVED
from dealsite.data.table.ids import from_iso, iso
from dealsite.lake import snapshots
from tests.builders import DAY, NOW, make_id
from tests.orders import buyer, make_order
from tests.seeds import Ask, Both, Model, stored
from tests.seeds.shop import BUYER, PAGE, SHOPPERS, addition, old_deal, old_deals, put_in_cart

MODEL = Model(
    "Retail cart",
    "The challenge *Retail Cart* and its sample solution `CartModel.json`, a model of NoSQL Workbench, in "
    "[Amazon DynamoDB Labs](https://github.com/aws-samples/amazon-dynamodb-labs/tree/HEAD/scenario-solutions): "
    "1 entity and 4 access patterns, one of which inserts and updates, and one asks by status or by status and date; "
    "told apart they are 6. The examples are those of the model's table.",
)
HEAD = "A head counts the lines and says which deals they are: a deal has one line, two forms at once or not."


@MODEL.question(
    24,
    "Insert and update items placed in a cart",
    "PutItem AccountID / Status#Timestamp",
    cart_changes.add,
    differs=f"{HEAD} The offer is read: what is over or sold out cannot be added.",
)
def add_to_cart(ask: Ask) -> Both:
    """the cart's line of the deal, and its pieces"""
    deal, owner = old_deal(), carts.user_cart(SHOPPERS[8])
    for quantity in (1, 2):
        ask(owner, addition(deal, quantity), now=NOW)
    (line,) = carts.read(owner, now=NOW).active
    (item,) = stored("CartLine", username=SHOPPERS[8])
    return (line.id, line.deal, line.quantity), (item["id"], deal.id, item["card"]["quantity"])


@MODEL.question(
    25,
    "Move an item between ACTIVE and SAVED",
    "DeleteItem, PutItem AccountID / Status#Timestamp",
    cart_changes.move,
    differs="One transaction: a crash between two writes would lose the item, or keep it twice.",
)
def save_for_later(ask: Ask) -> Both:
    """status and deal of the cart's lines"""
    username = SHOPPERS[9]
    kept, moved = (put_in_cart(username, deal) for deal in old_deals(2))
    ask(carts.user_cart(username), moved.ref, SAVED, now=NOW)
    found = {(item["status"], item["deal"]) for item in stored("CartLine", username=username)}
    return {(ACTIVE, kept.deal), (SAVED, moved.deal)}, found


@MODEL.question(
    26,
    "A user's items that are ACTIVE or SAVED, newest first",
    "Query AccountID, begins_with Status",
    carts.read,
    differs="Both statuses, for the cart page shows both; the head comes with the first.",
)
def read_cart(ask: Ask) -> Both:
    """the user's lines of each status, newest first"""
    cart = ask(carts.user_cart("sam"), now=NOW)
    return ([line.id for line in cart.active], [line.id for line in cart.saved]), (
        lines(ACTIVE, username="sam"),
        lines(SAVED, username="sam"),
    )


@MODEL.question(
    26,
    "A user's items that are PURCHASED, newest first",
    "Query AccountID, begins_with PURCHASED",
    orders.bought,
    differs="In pages. What went back is RETURNED. The lines of one order are read by the moment when it was placed.",
)
def purchased(ask: Ask) -> Both:
    """the user's lines that were bought, newest first"""
    return [line.id for line in ask(BUYER).rows], lines(PURCHASED, username=BUYER)


@MODEL.question(
    27,
    "Users with a product in a status, newest first",
    "Query GSI ItemSKU, begins_with Status",
    orders.carts_with,
    differs="The index holds what the list shows. Visitors, who have no account, are not in it.",
)
def carts_with(ask: Ask) -> Both:
    """users' lines of the deal in each of the three statuses, newest first"""
    deal = old_deal()
    for number, username in enumerate(SHOPPERS[10:14]):
        line = put_in_cart(username, deal, now=NOW - number * DAY)
        if number == 1:
            cart_changes.move(carts.user_cart(username), line.ref, SAVED, now=NOW)
    cart_changes.add(carts.visitor_cart("a cookie"), addition(deal), now=NOW)
    make_order(SHOPPERS[14], deal, quantity=2)
    statuses = (ACTIVE, SAVED, PURCHASED)
    found = [[line.id for line in ask(deal.id, status).rows] for status in statuses]
    return found, [lines(status, deal=deal.id) for status in statuses]


@MODEL.question(
    28,
    "Users with a product in a status, on a date",
    "Query GSI ItemSKU, Status#DateT00:00:00 to Status#DateT23:59:59",
    orders.carts_with,
    differs="Up to the start of the next day: T23:59:59 loses what came in the last second.",
)
def carts_with_on_a_day(ask: Ask) -> Both:
    """users' lines of the deal that came to the status on the day"""
    deal, midnight = old_deal(), NOW.replace(hour=0)
    for username, at in zip(SHOPPERS[15:18], (-DAY / 86_400_000, 0 * DAY, DAY), strict=True):
        put_in_cart(username, deal, now=midnight + at)
    late = put_in_cart(SHOPPERS[18], deal, now=midnight + DAY - DAY / 86_400_000)
    found = [line.id for line in ask(deal.id, ACTIVE, day=midnight.date()).rows]
    assert late.id in found
    return found, lines(ACTIVE, day=f"{midnight:%Y-%m-%d}", deal=deal.id)


@MODEL.question(
    29,
    "Complex ad hoc queries, offline",
    "Streams, Lambda, Firehose, Athena",
    runs.start,
    requests="none",
    differs="A nightly snapshot of the table as Parquet, which Athena reads, too; DuckDB answers.",
)
def ad_hoc(ask: Ask) -> Both:
    """pieces bought of each deal, the most first"""
    folder = settings.VAR / "lake" / make_id()
    snapshots.write(stored("CartLine"), folder)
    sql = "SELECT deal, sum(quantity) FROM cart_lines WHERE status = 'PURCHASED' GROUP BY deal ORDER BY 2 DESC, 1"
    run = ask(sql, run_id=make_id(), by=" scan", lake=lake_in(folder, {"admin"}), patience=60)
    bought = sorted(stored("CartLine", status=PURCHASED), key=lambda item: item["deal"])
    pieces = {
        deal: sum(one["card"]["quantity"] for one in of)
        for deal, of in groupby(bought, lambda one: one["deal"])
    }
    answer = [(deal, int(count)) for deal, count in run.answer().rows]
    return answer, sorted(pieces.items(), key=lambda row: (-row[1], row[0]))


def lines(status: str, *, day: str = "", **equal: str) -> list[str]:
    """Return the ids of users' lines in a status, newest first, up to a page of them."""
    found = [item for item in stored("CartLine", status=status, **equal) if item["at"].startswith(day)]
    found = [item for item in found if item.get("username")]
    found.sort(key=lambda item: (item["at"], item["username"], item["id"]), reverse=True)
    return [item["id"] for item in found][:PAGE]


@MODEL.entity(
    "Cart item",
    "CustomerID / Status#Date; GSI-SKU ItemSKU / Status#Date",
    "CartLine",
    keys="cart_line carts_with",
    differs="A time alone is no sort key: two items of one moment would be one. Statuses are ACTIVE, SAVED, PURCHASED "
    "and, after a cancellation, RETURNED; what is shipped is the order. Prices and counts are numbers.",
)
def cart_item() -> Both:
    """Chad and Sue with 72f49, b932s and ef9ca; Liz bought d9bl3 for 34.99"""
    prices = {"72f49": "12.49", "b932s": "67.99", "d9bl3": "34.99", "ef9ca": "4.99"}
    deals = {
        sku: old_deal(
            title=sku,
            live_at=datetime.fromisoformat("2019-01-01T00:00Z"),
            price=Decimal(price),
            was_price=None,
        )
        for sku, price in prices.items()
    }
    for username, sku, at in (
        ("chad", "72f49", "2019-10-08T21:11:42"),
        ("sue", "ef9ca", "2019-10-03T12:33:16"),
        ("sue", "b932s", "2019-10-05T10:07:17"),
        ("sue", "72f49", "2019-10-07T08:24:22"),
    ):
        line = put_in_cart(buyer(username).username, deals[sku], now=from_iso(f"{at}.000Z"))
        if (username, sku) == ("sue", "72f49"):
            cart_changes.move(carts.user_cart(username), line.ref, SAVED, now=line.at)
    order = make_order("liz", deals["d9bl3"], now=from_iso("2019-11-26T22:46:26.000Z"))
    sue, chad = (carts.read(carts.user_cart(name), now=NOW) for name in ("sue", "chad"))
    found = [
        (line.username, line.status, line.title, iso(line.at)[:19])
        for line in (*chad.active, *sue.active, *sue.saved)
    ]
    found += [(line.username, line.status, line.title, iso(line.at)[:19]) for line in orders.lines_of(order)]
    return found, [
        ("chad", "ACTIVE", "72f49", "2019-10-08T21:11:42"),
        ("sue", "ACTIVE", "b932s", "2019-10-05T10:07:17"),
        ("sue", "ACTIVE", "ef9ca", "2019-10-03T12:33:16"),
        ("sue", "SAVED", "72f49", "2019-10-07T08:24:22"),
        ("liz", "PURCHASED", "d9bl3", "2019-11-26T22:46:26"),
    ]
