"""Carts and orders, and what keeps a charge from being made twice."""

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    Attribute,
    Expiry,
    Flag,
    ListOf,
    Map,
    MapOf,
    Money,
    Shape,
    Time,
    Whole,
)
from dealsite.data.entities.deals import MAX_PRICE, PICTURE, TITLE_CHARACTERS
from dealsite.data.entities.entity import At, Entity
from dealsite.data.entities.texts import Email, Hash, Slug, Text, Ulid, Username
from dealsite.data.table.convert import Item
from dealsite.data.table.key_templates import LONGEST

ACTIVE, SAVED, PURCHASED, RETURNED = "ACTIVE", "SAVED", "PURCHASED", "RETURNED"
IN_CART, BOUGHT = (ACTIVE, SAVED), (PURCHASED, RETURNED)
MAX_ACTIVE = 25  # what one transaction can buy
MAX_SAVED = 50
MAX_SAVED_OF_VISITOR = 10  # a visitor's whole cart must be merged in one transaction
MAX_QUANTITY = 999
MAX_TOTAL = MAX_ACTIVE * MAX_QUANTITY * MAX_PRICE

PLACED, SHIPPED, DELIVERED, CANCELLED = "PLACED", "SHIPPED", "DELIVERED", "CANCELLED"
ORDER_STATUSES = (PLACED, SHIPPED, DELIVERED, CANCELLED)
PLANS = (1, 3, 6, 12)  # numbers of instalments
ADDRESS_CHARACTERS = 120
NOTE_CHARACTERS = 500
TRACKING_PATTERN = r"[A-Za-z0-9][A-Za-z0-9 ._/-]{2,59}"
TRANSACTION = Text(
    most=LONGEST, pattern="[^#]+", copy_of="Payment.transaction_id", about="what the gateway calls the charge"
)


def _belongs_to_somebody(item: Item) -> str:
    """Say what is wrong with whose cart something is in: a user's stays, a visitor's is forgotten."""
    if ("username" in item) == ("visitor" in item):
        return "It is of a user and of a visitor." if "visitor" in item else "It is nobody's."
    if ("visitor" in item) == ("ttl" in item):
        return ""
    return "It is a visitor's and has no ttl." if "visitor" in item else "It is a user's and has a ttl."


def _has_an_order_if_bought(item: Item) -> str:
    if (item["status"] in BOUGHT) == ("order" in item):
        return "" if item["status"] in IN_CART or "username" in item else "A visitor has bought it."
    return f"It is {item['status']} and has {'an' if 'order' in item else 'no'} order."


OWNER: Shape = {
    "username": Username(personal=True, optional=True),
    "visitor": Hash(optional=True, about="of a visitor's cookie"),
    "ttl": Expiry(optional=True, about="when a visitor's is forgotten"),
}
QUANTITY = Whole(least=1, most=MAX_QUANTITY, unit="pieces")

CART_ENTRY: Shape = {
    "line": Ulid(about="id of the line"),
    "status": Text(one_of=IN_CART),
    "at": Time(),
    "quantity": QUANTITY,
    "token": Ulid(least=0, about="of the form that added to it last"),
}

CART_HEAD = Entity(
    type="CartHead",
    about="what is in a cart; a deal in it may have been deleted since",
    key=(
        At(keys.cart_head, username="username", only_with="username"),
        At(keys.visitor_cart_head, visitor="visitor", only_with="visitor"),
    ),
    shape={
        **OWNER,
        "version": Whole(least=1),
        "active": Whole(most=MAX_ACTIVE, counts="CartLine", about="lines that are ACTIVE"),
        "saved": Whole(most=MAX_SAVED, counts="CartLine", about="lines that are SAVED"),
        "lines": MapOf(Ulid(about="a deal"), Map(CART_ENTRY), most=MAX_ACTIVE + MAX_SAVED),
    },
    rules=(_belongs_to_somebody,),
)

CART_LINE_CARD: Shape = {
    "deal": Ulid(copy_of="deal"),
    "title": Text(most=TITLE_CHARACTERS),
    "brand": Slug(),
    "brand_name": Text(most=300),
    "category": Slug(),
    "price": Money(most=MAX_PRICE, about="what the shopper was last shown for one piece"),
    "quantity": QUANTITY,
    "picture": Map(PICTURE, optional=True),
    "username": Username(personal=True, copy_of="username", optional=True),
    "order": Ulid(copy_of="order", optional=True),
}

CART_LINE = Entity(
    type="CartLine",
    about="so many pieces of a deal in a cart, or bought from it; the deal may have been deleted since",
    stays="law",
    key=(
        At(keys.cart_line, username="username", status="status", at="at", line="id", only_with="username"),
        At(
            keys.visitor_cart_line,
            visitor="visitor",
            status="status",
            at="at",
            line="id",
            only_with="visitor",
        ),
    ),
    rows=[
        At(keys.carts_with, deal="deal", status="status", at="at", username="username", line="id"),
        At(keys.order_lines, order="order", line="id", only_with="order"),
    ],
    shape={
        **OWNER,
        "id": Ulid(),
        "deal": Ulid(),
        "status": Text(one_of=(*IN_CART, *BOUGHT)),
        "at": Time(about="when it came to its status"),
        "order": Ulid(refers="Order", optional=True),
        "counted": Flag(about="the deal's stock was limited when the price was shown"),
        "card": Map(CART_LINE_CARD),
    },
    rules=(_belongs_to_somebody, _has_an_order_if_bought),
)


def address(*, is_typed: bool = False) -> Shape:
    """Return where an order goes; what somebody has only typed so far may be half empty."""
    whole = Text(most=ADDRESS_CHARACTERS, personal=True, optional=is_typed)
    extra: Attribute = Text(most=ADDRESS_CHARACTERS, personal=True, optional=True, about="flat, company")
    postcode = Text(most=ADDRESS_CHARACTERS, personal=True, optional=True, about="not every country has them")
    parts = dict.fromkeys(("name", "street", "postcode", "city", "country"), whole)
    return parts | {"extra": extra, "postcode": postcode}


ORDER_ADDRESS, TYPED_ADDRESS = address(), address(is_typed=True)

ORDER_EVENT: Shape = {
    "status": Text(one_of=ORDER_STATUSES),
    "at": Time(),
    "by": Username(personal=True),
    "note": Text(most=NOTE_CHARACTERS, optional=True),
}

ORDER_CARD: Shape = {
    "id": Ulid(copy_of="id"),
    "username": Username(personal=True, copy_of="username"),
    "name": Text(most=ADDRESS_CHARACTERS, personal=True, copy_of="address.name"),
    "status": Text(one_of=ORDER_STATUSES, copy_of="status"),
    "placed_at": Time(copy_of="placed_at"),
    "total": Money(most=MAX_TOTAL),
    "pieces": Whole(least=1, most=MAX_ACTIVE * MAX_QUANTITY, counts="CartLine.quantity"),
    "lines": Whole(least=1, most=MAX_ACTIVE, counts="CartLine"),
    "plan": Whole(least=1, most=PLANS[-1], unit="instalments"),
}


def _is_paid_as_planned(item: Item) -> str:
    card = item["card"]
    if card["plan"] not in PLANS:
        return f"It is to be paid in {card['plan']} instalments, which is no plan."
    return "" if card["pieces"] >= card["lines"] else "It has fewer pieces than lines."


ORDER = Entity(
    type="Order",
    about="what somebody bought, and what became of it; its lines are those that left the cart",
    stays="law",
    key=At(keys.order, username="username", order="id"),
    rows=[At(keys.order_rows, order="id", username="username", status="status", placed_at="placed_at")],
    shape={
        "id": Ulid(),
        "username": Username(personal=True),
        "status": Text(one_of=ORDER_STATUSES),
        "placed_at": Time(),
        "version": Whole(least=1, about="counts its steps"),
        "address": Map(ORDER_ADDRESS),
        "email": Email(least=0, about="empty: nobody is written to"),
        "payments": ListOf(Map({"id": Ulid(refers="Payment"), "due_at": Time()}), most=PLANS[-1]),
        "timeline": ListOf(Map(ORDER_EVENT), least=1, most=len(ORDER_STATUSES)),
        "tracking": Text(most=60, pattern=TRACKING_PATTERN, optional=True),
        "card": Map(ORDER_CARD),
    },
    rules=(_is_paid_as_planned,),
)

TRANSACTION_GUARD = Entity(
    type="TransactionGuard",
    about="makes a transaction of the gateway one payment's own",
    stays="law",
    key=At(keys.transaction, transaction="transaction_id"),
    shape={
        "transaction_id": TRANSACTION,
        "account": Text(most=LONGEST, personal=True, copy_of="Payment.account"),
        "payment": Ulid(refers="Payment"),
    },
)


def _is_charged_or_refunded(item: Item) -> str:
    """Say what is wrong with a charge: what is refunded is less than nothing, and has no outcome."""
    is_refund = item["id"].endswith("-refund")
    if not item["amount"] or (item["amount"] < 0) != is_refund:
        return "Its amount has the wrong sign."
    outcomes = bool(item["transaction_id"]) + bool(item["reason"])
    return "" if outcomes == (not is_refund) else f"It has {outcomes} outcomes."


TEST_CHARGE = Entity(
    type="TestCharge",
    about="what the test gateway did under a key",
    key=At(keys.test_charge, charge="id"),
    shape={
        "id": Text(most=LONGEST, pattern="[^#]+"),
        "amount": Money(least=-MAX_TOTAL, most=MAX_TOTAL, about="less than 0: refunded"),
        "currency": Text(pattern="[A-Za-z]{3}"),
        "description": Text(most=LONGEST),
        "transaction_id": Text(least=0, most=LONGEST, about="empty: declined, or a refund"),
        "reason": Text(least=0, most=500),
    },
    rules=(_is_charged_or_refunded,),
)
