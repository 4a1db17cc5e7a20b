"""One item of each type of people.py, with every attribute that it can have."""

from __future__ import annotations

from dealsite.data import keys
from dealsite.data.entities import people
from dealsite.data.table.convert import Item, Key
from dealsite.data.table.ids import epoch_seconds, from_iso

AT, LATER = "2026-11-21T12:00:00.000Z", "2026-11-22T12:00:00.000Z"
ID, OTHER_ID = "01KAJV9D00000000000000000A", "01KAJV9D00000000000000000B"
TTL = epoch_seconds(from_iso(LATER))
HASH = "0123456789abcdef" * 4


def at(key: Key, item: Item) -> Item:
    return {"PK": key[0], "SK": key[1], **item}


EXAMPLES: dict[str, Item] = {
    "User": at(
        keys.user("ada"),
        people.USER.item(
            {
                "username": "ada",
                "name": "Ada",
                "email": "ada@example.org",
                "pending_email": "ada@example.net",
                "password": "argon2$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA",
                "roles": {"editor", "admin"},
                "timezone": "Europe/Berlin",
                "language": "de",
                "autosave": False,
                "shortcuts": False,
                "small_menu": True,
                "compact_rows": True,
                "created_at": AT,
                "registration": ID,
                "two_factor": OTHER_ID,
                "devices": [HASH],
                "take_backs": ["01KAJV9D00000000000000000C"],
                "suspended_at": LATER,
            }
        ),
    ),
    "Profile": at(
        keys.profile("ada"),
        people.PROFILE.item(
            {
                "username": "ada",
                "name": "Ada",
                "email": "ada@example.org",
                "pending_email": "ada@example.net",
                "timezone": "Europe/Berlin",
                "created_at": AT,
                "version": 3,
                "address": {
                    "name": "Ada Byron",
                    "street": "St James's Square 12",
                    "extra": "Left door",
                    "postcode": "SW1Y 4JH",
                    "city": "London",
                    "country": "United Kingdom",
                },
                "bill_to": {"name": "Byron & Co.", "street": "1 Row", "city": "London", "country": "GB"},
                "addresses": [{"name": "Ada", "street": "1 Row", "state": "Kowloon", "country": "HK"}],
                "plan": 3,
                "card": {"gateway": "test", "token": "test:approve", "label": "Visa ending in 4242"},
                "note": "Calls before noon.\nNever leave parcels outside.",
            }
        ),
    ),
    "EmailGuard": at(
        keys.email_guard("ada@example.org"),
        people.EMAIL_GUARD.item({"username": "ada", "email": "ada@example.org"}),
    ),
    "UserCount": at(keys.user_count("ada"), people.USER_COUNT.item({"count": 1})),
    "TwoFactor": at(
        keys.two_factor("ada"),
        people.TWO_FACTOR.item(
            {
                "username": "ada",
                "id": OTHER_ID,
                "secret": "gAAAAABencrypted",
                "recovery": {HASH},
                "last_step": 58_000_000,
                "passkeys": {
                    ID: {
                        "name": "My phone",
                        "credential": "Y3JlZGVudGlhbA",
                        "public_key": "cHVibGljIGtleQ",
                        "sign_count": 2,
                        "used_at": LATER,
                    }
                },
            }
        ),
    ),
    "FactorOwner": at(
        keys.factor_owner(OTHER_ID), people.FACTOR_OWNER.item({"id": OTHER_ID, "username": "ada"})
    ),
    "UsedChallenge": at(keys.used_challenge("a challenge"), people.USED_CHALLENGE.item({"ttl": TTL})),
    "Session": at(
        keys.session("ada", "a random key"),
        people.SESSION.item(
            {
                "username": "ada",
                "user_agent": "Mozilla/5.0 \x80",
                "address": "192.0.2.7",
                "created_at": AT,
                "seen_at": LATER,
                "proved_at": LATER,
                "password_mark": HASH,
                "ttl": TTL,
            }
        ),
    ),
    "Throttle": at(
        keys.throttle("sign-in", "ada", from_iso(AT)), people.THROTTLE.item({"count": 1, "ttl": TTL})
    ),
    "Message": at(
        keys.message("ada", ID),
        people.MESSAGE.item(
            {
                "id": ID,
                "username": "ada",
                "card": {"id": ID, "kind": "order", "headline": "Shipped", "deal": "", "order": OTHER_ID},
                "text": "It is on its way.",
                "read_at": LATER,
                **keys.unread_messages("ada", ID),
            }
        ),
    ),
}
DELETED_USER = at(
    keys.user("bob"), {"type": "User", "username": "bob", "created_at": AT, "deleted_at": LATER}
)
