"""Profiles: what a user says of himself, and the guard that makes his e-mail address his alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.names import normalise_email
from dealsite.data.people import mails
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import from_iso, iso
from dealsite.data.table.writes import Condition, Delete, Put, Update, Write, absent, at_version, equals

if TYPE_CHECKING:
    from dealsite.data.people.users import User


@dataclass(frozen=True, slots=True)
class Profile:
    """What pages show of a user; `timezone` is '' for the site's own. Nothing here signs anybody in."""

    username: str
    name: str
    email: str
    timezone: str
    created_at: datetime
    version: int


@access_pattern("the profile of a user", "USER#u / PROFILE#u", "1 get")
def get(username: str) -> Profile:
    """Return a user's profile; NotFound if there is none. 1 get."""
    item = table.get(keys.profile(username))
    if item is None:
        raise NotFound(gettext_lazy("There is no such user."))
    return from_item(item)


def from_item(item: Item) -> Profile:
    """Return the profile of its item."""
    return Profile(
        username=item["username"],
        name=item["name"],
        email=item["email"],
        timezone=item.get("timezone", ""),
        created_at=from_iso(item["created_at"]),
        version=item["version"],
    )


@access_pattern("change a profile", "USER#u / itself, PROFILE#u", "1 transaction")
def edit(profile: Profile, *, name: str, timezone: str) -> Profile:
    """Change a profile's name and time zone; VersionConflict with `current`. 1 transaction.

    The profile's version stands for the sign-in item, too: both are made, changed and deleted together.
    """
    sign_in = Update(key=keys.user(profile.username), set={"name": name, "timezone": timezone})
    return _carry_out(profile, replace(profile, name=name, timezone=timezone), [sign_in])


@access_pattern("move to another address", "USER#u, USEREMAIL#e twice, JOB#id", "1 transaction")
def change_email(
    profile: Profile, *, user: User, name: str, timezone: str, email: str, now: datetime
) -> Profile:
    """Change the e-mail address along with name and time zone, and have the old address told. 1 transaction.

    `user` is the sign-in item whose password was just asked for. AlreadyExists if the address is another
    user's, Invalid if it is none, VersionConflict with `current`, Conflict if the password changed meanwhile.
    """
    email = normalise_email(email)
    writes: list[Write] = [
        Update(
            key=keys.user(profile.username),
            set={"name": name, "timezone": timezone, "email": email},
            when=unchanged(user),
            otherwise=changed(),
        )
    ]
    if email != profile.email:
        writes += [
            Delete(key=keys.email_guard(profile.email)),
            email_guard(email, profile.username),
            mails.notice(
                "email_changed",
                to=profile.email,
                name=profile.name,
                language=user.preferences.language,
                now=now,
            ),
        ]
    return _carry_out(profile, replace(profile, name=name, timezone=timezone, email=email), writes)


def email_guard(email: str, username: str) -> Write:
    """Return the write that makes an address a user's own; AlreadyExists if it is another's."""
    return Put(
        key=keys.email_guard(email),
        item={"type": "EmailGuard", "username": username, "email": email},
        when=(absent(),),
        otherwise=AlreadyExists(gettext_lazy("Another account has this e-mail address."), field="email"),
    )


def as_item(profile: Profile) -> dict[str, Any]:
    """Return the item of a profile."""
    return {
        "type": "Profile",
        "username": profile.username,
        "name": profile.name,
        "email": profile.email,
        "timezone": profile.timezone,
        "created_at": iso(profile.created_at),
        "version": profile.version,
    }


def unchanged(user: User) -> tuple[Condition, ...]:
    """The sign-in item still has the password and the address that it was read with."""
    return equals("password", user.password), equals("email", user.email)


def changed() -> Conflict:
    return Conflict(gettext_lazy("Your account was changed elsewhere meanwhile. Load this page again."))


def _carry_out(profile: Profile, wanted: Profile, writes: Sequence[Write]) -> Profile:
    """Change a profile along with other items; what was changed so already is no conflict."""
    update = Update(
        key=keys.profile(profile.username),
        set={"name": wanted.name, "timezone": wanted.timezone, "email": wanted.email},
        add={"version": 1},
        when=at_version(profile.version),
        otherwise=VersionConflict(gettext_lazy("Your profile was changed elsewhere since you opened it.")),
    )
    try:
        table.transact([update, *writes])
    except VersionConflict as conflict:
        current = get(profile.username)
        if replace(current, version=profile.version) == wanted:
            return current
        conflict.current = current
        raise
    return replace(wanted, version=profile.version + 1)
