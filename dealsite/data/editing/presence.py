"""Who has the form of a deal or a draft open just now, and at which version it is.

An open form says so every 20 seconds; who has not said so for a minute is gone. It stands in the partition of
the deal or draft, so that one query tells both.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from dealsite.data import keys, table
from dealsite.data.entities.work import PRESENCE
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import epoch_seconds, from_iso, iso
from dealsite.data.table.schema import has_expired
from dealsite.data.table.writes import Delete, Put

KEPT = timedelta(seconds=60)
AT_ONCE = 50  # a query's limit; there are never so many


@dataclass(frozen=True, slots=True)
class OpenForm:
    """One who has a form open, and since when."""

    username: str
    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Who else has the form open, who came first first; version 0 is a deal or draft that is not there.

    `published`: it was a draft, and is none any more.
    """

    others: list[OpenForm]
    version: int = 0
    updated_by: str = ""
    updated_at: datetime | None = None
    published: bool = False


@access_pattern("open a form, see who else has it open", "1 query + 1 put")
def heartbeat(kind: str, thing_id: str, *, username: str, name: str, now: datetime) -> Heartbeat:
    """Say that somebody has a form open, and return who else has."""
    key = keys.TARGETS[kind](thing_id)
    rows = table.query(key[0], low=key[1], high=keys.presence.between()[1], limit=AT_ONCE, consistent=True)
    there = [row for row in rows if row["type"] == "Presence" and not has_expired(row, now=now)]
    mine = next((row for row in there if row["username"] == username), None)
    since, ttl = mine["since"] if mine else iso(now), epoch_seconds(now + KEPT)
    named = {"kind": kind, "of": thing_id, "username": username, "name": name}
    item = PRESENCE.item({**named, "since": since, "ttl": ttl})
    table.write(Put(key=keys.presence(kind, thing_id, username), item=item))
    users = ((row["username"], row["name"], from_iso(row["since"])) for row in there)
    others = [OpenForm(*one) for one in users if one[0] != username]
    stored = next((row for row in rows if row["SK"] == key[1]), {})
    return Heartbeat(
        others=sorted(others, key=lambda one: one.since),
        version=int(stored.get("version", 0)),
        updated_by=stored.get("updated_by", ""),
        updated_at=from_iso(stored["updated_at"]) if "updated_at" in stored else None,
        published="published_as" in stored,
    )


@access_pattern("close a form", "1 delete")
def leave(kind: str, thing_id: str, *, username: str) -> None:
    """Say that somebody has closed a form; harmless to repeat."""
    table.write(Delete(key=keys.presence(kind, thing_id, username)))
