"""What the tests of questions and pages ask of."""

from __future__ import annotations

import pytest
from django.utils import timezone

from dealsite.data.catalogue import deals, publishing
from dealsite.data.catalogue.display_names import category_names
from tests.builders import EDITOR, HOUR, NOW, make_brand, make_category, make_content, make_id
from tests.people import make_user


@pytest.fixture
def shop(fresh_table: None, monkeypatch: pytest.MonkeyPatch) -> deals.Deal:
    """Thirty deals over two days, one brand and one category; returns one of them."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    for slug in ("toys-hobbies", "peripherals-networking"):
        make_category(slug)
    make_brand("Aurora")
    make_user("ann")
    category_names.names()
    brand = make_brand()
    new = [(make_id(NOW - n * HOUR), make_content(), brand) for n in range(30)]
    publishing.publish_many(new, by=EDITOR, now=NOW)
    return deals.get(new[-1][0])
