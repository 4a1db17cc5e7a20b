"""Items of every entity, in variants, with everything that must not get into the lake beside what must."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from dealsite.data.table.ids import iso, new_ulid
from tests.builders import NOW

SECRET = "hunter2"


def item(kind: str, number: int, variant: int) -> dict[str, Any]:
    """Return an item of a type: `number` tells items apart (and puts them on three days), `variant` their states."""
    made = NOW - timedelta(days=number % 3, seconds=number)
    moment = iso(made + timedelta(hours=variant))
    return {
        "type": kind,
        "id": new_ulid(made, number),
        "slug": f"slug-{number}",
        "username": f"user{number}",
        "name": "Nordlicht" if kind in ("Brand", "Category") else f"{SECRET} Smith",
        "email": f"user{number}@shop.example",
        "password": SECRET,
        "method": SECRET,
        "key_hash": SECRET,
        "claimed_by": SECRET,
        "payload": {"token": SECRET},
        "data": SECRET.encode(),
        "address": {
            "name": f"{SECRET} Smith",
            "street": f"{SECRET} road",
            "postcode": "AB12 3CD",
            "city": SECRET,
            "country": "Portugal",
        },
        "created_at": iso(made),
        "updated_at": moment,
        "version": variant,
        "stock": variant,
        "roles": {"editor", "admin"} if variant % 2 else set(),
        "status": "PLACED" if variant % 2 else "SHIPPED",
        "order": new_ulid(made, 7) if kind in ("Payment", "CartLine", "Message") else ["b", "a"][:variant],
        "number": 1,
        "of": 3,
        "amount": Decimal("19.99") * variant,
        "due_at": moment,
        "at": moment,
        "by": "eve",
        "timeline": [{"status": "PLACED", "at": moment, "by": "eve", "note": f"step {variant}"}],
        "final": bool(variant % 2),
        **({"visitor": SECRET} if variant % 3 == 0 else {}),
        **({"GSI1PK": f"{SECRET}#1"} if variant % 2 else {}),
        "card": {
            "title": f"Thing “{number}” 'quoted'\x00",
            "name": f"{SECRET} Smith",
            "brand": "nordlicht",
            "price": Decimal(variant) + Decimal("0.10"),
            "quantity": variant,
            "total": variant * 10,
            "placed_at": moment,
            "expires_at": moment,
            "picture": {"name": SECRET},
        },
    }
