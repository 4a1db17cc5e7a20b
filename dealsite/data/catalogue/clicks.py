"""Clicks on the links of deals to their shops: how many visitors went there on a day, and nobody by name.

Until the day is over, two bytes of a keyed hash stand for each visitor, the key another one each day: whoever comes
again counts once on all machines, and 65,536 of them share a hash. Then only their number stays.
"""

import contextlib
from collections.abc import Callable, Collection
from datetime import UTC, date, datetime, timedelta
from math import log

from dealsite.data import keys, table
from dealsite.data.entities.deals import CLICKS
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict, VersionConflict
from dealsite.data.table.ids import epoch_seconds
from dealsite.data.table.writes import Update, equals, missing

HASHES = 65_536
KEPT, KEPT_OPEN = (
    timedelta(days=400),
    timedelta(days=7),
)  # from the day on; hashes go even if nobody closes it
STILL_OPEN = 3  # days that are closed together: a night may be missed


@access_pattern("count clicks on a deal's link", "1 update")
def count(deal_id: str, day: date, visitors: Collection[str]) -> None:
    """Count visitors of a day (UTC), by their hashes in hexadecimal; who was counted that day is not again.

    VersionConflict once the day is closed. Harmless to repeat.
    """
    values = CLICKS.item({"deal": deal_id, "day": day.isoformat(), "ttl": _end(day, KEPT_OPEN)})
    is_open, closed = (missing("clicks"),), VersionConflict()
    key, seen = keys.clicks(deal_id, day), {"visitors": set(visitors)}
    table.write(Update(key=key, set=values, add=seen, when=is_open, otherwise=closed))


@access_pattern("a deal's clicks of some days", "1 query")
def of_deal(deal_id: str, *, since: date) -> dict[date, int]:
    """Return how many visitors went to a deal's shop, by day (UTC), from one on; days without any are left out."""
    partition = keys.clicks.partition(deal_id)
    rows = table.query(partition, low=since.isoformat(), limit=KEPT.days + 1, consistent=True)
    return {date.fromisoformat(row["day"]): _number(row) for row in rows}


@access_pattern("close the clicks of a day", "3 queries + 1 batch get + 1 update")
def close_day(day: date, *, advance: Callable[[int], object] = lambda _: None) -> int:
    """Keep of a day (UTC), and of the two before it, only the numbers; return how many deals' that were.

    1 query and 1 batch get for each day and 100 deals, and an update for each of them; `advance` is told the number.
    """
    closed = 0
    for ago in range(STILL_OPEN):
        one, start = day - timedelta(days=ago), None
        while True:
            rows = table.query_page(keys.clicked.partition(one), index=keys.GSI1, limit=100, start=start)
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
    free = max(HASHES - len(item["visitors"]), 1)
    return round(HASHES * log(HASHES / free))
