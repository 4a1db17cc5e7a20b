"""All that is stored about a person: where it stands follows from the charts of keys and entities.

Each partition that is named by a user alone is theirs; what repeats an attribute of theirs in its own key (whose an
address is) belongs to it. A job writes the files (worker/my_data.py); the profile names the newest.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.entity import At
from dealsite.data.entities.personal import is_about, mentions, own_part
from dealsite.data.entities.work import MY_DATA as MY_DATA
from dealsite.data.jobs import jobs
from dealsite.data.jobs.jobs import Job, job_write
from dealsite.data.jobs.payloads import to_item
from dealsite.data.people import mails, profiles
from dealsite.data.people.users import User
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item, Key
from dealsite.data.table.errors import Conflict, NotFound
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.key_templates import Part, Template
from dealsite.data.table.writes import Update, equals, missing

KEPT = timedelta(days=1)
DELETE_MY_DATA = "delete_my_data"  # the kind of job
AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class MyDataPayload:
    """Whose data a job writes into a file."""

    username: str


@dataclass(frozen=True, slots=True)
class DeletionPayload:
    """The job whose file is deleted."""

    file: str


@dataclass(frozen=True, slots=True)
class OwnItem:
    """What a person may have of one item."""

    type: str
    attributes: Item


@dataclass(frozen=True, slots=True)
class MyData:
    """The newest file that somebody asked for, by its job; None for none that is still kept."""

    job: Job | None

    @property
    def kept_until(self) -> datetime | None:
        return self.job.created_at + KEPT if self.job else None


def file_name(job_id: str) -> str:
    """Return where the file of a job lies in private storage."""
    return f"my-data/{job_id}.zip"


@access_pattern("the newest file of one's own data", "2 gets")
def newest(username: str, *, now: datetime) -> MyData:
    """Return the newest file that a user asked for, if it is still kept; NotFound for no user."""
    job_id = _profile(username).get("my_data")
    with suppress(NotFound):
        if job_id and (job := jobs.get(job_id)).created_at + KEPT > now:
            return MyData(job)
    return MyData(None)


@access_pattern("ask for a file of all that is stored about oneself", "1 get + 1 transaction")
def request(username: str, *, job_id: str, now: datetime) -> None:
    """Have a file written, and deleted a day later; Conflict while one is being written, and for a second click."""
    seen = _profile(username).get("my_data")
    with suppress(NotFound):
        if seen and jobs.get(seen).state == "open":
            raise _being_written()
    update = Update(
        key=keys.profile(username),
        set={"my_data": job_id},
        when=(equals("my_data", seen),) if seen else (missing("my_data"), equals("username", username)),
        otherwise=_being_written(),
    )
    write = job_write(MY_DATA, to_item(MyDataPayload(username)), job_id=job_id, due=now)
    delete = to_item(DeletionPayload(job_id))
    deletion = job_write(DELETE_MY_DATA, delete, job_id=new_ulid(now), due=now + KEPT)
    what = "asked for all that is stored about them"
    entry = audit.entry_write(by=username, kind="user", subject=username, what=what, now=now)
    table.transact([update, write, deletion, entry])


@access_pattern("say that a file of one's own data is ready", "1 put")
def tell(user: User, *, now: datetime) -> None:
    """Have a user told by mail that the file of their data is ready."""
    table.write(mails.notice("my_data", user, now=now))


@access_pattern("note that all that is stored about a person was written to a file", "1 put")
def note_export(username: str, *, by: str, now: datetime) -> None:
    """Note in the audit log that somebody else was given all that is stored about a user."""
    what = "wrote a file of all that is stored about them"
    table.write(audit.entry_write(by=by, kind="user", subject=username, what=what, now=now))


def _profile(username: str) -> Item:
    item = table.get(keys.profile(username))
    if item is None:
        raise profiles.no_user()
    return item


def _being_written() -> Conflict:
    return Conflict(gettext_lazy("The file of your data is being written already."))


# Where it stands


@cache
def partitions() -> list[Template[Any]]:
    """Return the lines of the key chart whose partition is named by a user alone, each partition once."""
    found: dict[tuple[str, str], Template[Any]] = {}
    for one in keys.CHART.values():
        entry = one.entry
        parts = [piece for piece in entry.partition_pieces if isinstance(piece, Part)]
        if entry.sort and [part.type for part in parts] == ["username"]:
            literal = entry.partition.partition("{")[0]
            found.setdefault((entry.index, literal), one)
    return sorted(found.values(), key=lambda one: one.entry.index)


@cache
def links() -> list[tuple[str, str, At, str]]:
    """Return what leads from an item to another one: a type, its attribute, the other's key and that key's argument."""
    found = []
    for entity in ENTITIES.values():
        (key, *others) = entity.keys
        if others or len(key.sources) != 1:
            continue
        ((argument, attribute),) = key.sources.items()
        kind, _, name = (
            entity.shape[attribute].copy_of.partition(".") if attribute in entity.shape else ("",) * 3
        )
        if kind in ENTITIES and kind != entity.type:
            found.append((kind, name, key, argument))
    return found


@access_pattern("all that is stored about a person, for a file", "1 get + 12 queries + 3 batch gets")
def all_items(username: str, *, everywhere: bool = False) -> Iterator[OwnItem]:
    """Yield what a person may have of each item that is stored about them, each once.

    1 query for each 100 items of a partition of theirs, 1 batch get for each 100 that an index or another item leads
    to. `everywhere`: also what they made or changed, and jobs about them, which only a scan of the table finds.
    """
    names, seen = _names(username), set[Key]()
    for item in _items(username, names, everywhere=everywhere):
        if (key := (item["PK"], item["SK"])) not in seen and (entity := ENTITIES.get(item["type"])):
            seen.add(key)
            yield OwnItem(entity.type, own_part(entity.shape, item, names))


def _names(username: str) -> set[str]:
    """Return what a person is called in items: their name and their address, once they have confirmed it."""
    user = table.get(keys.user(username)) or {}
    return {username, user.get("email", "")} - {""}


def _items(username: str, names: set[str], *, everywhere: bool) -> Iterator[Item]:
    led_to: dict[Key, None] = {}
    for item in _of_partitions(username):
        yield item
        for kind, name, key, argument in links():
            if item["type"] == kind and item.get(name):
                led_to[key.template(**{argument: item[name]})] = None
    yield from table.batch_get(led_to).values()
    for item in table.scan_all() if everywhere else ():
        entity = ENTITIES.get(item["type"])
        if entity is None or not mentions(entity.shape, item, names):
            continue
        if entity.stays_for == "work" or is_about(entity.shape, item, names):
            yield item


def _of_partitions(username: str) -> Iterator[Item]:
    listed, own = [(keys.GSI2, keys.audit_of.partition("user", username))], set[str]()
    for one in partitions():  # indexes last
        partition = one.partition(username)
        if one.entry.index:
            listed.append((one.entry.index, partition))
        else:
            own.add(partition)
            yield from table.query_all(partition, consistent=True, limit=AT_ONCE)
    for index, partition in listed:
        start: dict[str, Any] | None = None
        while True:
            rows = table.query_page(partition, index=index, limit=AT_ONCE, start=start)
            wanted = [(row["PK"], row["SK"]) for row in rows.items if row["PK"] not in own]
            yield from table.batch_get(wanted).values()
            if (start := rows.start) is None:
                break
