"""Users: who can sign in, in which roles, and how many there are.

The sign-in item holds the password's hash and the roles, the profile (profiles.py) what pages show. A deleted user
leaves a sign-in item that says only when, so that the name is never given out again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce.payment_lists import owed
from dealsite.data.editing import audit
from dealsite.data.entities.entity import reader
from dealsite.data.entities.people import ROLES, USER, is_muted
from dealsite.data.jobs.jobs import job_write
from dealsite.data.names import email_as_typed, normalise_email, normalise_username
from dealsite.data.people import mails, profiles
from dealsite.data.people.profiles import PREFERENCES, USUAL, Preferences, Profile
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, BadCursor, Conflict, Forbidden, Invalid
from dealsite.data.table.ids import folded, is_ulid, iso
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page
from dealsite.data.table.writes import (
    Check,
    Condition,
    Delete,
    Put,
    Update,
    absent,
    at_version,
    contains,
    lacks,
    missing,
)

MUTED_CURSOR = "-"  # no user name starts with it
REMOVE_USER = "remove_user"  # the kind of job that removes what a deleted user leaves behind
MOST_WAITING = 3  # users whom one address finds before it is confirmed
REPEATED_WITHIN = timedelta(hours=1)  # for which a form is taken for one whose answer was lost
NOBODY = "-"  # nobody's name: read so that an unknown address costs as much as a known one


@dataclass(frozen=True, slots=True)
class User:
    """Who can sign in; `name` is shown, `password` is the hash, `timezone` is '' for the site's own.

    `email` is confirmed, '' for none; `pending_email` waits for its link to be followed (see email_addresses.py).
    `muted`: wants no messages about hot deals. `two_factor` is the id of the second factor that signing in
    asks for (see two_factor.py), '' for none. `suspended_at`: since when they may not sign in, None if they may.
    `take_backs`: the mails whose links give an address back that they had, the oldest first.
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
    devices: tuple[str, ...] = field(default=(), repr=False)  # see sessions.py, the newest last
    suspended_at: datetime | None = None
    preferences: Preferences = USUAL
    pending_email: str = ""
    take_backs: tuple[str, ...] = ()

    @property
    def roles_in_order(self) -> list[str]:
        return [role for role in ROLES if role in self.roles]


@dataclass(frozen=True, slots=True)
class RemovalPayload:
    """The user who was deleted."""

    username: str


@access_pattern("sign up", "1 transaction")
def create(
    *,
    username: str,
    email: str,
    password: str,
    registration: str,
    now: datetime,
    roles: Iterable[str] = (),
    timezone: str = "",
    confirmed: bool = True,
) -> User:
    """Create a user whose shown name is `username` as typed; `password` is a hash.

    Not `confirmed`, the address is pending and gets a link: whether it is another user's plays no part.
    `registration` is the ULID of this sign-up, minted with its form: sent again within an hour, after a lost answer,
    the same sign-up returns the user that it made (1 get more). Invalid for a name, address or role that cannot
    be; AlreadyExists with its `field` for one that is taken.
    """
    name, username, email = username.strip(), normalise_username(username), email_as_typed(email)
    if unknown := _unknown_role(roles):
        raise Invalid(roles=unknown)
    if not is_ulid(registration):
        raise Invalid(gettext_lazy("This form is damaged. Load it again."))
    owned = profiles.email_guard(email, username) if confirmed else [mails.confirmation(username, now=now)]
    email, pending = (email, "") if confirmed else ("", email)
    profile = Profile(username, name, email, timezone, now, 1, pending)
    user = User(username, name, email, password, frozenset(roles), timezone, now, registration)
    user = replace(user, pending_email=pending)
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
                *owned,
                _count(username, 1),
            ]
        )
    except AlreadyExists:
        there = find(username)
        if there is None or there.registration != registration or now - there.created_at > REPEATED_WITHIN:
            raise
        if there.two_factor or there.suspended_at:  # it would be a way past them
            raise
        return there
    return user


@access_pattern("one user", "1 get")
def get(username: str) -> User:
    """Return a user; NotFound if there is none, or none any more."""
    if user := as_user(table.get(_key(username))):
        return user
    raise profiles.no_user()


@access_pattern("several users", "1 batch get")
def get_many(usernames: Iterable[str]) -> dict[str, User]:
    """Return those of some users who are there, by name. 1 batch get for each 100."""
    items = table.batch_get(keys.user(username) for username in usernames)
    return {user.username: user for item in items.values() if (user := as_user(item))}


@access_pattern("whether somebody is an editor", "1 get")
def is_editor(username: str) -> bool:
    """Tell whether somebody may do an editor's work now: they are here, not suspended, and have the role."""
    user = as_user(table.get(keys.user(username)))
    return bool(user and not user.suspended_at and user.roles & {"editor", "admin"})


@access_pattern("a user by name or address", "2 gets")
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
    return user if user and folded(user.email) == email else None


@access_pattern("users who have not confirmed an address yet", "1 query + 1 batch get")
def waiting_for(email: str) -> list[User]:
    """Return the newest 3 users who have confirmed no address and want this one, or have it by now.

    Not who is suspended. Who signed up seconds ago may be missing.
    """
    partition = keys.waiting_users.partition(folded(email))
    rows = table.query(partition, index=keys.GSI1, newest_first=True, limit=MOST_WAITING)
    items = table.batch_get((row["PK"], row["PK"]) for row in rows)
    found = [user for item in items.values() if (user := as_user(item)) and not user.suspended_at]
    return [user for user in found if folded(user.email or user.pending_email) == folded(email)]


@access_pattern("give a user a role", "1 transaction")
def give_role(username: str, role: str, *, by: str, now: datetime) -> None:
    """Give a user a role; harmless when they have it. NotFound, Invalid. 1 get more when they have it."""
    change, when = {"add": {"roles": {role}}}, lacks("roles", role)
    _change_roles(username, role, change, when, what="given the role", by=by, now=now)


@access_pattern("take a role from a user", "1 transaction")
def take_role(username: str, role: str, *, by: str, now: datetime) -> None:
    """Take a role from a user; harmless when they do not have it. NotFound, Invalid. 1 get more then.

    Forbidden where somebody takes the role admin who is no admin any more: so there is always one.
    """
    change, when = {"discard": {"roles": {role}}}, contains("roles", role)
    checks = [admin_check(by)] if role == "admin" else []
    _change_roles(username, role, change, when, *checks, what="lost the role", by=by, now=now)


def admin_check(username: str) -> Check:
    """Return what a transaction needs so that only an admin does it who is not suspended; else Forbidden."""
    return Check(
        key=_key(username),
        when=(contains("roles", "admin"), missing("suspended_at")),
        otherwise=Forbidden(gettext_lazy("Only an admin who is not suspended can do this.")),
    )


class _RoleIsSo(Conflict):
    """The user has the role, or has it not, already; or there is no such user."""


def _change_roles(
    username: str,
    role: str,
    change: dict[str, Any],
    when: Condition,
    *checks: Check,
    what: str,
    by: str,
    now: datetime,
) -> None:
    if unknown := _unknown_role([role]):
        raise Invalid(role=unknown)
    update = Update(key=_key(username), when=(*profiles.is_there(), when), otherwise=_RoleIsSo(), **change)
    entry = audit.entry_write(by=by, kind="user", subject=username, what=f"{what} {role}", now=now)
    try:
        table.transact([update, *checks, entry])
    except _RoleIsSo:
        get(username)


@access_pattern("mute hot deals, or hear them again", "1 update")
def mute_hot_deals(username: str, *, muted: bool) -> None:
    """Send a user no messages about hot deals, or send them again; harmless to repeat. NotFound.

    A fan-out sees it in the keys that it reads anyway.
    """
    key, row = _key(username), keys.user_index(username, muted=muted)
    table.write(Update(key=key, set=row, when=profiles.is_there(), otherwise=profiles.no_user()))


class StillOwes(Conflict):
    """Somebody has still to pay for their orders."""


@access_pattern("delete a user", "1 get + 1 query + 1 transaction")
def delete(user: User, *, job_id: str, now: datetime) -> None:
    """Delete a user whose password was just asked for; the name stays taken. The rest is removed by a job.

    StillOwes while something is to be paid; Conflict where something is ordered meanwhile, which changes the cart.
    1 get + 1 query + 1 transaction.
    """
    cart = table.get(keys.cart_head(user.username)) or {}
    if owed(user.username).total:
        raise StillOwes(gettext_lazy("Your orders are not paid yet. Pay them, or cancel them, first."))
    gone = ("name", "email", "password", "roles", "timezone", "registration", "UserIndex", "two_factor")
    guard = [Delete(key=keys.email_guard(user.email))] if user.email else []
    table.transact(
        [
            Update(
                key=keys.user(user.username),
                set={"deleted_at": iso(now)},
                remove=(*gone, "pending_email", "devices", "take_backs", *PREFERENCES),
                when=profiles.unchanged(user),
                otherwise=profiles.changed(),
            ),
            Delete(key=keys.profile(user.username)),
            Delete(key=keys.two_factor(user.username)),
            *([Delete(key=keys.factor_owner(user.two_factor))] if user.two_factor else ()),
            *guard,
            Check(
                key=keys.cart_head(user.username),
                when=at_version(cart.get("version", 0)),
                otherwise=profiles.changed(),
            ),
            _count(user.username, -1),
            job_write(REMOVE_USER, RemovalPayload(user.username), job_id=job_id, due=now),
        ]
    )


@access_pattern("how many users", "1 batch get")
def count() -> int:
    """Return how many users there are."""
    items = table.batch_get(keys.user_count.given(shard) for shard in range(keys.USER_COUNT_SHARDS))
    return sum(item["count"] for item in items.values())


@access_pattern("whether an admin is missing", "1 scan + 1 batch get")
def lacks_admin() -> bool:
    """Tell whether nobody is an admin; only a table of up to 50 users is looked through, a larger one had its day."""
    found = page()
    return found.after is None and not any("admin" in user.roles for user in found.rows)


@access_pattern("users, a page at a time", "1 scan + 1 batch get")
def page(*, after: str | None = None, limit: int = 50) -> Page[User]:
    """Return users in no order, of whom UserIndex knows; BadCursor."""
    start = None if after is None else _row_of(after)
    rows = table.scan_page(index=keys.USER_INDEX, limit=limit, start=start)
    wanted = [(row["PK"], row["SK"]) for row in rows.items]
    items = table.batch_get(wanted, consistent=False)
    users = [user for key in wanted if (user := as_user(items.get(key)))]
    return Page(users, _cursor(rows.start) if rows.start else None)


def as_user(item: Item | None) -> User | None:
    """Return the user of a sign-in item; None for none and for one that was deleted."""
    if item is None or "deleted_at" in item:
        return None
    return _read_user(item, muted=is_muted(item), preferences=_read_preferences(item))


_read_user = reader(USER.shape, User, "muted", "preferences")
_read_preferences = reader(USER.shape, Preferences)


def _row_of(cursor: str) -> dict[str, Any]:
    """Return the keys of the row that a cursor names; BadCursor."""
    try:
        username = normalise_username(cursor.removeprefix(MUTED_CURSOR))
    except Invalid:
        raise BadCursor() from None
    pk, sk = keys.user(username)
    return {"PK": pk, "SK": sk, **keys.user_index(username, muted=cursor.startswith(MUTED_CURSOR))}


def _cursor(row: Mapping[str, Any]) -> str:
    return (MUTED_CURSOR if is_muted(row) else "") + str(row["PK"].partition("#")[2])


def _user_item(user: User) -> Item:
    names = ("username", "name", "email", "pending_email", "password", "roles", "timezone", "registration")
    return USER.item({"created_at": iso(user.created_at)} | {name: getattr(user, name) for name in names})


def _count(username: str, change: int) -> Update:
    return Update(key=keys.user_count(username), set={"type": "UserCount"}, add={"count": change})


def _key(username: str) -> keys.Key:
    """Return the key of a user who is named in an address; NotFound for what no user can be called."""
    try:
        if normalise_username(username) == username:
            return keys.user(username)
    except Invalid:
        pass
    raise profiles.no_user()


def _unknown_role(roles: Iterable[str]) -> str:
    """Return what is wrong with the first of some roles that there is not, '' if there are all."""
    unknown = sorted(set(roles) - set(ROLES))
    if not unknown:
        return ""
    words = {"unknown": repr(unknown[0]), "roles": ", ".join(ROLES)}
    return _("There is no role %(unknown)s. The roles are %(roles)s.") % words
