"""Dealsite's one table, as its library is told of it: its indexes, and where the settings say that it is."""

from __future__ import annotations

from django.conf import settings

from dealsite.data import keys
from dealsite.data.table.client import Configuration, Index

LISTED = ("type", "card")  # what a list shows of an entity; the rest of an item costs no index writes
INDEXES = {
    keys.GSI1: Index("GSI1PK", "GSI1SK", LISTED),
    keys.GSI2: Index("GSI2PK", "GSI2SK", LISTED),
    keys.GSI3: Index("GSI3PK", "GSI3SK", LISTED),
    keys.USER_INDEX: Index("UserIndex"),
}


def from_settings() -> Configuration:
    """Return where the table is now; payments of closed days may have one of their own."""
    history = settings.DEALSITE_HISTORY_TABLE
    return Configuration(
        table_name=settings.DEALSITE_TABLE,
        region=settings.DEALSITE_REGION,
        endpoint_url=settings.DYNAMODB_ENDPOINT_URL,
        indexes=INDEXES,
        routes={keys.HISTORY: history} if history else {},
        missing="The table does not exist. `manage.py create_table` makes it.",
        local_key="dealsite",
    )
