"""What an admin does to an account that is misused: ends its sessions, suspends it, and lifts that again; what it left.

A suspended user is signed in nowhere and cannot sign in, by no password, code, passkey or reset link. There is always
an admin who is not suspended: the one who did it is read in the same transaction.
"""

from datetime import datetime
from itertools import islice

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.catalogue import featured_plans
from dealsite.data.catalogue.featured_plans import FeaturedPlan
from dealsite.data.editing import audit
from dealsite.data.entities.work import PAUSABLE
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job
from dealsite.data.people import profiles, sessions
from dealsite.data.people.users import User
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict, Forbidden
from dealsite.data.table.ids import first_ulid_of, iso
from dealsite.data.table.writes import MAX_ACTIONS, Check, Update, contains, missing, present

MOST_JOBS = 1_000  # that are looked at


@access_pattern("what somebody ordered and planned that is not over", "3 queries + 1 batch get")
def open_work(username: str, *, now: datetime) -> tuple[list[Job], list[FeaturedPlan]]:
    """Return the jobs of an editor that run or wait, their messages that rest, and their plans of featured lists.

    Of jobs those among the first 1,000 that are due, and the last 1,000 messages that are planned.
    """
    _, due = keys.open_jobs.until(now + jobs.LEASE)  # when those that run just now are due again
    rows = table.query(keys.open_jobs.partition(), index=keys.GSI3, high=due, limit=MOST_JOBS)
    low = keys.announcements.position(first_ulid_of(now))
    planned = table.query(
        keys.announcements.partition(), index=keys.GSI2, low=low, newest_first=True, limit=MOST_JOBS
    )
    ids = {row["SK"].removeprefix("JOB#") for row in (*rows, *planned) if row["card"]["kind"] in PAUSABLE}
    found = [job for job in jobs.get_many(sorted(ids)).values() if job.state in ("open", "paused")]
    plans = [plan for plan in featured_plans.newest() if plan.is_open and plan.by == username]
    return [job for job in found if job.payload.get("by") == username], plans


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
