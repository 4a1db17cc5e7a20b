"""The security log: what happened at the site's doors, written once and never changed, and how many tries failed."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from operator import itemgetter

from dealsite.data import keys, table
from dealsite.data.editing.audit import between
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.work import SECURITY_CARD, SECURITY_EVENT
from dealsite.data.names import normalise_username
from dealsite.data.table import meters
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.ids import epoch_seconds, from_iso, iso, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.paging import Page, first_page
from dealsite.data.table.writes import Put, Update, absent

PAGE_SIZE = 50
NOTING_SECONDS = 1.4  # as the middleware has it for all calls of a page
COUNTS_KEPT = timedelta(days=2)
ALARM_SPAN = timedelta(minutes=10)  # in which too many failed tries raise an alarm


@dataclass(frozen=True, slots=True)
class SecurityEvent:
    """One event: of a user by name, '' for a visitor; `page` is the address's pattern, `request` the request's id.

    `times` is how many like it one process saw in its minute up to it: it stands for those without a row.
    """

    event: str
    at: datetime
    username: str = ""
    network: str = ""
    page: str = ""
    detail: str = ""
    request: str = ""
    times: int | None = None
    id: str = ""


@contextmanager
def noting(waited: float) -> Iterator[None]:
    """Let a page note events in time of its own: what counts is how long it has `waited` for the table, in seconds.

    Its budget does not count them either. No call starts that would keep a visitor from the table's 503 for 3 seconds.
    """
    with meters.unmetered(), meters.deadline(NOTING_SECONDS - waited):
        yield


@access_pattern("note a security event", "1 put")
def add(event: SecurityEvent) -> None:
    """Store an event under an id made for it. The same one is never written over."""
    event_id = new_ulid(event.at)
    item = SECURITY_EVENT.item({"id": event_id, "card": _store_event(event)})
    with suppress(Conflict):  # what is there already is this event: its answer was lost
        table.write(Put(key=keys.security_event(event.at, event_id), item=item, when=(absent(),)))


@access_pattern("the security log of a user, a kind of event, a network or a day", "1 query")
def page(
    *,
    username: str = "",
    event: str = "",
    network: str = "",
    day: date | None = None,
    after: str | None = None,
) -> Page[SecurityEvent]:
    """Return a user's events, those of a kind or from a network, or else all of a day; with a day, of that day (UTC).

    Nothing happened to a user or in a network that cannot be. BadCursor; ValueError where nothing is asked for.
    """
    low, high = between(day, after)
    index: str | None = None
    try:
        if username:
            partition, index = keys.security_of_user.partition(normalise_username(username)), keys.GSI1
        elif network:
            partition, index = keys.security_of_network.partition(network), keys.GSI3
        elif event:
            partition, index = keys.security_of_kind.partition(event), keys.GSI2
        elif day:
            partition = keys.security_event.partition(day)
        else:
            raise ValueError("Say a user, a network, a kind of event or a day.")
    except (Invalid, ValueError):
        if not (username or network or event or day):
            raise
        return Page([])
    rows = table.query(partition, index=index, low=low, high=high, newest_first=True, limit=PAGE_SIZE + 1)
    page = first_page(rows, PAGE_SIZE, itemgetter("SK"))
    return page.showing([event_from_item(row) for row in page.rows])


def event_from_item(item: Item) -> SecurityEvent:
    """Return the event of an item, or of its row in an index."""
    return _read_event(item["card"], id=str(item["SK"]).rpartition("#")[2])


_read_event, _store_event = reader(SECURITY_CARD, SecurityEvent, "id"), writer(SECURITY_CARD, SecurityEvent)


@access_pattern("count failed tries", "1 update")
def count_failures(number: int, *, now: datetime) -> None:
    """Count so many failed tries of this minute. If the answer is lost, Unavailable, and they may be counted or not."""
    minute = now.replace(second=0, microsecond=0)
    ttl = epoch_seconds(minute + COUNTS_KEPT)
    key = keys.failure_count(minute)
    table.write(Update(key=key, set={"type": "FailureCount", "ttl": ttl}, add={"count": number}))


@access_pattern("how many tries failed lately", "1 query")
def failures(*, within: timedelta, now: datetime) -> dict[datetime, int]:
    """Return how many tries failed in each minute of a span that ends now, at most 16 hours; none where none did."""
    low, high = iso(now - within), iso(now)
    items = table.query(keys.failure_count.partition(), low=low, high=high, limit=1000, newest_first=True)
    return {from_iso(item["SK"]): int(item["count"]) for item in items}
