"""Profiles: what a user says of themself and prefers, and the guard that makes an e-mail address theirs alone.

How an address comes to be theirs is in email_addresses.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.entities.entity import reader
from dealsite.data.entities.people import EMAIL_GUARD, PROFILE, profile_rows
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Conflict, NotFound, VersionConflict
from dealsite.data.table.ids import iso
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import (
    Condition,
    Delete,
    Put,
    Update,
    Write,
    absent,
    at_version,
    equals,
    exists,
    missing,
)

if TYPE_CHECKING:
    from dealsite.data.people.users import User


@dataclass(frozen=True, slots=True)
class Profile:
    """What pages show of a user; `timezone` is '' for the site's own. Nothing here signs anybody in.

    `email` is confirmed, '' for none; `pending_email` is not yet.
    """

    username: str
    name: str
    email: str
    timezone: str
    created_at: datetime
    version: int
    pending_email: str = ""


@access_pattern("the profile of a user", "1 get")
def get(username: str) -> Profile:
    """Return a user's profile; NotFound if there is none."""
    item = table.get(keys.profile(username))
    if item is None:
        raise no_user()
    return from_item(item)


from_item = reader(PROFILE.shape, Profile)


@access_pattern("change a profile", "1 transaction")
def edit(profile: Profile, *, name: str, timezone: str) -> Profile:
    """Change a profile's name and time zone; VersionConflict with `current`.

    The profile's version stands for the sign-in item, too: both are made, changed and deleted together.
    """
    sign_in = Update(key=keys.user(profile.username), set={"name": name, "timezone": timezone})
    return carry_out(profile, replace(profile, name=name, timezone=timezone), [sign_in])


def email_guard(email: str, username: str, *, held: str = "") -> list[Write]:
    """Return the writes that make an address a user's own, in place of one they held; AlreadyExists if it is another's.

    Written in another letter case it is the same address. 1 action, 2 in place of another address.
    """
    key, former = keys.email_guard(email), keys.email_guard(held) if held else None
    owned = Put(
        key=key,
        item=EMAIL_GUARD.item({"username": username, "email": email}),
        when=(equals("username", username) if key == former else absent(),),
        otherwise=AlreadyExists(gettext_lazy("Another account has this e-mail address."), field="email"),
    )
    return [owned, Delete(key=former)] if former and key != former else [owned]


def as_item(profile: Profile) -> Item:
    """Return the item of a profile."""
    return PROFILE.item(asdict(profile) | {"created_at": iso(profile.created_at)})


def unchanged(user: User) -> tuple[Condition, ...]:
    """The sign-in item still has the password and the address that it was read with."""
    return equals("password", user.password), equals("email", user.email)


def changed() -> Conflict:
    return Conflict(gettext_lazy("Your account was changed elsewhere meanwhile. Load this page again."))


def pending_change(profile: Profile, wanted: Profile) -> dict[str, str]:
    """Return what changes of the pending address; in sign-in item and profile alike."""
    same = wanted.pending_email == profile.pending_email
    return {} if same else {"pending_email": wanted.pending_email}


def carry_out(profile: Profile, wanted: Profile, writes: Sequence[Write]) -> Profile:
    """Change a profile along with other items; what was changed so already is no conflict."""
    update = Update(
        key=keys.profile(profile.username),
        set={
            "name": wanted.name,
            "timezone": wanted.timezone,
            **pending_change(profile, wanted),
            **profile_rows(as_item(wanted)),
        },
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


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a user chose, kept on the sign-in item, which every request of theirs reads anyway.

    `language` is '' for the site's own.

    `autosave`: drafts are saved while they are written. `shortcuts`: single keys do things in the CMS.
    `small_menu`: the CMS's menu is a row of icons. `compact_rows`: its lists are.
    """

    language: str = ""
    autosave: bool = True
    shortcuts: bool = True
    small_menu: bool = False
    compact_rows: bool = False


USUAL = Preferences()
PREFERENCES = tuple(field.name for field in fields(Preferences))  # the attributes of the sign-in item


@access_pattern("keep a user's own choices", "1 update")
def save_preferences(username: str, **given: str | bool) -> None:
    """Keep what is given of `Preferences`, and leave the rest as it is; NotFound for who is no user any more."""
    replace(USUAL, **given)  # type: ignore[arg-type] # TypeError for what is no preference
    if given:
        table.write(Update(key=keys.user(username), set={**given}, when=is_there(), otherwise=no_user()))


def is_there() -> tuple[Condition, ...]:
    """The sign-in item is that of a user, and not of one who was deleted."""
    return exists(), missing("deleted_at")


def no_user() -> NotFound:
    return NotFound(gettext_lazy("There is no such user."))
