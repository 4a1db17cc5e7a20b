"""Users, what signs them in, what keeps strangers from trying, and their messages."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    Email,
    Expiry,
    Flag,
    ForeignText,
    Hash,
    ListOf,
    Map,
    MapOf,
    SetOf,
    Shape,
    Text,
    Time,
    Ulid,
    Username,
    Whole,
)
from dealsite.data.entities.commerce import METHOD_CHARACTERS, MOST_ADDRESSES, TYPED_ADDRESS
from dealsite.data.entities.entity import At, Entity
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import epoch_seconds, from_iso, time_of

ROLES = ("editor", "back office", "admin")
USERNAME_CHARACTERS = 50  # of a user, and of a passkey
MOST_DEVICES = 5
MOST_PASSKEYS = MOST_TAKE_BACKS = 10
USER_AGENT_CHARACTERS, NETWORK_CHARACTERS = 400, 60
LONGEST_SESSION = timedelta(days=90)
HEADLINE_CHARACTERS = 200
TEXT_CHARACTERS = 1_000
HOT_DEAL, NEW_DEAL, ORDER_NEWS, PAYMENT_NEWS = "hot_deal", "new_deal", "order", "payment"  # kinds of messages

# Users

OF_LIVING = ("name", "email", "password", "registration")  # what a user has until they are deleted
OF_LIVING_ONLY = (*OF_LIVING, "pending_email", "roles", "two_factor", "devices", "take_backs")


def is_muted(row: Mapping[str, Any]) -> bool:
    """Tell whether a user, or a row of UserIndex, says that they want no hot deals."""
    return str(row.get(keys.USER_INDEX, "")).startswith(keys.MUTED)


def user_rows(item: Item) -> keys.Row:
    """Return the row of a user, who is muted if it says so; a deleted one has none."""
    return {} if "deleted_at" in item else keys.user_index(item["username"], muted=is_muted(item))


def user_is_whole_or_deleted(item: Item) -> str:
    """Say what a user lacks, or what is left of a deleted one."""
    if "deleted_at" in item:
        left = [name for name in OF_LIVING_ONLY if name in item]
        return f"Its user was deleted, but it still has {', '.join(left)}." if left else ""
    lost = [name for name in OF_LIVING if name not in item]
    return f"{' and '.join(lost)} is missing." if lost else ""


USER = Entity(
    type="User",
    about="who can sign in; of a deleted one it says only when, so that the name is never given out again",
    stays="name",
    key=At(keys.user, username="username"),
    rows=user_rows,
    gone=("columns",),
    shape={
        "username": Username(personal=True),
        "name": Text(most=USERNAME_CHARACTERS, personal=True, optional=True),
        "email": Email(least=0, optional=True, about="confirmed; '': none is"),
        "pending_email": Email(least=0, optional=True, about="waits for its link to be followed"),
        "password": Text(most=500, secret=True, optional=True, about="its hash"),
        "roles": SetOf(Text(one_of=ROLES), optional=True),
        "timezone": Text(least=0, most=100, optional=True, about="'': the site's own"),
        "language": Text(least=0, most=20, optional=True, about="'': the site's own"),
        "autosave": Flag(optional=True),
        "shortcuts": Flag(optional=True),
        "small_menu": Flag(optional=True),
        "compact_rows": Flag(optional=True),
        "created_at": Time(),
        "registration": Ulid(secret=True, optional=True, about="their sign-up's, minted with its form"),
        "two_factor": Ulid(optional=True, about="the id of their TwoFactor"),
        "devices": ListOf(Hash(), most=MOST_DEVICES, secret=True, optional=True, about="the newest last"),
        "take_backs": ListOf(
            Ulid(), most=MOST_TAKE_BACKS, optional=True, about="links to addresses they had, the oldest first"
        ),
        "suspended_at": Time(optional=True),
        "deleted_at": Time(optional=True),
    },
    rules=(user_is_whole_or_deleted,),
)

CARD: Shape = {
    "gateway": Text(most=60),
    "token": Text(most=METHOD_CHARACTERS, secret=True, about="what the gateway calls it"),
    "label": Text(most=200, about="Visa ending in 4242"),
}


def profile_rows(item: Item) -> keys.Row:
    """Return the row of who has confirmed no address yet, by which the pending one finds them."""
    if item.get("email") or not item.get("pending_email"):
        return {}
    return keys.waiting_users(item["pending_email"], from_iso(item["created_at"]), item["username"])


CUSTOMER_NOTE = 2_000  # characters

PROFILE = Entity(
    type="Profile",
    about="what pages show of a user, and what is kept for their next order; a deleted one has none",
    key=At(keys.profile, username="username"),
    rows=profile_rows,
    gone=("my_data",),
    shape={
        "username": Username(personal=True, refers="User"),
        "name": Text(most=USERNAME_CHARACTERS, personal=True, copy_of="User.name"),
        "email": Email(least=0, copy_of="User.email"),
        "pending_email": Email(least=0, copy_of="User.pending_email", optional=True),
        "timezone": Text(least=0, most=100, copy_of="User.timezone", optional=True),
        "created_at": Time(copy_of="User.created_at"),
        "version": Whole(least=1, about="counts changes of both"),
        "address": Map(TYPED_ADDRESS, personal=True, optional=True, about="where the last order went"),
        "bill_to": Map(
            TYPED_ADDRESS, personal=True, optional=True, about="where its bill went, if elsewhere"
        ),
        "addresses": ListOf(
            Map(TYPED_ADDRESS),
            most=MOST_ADDRESSES,
            optional=True,
            about="for other orders, the last used first",
        ),
        "card": Map(CARD, optional=True, about="pays for the next order"),
        "plan": Whole(least=1, optional=True, about="in how many instalments"),
        "note": Text(most=CUSTOMER_NOTE, optional=True, about="of the back office, for itself"),
    },
)

EMAIL_GUARD = Entity(
    type="EmailGuard",
    about="makes a confirmed e-mail address one user's own",
    key=At(keys.email_guard, email="email"),
    shape={"email": Email(copy_of="User.email"), "username": Username(personal=True, refers="User")},
)


def shard_is_one_of_the_users(item: Item) -> str:
    """Say what is wrong with the number of a shard."""
    shard = int(item["PK"].rpartition("#")[2])
    return "" if shard in range(keys.USER_COUNT_SHARDS) else f"There is no shard {shard}."


USER_COUNT = Entity(
    type="UserCount",
    about="how many users a shard has",
    key=At(keys.user_count),
    shape={"count": Whole(counts="User")},
    rules=(shard_is_one_of_the_users,),
)

# The second factor

BASE64URL = r"[A-Za-z0-9_-]+"
PASSKEY: Shape = {
    "name": ForeignText(most=USERNAME_CHARACTERS),
    "credential": Text(most=1_500, pattern=BASE64URL),
    "public_key": Text(most=6_000, pattern=BASE64URL),
    "sign_count": Whole(most=2**32 - 1, about="0: nobody counts"),
    "used_at": Time(optional=True),
}


def factor_is_something(item: Item) -> str:
    """Say what is wrong with a factor of which nothing can be shown."""
    return "" if item["secret"] or item.get("passkeys") else "It has neither an app nor a passkey."


TWO_FACTOR = Entity(
    type="TwoFactor",
    about="what a user's codes are checked with, and their passkeys by id",
    key=At(keys.two_factor, username="username"),
    shape={
        "username": Username(personal=True, refers="User"),
        "id": Ulid(about="browsers know the user by it"),
        "secret": Text(least=0, most=1_000, secret=True, about="encrypted; '' without an app"),
        "recovery": SetOf(Text(most=100), most=100, secret=True, optional=True, about="hashes of codes"),
        "last_step": Whole(unit="30 seconds since 1970", optional=True, about="of the last code used"),
        "passkeys": MapOf(Ulid(), Map(PASSKEY), most=MOST_PASSKEYS, optional=True),
    },
    rules=(factor_is_something,),
)

FACTOR_OWNER = Entity(
    type="FactorOwner",
    about="whose the passkeys of a factor are",
    key=At(keys.factor_owner, factor="id"),
    shape={"id": Ulid(copy_of="TwoFactor.id"), "username": Username(personal=True, refers="User")},
)

USED_CHALLENGE = Entity(
    type="UsedChallenge",
    about="what a passkey has signed: its key is the challenge's hash",
    key=At(keys.used_challenge),
    shape={"ttl": Expiry()},
)

# Sessions and tries


def session_ends(item: Item) -> str:
    """Say what is wrong with a session that outlives every session."""
    most = epoch_seconds(from_iso(item["created_at"]) + LONGEST_SESSION)
    return "" if item["ttl"] <= most else f"It goes on for more than {LONGEST_SESSION.days} days."


SESSION = Entity(
    type="Session",
    about="one sign-in on one device; its key holds the hash of what the browser keeps",
    key=At(keys.session, username="username"),
    shape={
        "username": Username(personal=True, refers="User"),
        "user_agent": ForeignText(least=0, most=USER_AGENT_CHARACTERS, personal=True),
        "address": Text(least=0, most=NETWORK_CHARACTERS, personal=True),
        "created_at": Time(),
        "seen_at": Time(),
        "proved_at": Time(optional=True, about="when they last gave their password; absent: at its start"),
        "password_mark": Hash(secret=True, about="binds it to password and second factor"),
        "ttl": Expiry(),
    },
    rules=(session_ends,),
    is_passing=True,
)

THROTTLE = Entity(
    type="Throttle",
    about="how many tries of a kind a subject has had in a span; its key holds the subject's hash",
    key=At(keys.throttle),
    shape={"count": Whole(), "ttl": Expiry()},
    is_passing=True,
)

# Messages

MESSAGE_CARD: Shape = {
    "id": Ulid(copy_of="id"),
    "kind": Text(one_of=(HOT_DEAL, NEW_DEAL, ORDER_NEWS, PAYMENT_NEWS)),
    "headline": Text(most=HEADLINE_CHARACTERS),
    "deal": Ulid(least=0, about="may have been deleted; '': it is about none"),
    "order": Ulid(optional=True, refers="Order"),
}


def message_rows(item: Item) -> keys.Row:
    """Return the row of a message that is unread, which stands nowhere else."""
    is_unread = "GSI1PK" in item or "GSI1SK" in item
    return keys.unread_messages(item["username"], item["id"]) if is_unread else {}


def message_is_kept(item: Item) -> list[tuple[str, datetime]]:
    """Tell since when a message is kept; one that was read goes no later than if it had stayed unread."""
    sent = time_of(item["id"])
    if "GSI1PK" in item:
        return [("messages", sent)]
    return [("messages", sent), ("read", from_iso(item["read_at"]) if "read_at" in item else sent)]


MESSAGE = Entity(
    type="Message",
    about="a message in a user's inbox; unread while it stands in the index",
    key=At(keys.message, username="username", message="id"),
    rows=message_rows,
    shape={
        "id": Ulid(about="of the job that sent it"),
        "username": Username(personal=True, refers="User"),
        "card": Map(MESSAGE_CARD),
        "text": Text(most=TEXT_CHARACTERS, optional=True),
        "read_at": Time(optional=True, about="the last time; absent: unread, or read before this was kept"),
        "ttl": Expiry(optional=True),
    },
    kept=message_is_kept,
)
