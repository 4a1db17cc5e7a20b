"""Sessions: who is signed in, on which device; and what ends them: another password, or an account suspended.

The browser keeps a user name and a random key, the table only the key's hash. A session is bound to
the password and the second factor it was started with by an HMAC under that key: when one of them
changes, every other session is void at that moment, whatever becomes of its item.

Of the newest few devices the sign-in item keeps what `password_mark` makes of a random number that the browser has:
another password or factor ends all of them, and a new device the oldest.

A suspended user is signed in nowhere and cannot sign in, by no password, code, passkey or reset link. There is always
an admin who is not suspended: the one who did it is read in the same transaction.
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
from dealsite.data.catalogue import featured_plans, relations
from dealsite.data.catalogue.categories import Counts
from dealsite.data.catalogue.featured_plans import FeaturedPlan
from dealsite.data.catalogue.relations import RelationState, Target
from dealsite.data.editing import audit
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.people import LONGEST_SESSION, MOST_DEVICES, SESSION, USER_AGENT_CHARACTERS
from dealsite.data.entities.work import PAUSABLE
from dealsite.data.jobs import jobs, queue
from dealsite.data.jobs.jobs import Job
from dealsite.data.people import mails, profiles, users
from dealsite.data.people.users import User, as_user
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import epoch_seconds, first_ulid_of, hash_of, iso
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import merged
from dealsite.data.table.writes import (
    MAX_ACTIONS,
    Condition,
    Delete,
    Put,
    Update,
    Write,
    equals,
    exists,
    missing,
    present,
)


def is_known_device(user: User, number: str) -> bool:
    """Tell whether a number is that of a device of a user, as they were read. No request."""
    return password_mark(number, user) in user.devices


@access_pattern("remember a device", "1 update")
def remember_device(user: User, number: str) -> bool:
    """Remember a device by its random number, and forget the oldest beyond MOST_DEVICES; False where that could not be.

    1 update; 1 get + 1 update more for each other device that was faster.
    """
    current: User | None = user

    def attempt() -> bool:
        nonlocal current
        known, current = current or users.get(user.username), None
        if known.password != user.password or known.two_factor != user.two_factor:
            return False
        _write(known, number)
        return True

    try:
        return table.retrying(attempt, on=Conflict, times=3, otherwise=Conflict)
    except (NotFound, Conflict):
        return False


def _write(user: User, number: str) -> None:
    mark = password_mark(number, user)
    newest = [*(known for known in user.devices if known != mark), mark][-MOST_DEVICES:]
    as_read: Condition = equals("devices", list(user.devices)) if user.devices else missing("devices")
    change: dict[Any, Any] = {"devices": newest}
    same = (equals("password", user.password), as_read)  # a deleted user has none
    table.write(Update(key=keys.user(user.username), set=change, when=same, otherwise=Conflict()))


UNUSED = timedelta(days=14)  # a session ends when it was not used for so long, at last after LONGEST_SESSION
ROLE_UNUSED, ROLE_LONGEST = timedelta(hours=12), timedelta(days=7)  # the same for who has a role
ENDED = gettext_lazy("This session has just been ended. Sign in again.")
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


@access_pattern("who is signed in, and how they stand to a deal, brand or category", "1 batch get + 1 query")
def read_with_relation_state(
    username: str, key: str, *, target: Target, slug: str, now: datetime, counts: Counts | None = None
) -> tuple[Session, User, RelationState] | None:
    """As `read`, and how the user stands to a deal, brand or category (`relations.relation_state_and`)."""
    items, state = relations.relation_state_and(_read_keys(username, key), username, target, slug, counts)
    found = _read(username, key, items, now)
    return (*found, state) if found else None


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
    seen: dict[Any, Any] = {"seen_at": iso(now), "address": address, "ttl": _ends(session.created_at, now)}
    seen["user_agent"] = user_agent[:USER_AGENT_CHARACTERS]
    as_read = (equals("seen_at", iso(session.seen_at)),)
    with suppress(Conflict):  # another request of this session was faster, or it has ended
        table.write(Update(key=key, set=seen, when=as_read, otherwise=Conflict()))


@access_pattern("note that a user has given their password again", "1 update")
def reauthenticate(session: Session, *, now: datetime) -> None:
    """Note that the user has just given their password again; Conflict if the session has ended."""
    key = keys.session.given(session.username, session.key_hash)
    table.write(Update(key=key, set={"proved_at": iso(now)}, when=(exists(),), otherwise=Conflict(ENDED)))


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
        going_on = [Update(key=session_key, set=mark, when=(exists(),), otherwise=Conflict(ENDED))]
    ended = endings(user.username, but=hash_of(key) if key else "")
    table.transact(list(islice(chain(writes, going_on, ended), MAX_ACTIONS)))


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


@access_pattern("what somebody ordered and planned that is not over", "10 queries + 1 batch get")
def open_work(username: str, *, now: datetime) -> tuple[list[Job], list[FeaturedPlan]]:
    """Return the jobs of an editor that run or wait, their messages that rest, and their plans of featured lists.

    Of jobs those among the first 1,000 that are due, and the last 1,000 messages that are planned.
    """
    _, due = keys.open_jobs.until(now + jobs.LONGEST_WAIT)  # also those that run just now, or failed
    rows = merged(jobs.OPEN, index=keys.GSI3, high=due, limit=queue.MOST_OPEN)
    low = keys.announcements.position(first_ulid_of(now))
    planned = table.query(
        keys.announcements.partition(), index=keys.GSI2, low=low, newest_first=True, limit=queue.MOST_OPEN
    )
    ids = {row["SK"].removeprefix("JOB#") for row in (*rows, *planned) if row["card"]["kind"] in PAUSABLE}
    found = [job for job in jobs.get_many(sorted(ids)).values() if job.state in ("open", "paused")]
    plans = [plan for plan in featured_plans.newest() if plan.is_open and plan.by == username]
    return [job for job in found if job.payload.get("by") == username], plans


@access_pattern("pause what runs for who is no editor", "1 get + 10 queries + 1 batch get")
def stop_running(username: str, *, by: str, now: datetime) -> None:
    """Pause what workers do for somebody who is no editor now. 1 get + 1 transaction more for each job."""
    running = () if users.is_editor(username) else open_work(username, now=now)[0]
    for job in running:
        if job.taken_by:
            with suppress(Conflict):  # it is over
                queue.pause(job.id, by=by, now=now)


@access_pattern("suspend an account", "1 query + 1 transaction")
def suspend(user: User, *, reason: str, by: str, now: datetime) -> None:
    """Suspend a user, by an admin who is not suspended, else Forbidden; Conflict if they are suspended already."""
    update = Update(
        key=keys.user(user.username),
        set={"suspended_at": iso(now)},
        when=(*profiles.is_there(), missing("suspended_at")),
        otherwise=Conflict(gettext_lazy("This account is suspended already.")),
    )
    words = "suspended the account"
    entry = audit.entry_write(by=by, kind="user", subject=user.username, what=words, note=reason, now=now)
    transact_and_end(user, [update, users.admin_check(by), entry], key="")


@access_pattern("lift a suspension", "1 transaction")
def lift_suspension(username: str, *, by: str, now: datetime) -> None:
    """Let a user sign in again; Conflict if they are not suspended."""
    update = Update(
        key=keys.user(username),
        remove=("suspended_at",),
        when=(*profiles.is_there(), present("suspended_at")),
        otherwise=Conflict(gettext_lazy("This account is not suspended.")),
    )
    words = "lifted the suspension"
    table.transact([update, audit.entry_write(by=by, kind="user", subject=username, what=words, now=now)])


@access_pattern("end all sessions of a user", "2 queries + 1 transaction + 6 deletes")
def end_sessions(username: str, *, by: str, now: datetime) -> None:
    """End all sessions of a user, for an admin. 1 delete more for each that a transaction cannot hold."""
    words = "ended all sessions"
    entry = audit.entry_write(by=by, kind="user", subject=username, what=words, now=now)
    table.transact([entry, *islice(endings(username), MAX_ACTIONS - 1)])
    end_all(username)


@access_pattern("change a password", "1 query + 1 transaction")
def change_password(user: User, *, password: str, key: str = "", now: datetime) -> None:
    """Give a user a new password's hash, if theirs is still the one they were read with.

    The session of `key`, if there is one, goes on; all others end. Conflict if the password was changed meanwhile, or
    the account suspended: of two uses of one reset link, one wins.
    """
    update = Update(
        key=keys.user(user.username),
        set={"password": password},
        when=(equals("password", user.password), missing("suspended_at")),
        otherwise=Conflict(gettext_lazy("The password was changed meanwhile.")),
    )
    writes = [update, mails.notice("password_changed", user, now=now)]
    transact_and_end(replace(user, password=password), writes, key=key)


@access_pattern("store a password hashed at today's cost", "1 query + 1 transaction")
def upgrade_password(user: User, *, password: str) -> None:
    """Store the same password hashed at today's cost; it ends the user's sessions.

    Harmless when it was changed meanwhile, or when the answer to the first of two attempts was lost.
    """
    key, as_read = keys.user(user.username), (equals("password", user.password),)
    update = Update(key=key, set={"password": password}, when=as_read, otherwise=Conflict())
    with suppress(Conflict):
        transact_and_end(replace(user, password=password), [update], key="")
