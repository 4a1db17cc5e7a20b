"""Makes the index of deals from what the table holds, as a rebuild does."""

from __future__ import annotations

from datetime import UTC, datetime

from dealsite.data import table
from dealsite.search.projection import SearchIndex
from dealsite.stream.projection import Checkpoint


def index_table() -> None:
    """Put a new index in the place of the old one."""
    projection = SearchIndex()
    projection.build(table.scan_all(consistent=True), Checkpoint("stream", datetime.now(UTC)))
    projection.swap()
