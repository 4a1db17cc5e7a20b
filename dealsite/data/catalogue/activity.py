"""What happens to a deal on a day: how many visitors go to its shop, nobody by name, and how many order it.

It is noted in memory, and counted in the table four times a minute (see `heartbeat`). Until the day is over, two bytes
of a keyed hash stand for each visitor, the key another one each day: whoever comes again counts once on all machines,
and 65,536 of them share a hash. Then only their number stays.
"""

import contextlib
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from math import log
from typing import NamedTuple

from dealsite.data import keys, table
from dealsite.data.entities.deals import ACTIVITY
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, VersionConflict
from dealsite.data.table.ids import epoch_seconds
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Update, equals, missing

HASHES = 65_536
KEPT = timedelta(days=400)  # from the day on
KEPT_OPEN = timedelta(days=7)  # so long hashes stay where nobody closes the day
STILL_OPEN = 3  # days that are closed together: a night may be missed
MOST = 10_000  # that are noted; more than so many in a quarter of a minute are no visitors


class Day(NamedTuple):
    """How many visitors went to a deal's shop on a day, and how often it was ordered."""

    clicks: int = 0
    orders: int = 0


@dataclass(slots=True)
class Noted:
    """What is not in the table yet of a deal and a day: visitors' hashes and orders."""

    visitors: set[str] = field(default_factory=set)
    orders: int = 0


_noted: dict[tuple[str, date], Noted] = {}
_lock = threading.Lock()


def note(deal_id: str, day: date, visitors: Collection[str] = (), orders: int = 0) -> None:
    """Note what happened to a deal, until `flush` counts it; neither of both: it was liked, and is active that day."""
    with _lock:
        if sum(len(one.visitors) + one.orders for one in _noted.values()) < MOST:
            noted = _noted.setdefault((deal_id, day), Noted())
            noted.visitors.update(visitors)
            noted.orders += orders


def flush() -> None:
    """Count in the table what was noted; what it cannot take now stays noted. 1 update for each deal."""
    with _lock:
        waiting = list(_noted)
    for place in waiting:
        with _lock:
            noted = _noted.pop(place)
        try:
            count(*place, noted.visitors, noted.orders)
        except Conflict:
            continue  # the day is closed
        except Exception:
            note(*place, noted.visitors, noted.orders)
            raise


@access_pattern("count clicks and orders of a deal", "1 update")
def count(deal_id: str, day: date, visitors: Collection[str] = (), orders: int = 0) -> None:
    """Count visitors of a day (UTC), by their hashes in hexadecimal, and orders; the deal is active that day.

    Who was counted that day is not again: visitors are harmless to repeat. VersionConflict once the day is closed.
    """
    values = ACTIVITY.item({"deal": deal_id, "day": day.isoformat(), "ttl": _end(day, KEPT_OPEN)})
    is_open, closed = (missing("clicks"),), VersionConflict()
    seen = {"visitors": set(visitors), "orders": orders}
    added = {name: value for name, value in seen.items() if value}
    table.write(
        Update(key=keys.activity(deal_id, day), set=values, add=added, when=is_open, otherwise=closed)
    )


@access_pattern("what happened to a deal on some days", "1 query")
def of_deal(deal_id: str, *, since: date) -> dict[date, Day]:
    """Return clicks and orders of a deal by day (UTC), from one on; days without any are left out."""
    partition = keys.activity.partition(deal_id)
    rows = table.query(partition, low=since.isoformat(), limit=KEPT.days + 1, consistent=True)
    return {date.fromisoformat(row["day"]): Day(_number(row), row.get("orders", 0)) for row in rows}


@access_pattern("close the clicks of a day", "3 queries + 1 batch get + 1 update")
def close_day(day: date, *, advance: Callable[[int], object] = lambda _: None) -> int:
    """Keep of the visitors of a day (UTC) and of the two before it only the numbers; return how many deals' that were.

    1 query and 1 batch get for each day and 100 deals, and an update for each of them; `advance` is told the number.
    """
    closed = 0
    for ago in range(STILL_OPEN):
        one, start = day - timedelta(days=ago), None
        while True:
            rows = table.query_page(keys.active.partition(one), index=keys.GSI1, limit=100, start=start)
            places = [(row["PK"], row["SK"]) for row in rows.items]
            items = table.batch_get(places).values() if places else ()
            left = [item for item in items if "visitors" in item]
            for item in left:
                _close(item)
            closed += len(left)
            advance(len(left))
            start = rows.start
            if start is None:
                break
    return closed


def _end(day: date, span: timedelta) -> int:
    return epoch_seconds(datetime(day.year, day.month, day.day, tzinfo=UTC) + span)


def _close(item: Item) -> None:
    kept = {"clicks": _number(item), "ttl": _end(date.fromisoformat(item["day"]), KEPT)}
    as_read = (equals("visitors", item["visitors"]),)
    with contextlib.suppress(Conflict):  # somebody was late; the next night takes it
        table.write(Update(key=(item["PK"], item["SK"]), set=kept, remove=["visitors"], when=as_read))


def _number(item: Item) -> int:
    """Return how many visitors there were: of few as many as hashes, of many more, since some share one.

    Linear counting (Whang, Vander-Zanden and Taylor, 1990).
    """
    if "clicks" in item:
        return int(item["clicks"])
    free = max(HASHES - len(item.get("visitors", ())), 1)
    return round(HASHES * log(HASHES / free))
