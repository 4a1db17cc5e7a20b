"""Reading a list that is spread over several partitions: all at once, merged in the order of its sort keys."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from operator import itemgetter

from dealsite.data import table
from dealsite.data.convert import Item


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
        return table.query(partition, index=index, low=low, high=high, newest_first=newest_first, limit=limit)

    with ThreadPoolExecutor(min(len(partitions), table.CONNECTIONS), "shard") as threads:
        running = [threads.submit(copy_context().run, read, partition) for partition in partitions]
        rows = [row for one in running for row in one.result()]
    rows.sort(key=itemgetter(f"{index}SK"), reverse=newest_first)
    return list(islice(rows, limit))
