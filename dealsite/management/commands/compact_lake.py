"""manage.py compact_lake: make few large files of the lake's many small ones."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand

from dealsite.lake.compaction import compact
from dealsite.lake.store import store_of_site


class Command(BaseCommand):
    help = (
        "Fold the lake's small files into larger ones. A worker that feeds the lake does so by itself; this is for "
        "a lake that AWS Lambda feeds."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        compact(store_of_site(), now=datetime.now(UTC))
