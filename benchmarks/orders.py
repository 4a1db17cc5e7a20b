"""Orders: what reading thousands of them costs, how long their pages take, how many are placed a second."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = "orders.jsonl.gz"
GENERATED = 400  # orders, where the file is missing
CROWDS = (1, 8, 32)
CHECKOUTS = 320  # by each crowd
LINES = 3
TIMES = 60


@dataclass(frozen=True, slots=True)
class Reading:
    """What one question or page takes, in milliseconds, calls and read units."""

    name: str
    p50: float
    p95: float
    calls: int
    units: float


@dataclass(frozen=True, slots=True)
class Results:
    """`checkouts`: shoppers at once -> orders placed a second."""

    name: str
    orders: int
    loaded_a_second: float
    questions: list[Reading]
    pages: list[Reading]
    checkouts: dict[int, float]


def measure(folder: Path, named: Path | None) -> Results:
    """Load orders into an engine of their own and measure."""
    from django.conf import settings

    from dealsite.data import table
    from dealsite.data.catalogue import buckets
    from dealsite.data.catalogue.display_names import category_names
    from dealsite.data.table import schema
    from dealsite.engine.server import Engine

    with Engine(folder) as engine:
        endpoint_url = engine.url
        settings.DYNAMODB_ENDPOINT_URL = endpoint_url
        table.be_patient()  # 32 shoppers at once may wait longer than a page would
        buckets.forget()
        category_names.forget()
        schema.create_table()
        path = _file(folder, named)
        print(f"Loading {path.name} ...", flush=True)
        count, rate = _load(path)
        print("Measuring orders ...", flush=True)
        busiest, order_id = _busiest(path)
        results = Results(
            path.name, count, rate, _questions(busiest, order_id), _pages(busiest, order_id), _checkouts()
        )
        table.reset()
    return results


def _file(folder: Path, named: Path | None) -> Path:
    path = (named or Path(os.environ.get("DEALSITE_BENCH_DATA") or ROOT.parent / "shared" / "data")) / FILE
    if path.is_file():
        return path
    print(f"{path} is not there: {GENERATED:,} generated orders take its place.")
    path = folder / "generated-orders.jsonl"
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(days=60)
    with path.open("w", encoding="utf-8") as file:
        for number in range(GENERATED):
            for line in range(1 + number * 7 % 40):
                row = {
                    "user_id": f"shopper{number % 97}",
                    "order_id": str(number),
                    "ts": (start + timedelta(hours=number)).isoformat(),
                    "sku": f"S{(number * 13 + line) % 900}",
                    "title": f"PRODUCT {(number * 13 + line) % 900}",
                    "qty": 1 + line % 6,
                    "unit_price": f"{1 + (number * 13 + line) % 900 % 40}.95",
                    "country": "Germany",
                }
                file.write(f"{json.dumps(row)}\n")
    return path


def _load(path: Path) -> tuple[int, float]:
    from benchmarks import placing as orders

    contents = orders.survey(path)
    orders.publish_products(contents)
    started, placed = time.perf_counter(), 0

    def advance(step: orders.Step) -> None:
        nonlocal placed
        placed += step.placed

    orders.load(path, contents, processes=os.cpu_count() or 1, advance=advance)
    return placed, placed / (time.perf_counter() - started)


def _busiest(path: Path) -> tuple[str, str]:
    """Return the user with the most orders, and the id of one of their orders with as many lines as one can have."""
    from benchmarks.orders_file import read

    counts: Counter[str] = Counter()
    largest: dict[str, tuple[int, str]] = {}
    for order in read(path):
        parts = order.parts()
        counts[order.username] += len(parts)
        largest[order.username] = max(largest.get(order.username, (0, "")), (len(parts[0]), order.part_id(0)))
    username = max(counts, key=lambda name: (counts[name], name))
    return username, largest[username][1]


def _questions(username: str, order_id: str) -> list[Reading]:
    from dealsite.data import table
    from dealsite.data.commerce import orders

    middle = orders.waiting("PLACED").after
    asked: dict[str, Callable[[], object]] = {
        "orders of a user": lambda: orders.of_user(username),
        "orders of a user by status": lambda: orders.of_user(username, status="PLACED"),
        "an order and its lines": lambda: orders.get_with_lines(order_id),
        "an order and its lines, right at once": lambda: orders.lines_of(orders.get(username, order_id)),
        "open orders of all users": lambda: orders.waiting("PLACED"),
        "open orders, from the middle": lambda: orders.waiting("PLACED", after=middle),
    }
    found = []
    for name, ask in asked.items():
        with table.metered() as meter:
            ask()
        found.append(_reading(name, ask, meter.calls, meter.read_units))
    return found


def _reading(name: str, act: Callable[[], object], calls: int, units: float) -> Reading:
    taken = []
    for _ in range(TIMES):
        started = time.perf_counter()
        act()
        taken.append((time.perf_counter() - started) * 1000)
    return Reading(name, statistics.median(taken), statistics.quantiles(taken, n=20)[18], calls, units)


def _pages(username: str, order_id: str) -> list[Reading]:
    from django.conf import settings
    from django.test import Client

    from dealsite.accounts import requests
    from dealsite.data.commerce import cart_changes, carts, orders
    from dealsite.data.people import sessions, users
    from dealsite.data.table.ids import new_ulid

    now = datetime.now(UTC)
    lines = orders.get_with_lines(order_id)[1]
    wanted = [cart_changes.CartAddition(line.deal, 1, new_ulid(now)) for line in lines]
    cart_changes.add_many(carts.user_cart(username), wanted, now=now)
    users.give_role(username, "back office", by="bench", now=now)
    client = Client(SERVER_NAME="127.0.0.1")
    key = requests.new_key()
    sessions.start(users.get(username), key=key, user_agent="", address="", now=now)
    client.cookies[settings.SESSION_COOKIE_NAME] = f"{username}:{key}"
    found = []
    for name, address in (
        (f"cart of {len(lines)} lines", "/cart/"),
        ("checkout", "/checkout/"),
        ("a shopper's orders", "/account/orders/"),
        (f"an order of {len(lines)} lines", f"/account/orders/{order_id}/"),
        ("back office: orders to ship", "/cms/orders/"),
    ):
        answer: Any = client.get(address)
        if answer.status_code != 200:
            raise SystemExit(f"{address} answers {answer.status_code}.")
        meter = answer.wsgi_request.meter
        found.append(_reading(name, lambda where=address: client.get(where), meter.calls, meter.read_units))  # type: ignore[misc]
    return found


def _checkouts() -> dict[int, float]:
    """Have crowds of shoppers fill their carts and order; each shopper orders one time after the other."""
    from dealsite.data.catalogue import lists
    from dealsite.data.table.ids import new_ulid

    now = datetime.now(UTC)
    deals = [card.id for card in lists.front_page(now=now)[1].cards][: LINES * 4]
    rates = {}
    for crowd in CROWDS:
        names = [f"crowd{crowd}-{number}" for number in range(crowd)]
        for name in names:
            _make_user(name, now)

        def shop(name: str, times: int = CHECKOUTS // crowd) -> None:
            for number in range(times):
                _buy(name, [deals[(number * LINES + n) % len(deals)] for n in range(LINES)], new_ulid)

        started = time.perf_counter()
        with ThreadPoolExecutor(crowd) as threads:
            for one in [threads.submit(copy_context().run, shop, name) for name in names]:
                one.result()
        rates[crowd] = CHECKOUTS // crowd * crowd / (time.perf_counter() - started)
    return rates


def _make_user(name: str, now: datetime) -> None:
    from dealsite.data.people import users
    from dealsite.data.table.ids import new_ulid

    users.create(
        username=name,
        email=f"{name}@example.org",
        password="!",  # noqa: S106 - nobody signs in with it
        registration=new_ulid(now),
        now=now,
    )


def _buy(name: str, of_deals: list[str], new_id: Callable[[datetime], str]) -> None:
    from dealsite.data.commerce import cart_changes, carts, order_changes
    from dealsite.data.commerce.addresses import Address

    now, owner = datetime.now(UTC), carts.user_cart(name)
    cart_changes.add_many(
        owner, [cart_changes.CartAddition(deal, 1, new_id(now)) for deal in of_deals], now=now
    )
    head, lines = carts.read_active(owner, now=now)
    form = order_changes.Purchase(
        order_id=new_id(now),
        username=name,
        name=name,
        email=f"{name}@example.org",
        version=head.version,
        total=sum((line.total for line in lines), Decimal("0.00")),
        address=Address(name, "1 High Street", "", "10115", "Berlin", "Germany"),
    )
    order_changes.place(form, now=now)


def tables_of(results: Results) -> str:
    """Return the results as Markdown tables."""
    lines = [
        f"| with {results.orders:,} orders of {results.name} | ms (p50) | ms (p95) | calls | read units |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {one.name} | {one.p50:.1f} | {one.p95:.1f} | {one.calls} | {one.units:g} |"
        for one in (*results.questions, *results.pages)
    ]
    lines += ["", "| shoppers at once | carts filled and ordered a second |", "|---:|---:|"]
    lines += [f"| {crowd} | {rate:,.0f} |" for crowd, rate in results.checkouts.items()]
    lines += [f"| load_orders, {os.cpu_count()} processes | {results.loaded_a_second:,.0f} |"]
    return "\n".join(lines)
