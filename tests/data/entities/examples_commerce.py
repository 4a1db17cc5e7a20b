"""A sound item of each type of commerce.py, with every attribute that it can have."""

from decimal import Decimal
from typing import Any

from tests.builders import NOW, make_id

ID, DEAL, ORDER, PAYMENT = (make_id(NOW, number) for number in range(4))
AT = "2026-11-20T12:00:00.000Z"
PICTURE = {"name": "lamp.jpg", "width": 800, "height": 600, "alt": "A lamp", "focal_x": 20, "focal_y": 30}
ADDRESS = {
    "name": "Ann Example",
    "street": "Long Street 1",
    "extra": "Flat 2",
    "postcode": "12345",
    "city": "Town",
    "country": "DE",
}
LINE_CARD = {
    "deal": DEAL,
    "title": "A lamp",
    "brand": "nordlicht",
    "brand_name": "Nordlicht",
    "category": "home-furniture",
    "price": Decimal("12.5"),
    "quantity": 2,
    "picture": PICTURE,
    "username": "ann",
    "order": ORDER,
}
LATER, LAST = "2026-11-20T13:00:00.000Z", "2026-11-20T14:00:00.000Z"

EXAMPLES: dict[str, dict[str, Any]] = {
    "CartHead": {
        "PK": "CART#ann",
        "SK": "HEAD",
        "type": "CartHead",
        "username": "ann",
        "version": 3,
        "active": 1,
        "saved": 0,
        "lines": {DEAL: {"line": ID, "status": "ACTIVE", "at": AT, "quantity": 2, "token": ORDER}},
    },
    "CartLine": {
        "PK": "CART#ann",
        "SK": f"PURCHASED#{AT}#{ID}",
        "type": "CartLine",
        "id": ID,
        "deal": DEAL,
        "username": "ann",
        "status": "PURCHASED",
        "at": AT,
        "order": ORDER,
        "counted": True,
        "card": LINE_CARD,
        "GSI1PK": f"ORDER#{ORDER}",
        "GSI1SK": f"ITEM#{ID}",
        "GSI2PK": f"SKU#{DEAL}",
        "GSI2SK": f"PURCHASED#{AT}#ann#{ID}",
    },
    "Order": {
        "PK": "USER#ann",
        "SK": f"ORDER#{ORDER}",
        "type": "Order",
        "id": ORDER,
        "username": "ann",
        "status": "DELIVERED",
        "placed_at": AT,
        "version": 3,
        "address": ADDRESS | {"state": "State", "phone": "+49 30 123456"},
        "bill_to": ADDRESS,
        "email": "ann@example.org",
        "payments": [{"id": PAYMENT, "due_at": AT}],
        "timeline": [
            {"status": "PLACED", "at": AT, "by": "ann"},
            {
                "status": "SHIPPED",
                "at": LATER,
                "by": "eve",
                "note": "A word",
                "carrier": "DHL",
                "tracking": "JD 0146/00-3.x",
                "lines": {ID: {"pieces": 1}},
            },
            {"status": "DELIVERED", "at": LAST, "by": "eve", "parcel": LATER},
            {
                "status": "CANCELLED",
                "at": LAST,
                "by": "ann",
                "lines": {ID: {"pieces": 1, "amount": Decimal("12.5")}},
            },
        ],
        "tags": ["Held back", "VIP"],
        "note_tokens": [ID],
        "card": {
            "id": ORDER,
            "username": "ann",
            "name": "Ann Example",
            "status": "DELIVERED",
            "placed_at": AT,
            "total": Decimal(25),
            "pieces": 2,
            "lines": 1,
            "unshipped": 0,
            "taken_back": 1,
            "plan": 1,
            "money": {
                "open": Decimal(0),
                "processed": Decimal(20),
                "failed": Decimal(0),
                "cancelled": Decimal(0),
                "refunded": Decimal(5),
            },
        },
        "GSI1PK": f"ORDER#{ORDER}",
        "GSI1SK": f"ORDER#{ORDER}",
        "GSI2PK": "USER#ann",
        "GSI2SK": f"DELIVERED#{ORDER}",
    },
    "ReturnRequest": {
        "PK": "USER#ann",
        "SK": f"RETURN#{ORDER}",
        "type": "ReturnRequest",
        "order": ORDER,
        "username": "ann",
        "card": {
            "order": ORDER,
            "username": "ann",
            "name": "Ann Example",
            "at": AT,
            "pieces": 2,
            "reason": "Too loud",
        },
        "GSI3PK": "RETURNS",
        "GSI3SK": f"{AT}#{ORDER}",
    },
    "TransactionGuard": {
        "PK": "TXN#test_1",
        "SK": "TXN#test_1",
        "type": "TransactionGuard",
        "transaction_id": "test_1",
        "account": "ann",
        "payment": PAYMENT,
    },
    "TestCharge": {
        "PK": f"TESTCHARGE#{PAYMENT}-0",
        "SK": f"TESTCHARGE#{PAYMENT}-0",
        "type": "TestCharge",
        "id": f"{PAYMENT}-0",
        "amount": Decimal("12.5"),
        "currency": "EUR",
        "description": f"Payment {PAYMENT}",
        "transaction_id": "test_1",
        "reason": "",
    },
}

HASH = "ab" * 32
VISITOR = {"visitor": HASH, "ttl": 1_800_000_000}
MORE: dict[str, dict[str, Any]] = {  # what the same types are for a visitor
    "CartHead": {name: value for name, value in EXAMPLES["CartHead"].items() if name != "username"}
    | {"PK": f"CARTANON#{HASH}", **VISITOR},
    "CartLine": {
        "PK": f"CARTANON#{HASH}",
        "SK": f"SAVED#{AT}#{ID}",
        "type": "CartLine",
        "id": ID,
        "deal": DEAL,
        "status": "SAVED",
        "at": AT,
        "counted": False,
        "card": {name: value for name, value in LINE_CARD.items() if name not in ("username", "order")},
        **VISITOR,
    },
}
