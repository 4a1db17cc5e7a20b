"""Messages to users: an inbox each, and in the index those that are unread.

A message's id is the id of the job that sent it, so that it can be written again and again and is
there once. It is unread while it stands in the index; reading it takes it out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.convert import Item
from dealsite.data.errors import NotFound
from dealsite.data.ids import is_ulid, new_ulid, time_of
from dealsite.data.jobs import job_write
from dealsite.data.paging import newest_first
from dealsite.data.writes import Delete, Update, exists

PAGE_SIZE = 25
BADGE_LIMIT = 100  # one more than the badge shows
HEADLINE_CHARACTERS = 200
TEXT_CHARACTERS = 1_000
READ_ALL = "read_all"  # the kind of job that marks many messages read


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


@dataclass(frozen=True, slots=True)
class Inbox:
    """Up to 25 messages, newest first; `after` and `before` are the cursors of the older and newer page."""

    messages: list[Message]
    after: str | None
    before: str | None


def message_item(
    username: str, message_id: str, *, kind: str, headline: str, deal: str, text: str = "", order: str = ""
) -> Item:
    """Return a new, unread message as it is stored."""
    pk, sk = keys.message(username, message_id)
    item: Item = {
        "PK": pk,
        "SK": sk,
        "type": "Message",
        "id": message_id,
        "username": username,
        "card": {"id": message_id, "kind": kind, "headline": headline, "deal": deal},
        **keys.unread_row(username, message_id),
    }
    if order:
        item["card"]["order"] = order
    if text:
        item["text"] = text
    return item


def message_items(
    usernames: Iterable[str], message_id: str, *, kind: str, headline: str, deal: str, text: str = ""
) -> list[Item]:
    """Return one message to many users as it is stored."""
    return [
        message_item(username, message_id, kind=kind, headline=headline, deal=deal, text=text)
        for username in usernames
    ]


def inbox(
    username: str, *, unread: bool = False, after: str | None = None, before: str | None = None
) -> Inbox:
    """Return one page of a user's messages, or of the unread ones; BadCursor. 1 query."""
    page = newest_first(
        keys.messages(username),
        "MESSAGE#",
        index=keys.GSI1 if unread else None,
        after=after,
        before=before,
        size=PAGE_SIZE,
        consistent=not unread,
    )
    return Inbox([_message(row) for row in page.rows], page.after, page.before)


def count_unread(username: str) -> int:
    """Return how many messages are unread, 100 for 100 and more. 1 query."""
    return len(table.query(keys.messages(username), index=keys.GSI1, limit=BADGE_LIMIT))


def get(username: str, message_id: str) -> Message:
    """Return a user's message; NotFound. 1 get."""
    item = table.get(_key(username, message_id))
    if item is None:
        raise _no_message()
    return _message(item)


def mark_read(username: str, message_id: str) -> None:
    """Mark a message read; harmless if it is, NotFound if there is none. 1 update."""
    table.write(
        Update(
            key=_key(username, message_id),
            remove=("GSI1PK", "GSI1SK"),
            when=(exists(),),
            otherwise=_no_message(),
        )
    )


def mark_all_read(username: str, *, until: str, limit: int) -> int:
    """Mark up to `limit` messages read that came no later than the id `until`; return how many were found.

    1 query and 1 update for each. A message that was deleted meanwhile stays deleted.
    """
    high = keys.message(username, until)[1]
    rows = table.query(keys.messages(username), index=keys.GSI1, high=high, limit=limit)
    for row in rows:
        try:
            mark_read(username, row["card"]["id"])
        except NotFound:
            continue
    return len(rows)


def mark_all_read_later(username: str, *, until: str, now: datetime) -> None:
    """Have the worker mark all messages read that came no later than the id `until`. 1 put."""
    payload = {"username": username, "until": until}
    table.write(job_write(READ_ALL, payload, job_id=new_ulid(now), due=now))


def delete(username: str, message_id: str) -> None:
    """Delete a message; harmless if it is gone. 1 delete."""
    table.write(Delete(key=_key(username, message_id)))


def delete_all(username: str) -> None:
    """Delete all messages of a user who is gone. 1 query a page + 1 delete each."""
    start: dict[str, Any] | None = None
    while True:
        rows = table.query_page(keys.messages(username), limit=100, start=start, consistent=True)
        for item in rows.items:
            table.write(Delete(key=(item["PK"], item["SK"])))
        start = rows.start
        if start is None:
            return


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
    return Message(
        id=card["id"],
        kind=card["kind"],
        headline=card["headline"],
        deal=card["deal"],
        text=item.get("text", ""),
        unread="GSI1PK" in item,
        order=card.get("order", ""),
    )
