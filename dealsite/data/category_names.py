"""The categories' display names for the menu of every page: read once a minute by each process, not by each page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from dealsite.data import meters
from dealsite.data.categories import CATEGORIES, all_categories
from dealsite.data.errors import DataError

SECONDS = 60.0
SECONDS_AFTER_A_FAILURE = 5.0

clock: Callable[[], float] = time.monotonic
_names: dict[str, str] = dict(CATEGORIES)
_fresh_until = 0.0
_lock = threading.Lock()


def names() -> dict[str, str]:
    """Return slug -> name of the eight categories, in the site's order. 1 batch get a minute and process.

    That call is not counted as the page's, but keeps to its deadline. While the table does not answer, the
    names of before are good enough.
    """
    global _names, _fresh_until
    if clock() < _fresh_until or not _lock.acquire(blocking=False):
        return _names
    try:
        _fresh_until = clock() + SECONDS_AFTER_A_FAILURE
        with meters.unmetered():
            found = all_categories()
        _names = {category.slug: category.name for category in found}
        _fresh_until = clock() + SECONDS
    except DataError:
        pass
    finally:
        _lock.release()
    return _names


def forget() -> None:
    """Read the names again at the next look, after one was changed."""
    global _fresh_until
    _fresh_until = 0.0
