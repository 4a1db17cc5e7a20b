"""Users: who can sign in, in which roles, and how many there are.

The sign-in item holds the password's hash and the roles, the profile (profiles.py) what pages show.
What belongs together changes in one transaction. A deleted user leaves a sign-in item that says
only when, so that the name is never given out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.names import normalise_email, normalise_username
from dealsite.data.people import preferences, profiles
from dealsite.data.people.preferences import USUAL, Preferences
from dealsite.data.people.profiles import Profile
from dealsite.data.people.removal import removal_job
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import AlreadyExists, BadCursor, Conflict, Invalid, NotFound
from dealsite.data.table.ids import from_iso, is_ulid, iso
from dealsite.data.table.writes import (
    Delete,
    Path,
    Put,
    Update,
    Write,
    absent,
    contains,
    exists,
    lacks,
    missing,
)

ROLES = ("editor", "back office", "admin")
MUTED_CURSOR = "-"  # no user name starts with it
NOBODY = "-"  # nobody's name: read so that an unknown address costs as much as a known one


@dataclass(frozen=True, slots=True)
class User:
    """Who can sign in; `name` is shown, `password` is the hash, `timezone` is '' for the site's own.

    `muted`: wants no messages about hot deals. `two_factor` is the id of the second factor that signing in
    asks for (see two_factor.py), '' for none.
    """

    username: str
    name: str
    email: str
    password: str = field(repr=False)
    roles: frozenset[str]
    timezone: str
    created_at: datetime
    registration: str
    muted: bool = False
    two_factor: str = ""
    preferences: Preferences = USUAL

    @property
    def roles_in_order(self) -> list[str]:
        return [role for role in ROLES if role in self.roles]


@dataclass(frozen=True, slots=True)
class UsersPage:
    """Some of the users; `after` leads to the next page, None at the end."""

    users: list[User]
    after: str | None


@access_pattern("sign up", "USER#u, USEREMAIL#e, USERCOUNT#k", "1 transaction")
def create(
    *,
    username: str,
    email: str,
    password: str,
    registration: str,
    now: datetime,
    roles: Iterable[str] = (),
    timezone: str = "",
) -> User:
    """Create a user whose shown name is `username` as typed; `password` is a hash. 1 transaction.

    `registration` is the ULID of this sign-up, minted with its form: sent again after a lost answer, the
    same sign-up returns the user that it made (1 get more). Invalid for a name, address or role that cannot
    be; AlreadyExists with its `field` for one that is taken.
    """
    name, username, email = username.strip(), normalise_username(username), normalise_email(email)
    if unknown := set(roles) - set(ROLES):
        raise Invalid(
            roles=_("There is no role %(unknown)s. The roles are %(roles)s.")
            % {"unknown": repr(min(unknown)), "roles": ", ".join(ROLES)}
        )
    if not is_ulid(registration):
        raise Invalid(gettext_lazy("This form is damaged. Load it again."))
    user = User(username, name, email, password, frozenset(roles), timezone, now, registration)
    profile = Profile(username, name, email, timezone, now, 1)
    try:
        table.transact(
            [
                Put(
                    key=keys.user(username),
                    item=_user_item(user),
                    when=(absent(),),
                    otherwise=AlreadyExists(
                        gettext_lazy("This user name is taken. Choose another one."), field="username"
                    ),
                ),
                Put(key=keys.profile(username), item=profiles.as_item(profile), when=(absent(),)),
                profiles.email_guard(email, username),
                _count(username, 1),
            ]
        )
    except AlreadyExists:
        there = find(username)
        if there is None or there.registration != registration:
            raise
        return there
    return user


@access_pattern("one user", "USER#u", "1 get")
def get(username: str) -> User:
    """Return a user; NotFound if there is none, or none any more. 1 get."""
    user = as_user(table.get(_key(username)))
    if user is None:
        raise _no_user()
    return user


@access_pattern("a user by name or address", "USER#u, USEREMAIL#e", "2 gets")
def find(name_or_email: str) -> User | None:
    """Return the user of a user name or e-mail address, or None. 1 get; 2 for an address, known or not."""
    try:
        if "@" not in name_or_email:
            return as_user(table.get(keys.user(normalise_username(name_or_email))))
        email = normalise_email(name_or_email)
    except Invalid:
        return None
    guard = table.get(keys.email_guard(email))
    user = as_user(table.get(keys.user(guard["username"] if guard else NOBODY)))
    return user if user and user.email == email else None


@access_pattern("give a user a role", "USER#u", "1 transaction")
def give_role(username: str, role: str, *, by: str, now: datetime) -> None:
    """Give a user a role; harmless when he has it. NotFound, Invalid. 1 transaction; 1 get more when he has it."""
    change: dict[Path, Any] = {"roles": {_role(role)}}
    when = (*_is_there(), lacks("roles", role))
    update = Update(key=_key(username), add=change, when=when, otherwise=_RoleIsSo())
    _change_roles(username, role, update, what="given the role", by=by, now=now)


@access_pattern("take a role from a user", "USER#u", "1 transaction")
def take_role(username: str, role: str, *, by: str, now: datetime) -> None:
    """Take a role from a user; harmless when he has it not. NotFound, Invalid. 1 transaction; 1 get more then."""
    change: dict[Path, Any] = {"roles": {_role(role)}}
    when = (*_is_there(), contains("roles", role))
    update = Update(key=_key(username), discard=change, when=when, otherwise=_RoleIsSo())
    _change_roles(username, role, update, what="lost the role", by=by, now=now)


class _RoleIsSo(Conflict):
    """The user has the role, or has it not, already; or there is no such user."""


def _change_roles(username: str, role: str, update: Update, *, what: str, by: str, now: datetime) -> None:
    entry = audit.entry_write(by=by, kind="user", subject=username, what=f"{what} {role}", now=now)
    try:
        table.transact([update, entry])
    except _RoleIsSo:
        get(username)


@access_pattern("mute hot deals, or hear them again", "USER#u / itself; moves it in UserIndex", "1 update")
def mute_hot_deals(username: str, *, muted: bool) -> None:
    """Send a user no messages about hot deals, or send them again; harmless to repeat. NotFound. 1 update.

    A fan-out sees it in the keys that it reads anyway.
    """
    key = _key(username)
    index = keys.user_index(username, muted=muted)
    table.write(Update(key=key, set=index, when=_is_there(), otherwise=_no_user()))


@access_pattern("delete a user", "USER#u, USEREMAIL#e, USERCOUNT#k, JOB#id", "1 transaction")
def delete(user: User, *, job_id: str, now: datetime) -> None:
    """Delete a user whose password was just asked for; his name stays taken. 1 transaction and its job."""
    table.transact(
        [
            Update(
                key=keys.user(user.username),
                set={"deleted_at": iso(now)},
                remove=(
                    *("name", "email", "password", "roles", "timezone", "registration", "UserIndex"),
                    "two_factor",
                    *preferences.NAMES,
                ),
                when=profiles.unchanged(user),
                otherwise=profiles.changed(),
            ),
            Delete(key=keys.profile(user.username)),
            Delete(key=keys.two_factor(user.username)),
            Delete(key=keys.email_guard(user.email)),
            _count(user.username, -1),
            removal_job(user.username, job_id=job_id, now=now),
        ]
    )


@access_pattern("how many users", "USERCOUNT#k", "1 batch get")
def count() -> int:
    """Return how many users there are. 1 batch get."""
    items = table.batch_get(keys.user_count.given(shard) for shard in range(keys.USER_COUNT_SHARDS))
    return sum(item["count"] for item in items.values())


@access_pattern("users, a page at a time", "UserIndex / in no order", "1 scan + 1 batch get")
def page(*, after: str | None = None, limit: int = 50) -> UsersPage:
    """Return users in no order, of whom UserIndex knows; BadCursor. 1 scan of keys + 1 batch get."""
    start = None
    if after is not None:
        muted = after.startswith(MUTED_CURSOR)
        try:
            username = normalise_username(after.removeprefix(MUTED_CURSOR))
        except Invalid:
            raise BadCursor() from None
        pk, sk = keys.user(username)
        start = {"PK": pk, "SK": sk, **keys.user_index(username, muted=muted)}
    rows = table.scan_page(index=keys.USER_INDEX, limit=limit, start=start)
    wanted = [(row["PK"], row["SK"]) for row in rows.items]
    items = table.batch_get(wanted)
    users = [user for key in wanted if (user := as_user(items.get(key)))]
    return UsersPage(users, _cursor(rows.start) if rows.start else None)


def as_user(item: Mapping[str, Any] | None) -> User | None:
    """Return the user of a sign-in item; None for none and for one that was deleted."""
    if item is None or "deleted_at" in item:
        return None
    return User(
        username=item["username"],
        name=item["name"],
        email=item["email"],
        password=item["password"],
        roles=frozenset(item.get("roles", ())),
        timezone=item.get("timezone", ""),
        created_at=from_iso(item["created_at"]),
        registration=item["registration"],
        muted=is_muted(item),
        two_factor=item.get("two_factor", ""),
        preferences=preferences.from_item(item),
    )


def is_muted(row: Mapping[str, Any]) -> bool:
    """Tell whether a user, or a row of UserIndex, says that they want no hot deals."""
    return str(row.get(keys.USER_INDEX, "")).startswith(keys.MUTED)


def _cursor(row: Mapping[str, Any]) -> str:
    return (MUTED_CURSOR if is_muted(row) else "") + str(row["PK"].partition("#")[2])


def _user_item(user: User) -> dict[str, Any]:
    return {
        "type": "User",
        "username": user.username,
        "name": user.name,
        "email": user.email,
        "password": user.password,
        "roles": user.roles,
        "timezone": user.timezone,
        "created_at": iso(user.created_at),
        "registration": user.registration,
        **keys.user_index(user.username, muted=user.muted),
    }


def _count(username: str, change: int) -> Write:
    return Update(key=keys.user_count(username), set={"type": "UserCount"}, add={"count": change})


def _key(username: str) -> keys.Key:
    """Return the key of a user who is named in an address; NotFound for what no user can be called."""
    try:
        if normalise_username(username) == username:
            return keys.user(username)
    except Invalid:
        pass
    raise _no_user()


def _is_there() -> tuple[Any, ...]:
    return exists(), missing("deleted_at")


def _no_user() -> NotFound:
    return NotFound(gettext_lazy("There is no such user."))


def _role(role: str) -> str:
    if role not in ROLES:
        raise Invalid(
            role=_("There is no role %(role)s. The roles are %(roles)s.")
            % {"role": repr(role), "roles": ", ".join(ROLES)}
        )
    return role
