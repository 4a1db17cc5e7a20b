"""Reading a list that is spread over several partitions: all at once, merged in the order of its sort keys."""

from collections.abc import Sequence
from functools import partial
from itertools import chain, islice
from operator import itemgetter

from . import items, parallel
from .configuration import configuration
from .convert import Item


def merged(
    partitions: Sequence[str],
    *,
    index: str,
    low: str | None = None,
    high: str | None = None,
    newest_first: bool = False,
    limit: int = 100,
) -> list[Item]:
    """Return the first `limit` rows of all partitions together. 1 query for each partition, all in parallel."""

    def read(partition: str) -> list[Item]:
        return items.query(partition, index=index, low=low, high=high, newest_first=newest_first, limit=limit)

    rows = list(chain(*parallel.together(*(partial(read, partition) for partition in partitions))))
    rows.sort(key=itemgetter(configuration().indexes[index].sort_key), reverse=newest_first)
    return list(islice(rows, limit))
