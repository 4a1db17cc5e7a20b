"""Deals as of now: a browser's clock is the real one, so these tests' is, too."""

from __future__ import annotations

from datetime import timedelta
from itertools import count
from typing import Any

from django.utils import timezone

from dealsite.data.catalogue import featured
from dealsite.data.catalogue.deals import Deal
from tests.builders import EDITOR, make_deal

MINUTE = timedelta(minutes=1)
_ages = count(1)


def now_deal(*, age: timedelta | None = None, **content: Any) -> Deal:
    """Publish a deal some time ago: one minute earlier than the deal before, if it is not said."""
    now = timezone.now()
    return make_deal(live_at=now - (age if age is not None else next(_ages) * MINUTE), now=now, **content)


def feature(page_id: str, chosen: list[Deal]) -> None:
    """Feature deals on a page, in this order."""
    page, found = featured.load(page_id, [deal.id for deal in chosen])
    in_order = [found[deal.id] for deal in chosen]
    featured.set_featured(page, in_order, version=page.version, by=EDITOR, now=timezone.now())
