"""What an admin does to an account that is misused: ends its sessions, suspends it, and lifts that again.

A suspended user is signed in nowhere and cannot sign in, by no password, code, passkey or reset link. There is always
an admin who is not suspended: the one who did it is read in the same transaction.
"""

from datetime import datetime
from itertools import islice

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.people import profiles, sessions
from dealsite.data.people.users import User
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict, Forbidden
from dealsite.data.table.ids import iso
from dealsite.data.table.writes import MAX_ACTIONS, Check, Update, contains, missing, present


@access_pattern("suspend an account", "1 query + 1 transaction")
def suspend(user: User, *, reason: str, by: str, now: datetime) -> None:
    """Suspend a user, by an admin who is not suspended, else Forbidden; Conflict if they are suspended already."""
    update = Update(
        key=keys.user(user.username),
        set={"suspended_at": iso(now)},
        when=(*profiles.is_there(), missing("suspended_at")),
        otherwise=Conflict(gettext_lazy("This account is suspended already.")),
    )
    admin = Check(
        key=keys.user(by),
        when=(contains("roles", "admin"), missing("suspended_at")),
        otherwise=Forbidden(gettext_lazy("Only an admin who is not suspended can do this.")),
    )
    words = "suspended the account"
    entry = audit.entry_write(by=by, kind="user", subject=user.username, what=words, note=reason, now=now)
    sessions.transact_and_end(user, [update, admin, entry], key="")


@access_pattern("lift a suspension", "1 transaction")
def lift(username: str, *, by: str, now: datetime) -> None:
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
    table.transact([entry, *islice(sessions.endings(username), MAX_ACTIONS - 1)])
    sessions.end_all(username)
