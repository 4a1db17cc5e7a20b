"""Reading a list that is spread over several partitions: all at once, merged in the order of its sort keys."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from itertools import islice
from operator import itemgetter

from . import client, items
from .client import configuration
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

    threads = _threads(os.getpid())
    running = [threads.submit(copy_context().run, read, partition) for partition in partitions]
    rows = [row for one in running for row in one.result()]
    rows.sort(key=itemgetter(configuration().indexes[index].sort_key), reverse=newest_first)
    return list(islice(rows, limit))


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """Return the threads of a process: made once, after the fork; no more than there are connections."""
    return ThreadPoolExecutor(client.CONNECTIONS, "shard")
