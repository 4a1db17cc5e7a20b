"""Changing a password: in the same transaction every other session of the user ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import islice

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.people import mails, sessions
from dealsite.data.people.users import User
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import hash_of
from dealsite.data.table.writes import MAX_ACTIONS, Update, Write, equals

OTHER_WRITES = 3  # the sign-in item, the session that goes on, the notice


@access_pattern(
    "change a password", "USER#u, SESSIONS#u, JOB#id / itself, SESSION#hash", "1 query + 1 transaction"
)
def change(user: User, *, password: str, key: str = "", now: datetime) -> None:
    """Give a user a new password's hash, if his is still the one he was read with. 1 query + 1 transaction.

    The session of `key`, if there is one, goes on; all others end. A user with more sessions than a
    transaction holds keeps the items of the rest, but they are void, since bound to the old password.
    Conflict if the password was changed meanwhile: of two uses of one reset link, one wins.
    """
    writes: list[Write] = [
        Update(
            key=keys.user(user.username),
            set={"password": password},
            when=(equals("password", user.password),),
            otherwise=Conflict(gettext_lazy("The password was changed meanwhile.")),
        ),
        mails.notice(
            "password_changed", to=user.email, name=user.name, language=user.preferences.language, now=now
        ),
    ]
    if key:
        writes.append(sessions.rebinding(replace(user, password=password), key))
    ended = sessions.endings(user.username, but=hash_of(key) if key else "")
    table.transact([*writes, *islice(ended, MAX_ACTIONS - OTHER_WRITES)])


@access_pattern("store a password hashed at today's cost", "USER#u", "1 update")
def upgrade(user: User, *, password: str) -> None:
    """Store the same password hashed at today's cost; it ends the user's sessions. 1 update.

    Harmless when it was changed meanwhile, or when the answer to the first of two attempts was lost.
    """
    update = Update(
        key=keys.user(user.username), set={"password": password}, when=(equals("password", user.password),)
    )
    try:
        table.write(update)
    except Conflict:
        return
