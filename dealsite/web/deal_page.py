"""What the page of a deal shows, to shoppers and to the editors who look at it before they do, with its price chart.

The chart draws the prices that a deal has had as a line of steps, and says the same in words and as rows of a table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from dealsite.data.catalogue.cards import OVER, DealCard
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.catalogue.prices import Price
from dealsite.data.entities.deals import HERE
from dealsite.templatetags.design import money, time_left
from dealsite.text import markdown

WIDTH, HEIGHT, EDGE = 600, 120, 6  # in the units of the drawing, which is stretched to its place


def deal_context(
    card: DealCard, content: DealContent, history: Sequence[Price], *, now: datetime
) -> dict[str, Any]:
    """Return what `_deal.html` shows; `history` holds the prices since it was published, oldest first."""
    state = card.state(now)
    history = history or [Price(card.live_at, card.price or Decimal(0))]
    return {
        "card": card,
        "state": state,
        "left": time_left(card.expires_at, now) if card.expires_at else "",
        "over": state in OVER,
        "now": now,
        "link": content.link if content.sold != HERE else "",
        "sold": content.sold,
        "shop": content.shop or _("a shop"),
        "stock": content.stock,
        "chart": price_chart(history, now),
        "category_name": category_names.names().get(card.category, card.category),
        "description": markdown.to_html(content.description),
    }


@dataclass(frozen=True)
class Chart:
    """What the page needs: `line` and `area` are paths, `words` say what is to be seen, rows are newest first."""

    line: str
    area: str
    words: str
    highest: Decimal
    lowest: Decimal
    first: datetime
    rows: list[Price]

    width, height = WIDTH, HEIGHT


def price_chart(prices: Sequence[Price], now: datetime) -> Chart | None:
    """Return the chart of a deal's prices, oldest first, up to now; None if there was one price only."""
    amounts = [one.price for one in prices]
    lowest, highest = min(amounts), max(amounts)
    if lowest == highest:
        return None
    first = prices[0].since
    seconds = max((now - first).total_seconds(), 1.0)
    steps = [
        (
            round((one.since - first).total_seconds() / seconds * WIDTH),
            EDGE + round(float((highest - one.price) / (highest - lowest)) * (HEIGHT - 2 * EDGE)),
        )
        for one in prices
    ]
    line = f"M0 {steps[0][1]}" + "".join(f"H{x}V{y}" for x, y in steps[1:]) + f"H{WIDTH}"
    return Chart(
        line=line,
        area=f"{line}V{HEIGHT}H0Z",
        words=_words(prices, lowest, highest),
        highest=highest,
        lowest=lowest,
        first=first,
        rows=list(reversed(prices)),
    )


def _words(prices: Sequence[Price], lowest: Decimal, highest: Decimal) -> str:
    first, last = prices[0], prices[-1]
    return _(
        "%(price)s from %(since)s, %(price_2)s since %(since_2)s; the highest price was "
        "%(highest)s, the lowest %(lowest)s."
    ) % {
        "price": money(first.price),
        "since": _day(first.since),
        "price_2": money(last.price),
        "since_2": _day(last.since),
        "highest": money(highest),
        "lowest": money(lowest),
    }


def _day(when: datetime) -> str:
    return date_format(timezone.localtime(when))
