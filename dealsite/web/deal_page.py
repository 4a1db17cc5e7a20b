"""What the page of a deal shows, for shoppers and for the editors who look at it before they do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils.safestring import mark_safe

from dealsite.data.catalogue import prices
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.catalogue.prices import Price
from dealsite.templatetags.design import time_left
from dealsite.text import markdown
from dealsite.web.price_chart import price_chart


def deal_context(
    card: DealCard, content: DealContent, history: Sequence[Price], *, now: datetime
) -> dict[str, Any]:
    """Return what `_deal.html` shows; `history` holds the prices since it was published, oldest first."""
    state = card.state(now)
    history = history or [Price(card.live_at, card.price or Decimal(0), card.was_price)]
    return {
        "card": card,
        "state": state,
        "left": time_left(card.expires_at, now) if card.expires_at else "",
        "over": state in ("expired", "sold_out"),
        "now": now,
        "link": content.link,
        "stock": content.stock,
        "lowest": prices.lowest(history) if card.was_price else None,
        "chart": price_chart(history, now),
        "saving": card.was_price - card.price if card.was_price and card.price is not None else None,
        "category_name": category_names.names().get(card.category, card.category),
        "description": mark_safe(markdown.to_html(content.description)),  # noqa: S308 - sanitised there
    }
