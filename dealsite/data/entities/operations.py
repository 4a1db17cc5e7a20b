"""What processes, commands and checks say; how the switch of the site stands; what the test gateway did."""

from typing import Literal, get_args

from django.utils.translation import gettext_lazy

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    Attribute,
    Expiry,
    Flag,
    ForeignText,
    Hash,
    ListOf,
    Map,
    MapOf,
    Money,
    Shape,
    Slug,
    Text,
    Time,
    Ulid,
    Username,
    Whole,
)
from dealsite.data.entities.commerce import MAX_TOTAL
from dealsite.data.entities.entity import At, Entity
from dealsite.data.entities.work import SITE, WORD
from dealsite.data.table.convert import Item
from dealsite.data.table.key_templates import LONGEST

SAID_CHARACTERS = 500
MACHINE_CHARACTERS = 100
MOST_JOBS = 10
BYTES = 10**18

JOB_AT_WORK: Shape = {"kind": Text(pattern=WORD, most=40), "since": Time()}
PROJECTION_STATE: Shape = {
    "state": Text(one_of=("following", "building", "failing", "none")),
    "lag": Whole(optional=True, unit="s", about="unknown without it"),
    "skipped": Whole(about="changes that it could not take"),
}
DISK_SPACE: Shape = {
    "free": Whole(most=BYTES, unit="bytes"),
    "percent": Whole(most=100, about="of it that is free"),
    "state": Text(one_of=("enough", "little", "too_little")),
}
CHECK_RESULT: Shape = {
    "scope": Text(one_of=("whole", "sample")),
    "items": Whole(about="those that were looked at twice count twice"),
    "problems": Whole(),
    "repaired": Whole(),
    "unreadable": Whole(about="second factors whose secret opens under no key"),
    "position": MapOf(Text(), Attribute(), optional=True, about="where a sample left off"),
}
PART_RESTARTS: Shape = {"restarts": Whole(), "ended": Text(least=0, most=40, about="how it ended last")}

HEARTBEAT = Entity(
    type="Heartbeat",
    about="when one of the workers or web processes last wrote, or a worker met a job of an unknown kind",
    key=At(keys.heartbeat, part="part"),
    shape={
        "part": Text(one_of=("worker", "web", "unknown")),
        "at": Time(),
        "ttl": Expiry(
            optional=True, about="of workers alone: for web processes one stays, which `/readyz` writes"
        ),
    },
    is_passing=True,
)

PROCESS = Entity(
    type="Process",
    about="how a worker or a web process is doing, and its machine; written every 15 seconds",
    key=At(keys.process, process="id"),
    shape={
        "id": Ulid(about="made when it began"),
        "part": Text(one_of=("worker", "web")),
        "machine": ForeignText(most=MACHINE_CHARACTERS, about="its name"),
        "pid": Whole(least=1),
        "version": Text(most=40, about="of Dealsite"),
        "at": Time(about="when it wrote this"),
        "jobs": ListOf(Map(JOB_AT_WORK), most=MOST_JOBS, optional=True, about="what it works on"),
        "projections": MapOf(Text(), Map(PROJECTION_STATE), optional=True, about="of its machine"),
        "disks": MapOf(Text(), Map(DISK_SPACE), optional=True, about="of its machine"),
        "parts": MapOf(Text(), Map(PART_RESTARTS), optional=True, about="of its launcher, by name"),
        "ttl": Expiry(),
    },
    is_passing=True,
    gone=("requests", "pages", "refused"),
)

LEASE = Entity(
    type="Lease",
    about="which process of all machines does something at a time; renewed every 10 seconds",
    key=At(keys.lease, name="name"),
    shape={
        "name": Slug(),
        "holder": Text(least=0, most=26, about="the process; nobody: given back"),
        "term": Whole(least=1, about="grows with each taking"),
        "beat": Whole(about="grows with each renewal"),
        "ttl": Expiry(),
    },
    is_passing=True,
)

COMMAND_RUN = Entity(
    type="CommandRun",
    about="how a command or a night's work went",
    key=At(keys.command_run, kind="kind", run="id"),
    shape={
        "id": Ulid(about="made when it began"),
        "kind": Text(pattern=WORD, most=40),
        "by": Username(also=(SITE, "worker", "command"), personal=True, about="or what ran it"),
        "ended_at": Time(),
        "ok": Flag(),
        "said": ForeignText(least=0, most=SAID_CHARACTERS, about="what came of it"),
        "check": Map(CHECK_RESULT, optional=True, about="what a check of the table found"),
        "ttl": Expiry(),
    },
    is_passing=True,
)

SwitchState = Literal["open", "read-only", "maintenance", "copy"]
OPEN: SwitchState = "open"
READ_ONLY: SwitchState = "read-only"
CLOSED_FOR_MAINTENANCE: SwitchState = "maintenance"
COPY: SwitchState = "copy"
NOTICE_CHARACTERS = 300

SITE_SWITCH = Entity(
    type="SiteSwitch",
    about="whether the site is open, or only a copy of it",
    key=At(keys.site_switch),
    shape={
        "state": Text(one_of=get_args(SwitchState)),
        "message": ForeignText(least=0, most=NOTICE_CHARACTERS, about="what visitors are told"),
        "by": Username(also=(SITE,), personal=True, about="may have been deleted; -: the command"),
        "at": Time(),
    },
)

SITE_PAGES = {  # the pages that each site has, by the end of their addresses
    "prices": gettext_lazy("How prices are compared"),
    "order": gettext_lazy("How deals are ordered"),
    "terms": gettext_lazy("Terms"),
    "withdrawal": gettext_lazy("Right of withdrawal"),
    "privacy": gettext_lazy("Privacy"),
    "imprint": gettext_lazy("Imprint"),
}
PAGE_CHARACTERS = 30_000

SITE_PAGE = Entity(
    type="SitePage",
    about="the texts of a page such as the terms; none before an admin edits them",
    key=At(keys.site_page, page="slug"),
    shape={
        "slug": Text(one_of=tuple(SITE_PAGES)),
        "en": Text(least=0, most=PAGE_CHARACTERS, about="Markdown; empty in both languages: the sample"),
        "de": Text(least=0, most=PAGE_CHARACTERS),
        "version": Whole(least=1, about="counts its edits"),
        "by": Username(personal=True, about="may have been deleted"),
        "at": Time(),
    },
)

TASK_COUNTS = Entity(
    type="TaskCounts",
    about="how much there is to do in the CMS, as a worker counted it last",
    key=At(keys.task_counts),
    shape={
        "drafts": Whole(),
        "featured": Whole(),
        "orders": Whole(),
        "payments": Whole(about="that failed"),
        "overdue": Whole(optional=True, about="due and not paid; a build of before did not count them"),
        "at": Time(),
    },
    is_passing=True,
)

OUTCOMES = ("migrated", "current", "newer", "contended", "other")  # of an item that a migration sees
MIGRATION = Entity(
    type="Migration",
    about="how far a migration of all items has come",
    stays="passing",
    key=At(keys.migration, name="name"),
    shape={
        "name": Text(pattern=r"[^#]+", most=100),
        "aim": Hash(about="of the schemas that it leads to"),
        "start": MapOf(Text(), Text(), optional=True, most=10, personal=True, about="the key to go on after"),
        "counts": MapOf(Text(), MapOf(Text(one_of=OUTCOMES), Whole()), about="items by type and outcome"),
        "version": Whole(least=1),
        "is_done": Flag(),
    },
    gone=("number",),
)


def _is_charged_or_refunded(item: Item) -> str:
    """Say what is wrong with a charge: what is refunded is less than nothing, and has no outcome."""
    is_refund = "-refund" in item["id"]
    if not item["amount"] or (item["amount"] < 0) != is_refund:
        return "Its amount has the wrong sign."
    outcomes = bool(item["transaction_id"]) + bool(item["reason"])
    return "" if outcomes == (not is_refund) else f"It has {outcomes} outcomes."


TEST_CHARGE = Entity(
    type="TestCharge",
    about="what the test gateway did under a key",
    key=At(keys.test_charge, charge="id"),
    shape={
        "id": Text(most=LONGEST, pattern="[^#]+"),
        "amount": Money(least=-MAX_TOTAL, most=MAX_TOTAL, about="less than 0: refunded"),
        "currency": Text(pattern="[A-Za-z]{3}"),
        "description": Text(most=LONGEST),
        "transaction_id": Text(least=0, most=LONGEST, about="empty: declined, or a refund"),
        "reason": Text(least=0, most=500),
    },
    rules=(_is_charged_or_refunded,),
)
