"""Makes the index of deals from what the table holds, as a rebuild does."""

from __future__ import annotations

from datetime import UTC, datetime

from django.conf import settings

from dealsite.data import table
from dealsite.search.projection import SearchIndex
from dealsite.stream.projection import Checkpoint


def index_table() -> None:
    """Put a new index in the place of the old one."""
    assert settings.is_overridden("SEARCH_ROOT"), (
        "other tests would find this index: take the fixture search_index"
    )
    projection = SearchIndex()
    projection.build(table.scan_all(consistent=True), Checkpoint("stream", datetime.now(UTC)))
    projection.swap()
