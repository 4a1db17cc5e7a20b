"""Sessions: who is signed in, on which device.

The browser keeps a user name and a random key, the table only the key's hash. A session is bound to
the password and the second factor it was started with by an HMAC under that key: when one of them
changes, every other session is void at that moment, whatever becomes of its item.
"""

import hmac
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Any

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import relations
from dealsite.data.catalogue.relations import RelationState, Target
from dealsite.data.entities.conversion import reader, writer
from dealsite.data.entities.people import LONGEST_SESSION, SESSION, USER_AGENT_CHARACTERS
from dealsite.data.people import mails
from dealsite.data.people.users import User, as_user
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import epoch_seconds, hash_of, iso
from dealsite.data.table.writes import MAX_ACTIONS, Delete, Put, Update, Write, equals, exists

UNUSED = timedelta(days=14)  # a session ends when it was not used for so long, at last after LONGEST_SESSION
ROLE_UNUSED, ROLE_LONGEST = timedelta(hours=12), timedelta(days=7)  # the same for who has a role
SEEN_EVERY = timedelta(hours=1)  # how exactly "last seen" is kept, and with it when a session ends


@dataclass(frozen=True, slots=True)
class Session:
    """One sign-in of a user on one device; `proved_at` is when they last gave their password in it."""

    username: str
    key_hash: str
    user_agent: str
    address: str
    created_at: datetime
    seen_at: datetime
    proved_at: datetime

    def ends_at(self, roles: Collection[str]) -> datetime:
        """Return when the session of somebody with some roles ends unless it is used again."""
        unused, longest = (ROLE_UNUSED, ROLE_LONGEST) if roles else (UNUSED, LONGEST_SESSION)
        return min(self.created_at + longest, self.seen_at + unused)


@access_pattern("start a session", "1 put")
def start(user: User, *, key: str, user_agent: str, address: str, now: datetime) -> Session:
    """Start a session under a new random key."""
    session, put = _new(user, key, user_agent, address, now)
    table.write(put)
    return session


@access_pattern("start a session on a new device, and tell the user", "1 transaction")
def start_on_new_device(user: User, *, key: str, user_agent: str, address: str, now: datetime) -> Session:
    """Start a session under a new random key, and have the user told of it by mail."""
    session, put = _new(user, key, user_agent, address, now)
    table.transact([put, mails.notice("new_device", user, user_agent=session.user_agent, now=now)])
    return session


def _new(user: User, key: str, user_agent: str, address: str, now: datetime) -> tuple[Session, Put]:
    session = Session(user.username, hash_of(key), user_agent[:USER_AGENT_CHARACTERS], address, now, now, now)
    mark = {"password_mark": password_mark(key, user), "ttl": _ends(now, now)}
    return session, Put(
        key=keys.session(user.username, key), item=SESSION.item(_store_session(session) | mark)
    )


@access_pattern("who is signed in", "1 batch get")
def read(username: str, key: str, *, now: datetime) -> tuple[Session, User] | None:
    """Return the session and user that a cookie names, or None if it is over; consistent."""
    return _read(username, key, table.batch_get(_read_keys(username, key)), now)


@access_pattern("who is signed in, and how they stand to a deal, brand or category", "1 batch get")
def read_with_relation_state(
    username: str, key: str, *, target: Target, slug: str, now: datetime
) -> tuple[Session, User, RelationState] | None:
    """As `read`, and how the user stands to a deal, brand or category."""
    also = relations.relation_state_keys(username, target, slug)
    items = table.batch_get([*_read_keys(username, key), *also])
    found = _read(username, key, items, now)
    return (*found, relations.relation_state(target, slug, items)) if found else None


def _read_keys(username: str, key: str) -> list[keys.Key]:
    return [keys.session(username, key), keys.user(username)]


def _read(
    username: str, key: str, items: Mapping[keys.Key, dict[str, Any]], now: datetime
) -> tuple[Session, User] | None:
    session_key, user_key = _read_keys(username, key)
    item, user = items.get(session_key), as_user(items.get(user_key))
    if item is None or user is None or user.suspended_at or item["ttl"] <= epoch_seconds(now):
        return None
    if not hmac.compare_digest(item["password_mark"], password_mark(key, user)):
        return None
    session = _as_session(item)
    return (session, user) if session.ends_at(user.roles) > now else None


@access_pattern("note that a session is in use, once an hour", "1 update")
def see(session: Session, *, user_agent: str, address: str, now: datetime) -> None:
    """Note that a session is in use, at most once an hour; an ended one stays ended."""
    if abs(now - session.seen_at) < SEEN_EVERY:
        return
    key = keys.session.given(session.username, session.key_hash)
    seen: dict[Any, Any] = {
        "seen_at": iso(now),
        "address": address,
        "user_agent": user_agent[:USER_AGENT_CHARACTERS],
    }
    seen["ttl"] = _ends(session.created_at, now)
    as_read = (equals("seen_at", iso(session.seen_at)),)
    with suppress(Conflict):  # another request of this session was faster, or it has ended
        table.write(Update(key=key, set=seen, when=as_read, otherwise=Conflict()))


@access_pattern("note that a user has given their password again", "1 update")
def reauthenticate(session: Session, *, now: datetime) -> None:
    """Note that the user has just given their password again; Conflict if the session has ended."""
    key = keys.session.given(session.username, session.key_hash)
    table.write(Update(key=key, set={"proved_at": iso(now)}, when=(exists(),), otherwise=_ended()))


@access_pattern("a user's sessions", "1 query")
def of_user(username: str, *, roles: Collection[str] = (), now: datetime) -> list[Session]:
    """Return the sessions of a user with some roles, the last used first. 1 query a page."""
    found = [_as_session(item) for item in _items(username) if item["ttl"] > epoch_seconds(now)]
    going_on = [session for session in found if session.ends_at(roles) > now]
    return sorted(going_on, key=lambda session: session.seen_at, reverse=True)


@access_pattern("end a session", "1 delete")
def end(username: str, key_hash: str) -> None:
    """End a session; harmless when it has ended."""
    table.write(Delete(key=keys.session.given(username, key_hash)))


@access_pattern("end all sessions one by one", "1 query + 1 delete")
def end_all(username: str, *, but: str = "") -> None:
    """End all sessions of a user, but for the one of a key's hash. 1 query a page + 1 delete each."""
    for write in endings(username, but=but):
        table.write(write)


def endings(username: str, *, but: str = "") -> Iterator[Write]:
    """Yield the writes that end all sessions of a user but one. 1 query a page."""
    for item in _items(username):
        if item["SK"] != keys.session.given(username, but or "-")[1]:
            yield Delete(key=(item["PK"], item["SK"]))


def transact_and_end(user: User, writes: list[Write], *, key: str) -> None:
    """Write with a user's other sessions ended, and the one of `key`, if any, bound to the user that is about to be.

    A user with more sessions than a transaction holds keeps the items of the rest, but they are void, since bound
    to another password or second factor. 1 query a page + 1 transaction.
    """
    going_on = []
    if key:
        mark = {"password_mark": password_mark(key, user)}
        session_key = keys.session(user.username, key)
        going_on = [Update(key=session_key, set=mark, when=(exists(),), otherwise=_ended())]
    ended = endings(user.username, but=hash_of(key) if key else "")
    table.transact(list(islice(chain(writes, going_on, ended), MAX_ACTIONS)))


def _ended() -> Conflict:
    return Conflict(gettext_lazy("This session has just been ended. Sign in again."))


def password_mark(key: str, user: User) -> str:
    """Return what binds a session's key to a password's hash, and to the second factor where there is one."""
    return hmac.new(key.encode(), f"{user.password}{user.two_factor}".encode(), "sha256").hexdigest()


def _items(username: str) -> Iterator[dict[str, Any]]:
    partition, (low, high) = keys.session.partition(username), keys.session.between()
    return table.query_all(partition, low=low, high=high, consistent=True)


def _as_session(item: Mapping[str, Any]) -> Session:
    started = _read_session(item, key_hash=item["SK"].partition("#")[2])
    return started if started.proved_at else replace(started, proved_at=started.created_at)


_read_session, _store_session = reader(SESSION.shape, Session, "key_hash"), writer(SESSION.shape, Session)


def _ends(created_at: datetime, seen_at: datetime) -> int:
    return epoch_seconds(min(created_at + LONGEST_SESSION, seen_at + UNUSED))
