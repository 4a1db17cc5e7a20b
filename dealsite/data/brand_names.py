"""The brands' display names for lists that know only slugs: read once a minute by each process, not by each page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from dealsite.data import meters
from dealsite.data.brands import all_brands
from dealsite.data.errors import DataError

SECONDS = 60.0
SECONDS_BETWEEN = 5.0  # at least; a name that is missing is looked for no more often

clock: Callable[[], float] = time.monotonic
_names: dict[str, str] = {}
_read_at: float | None = None
_lock = threading.Lock()


def names(slugs: Iterable[str]) -> dict[str, str]:
    """Return slug -> name of some brands; a slug stands for itself where no name is known.

    1 query a minute and process, which is not counted as the page's, but keeps to its deadline. A brand that is
    not known yet has the names read again. While the table does not answer, those of before are good enough.
    """
    slugs = list(slugs)
    if slugs:
        _refresh(SECONDS if all(slug in _names for slug in slugs) else SECONDS_BETWEEN)
    return {slug: _names.get(slug, slug) for slug in slugs}


def forget() -> None:
    """Read the names again at the next look, after one was changed."""
    global _names, _read_at
    _names, _read_at = {}, None


def _refresh(seconds: float) -> None:
    global _names, _read_at
    if _read_at is not None and clock() < _read_at + seconds:
        return
    if not _lock.acquire(blocking=False):
        return
    try:
        _read_at = clock()
        with meters.unmetered():
            _names = {brand.slug: brand.name for brand in all_brands()}
    except DataError:
        pass
    finally:
        _lock.release()
