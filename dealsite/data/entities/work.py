"""Jobs, imports and bulk changes; what was done by whom, what editors keep for themselves, and who has a form open."""

from datetime import datetime
from typing import Literal, get_args

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    LINK_CHARACTERS,
    Attribute,
    Expiry,
    Flag,
    ForeignText,
    Hash,
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
from dealsite.data.entities.deals import NAME_CHARACTERS, TITLE_CHARACTERS
from dealsite.data.entities.entity import At, Entity, since, without_empty_language
from dealsite.data.entities.people import HEADLINE_CHARACTERS, NETWORK_CHARACTERS, USERNAME_CHARACTERS
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, time_of

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
TELLING = frozenset({NOTICE, ORDER_NOTICE, PAYMENT_NOTICE, PASSWORD_RESET, CONFIRMATION, EMAIL_CHANGED})

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
    rows = keys.job_rows(item["id"], due)
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

JOB_SEGMENT = Entity(
    type="JobSegment",
    about="how far one part of an announcement has come",
    stays="passing",
    key=At(keys.job_segment, job="job", name="name"),
    shape={
        "job": Ulid(refers="Job"),
        "name": Text(pattern=r"\d", about="its number"),
        "taken_by": Ulid(),
        "start": MapOf(Text(), Text(), most=10, personal=True, optional=True, about="the row to go on after"),
        "sent": Whole(optional=True, counts="Message"),
        "skipped": Whole(optional=True),
        "done": Flag(optional=True),
    },
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


UPLOADED, CHECKING, CHECKED, IMPORTING, IMPORTED = "uploaded", "checking", "checked", "importing", "imported"
STAGES = (UPLOADED, CHECKING, CHECKED, IMPORTING, IMPORTED)
NAME_OF_FILE_CHARACTERS = 100
MAX_COLUMNS = 500
SAMPLES = 3  # rows of a file that are kept with it
SHOWN_REMARKS = 50  # that the page of an import shows; the file has all

CHUNK = 50  # deals of a bulk change between two checkpoints
CHANGED, REFUSED = "CHANGED", "REFUSED"  # what became of a deal

CELL = Text(least=0, most=1_000)
CELLS = ListOf(CELL, most=MAX_COLUMNS)
FIELD = Text(least=0, pattern="[a-z_]*")
DECIMAL, DATES = Text(one_of=(".", ",")), Text(one_of=("day", "month"))

SOURCE_FILE: Shape = {
    "name": Text(most=NAME_OF_FILE_CHARACTERS),
    "bytes": Whole(unit="bytes"),
    "rows": Whole(about="about how many it has"),
    "encoding": Text(most=20, pattern="[a-z0-9-]+"),
    "separator": Text(most=1),
    "titles": ListOf(CELL, least=1, most=MAX_COLUMNS),
    "decimal": DECIMAL,
    "dates": DATES,
    "columns": ListOf(FIELD, most=MAX_COLUMNS, optional=True, about="a deal's fields, as guessed"),
    "samples": ListOf(CELLS, most=SAMPLES, about="the first rows"),
    "of": Ulid(least=0, optional=True, about="of older imports; nobody reads it"),
}

PRICES, ALL = "prices", "all"  # what rows change in deals and drafts that are there
OF_PRICES = ("price", "was_price", "stock")  # the fields that PRICES changes

MAX_CHOICES = 300
CHOICE = Map(
    {"name": Text(most=TITLE_CHARACTERS, about="in the file"), "slug": Slug(about="of the site's own")}
)

LAYOUT: Shape = {
    "titles": ListOf(CELL, least=1, most=MAX_COLUMNS),
    "columns": ListOf(FIELD, least=1, most=MAX_COLUMNS, about="a deal's fields"),
    "decimal": DECIMAL,
    "dates": DATES,
    "zone": Text(most=60, pattern="[A-Za-z0-9_+/-]+"),
    "moment": Time(about="of rows without a time"),
    "category": Slug(least=0, about="of rows without one"),
    "brand": Text(least=0, most=300, about="of rows without one"),
    "drafts": Flag(about="rows become drafts"),
    "at_once": Flag(about="rows without a time are published"),
    "pictures": Flag(about="pictures are fetched"),
    "language": Text(most=20, pattern="[A-Za-z-]+", optional=True, about="of remarks"),
    "shop": Text(least=0, most=200, optional=True, about="the address below which links are"),
    "categories": ListOf(CHOICE, most=MAX_CHOICES, optional=True),
    "brands": ListOf(CHOICE, most=MAX_CHOICES, optional=True),
    "update": Text(least=0, one_of=("", PRICES, ALL), optional=True),
    "left_out": ListOf(
        Whole(least=1), most=SHOWN_REMARKS, optional=True, about="lines that change nothing, as chosen"
    ),
}

TOTALS = ("imported", "there", "refused", "brands", "notes", "pictures")
LATER_TOTALS = {
    "mendable": Whole(optional=True, about="of older imports; nobody reads it"),
    "changed": Whole(optional=True),
    **dict.fromkeys(OF_PRICES, Whole(optional=True, about="how many a check found to change")),
}

NEW_BRAND: Shape = {
    "line": Whole(about="of the file"),
    "slug": Slug(),
    "name": Text(most=NAME_CHARACTERS),
    "rows": Whole(optional=True, about="that have it, as a check found"),
}
REMARK: Shape = {
    "line": Whole(least=1, about="of the file"),
    "column": CELL,
    "value": CELL,
    "reason": Text(),
    "refused": Flag(about="not imported"),
}
CHANGE: Shape = {
    "line": Whole(least=1, about="of the file"),
    "id": Ulid(about="of the deal or draft"),
    "title": Text(least=0, most=TITLE_CHARACTERS),
    "fields": ListOf(Map({"name": FIELD, "before": CELL, "after": CELL})),
}


def _is_as_far_as_its_stage(item: Item) -> str:
    """Say what an import lacks for its stage."""
    card, titles = item["card"], item["brought"]["titles"]
    stage = card["stage"]
    if (stage == UPLOADED) == ("job" in card) or (stage == UPLOADED) == ("layout" in item):
        return f"It is {stage}, and {'a' if 'job' in card else 'no'} job works on it in some layout."
    if stage in (UPLOADED, CHECKING) and "totals" in item:
        return f"It is {stage}, and has totals."
    if stage in (CHECKED, IMPORTING, IMPORTED) and "totals" not in item:
        return f"It is {stage}, and has no totals."
    if ("totals" in item) != ("remarks" in item) or item.get("totals", {}) != card.get("totals", {}):
        return "Its totals, remarks and card do not go together."
    layout = item.get("layout", {"titles": titles, "columns": titles})
    rows = [layout["titles"], layout["columns"], *item["brought"]["samples"]]
    return (
        "" if {len(row) for row in rows} == {len(titles)} else "Its rows have not as many cells as columns."
    )


IMPORT = Entity(
    type="Import",
    about="a file of deals that an editor uploaded, how it is read, and what came of it",
    key=At(keys.deal_import, import_id="id"),
    rows=[At(keys.imports, import_id="id")],
    shape={
        "id": Ulid(),
        "by": Username(personal=True),
        "brought": Map(SOURCE_FILE, about="the file as it came"),
        "version": Whole(least=1, about="counts what editors did to it"),
        "layout": Map(LAYOUT, optional=True),
        "totals": Map(dict.fromkeys(TOTALS, Whole()) | LATER_TOTALS, optional=True),
        "remarks": ListOf(Map(REMARK), most=SHOWN_REMARKS, optional=True),
        "brands": ListOf(Map(NEW_BRAND), optional=True, about="the first that it made, or would make"),
        "categories": ListOf(
            Map({"name": Text(most=TITLE_CHARACTERS), "rows": Whole(least=1)}),
            optional=True,
            about="the first of the file that the site does not have",
        ),
        "changes": ListOf(
            Map(CHANGE), most=SHOWN_REMARKS, optional=True, about="the first that its check found"
        ),
        "undone_by": Ulid(optional=True, about="the job that takes its changes back"),
        "card": Map(
            {
                "name": Text(most=NAME_OF_FILE_CHARACTERS, copy_of="brought.name"),
                "by": Username(personal=True, copy_of="by"),
                "stage": Text(one_of=STAGES),
                "rows": Whole(copy_of="brought.rows"),
                "job": Ulid(refers="Job", optional=True, about="works on it, or did last"),
                "totals": Map(dict.fromkeys(TOTALS, Whole(optional=True)) | LATER_TOTALS, optional=True),
            }
        ),
    },
    rules=(_is_as_far_as_its_stage,),
    upgrades=(without_empty_language,),
)

IMPORT_LAYOUT = Entity(
    type="ImportLayout",
    about="how files with the same first line were read the last time",
    key=At(keys.import_layout, hash="fingerprint"),
    shape={"fingerprint": Hash(about="of the titles of the columns"), "layout": Map(LAYOUT), "ttl": Expiry()},
    upgrades=(without_empty_language,),
)

BULK_VALUE = Text(
    least=0,
    most=LINK_CHARACTERS,
    about="an expiry, a slug, a page, a version, a place, a deal, a link or words",
)

BULK_CHUNK = Entity(
    type="BulkChunk",
    about="some of the deals or drafts that a job is to change; each may have been deleted since",
    key=At(keys.bulk_chunk, job="job", number="number"),
    shape={
        "job": Ulid(refers="Job"),
        "number": Whole(least=1, most=999_999),
        "subjects": ListOf(
            Map({"id": Ulid(), "title": Text(least=0, most=TITLE_CHARACTERS), "seen": BULK_VALUE}), most=CHUNK
        ),
        "collected_at": Time(),
        "after": Text(least=0, about="where in the list the next one begins; empty: it is the last"),
        "ttl": Expiry(),
    },
)

BULK_ROW = Entity(
    type="BulkRow",
    about="what became of one of them",
    key=At(keys.bulk_row, job="job", outcome="outcome", deal="subject"),
    shape={
        "job": Ulid(refers="Job or Import"),
        "subject": Ulid(about="the deal or draft"),
        "title": Text(least=0, most=TITLE_CHARACTERS),
        "outcome": Text(one_of=(CHANGED, REFUSED)),
        "before": BULK_VALUE,
        "after": BULK_VALUE,
        "reason": Text(least=0),
        "chunk": Whole(),
        "stock": Whole(optional=True, about="that an import gave it"),
        "ttl": Expiry(),
    },
)
