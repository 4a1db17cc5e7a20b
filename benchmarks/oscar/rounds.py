"""Rounds of requests in the process of one site: each line of stdin names one as JSON, one of stdout answers it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import IO

from django.test import Client

ROWS = 25  # of a list
WARM_UP = 3

Counted = Callable[[Client, str], int]
Prepare = Callable[[str], None]


def answer(pages: dict[str, str], card: bytes, counted: Counted, prepare: Prepare, to: IO[str]) -> None:
    """Say that the pages are ready, once each list has its number of cards; then take rounds until stdin ends.

    Before each request the site is prepared for the way that a round names; `counted` asks for a page and counts
    what it asks the database.
    """
    client = Client(SERVER_NAME="127.0.0.1")
    for page, path in pages.items():
        cards = client.get(path).content.count(card)
        if page != "product" and cards != ROWS:
            raise SystemExit(f"{path} shows {cards} of {ROWS} rows.")
    _say(to, "ready")
    for line in sys.stdin:
        asked = json.loads(line)
        path, way = pages[asked["page"]], asked["way"]
        for _ in range(WARM_UP):
            _timed(client, path, way, prepare)
        began = time.process_time()
        taken = [_timed(client, path, way, prepare) for _ in range(asked["times"])]
        processor = (time.process_time() - began) / asked["times"] * 1000
        _say(to, {"taken": taken, "processor": processor, "asked": counted(client, path)})


def _timed(client: Client, path: str, way: str, prepare: Prepare) -> float:
    """Return the milliseconds of a request by somebody who was never here."""
    client.cookies.clear()
    prepare(way)
    began = time.perf_counter()
    response = client.get(path)
    taken = (time.perf_counter() - began) * 1000
    if response.status_code != 200:
        raise SystemExit(f"{path} answers {response.status_code}.")
    return taken


def _say(to: IO[str], what: object) -> None:
    print(json.dumps(what), file=to, flush=True)
