"""The devices on which a user has signed in: the newest few, each bound to their password and second factor.

The browser keeps a random number, the sign-in item what `sessions.password_mark` makes of it: another password or
factor ends all of them, and a new device the oldest.
"""

from typing import Any

from dealsite.data import keys, table
from dealsite.data.entities.people import MOST_DEVICES
from dealsite.data.people import users
from dealsite.data.people.sessions import password_mark
from dealsite.data.people.users import User
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.writes import Condition, Update, equals, missing


def is_known(user: User, number: str) -> bool:
    """Tell whether a number is that of a device of a user, as they were read. No request."""
    return password_mark(number, user) in user.devices


@access_pattern("remember a device", "1 update")
def remember(user: User, number: str) -> bool:
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
