"""Changing a password: in the same transaction every other session of the user ends."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.people import mails, sessions
from dealsite.data.people.users import User
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict
from dealsite.data.table.writes import Update, equals, missing


@access_pattern("change a password", "1 query + 1 transaction")
def change(user: User, *, password: str, key: str = "", now: datetime) -> None:
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
    sessions.transact_and_end(replace(user, password=password), writes, key=key)


@access_pattern("store a password hashed at today's cost", "1 update")
def upgrade(user: User, *, password: str) -> None:
    """Store the same password hashed at today's cost; it ends the user's sessions.

    Harmless when it was changed meanwhile, or when the answer to the first of two attempts was lost.
    """
    key, as_read = keys.user(user.username), (equals("password", user.password),)
    with suppress(Conflict):
        table.write(Update(key=key, set={"password": password}, when=as_read))
