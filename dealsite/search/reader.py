"""Reading the index: each process keeps it open, and looks before each search whether there is a newer commit."""

import threading
from dataclasses import dataclass
from pathlib import Path

import structlog
import tantivy

from dealsite.data.catalogue.cards import DealCard
from dealsite.search import folder
from dealsite.search.documents import open_index, stored_of

logger = structlog.get_logger(__name__)
_lock = threading.Lock()
_open: dict[Path, tuple[tuple[int, ...], Path, tantivy.Index]] = {}


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
        if known and known[1] == generation:
            index = known[2]
            index.reload()
        else:
            index = open_index(str(generation))
            index.config_reader("manual")
            index.reload()
    except (OSError, ValueError) as error:
        logger.warning("search_index_unreadable", folder=str(root), reason=str(error))
        _open.pop(root, None)
        return None
    _open[root] = (stamp, generation, index)
    return index


@dataclass(frozen=True, slots=True)
class Availability:
    """`is_ready`: there is an index; `card`: what it shows of it, None if it has none."""

    is_ready: bool
    card: DealCard | None = None


def known(kind: str, target_id: str) -> Availability:
    """Return what the index knows of a deal or draft. No request."""
    opened = searcher()
    if opened is None:
        return Availability(False)
    stored = stored_of(opened, f"{kind.upper()}#{target_id}")
    return Availability(True, stored.card if stored else None)
