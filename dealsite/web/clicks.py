"""Who went to the shop of a deal, as far as one may know: no robots, and nobody by name."""

from datetime import UTC, datetime

from crawlerdetect import CrawlerDetect
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from dealsite.accounts.requests import client_address, network_of
from dealsite.data.catalogue import activity

AGENT_CHARACTERS = 256  # longer ones take the patterns of robots too long

_robots = CrawlerDetect()


def note(request: HttpRequest, deal_id: str, *, now: datetime) -> None:
    """Note that whoever asks went to the shop of a deal, unless it is a robot, or a browser that looks ahead."""
    agent = request.headers.get("User-Agent", "")[:AGENT_CHARACTERS]
    looks_ahead = "prefetch" in request.headers.get("Sec-Purpose", "")
    if request.method != "GET" or looks_ahead or not agent or _robots.isCrawler(agent):
        return
    day = now.astimezone(UTC).date()
    visitor = f"{day} {deal_id} {network_of(client_address(request))} {agent}"
    hashed = salted_hmac("dealsite.clicks", visitor, algorithm="sha256").digest()[:2].hex()
    activity.note(deal_id, day, {hashed})
