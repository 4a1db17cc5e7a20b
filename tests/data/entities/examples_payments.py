"""A sound item of each type of payments.py, with every attribute that it can have."""

from decimal import Decimal
from typing import Any

from dealsite.data.table.ids import shard
from tests.builders import NOW, make_id

ID, ORDER, LOAD, RUNNER = (make_id(NOW, number) for number in range(4))
AT = "2026-11-20T12:00:00.000Z"
SHARD = shard(ID, 10)
COUNTED: dict[str, Any] = {
    "open": 3,
    "open_amount": Decimal("12.5"),
    "processed": 1,
    "processed_amount": 5,
    "failed": 0,
    "failed_amount": 0,
    "cancelled": 1,
    "cancelled_amount": Decimal("0.01"),
    "refunded": 1,
    "refunded_amount": 2,
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "Payment": {
        "PK": "PAYHIST#ann",
        "SK": f"{AT}#{ID}",
        "type": "Payment",
        "id": ID,
        "account": "ann",
        "amount": Decimal("12.5"),
        "due_at": AT,
        "next_at": AT,
        "order": ORDER,
        "number": 1,
        "of": 3,
        "status": "REFUNDED",
        "method": "test:approve",
        "tries": 1,
        "series_at": AT,
        "transaction_id": "test_1",
        "processed_at": AT,
        "reason": "Not wanted",
        "cut": Decimal("2.5"),
        "refunds": [
            {"amount": Decimal(amount), "reason": "Not wanted", "by": "bob", "at": AT, "done_at": AT}
            for amount in ("7", "3")
        ],
        "data": b"whatever it is",
        "timeline": [{"status": "REFUNDED", "at": AT, "by": "-", "note": ""}],
        "closed": True,
        "version": 5,
        "card": {
            "id": ID,
            "account": "ann",
            "order": ORDER,
            "number": 1,
            "of": 3,
            "amount": Decimal("12.5"),
            "cut": Decimal("2.5"),
            "refunded": Decimal("10"),
            "due_at": AT,
            "status": "REFUNDED",
            "transaction_id": "test_1",
            "reason": "Not wanted",
            "at": AT,
        },
        "GSI1PK": "TXN#test_1",
        "GSI1SK": "TXN#test_1",
        "GSI3PK": f"PAYHIST#{SHARD}",
        "GSI3SK": f"{AT}#{ID}",
    },
    "PaymentTotals": {
        "PK": "PAYTOTALS#2026-11-20#3",
        "SK": "PAYTOTALS",
        "type": "PaymentTotals",
        "day": "2026-11-20",
        "shard": 3,
        **COUNTED,
    },
    "PaymentLoad": {
        "PK": f"LOAD#{LOAD}",
        "SK": f"LOAD#{LOAD}",
        "type": "PaymentLoad",
        "id": LOAD,
        "name": "payments.jsonl",
        "total": 123_456,
        "segments": 16,
        "begun_at": AT,
    },
    "PaymentLoadSegment": {
        "PK": f"LOAD#{LOAD}",
        "SK": "SEGMENT#3",
        "type": "PaymentLoadSegment",
        "load": LOAD,
        "number": 3,
        "position": 4711,
        "inserted": 200,
        "repeated": 0,
        "pending": {"2026-11-20#3": {name: COUNTED[name] for name in ("open", "open_amount")}},
        "version": 2,
    },
}


def unpaid(
    status: str, listed: str, *steps: str, order: str = ORDER, of: int = 3, **more: Any
) -> dict[str, Any]:
    """Return a payment that was never paid; `listed` is the status under which the index lists it."""
    payment = EXAMPLES["Payment"]
    item = {name: payment[name] for name in ("SK", "type", "due_at", "next_at", "tries", "version")}
    own = {"id": ID, "account": "ann", "amount": Decimal("12.5"), "order": order, "number": 1, "of": of}
    card = own | {"due_at": AT, "status": status}
    if steps:
        card["at"] = AT
        item["timeline"] = [{"status": one, "at": AT, "by": "", "note": ""} for one in steps]
    rows = {"GSI3PK": f"PAYMENTS#{SHARD}", "GSI3SK": f"{listed}#{AT}#{ID}"}
    return {"PK": "PAYMENTS#ann", **item, **own, "status": status, "card": card, **rows, **more}


MARK = {"id": LOAD, "segment": 3, "position": 4711}
BACK = [{"amount": Decimal("2.5"), "reason": "Broken", "by": "-", "at": AT}]
OTHERWISE = {  # a payment of other statuses
    "SCHEDULED": unpaid("SCHEDULED", "SCHEDULED", order="", of=1, load=MARK),
    "PENDING": unpaid("PENDING", "PENDING", "SCHEDULED", claimed_by=RUNNER, series_at=AT, refunds=BACK),
    "WAITING": unpaid("SCHEDULED", "GIVENUP", "SCHEDULED", final=True),
    "FAILED": unpaid("FAILED", "GIVENUP", "SCHEDULED", "FAILED", final=True),
}
