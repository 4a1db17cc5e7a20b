"""What each page takes: milliseconds of the whole request in this process, calls and read units."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from django.conf import settings
from django.test import Client
from django.utils import timezone

from dealsite.accounts import requests
from dealsite.data.catalogue import brands, categories, lists
from dealsite.data.people import sessions, users
from dealsite.data.table.errors import AlreadyExists
from dealsite.data.table.ids import new_ulid

EDITOR = "benchmark"
WARM_UP = 5


@dataclass(frozen=True)
class Cost:
    """What one page of one content takes."""

    content: str
    deals: int
    page: str
    p50: float
    p95: float
    calls: int
    units: float


def measure(content: str, times: int) -> list[Cost]:
    """Request each page so many times, past the page cache."""
    deals = sum(category.deals or 0 for category in categories.all_categories())
    visitor, editor = Client(SERVER_NAME="127.0.0.1"), editor_client()
    return [
        _cost(content, deals, page, path, editor if path.startswith("/cms/") else visitor, times)
        for page, path in addresses().items()
    ]


def addresses() -> dict[str, str]:
    """Return the pages by their names: the largest category and brand, a deal with a picture if there is one."""
    counts = brands.counts(brand.slug for brand in brands.all_brands())
    brand = max(counts, key=lambda slug: (counts[slug].deals, slug))
    category = max(categories.all_categories(), key=lambda one: one.deals or 0)
    card = max(lists.front_page(now=timezone.now())[1].cards, key=lambda card: bool(card.picture))
    return {
        "front page": "/",
        "category": f"/categories/{category.slug}/",
        "brand": f"/brands/{brand}/",
        "deal": f"/deals/{card.id}/{card.slug}/",
        "CMS home": "/cms/",
        "CMS list": "/cms/deals/",
        "CMS list, live ones of a brand and category": f"/cms/deals/?state=live&brand={brand}&category={card.category}",
        "CMS list, found by words": "/cms/deals/?q=keyboard",
        "CMS list, all to be changed": "/cms/deals/bulk/?all=1&action=category&to_category=toys-hobbies&state=live",
        "CMS deal": f"/cms/deals/{card.id}/",
        "CMS featured": "/cms/featured/front/",
        "CMS trash": "/cms/trash/",
    }


def editor_client() -> Client:
    """Return a browser of an editor who is signed in."""
    now = timezone.now()
    try:
        user = users.create(
            username=EDITOR,
            email=f"{EDITOR}@example.org",
            password="!",  # noqa: S106 - nobody signs in with it
            registration=new_ulid(now),
            now=now,
            roles=["editor"],
        )
    except AlreadyExists:
        user = users.get(EDITOR)
    key = requests.new_key()
    sessions.start(user, key=key, user_agent="", address="", now=now)
    client = Client(SERVER_NAME="127.0.0.1")
    client.cookies[settings.SESSION_COOKIE_NAME] = f"{EDITOR}:{key}"
    return client


def _cost(content: str, deals: int, page: str, path: str, client: Client, times: int) -> Cost:
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
    return Cost(content, deals, page, statistics.median(taken), cuts[18], meter.calls, meter.read_units)
