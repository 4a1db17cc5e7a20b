"""Jobs; what was done by whom, what editors keep for themselves, and who has a form open."""

from datetime import datetime
from typing import Literal, get_args

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    Attribute,
    Expiry,
    Flag,
    ForeignText,
    ListOf,
    Map,
    MapOf,
    Shape,
    Slug,
    Text,
    Time,
    Ulid,
    Username,
    Whole,
)
from dealsite.data.entities.entity import At, Entity, since
from dealsite.data.entities.people import HEADLINE_CHARACTERS, NETWORK_CHARACTERS, USERNAME_CHARACTERS
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, shard, time_of

# Jobs

JOB_STATES = ("open", "paused", "done", "failed", "cancelled")
SEND_MESSAGE = "send_message"  # the kind of job that sends announcements
FORMER_EXPORTS = (
    "export",
    "editors_export",
    "admins_export",
)  # of earlier builds, which had a list of their own
ERROR_CHARACTERS = 1_000
WORD = "[a-z][a-z_]*"
SITE = "-"  # stands for whoever does things by itself: nobody is called so
CHECK_IMPORT, RUN_IMPORT = "check_import", "run_import"  # what is done with a file of deals
BULK_CHANGE, BULK_UNDO = "bulk_change", "bulk_undo"  # those that change many deals, and take that back
# Editors can pause and cancel them; messages, imports and rows of results name them for good.
NAMED = frozenset(
    {SEND_MESSAGE, CHECK_IMPORT, RUN_IMPORT}
)  # by messages and imports, as long as those are there
PAUSABLE = NAMED | {BULK_CHANGE, BULK_UNDO}
NOTICE, ORDER_NOTICE, PAYMENT_NOTICE = "account_notice", "order_notice", "payment_notice"
PASSWORD_RESET, CONFIRMATION, EMAIL_CHANGED = "password_reset_mail", "confirmation_mail", "email_changed_mail"
# They tell a person something. Nobody is harmed when one that failed goes, with the address that it was for.
PART = "part"  # of a job that any number of workers share
TELLING = frozenset({NOTICE, ORDER_NOTICE, PAYMENT_NOTICE, PASSWORD_RESET, CONFIRMATION, EMAIL_CHANGED})

# Open jobs wait in three lanes, each with partitions of its own: mail that somebody waits for, what takes long or
# comes in masses, and all else, which somebody at a desk waits for.
Lane = Literal["mail", "asked", "bulk"]
PLACES: dict[Lane, int] = {"mail": 2, "asked": 2, "bulk": 4}  # partitions
LANES: tuple[Lane, ...] = get_args(Lane)
FORMER_PLACE = "JOBS#OPEN"  # the one partition of earlier builds, until a worker moves what is there
MAIL = TELLING - {PAYMENT_NOTICE}
BULK = frozenset(
    {
        PART,
        PAYMENT_NOTICE,
        "payment_totals",
        "expire_order",
        "rename_brand",
        "remove_user",
        "check_links",
        "check_link",
        "empty_trash",
        "delete_export",
        "delete_import",
    }
)

DUE = Time()
AUDIENCE: Shape = {"all": Flag(optional=True), "brand": Slug(optional=True), "category": Slug(optional=True)}
JOB_CARD: Shape = {
    "kind": Text(copy_of="kind", pattern=WORD, most=40),
    "state": Text(copy_of="state", one_of=JOB_STATES),
    "headline": Text(most=HEADLINE_CHARACTERS, optional=True, about="of an announcement, as the next two"),
    "deal": Ulid(optional=True, about="may have been deleted"),
    "audience": Map(AUDIENCE, optional=True),
    "page": Slug(optional=True, about="whose featured list is to be set, by the next"),
    "plan": Ulid(optional=True),
}


def lane_of(kind: str) -> Lane:
    """Return the lane in which jobs of a kind wait."""
    return "mail" if kind in MAIL else "bulk" if kind in BULK else "asked"


def places(lane: Lane) -> list[str]:
    """Return the places where the open jobs of a lane wait."""
    return [f"{lane}{number}" for number in range(PLACES[lane])]


def place_of(kind: str, job_id: str) -> str:
    """Return where an open job waits."""
    lane = lane_of(kind)
    return f"{lane}{shard(job_id, PLACES[lane])}"


def open_rows(kind: str, job_id: str, due: datetime) -> keys.Row:
    """Return the rows of an open job; parts are in no list of jobs."""
    place = place_of(kind, job_id)
    return keys.open_jobs(place, due, job_id) if kind == PART else keys.job_rows(job_id, due, place)


def job_rows(item: Item) -> keys.Row:
    """Return the rows of a job; an open one's says when it is due, which stands nowhere else."""
    due = None
    if item["state"] == "open":
        said, _, job_id = str(item.get("GSI3SK", "")).partition("#")
        is_sound = job_id == item["id"] and not DUE.problem(said)
        due = from_iso(said) if is_sound else time_of(item["id"])
    if item["kind"] in (BULK_CHANGE, BULK_UNDO) and item["state"] == "done" and not item["tries"]:
        # A request did it by itself, so no list shows it; those of before are left as they are.
        return {name: item[name] for name in ("GSI1PK", "GSI1SK") if name in item}
    if item["kind"] == PART and due is None:
        return {}
    rows = open_rows(item["kind"], item["id"], due) if due else keys.jobs_of_month(item["id"])
    if due and item.get("GSI3PK") == FORMER_PLACE:
        rows["GSI3PK"] = FORMER_PLACE
    if item["kind"] == SEND_MESSAGE:
        return rows | keys.announcements(item["id"])
    if item["kind"] in FORMER_EXPORTS:  # their row is left as it is: nobody reads it, and the job goes
        return rows | {name: item[name] for name in ("GSI2PK", "GSI2SK") if name in item}
    return rows


def job_is_kept(item: Item) -> list[tuple[str, datetime]]:
    """Tell since when a job is kept that is over and that nothing names; most that failed wait for somebody."""
    over = ("done", "cancelled", "failed") if item["kind"] in TELLING else ("done", "cancelled")
    if item["state"] not in over or item["kind"] in NAMED:
        return []
    return [("jobs", time_of(item.get("taken_by") or item["id"]))]


JOB = Entity(
    type="Job",
    about="work that outlives a request",
    stays="passing",
    key=At(keys.job, job="id"),
    rows=job_rows,
    shape={
        "id": Ulid(),
        "kind": Text(pattern=WORD, most=40),
        "state": Text(one_of=JOB_STATES),
        "card": Map(JOB_CARD),
        "payload": MapOf(Text(), Attribute(), personal=True, about="what it is to do"),
        "tries": Whole(),
        "parts": Whole(least=1, optional=True, about="into which it was split"),
        "taken_by": Ulid(optional=True, about="the token of a worker's take"),
        "checkpoint": MapOf(Text(), Attribute(), optional=True, about="where to go on"),
        "progress": MapOf(Text(), Attribute(), optional=True, about="what it has done so far"),
        "error": ForeignText(most=ERROR_CHARACTERS, optional=True),
        "applied": Flag(optional=True, about="its counts are counted"),
        "undone_by": Ulid(optional=True, about="the job that takes its changes back"),
        "request": Text(most=64, optional=True, about="the id of the request that caused it"),
        "traceparent": Text(pattern="[0-9a-f-]{55}", optional=True, about="of builds that traced themselves"),
        "ttl": Expiry(optional=True),
    },
    kept=job_is_kept,
)

# Logs

Event = Literal[
    "signed_in",
    "sign_in_failed",
    "code_failed",
    "passkey_failed",
    "signed_up",
    "signed_out",
    "refused",
    "throttled",
    "csrf_refused",
    "question_asked",
    "export_asked",
    "password_changed",
    "password_reset_asked",
    "factor_changed",
    "email_changed",
    "roles_changed",
    "sessions_ended",
    "account_suspended",
    "account_deleted",
]
DETAIL_CHARACTERS = 200

AUDIT_CARD: Shape = {
    "at": Time(),
    "by": Username(also=(SITE,), personal=True, about="may have been deleted, as all that it is about"),
    "kind": Text(pattern=WORD, most=40),
    "subject": Text(most=512, personal=True, about="its id; of a user the name"),
    "what": Text(most=200),
    "note": ForeignText(personal=True, optional=True),
}
AUDIT_ENTRY = Entity(
    type="AuditEntry",
    about="what somebody did to what; never changed",
    stays="security",
    key=At(keys.audit, at="card.at", entry="id"),
    rows=[
        At(keys.audit_rows, at="card.at", entry="id", by="card.by", kind="card.kind", subject="card.subject")
    ],
    shape={
        "id": Ulid(),
        "card": Map(AUDIT_CARD),
        "before": MapOf(Text(), Attribute(), personal=True, optional=True, about="what changed, by field"),
        "after": MapOf(Text(), Attribute(), personal=True, optional=True),
        "ttl": Expiry(optional=True),
    },
    kept=since("audit", "card.at"),
)

SECURITY_CARD: Shape = {
    "event": Text(one_of=get_args(Event)),
    "at": Time(),
    "username": Username(also=("",), personal=True, about="may have been deleted; '': a visitor"),
    "network": Text(most=NETWORK_CHARACTERS, personal=True),
    "page": Text(least=0, most=1_000, about="the pattern of its address"),
    "detail": ForeignText(least=0, most=DETAIL_CHARACTERS),
    "request": Text(least=0, most=200, about="the id of a request"),
    "times": Whole(least=10, optional=True, about="how many like it its minute had by then; absent: one"),
}
SECURITY_EVENT = Entity(
    type="SecurityEvent",
    about="what happened at the site's doors; never changed",
    stays="security",
    key=At(keys.security_event, at="card.at", entry="id"),
    rows=[
        At(
            keys.security_rows,
            at="card.at",
            entry="id",
            username="card.username",
            event="card.event",
            network="card.network",
        )
    ],
    shape={"id": Ulid(), "card": Map(SECURITY_CARD), "ttl": Expiry(optional=True)},
    kept=since("events", "card.at"),
)


def minute_is_one(item: Item) -> str:
    """Say what is wrong with the minute in the key of a count."""
    said = DUE.problem(item["SK"])
    return f"Its minute {said}." if said else ""


FAILURE_COUNT = Entity(
    type="FailureCount",
    about="how many tries failed in the minute of its key, on all machines",
    key=At(keys.failure_count),
    shape={"count": Whole(least=1), "ttl": Expiry()},
    rules=(minute_is_one,),
    is_passing=True,
)

# What editors keep

LONGEST_TITLE, LONGEST_SQL = 120, 20_000
SAVED_QUESTION = Entity(
    type="SavedQuestion",
    about="a question of the back office",
    key=At(keys.question, question="id"),
    shape={
        "id": Ulid(),
        "title": Text(most=LONGEST_TITLE),
        "sql": ForeignText(most=LONGEST_SQL),
        "version": Whole(least=1, about="counts its edits"),
        "last_edit": Ulid(),
        "created_by": Username(personal=True, about="may have been deleted, as the next"),
        "updated_by": Username(personal=True),
        "updated_at": Time(),
    },
)

FILTERS = ("state", "brand", "category", "q", "lacks")  # of the list of deals
MOST_VIEWS, VIEW_NAME_CHARACTERS, VIEW_ADDRESS_CHARACTERS = 30, 60, 1_000
LIST_VIEWS = Entity(
    type="ListViews",
    about="a user's saved views of the CMS's lists",
    key=At(keys.list_views, username="username"),
    shape={
        "username": Username(personal=True, about="may have been deleted just now"),
        "views": ListOf(
            Map(
                {
                    "name": Text(most=VIEW_NAME_CHARACTERS),
                    "address": Text(most=VIEW_ADDRESS_CHARACTERS, pattern="/cms/[!-~]*"),
                }
            ),
            most=MOST_VIEWS,
        ),
        "version": Whole(least=1, about="counts its edits"),
        "updated_at": Time(),
    },
)

PRESENCE = Entity(
    type="Presence",
    about="who has the form of a deal or a draft open, which need not be there any more",
    stays="passing",
    key=At(keys.presence, kind="kind", target="of", username="username"),
    shape={
        "kind": Text(one_of=("deal", "draft")),
        "of": Ulid(),
        "username": Username(personal=True),
        "name": Text(most=USERNAME_CHARACTERS, personal=True),
        "since": Time(),
        "ttl": Expiry(),
    },
    is_passing=True,
)
