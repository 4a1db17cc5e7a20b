"""What each page takes: milliseconds of the whole request in this process and of the processor, calls, read units."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.test import Client, override_settings
from django.utils import timezone

from dealsite.accounts import requests
from dealsite.data import table
from dealsite.data.catalogue import categories, lists
from dealsite.data.people import sessions, users
from dealsite.data.table.errors import AlreadyExists
from dealsite.data.table.ids import new_ulid
from dealsite.search.brands import live_deals

EDITOR = "benchmark"
WARM_UP = 5
ROUNDS = 8  # of which the one that took the processor least is told: others had to share it
SIGNED_IN = ", signed in"
# How much of the processor a page may take, in gets that find nothing: milliseconds differ from run to run.
BUDGETS = {
    "CMS help": 17,
    "CMS home": 85,
    "CMS list of 50 rows": 80,
    "front page, signed in": 22,
    "category, signed in": 34,
    "deal, signed in": 44,
}


@dataclass(frozen=True)
class Cost:
    """What one page of one content takes."""

    content: str
    deals: int
    page: str
    p50: float
    p95: float
    processor: float  # milliseconds
    gets: float  # that take the processor as long
    calls: int
    units: float


def measure(content: str, times: int) -> list[Cost]:
    """Request each page so many times, past the page cache; who is signed in shares what is read for all."""
    visitor, editor, found = Client(SERVER_NAME="127.0.0.1"), client_of(), addresses()
    costs = []
    for page, path in found.items():
        client = editor if path.startswith("/cms/") else visitor
        costs.append(cost(content, page, path, client, times))
    with override_settings(DEALSITE_PAGE_CACHE_SECONDS=2):
        for page in ("front page", "category", "deal"):
            costs.append(cost(content, f"{page}{SIGNED_IN}", found[page], editor, times))
    return costs


def too_much(costs: list[Cost]) -> list[str]:
    """Return a sentence for each budget that is not held."""
    return [
        f"{one.content}: the {one.page} takes the processor like {one.gets:.1f} gets: {BUDGETS[one.page]} at most."
        for one in costs
        if one.gets > BUDGETS.get(one.page, math.inf)
    ]


def addresses() -> dict[str, str]:
    """Return the pages by their names: the largest category and brand, a deal with a picture if there is one."""
    counted = live_deals(now=timezone.now())
    brand = counted.brands[0].slug if counted else ""
    category = max(categories.all_categories(), key=lambda one: one.deals or 0)
    card = max(lists.front_page(now=timezone.now())[1].cards, key=lambda card: bool(card.picture))
    return {
        "front page": "/",
        "category": f"/categories/{category.slug}/",
        "brand": f"/brands/{brand}/",
        "deal": f"/deals/{card.id}/{card.slug}/",
        "CMS home": "/cms/",
        "CMS help": "/cms/help/",
        "CMS list": "/cms/deals/",
        "CMS list of 50 rows": "/cms/deals/?rows=50",
        "CMS list, live ones of a brand and category": f"/cms/deals/?state=live&brand={brand}&category={card.category}",
        "CMS list, found by words": "/cms/deals/?q=keyboard",
        "CMS list, all to be changed": "/cms/deals/bulk/?all=1&action=category&to_category=toys-hobbies&state=live",
        "CMS deal": f"/cms/deals/{card.id}/",
        "CMS featured": "/cms/featured/front/",
        "CMS trash": "/cms/trash/",
    }


def client_of(roles: Sequence[str] = ("editor",)) -> Client:
    """Return a browser of somebody with some roles who is signed in."""
    now = timezone.now()
    try:
        user = users.create(
            username=EDITOR,
            email=f"{EDITOR}@example.org",
            password="!",  # noqa: S106 - nobody signs in with it
            registration=new_ulid(now),
            now=now,
            roles=roles,
        )
    except AlreadyExists:
        user = users.get(EDITOR)
    key = requests.new_key()
    sessions.start(user, key=key, user_agent="", address="", now=now)
    client = Client(SERVER_NAME="127.0.0.1")
    client.cookies[settings.SESSION_COOKIE_NAME] = f"{EDITOR}:{key}"
    return client


def cost(content: str, page: str, path: str, client: Client, times: int) -> Cost:
    """Request a page so many times."""
    deals = sum(category.deals or 0 for category in categories.all_categories())
    taken = []
    for n in range(WARM_UP + times):
        started = time.perf_counter()
        response = client.get(path)
        if n >= WARM_UP:
            taken.append((time.perf_counter() - started) * 1000)
        if response.status_code != 200:
            raise SystemExit(f"{path} answers {response.status_code}.")
    meter = response.wsgi_request.meter  # type: ignore[attr-defined]
    cuts = statistics.quantiles(taken, n=20)
    processor = _processor_ms(lambda: client.get(path), 8)
    gets = processor / _processor_ms(lambda: table.get(("benchmark", "nothing")), 40)
    p50, p95 = statistics.median(taken), cuts[18]
    return Cost(content, deals, page, p50, p95, processor, gets, meter.calls, meter.read_units)


def _processor_ms(work: Callable[[], object], times: int) -> float:
    """Return the milliseconds of processor that something takes this process."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(times):
            work()
        rounds.append((time.process_time() - began) / times * 1000)
    return min(rounds)
