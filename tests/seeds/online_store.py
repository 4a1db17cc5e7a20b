"""The e-commerce store: the example of Alex DeBrie's talks on data modelling."""

from __future__ import annotations

from decimal import Decimal

from dealsite.data.commerce import order_changes, order_lines, order_record, orders
from dealsite.data.entities.commerce import ORDER_STATUSES as STATUSES, PLACED, PURCHASED
from dealsite.data.people import profiles
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import NotFound
from tests.builders import NOW
from tests.orders import ADDRESS, make_order
from tests.people import make_user
from tests.seeds import Ask, Both, Model, stored
from tests.seeds.shop import BUYER, PAGE, old_deal, old_deals, put_in_cart
from tests.shop import purchase

MODEL = Model(
    "E-commerce store",
    "The store of Alex DeBrie's talks ([AWS Summit New York 2019, ADB301]"
    "(https://www.slideshare.net/slideshow/data-modeling-with-amazon-dynamodb-adb301-new-york-aws-summit/155020972), "
    "re:Invent 2019, CMY304), as written out in "
    "[a notebook](https://github.com/PeppyDays/dynamodb-basic-modeling-hands-on): 3 entities, 5 access patterns, and "
    "placing an order, which none names and all need. Chapter 19 of The DynamoDB Book has a similar store with "
    "other keys. What it adds is here, too: an e-mail address is one user's (13), addresses are in profile and order, "
    "`order_changes.ship` and others change an order's status. The examples are those of the notebook.",
)


@MODEL.question(
    39,
    "A user's profile",
    "GetItem USER#u / PROFILE#u",
    profiles.get,
    differs="The password's hash is in another item, which no page of a profile reads.",
)
def profile(ask: Ask) -> Both:
    """name and e-mail address"""
    found, (item,) = ask("sam"), stored("Profile", username="sam")
    return (found.name, found.email), (item["name"], item["email"])


@MODEL.question(
    40,
    "A user's orders",
    "Query USER#u, begins_with ORDER#",
    orders.of_user,
    differs="25 a page, newest first.",
)
def orders_of_user(ask: Ask) -> Both:
    """the user's orders, newest first"""
    return ids(ask("sam").rows), newest(stored("Order", username="sam"))


@MODEL.question(
    41,
    "An order and its items",
    "Query inverted index ORDER#id",
    orders.get_with_lines,
    differs="Both meet in GSI1: an inverted index would hold every item of the table.",
)
def order_with_items(ask: Ask) -> Both:
    """total of the order, its items with pieces and prices"""
    wanted = stored("Order", username=BUYER)[0]["id"]
    (item,) = stored("Order", id=wanted)
    card, lines = ask(wanted)
    held = {
        (one["id"], one["card"]["quantity"], one["card"]["price"]) for one in stored("CartLine", order=wanted)
    }
    return (card.total, {(line.id, line.quantity, line.price) for line in lines}), (
        item["card"]["total"],
        held,
    )


@MODEL.question(
    42,
    "A user's orders of a status",
    "Query GSI USER#u, begins_with Status#",
    orders.of_user,
    differs="25 a page, newest first. The index holds the card.",
)
def orders_of_status(ask: Ask) -> Both:
    """the user's orders of each status, newest first"""
    found = {status: ids(ask("sam", status=status).rows) for status in STATUSES}
    return found, {status: newest(stored("Order", username="sam", status=status)) for status in STATUSES}


@MODEL.question(
    43,
    "All open orders",
    "Scan sparse index PlacedId",
    orders.waiting,
    differs="Four shards, oldest first, 25 a page: a scan has no order, and one partition takes 1,000 writes a second.",
)
def open_orders(ask: Ask) -> Both:
    """orders that are PLACED, the oldest first"""
    found = sorted((item["placed_at"], item["id"]) for item in stored("Order", status=PLACED))
    return ids(ask(PLACED).rows), [order_id for _, order_id in found][:PAGE]


@MODEL.question(
    44,
    "Place an order",
    "transaction: PutItem USER#u / ORDER#id; PutItem ITEM#id / ORDER#id each",
    order_changes.place,
    differs="The cart's lines become the order's items. Stock, payments, message and mail go with it. A form sent "
    "twice makes one order.",
)
def place_order(ask: Ask) -> Both:
    """total of the order and the deals of its items, after the form was sent twice"""
    username = make_user("mtest_44").username
    deals = old_deals(3)
    for deal in deals:
        put_in_cart(username, deal)
    form = purchase(username, now=NOW)
    made, again = (ask(form, now=NOW) for _ in range(2))
    assert again.id == made.id
    items = stored("CartLine", username=username)
    bought = {item["deal"] for item in items if item["status"] == PURCHASED and item["order"] == made.id}
    said = [item["card"]["total"] for item in stored("Order", username=username)]
    return ([made.total], {deal.id for deal in deals}), (said, bought)


def ids(cards: list[order_record.OrderCard]) -> list[str]:
    return [card.id for card in cards]


def newest(items: list[Item]) -> list[str]:
    return sorted((item["id"] for item in items), reverse=True)[:PAGE]


# What is stored


def claire() -> str:
    """Return the name of the notebook's shopper, who is made where missing."""
    try:
        return profiles.get("claire").username
    except NotFound:
        return make_user("claire", email="claire@gmail.com").username


@MODEL.entity(
    "User",
    "USER#u / PROFILE#u",
    "Profile",
    keys="profile",
    differs="Their addresses are a map in it; ours a list, the one used last first, and each order has its own. "
    "Beside it in the partition: the sign-in item, and the user's orders.",
)
def user() -> Both:
    """claire, claire@gmail.com"""
    found = profiles.get(claire())
    return (found.username, found.email), ("claire", "claire@gmail.com")


@MODEL.entity(
    "Order",
    "USER#u / ORDER#id; GSI-2 USER#u / Status#id; GSI-3 PlacedId",
    "Order",
    keys="order order_head orders_of_user orders_to_ship",
    differs="Statuses are PLACED, SHIPPED, DELIVERED, CANCELLED and RETURNED. Those on their way are listed, too.",
)
def order() -> Both:
    """an order of claire's, PLACED, then SHIPPED"""
    made = make_order(claire(), old_deal())
    placed = orders.get("claire", made.id).status
    order_changes.ship("claire", made.id, unpaid=True, by="kim", now=NOW)
    found = orders.get("claire", made.id)
    return (placed, found.status, found.address), ("PLACED", "SHIPPED", ADDRESS)


@MODEL.entity(
    "Order item",
    "ITEM#id / ORDER#id; GSI-1 ORDER#id / ITEM#id",
    "CartLine",
    keys="cart_line order_lines",
    differs="The cart's line, moved. Their item has a status (FILLED); here pieces that are cancelled or returned "
    "stand beside the rest as RETURNED; how many are shipped or delivered is added up from the order's timeline.",
)
def order_item() -> Both:
    """Product #7, 950.00, of an order of claire's, PURCHASED, shipped"""
    made = make_order(claire(), old_deal(title="Product #7", price=Decimal("950.00"), was_price=None))
    sent = order_changes.ship("claire", made.id, unpaid=True, by="kim", now=NOW)
    _, lines = orders.get_with_lines(made.id)
    found = order_lines.history(sent, lines).lines
    return [(one.line.title, one.line.price, one.line.status, one.status) for one in found], [
        ("Product #7", Decimal("950.00"), "PURCHASED", "SHIPPED")
    ]
