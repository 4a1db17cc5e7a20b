"""Who went to the shop of a deal: noted in memory, and counted in the table four times a minute (see `heartbeat`)."""

import threading
from datetime import UTC, date, datetime

from crawlerdetect import CrawlerDetect
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from dealsite.accounts.requests import client_address, network_of
from dealsite.data.catalogue import clicks
from dealsite.data.table.errors import Conflict

AGENT_CHARACTERS = 256  # longer ones take the patterns of robots too long
MOST = 10_000  # visitors that are noted; more than so many in a quarter of a minute are none

_robots = CrawlerDetect()
_noted: dict[tuple[str, date], set[str]] = {}
_lock = threading.Lock()


def note(request: HttpRequest, deal_id: str, *, now: datetime) -> None:
    """Note that whoever asks went to the shop of a deal, unless it is a robot, or a browser that looks ahead."""
    agent = request.headers.get("User-Agent", "")[:AGENT_CHARACTERS]
    looks_ahead = "prefetch" in request.headers.get("Sec-Purpose", "")
    if request.method != "GET" or looks_ahead or not agent or _robots.isCrawler(agent):
        return
    day = now.astimezone(UTC).date()
    visitor = f"{day} {deal_id} {network_of(client_address(request))} {agent}"
    hashed = salted_hmac("dealsite.clicks", visitor, algorithm="sha256").digest()[:2].hex()
    with _lock:
        if sum(map(len, _noted.values())) < MOST:
            _noted.setdefault((deal_id, day), set()).add(hashed)


def flush() -> None:
    """Count in the table what was noted; what it cannot take now stays noted. 1 update for each deal."""
    with _lock:
        waiting = list(_noted)
    for place in waiting:
        with _lock:
            visitors = _noted.pop(place)
        try:
            clicks.count(*place, visitors)
        except Conflict:
            continue  # the day is closed
        except Exception:
            with _lock:
                _noted.setdefault(place, set()).update(visitors)
            raise
