"""The site's search index, wherever it is kept: on disk, shared by way of a bucket, or in OpenSearch.

OpenSearch's library is installed only where it is used, so its module is imported only there.
"""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import structlog
from django.conf import settings
from django.utils import timezone

from dealsite.search import reader
from dealsite.search.projection import SearchIndex
from dealsite.search.published import LOOK_SECONDS, SharedIndex
from dealsite.search.queries import Found, Searcher
from dealsite.search.reader import Unreadable, unreadable_if_it_fails
from dealsite.stream.projection import Projection
from dealsite.stream.rebuilding import FOLLOWING, OPEN, locked

if TYPE_CHECKING:
    from dealsite.search.opensearch import OpenSearchIndex

Answer = TypeVar("Answer")
logger = structlog.get_logger(__name__)


def searcher(kind: type[Found]) -> Searcher[Found] | None:
    """Return the newest commit of a part to search in; None where there is no index, or none that can be read."""
    if settings.DEALSITE_OPENSEARCH_URL:
        from dealsite.search import opensearch

        return opensearch.searcher(kind)
    return reader.searcher(kind)


def answer(kind: type[Found], ask: Callable[[Searcher[Found]], Answer], otherwise: Answer) -> Answer:
    """Return what is asked of the newest commit of a part, something else where there is none that can be read."""
    found = searcher(kind)
    if found is None:
        return otherwise
    try:
        with unreadable_if_it_fails():
            return ask(found)
    except Unreadable as error:
        logger.warning("search_failed", reason=str(error))
        return otherwise


def is_shared() -> bool:
    """Tell whether machines share the index: where they have OpenSearch or a bucket in common."""
    return bool(settings.DEALSITE_OPENSEARCH_URL or settings.DEALSITE_PRIVATE_BUCKET)


def search_index(*, clock: Callable[[], datetime] = timezone.now) -> Projection:
    """Return the index, ready to be fed."""
    return _shared_index(clock) if is_shared() else SearchIndex()


def _shared_index(clock: Callable[[], datetime] = timezone.now) -> "SharedIndex | OpenSearchIndex":
    if settings.DEALSITE_OPENSEARCH_URL:
        from dealsite.search.opensearch import OpenSearchIndex

        return OpenSearchIndex(clock=clock)
    return SharedIndex(clock=clock)


def follow(stop: threading.Event) -> None:
    """Keep the index of a machine that runs no worker like that of all others, until `stop` is set.

    One process of a machine does; where a worker runs, that one does it all.
    """
    index = _shared_index()
    while not stop.is_set():
        try:
            with locked(index.folder, FOLLOWING, wait=False) as alone:
                while alone and alone.is_held() and not stop.is_set():
                    with locked(index.folder, OPEN, wait=False) as opened:
                        if opened:
                            index.follow()
                    stop.wait(LOOK_SECONDS)
        except OSError as error:  # the disk is full, or the folder is not ours
            logger.warning("search_not_fetched", reason=str(error))
        stop.wait(LOOK_SECONDS)
