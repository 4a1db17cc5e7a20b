"""Messages to users: an inbox each, and in the index those that are unread.

A message's id is the id of the job that sent it, so that it can be written again and again and is
there once. It is unread while it stands in the index; reading it takes it out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.entities.entity import reader
from dealsite.data.entities.people import MESSAGE, MESSAGE_CARD
from dealsite.data.jobs.jobs import job_write
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import is_ulid, iso, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, newest_first
from dealsite.data.table.writes import Delete, Update, exists

PAGE_SIZE = 25
BADGE_LIMIT = 100  # one more than the badge shows
READ_ALL = "read_all"  # the kind of job that marks many messages read


@dataclass(frozen=True, slots=True)
class ReadAllPayload:
    """Whose messages are to be marked read, up to which id."""

    username: str
    until: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message; `deal` or `order` is the id of what it is about."""

    id: str
    kind: str
    headline: str
    deal: str
    text: str = ""
    unread: bool = False
    order: str = ""

    @property
    def sent_at(self) -> datetime:
        return time_of(self.id)


def message_item(
    username: str, message_id: str, *, kind: str, headline: str, deal: str, text: str = "", order: str = ""
) -> Item:
    """Return a new, unread message as it is stored."""
    pk, sk = keys.message(username, message_id)
    card = {"id": message_id, "kind": kind, "headline": headline, "deal": deal}
    card |= {"order": order} if order else {}
    values = {"id": message_id, "username": username, "card": card, "text": text or None}
    unread = keys.unread_messages(username, message_id)
    return {"PK": pk, "SK": sk, **MESSAGE.item(values | unread)}


@access_pattern("a user's messages, or unread ones", "1 query")
def inbox(
    username: str, *, unread: bool = False, after: str | None = None, before: str | None = None
) -> Page[Message]:
    """Return one page of a user's messages, or of the unread ones; BadCursor."""
    page = newest_first(
        keys.message.partition(username),
        "MESSAGE#",
        index=keys.GSI1 if unread else None,
        after=after,
        before=before,
        size=PAGE_SIZE,
        consistent=not unread,
    )
    return page.showing([_message(row) for row in page.rows])


@access_pattern("which messages are unread", "1 query")
def unread(username: str) -> list[Message]:
    """Return the newest unread messages: 100 where there are 100 and more."""
    partition = keys.message.partition(username)
    rows = table.query(partition, index=keys.GSI1, newest_first=True, limit=BADGE_LIMIT)
    return [_message(row) for row in rows]


@access_pattern("one message", "1 get")
def get(username: str, message_id: str) -> Message:
    """Return a user's message; NotFound."""
    item = table.get(_key(username, message_id))
    if item is None:
        raise _no_message()
    return _message(item)


@access_pattern("mark a message read", "1 update")
def mark_read(username: str, message_id: str, *, now: datetime) -> None:
    """Mark a message read, which may shorten its time; harmless if it is, NotFound if there is none."""
    key, read = _key(username, message_id), {"read_at": iso(now)}
    ends, remove = MESSAGE.expiry({"id": message_id, **read}), ("GSI1PK", "GSI1SK")
    changes = {**read, "ttl": ends} if ends else read
    table.write(Update(key=key, set=changes, remove=remove, when=(exists(),), otherwise=_no_message()))


@access_pattern("mark unread messages read one by one", "1 query + 3 updates")
def mark_all_read(username: str, *, until: str, limit: int, now: datetime) -> int:
    """Mark up to `limit` messages read that came no later than the id `until`; return how many were found.

    1 query and 1 update for each. A message that was deleted meanwhile stays deleted.
    """
    high = keys.message(username, until)[1]
    rows = table.query(keys.message.partition(username), index=keys.GSI1, high=high, limit=limit)
    for row in rows:
        try:
            mark_read(username, row["card"]["id"], now=now)
        except NotFound:
            continue
    return len(rows)


@access_pattern("mark very many messages read", "1 put")
def mark_all_read_later(username: str, *, until: str, now: datetime) -> None:
    """Have the worker mark all messages read that came no later than the id `until`. 1 put."""
    payload = ReadAllPayload(username, until)
    table.write(job_write(READ_ALL, payload, job_id=new_ulid(now), due=now))


@access_pattern("delete a message", "1 delete")
def delete(username: str, message_id: str) -> None:
    """Delete a message; harmless if it is gone."""
    table.write(Delete(key=_key(username, message_id)))


@access_pattern("delete all messages one by one", "1 query + 1 delete")
def delete_all(username: str, *, limit: int) -> int:
    """Delete up to `limit` messages of a user who is gone; return how many there were. 1 query + 1 delete each."""
    rows = table.query(keys.message.partition(username), limit=limit, consistent=True)
    for row in rows:
        table.write(Delete(key=(row["PK"], row["SK"])))
    return len(rows)


@access_pattern("deliver new messages, 25 at a time", "1 batch insert")
def deliver(items: Iterable[Item]) -> int:
    """Write new messages, leaving those alone that are there already; return how many were new.

    1 request for each 25, more for what was left unprocessed.
    """
    return table.insert(list(items))


def _key(username: str, message_id: str) -> keys.Key:
    if not is_ulid(message_id):
        raise _no_message()
    return keys.message(username, message_id)


def _no_message() -> NotFound:
    return NotFound(gettext_lazy("There is no such message."))


def _message(item: Item) -> Message:
    card = item["card"]
    return _read_message(card, text=item.get("text", ""), unread="GSI1PK" in item)


_read_message = reader(MESSAGE_CARD, Message, "text", "unread")
