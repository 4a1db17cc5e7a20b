"""Reading the index: each process keeps it open, and looks before each search whether there is a newer commit."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import structlog
import tantivy

from dealsite.search import folder
from dealsite.search.documents import open_index
from dealsite.stream.panics import is_panic

logger = structlog.get_logger(__name__)
_lock = threading.Lock()
_open: dict[Path, tuple[tuple[int, ...], Path, tantivy.Index]] = {}


class Unreadable(Exception):
    """The index is damaged, or was deleted while it was read; the worker builds it anew."""


@contextlib.contextmanager
def unreadable_if_it_fails() -> Iterator[None]:
    """Raise Unreadable for whatever tantivy, or what it gives back, makes of files that are not whole."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError) as error:
        raise Unreadable(repr(error)) from error
    except BaseException as error:
        if is_panic(error):
            raise Unreadable(repr(error)) from error
        raise


def searcher() -> tantivy.Searcher | None:
    """Return the newest commit to search in; None where there is no index, or none that can be read."""
    root = folder.root()
    stamp = folder.stamp(root)
    if not stamp:
        return None
    with _lock:
        index = _renewed(root, stamp)
        return index.searcher() if index else None


def forget() -> None:
    """Open the index anew at the next look."""
    with _lock:
        _open.clear()


def _renewed(root: Path, stamp: tuple[int, ...]) -> tantivy.Index | None:
    known = _open.get(root)
    if known and known[0] == stamp:
        return known[2]
    generation = folder.current(root)
    try:
        if generation is None:
            return None
        with unreadable_if_it_fails():
            if known and known[1] == generation:
                index = known[2]
            else:
                index = open_index(str(generation))
                index.config_reader("manual")
            index.reload()
    except Unreadable as error:
        logger.warning("search_index_unreadable", folder=str(root), reason=str(error))
        _open.pop(root, None)
        return None
    _open[root] = (stamp, generation, index)
    return index
