"""The shoppers' pages run on the embedded engine, at a time that the tests choose."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from dealsite.data.catalogue import featured
from dealsite.data.catalogue.deals import Deal
from tests.builders import EDITOR, NOW


@pytest.fixture
def shop(whole_table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty site, where it is NOW."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@pytest.fixture
def feature() -> Callable[[str, list[Deal]], None]:
    """A function that has an editor feature deals on a page."""

    def feature(page_id: str, chosen: list[Deal]) -> None:
        page, found = featured.load(page_id, [deal.id for deal in chosen])
        in_order = [found[deal.id] for deal in chosen]
        featured.set_featured(page, in_order, version=page.version, by=EDITOR, now=NOW)

    return feature
