"""What the page of a deal shows, to shoppers and to the editors who look at it before they do, with its price chart.

The chart draws the prices that a deal has had as a line of steps, and says the same in words and as rows of a table.

Who went to its shop is counted as far as one may know: no robots, and nobody by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from crawlerdetect import CrawlerDetect
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from dealsite.accounts.requests import client_address, network_of
from dealsite.data.catalogue import activity
from dealsite.data.catalogue.cards import LOOKED_BACK, OVER, DealCard
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.deals import Price, of_seller
from dealsite.data.entities.deals import HERE
from dealsite.templatetags.design import time_left
from dealsite.text import markdown
from dealsite.text.writing import money

WIDTH, HEIGHT, EDGE = 600, 120, 6  # in the units of the drawing, which is stretched to its place


def deal_context(
    card: DealCard, content: DealContent, history: Sequence[Price], *, now: datetime
) -> dict[str, Any]:
    """Return what `_deal.html` shows; `history` holds the prices since it was published, oldest first."""
    state = card.state(now)
    low = card.low if card.saving and state not in OVER else None
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
        "chart": price_chart(of_seller(history), low, now) if history and card.price is not None else None,
        "description": markdown.to_html(content.description),
    }


@dataclass(frozen=True)
class Chart:
    """What the page needs: `line` and `area` are paths, `words` say what is to be seen, rows are newest first.

    Where the last price is a saving, `low` is what it compares with, drawn by `low_line`; `looked_back` is the area of
    the 30 days before it.
    """

    line: str
    area: str
    low: Decimal | None
    low_line: str
    looked_back: str
    words: str
    highest: Decimal
    lowest: Decimal
    first: datetime
    middle: datetime
    rows: list[Price]

    width, height = WIDTH, HEIGHT


def price_chart(prices: Sequence[Price], low: Decimal | None, now: datetime) -> Chart | None:
    """Return the chart of a seller's prices, oldest first, up to now; None if there was one price only.

    `low` is the lowest price of the 30 days before the last one, if that is a saving.
    """
    if len(prices) == 1:
        return None
    amounts = [one.price for one in prices] + ([low] if low else [])
    lowest, highest = min(amounts), max(amounts)
    first, last = prices[0].since, prices[-1].since
    seconds = max((now - first).total_seconds(), 1.0)

    def across(when: datetime) -> int:
        return max(round((when - first).total_seconds() / seconds * WIDTH), 0)

    def down(price: Decimal) -> int:
        return EDGE + round(float((highest - price) / (highest - lowest)) * (HEIGHT - 2 * EDGE))

    steps = [(across(one.since), down(one.price)) for one in prices]
    line = f"M0 {steps[0][1]}" + "".join(f"H{x}V{y}" for x, y in steps[1:]) + f"H{WIDTH}"
    return Chart(
        line=line,
        area=f"{line}V{HEIGHT}H0Z",
        low=low,
        low_line=f"M{across(last)} {down(low)}H{WIDTH}" if low else "",
        looked_back=f"M{across(last - LOOKED_BACK)} 0H{across(last)}V{HEIGHT}H{across(last - LOOKED_BACK)}Z",
        words=_words(prices, lowest, highest),
        highest=highest,
        lowest=lowest,
        first=first,
        middle=first + (now - first) / 2,
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


AGENT_CHARACTERS = 256  # longer ones take the patterns of robots too long

_robots = CrawlerDetect()


def note_click(request: HttpRequest, deal_id: str, *, now: datetime) -> None:
    """Note that whoever asks went to the shop of a deal, unless it is a robot, or a browser that looks ahead."""
    agent = request.headers.get("User-Agent", "")[:AGENT_CHARACTERS]
    looks_ahead = "prefetch" in request.headers.get("Sec-Purpose", "")
    if request.method != "GET" or looks_ahead or not agent or _robots.isCrawler(agent):
        return
    day = now.astimezone(UTC).date()
    visitor = f"{day} {deal_id} {network_of(client_address(request))} {agent}"
    hashed = salted_hmac("dealsite.clicks", visitor, algorithm="sha256").digest()[:2].hex()
    activity.note(deal_id, day, {hashed})
