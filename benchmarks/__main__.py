"""python -m benchmarks [FOLDER] [--times N] [--seconds S]: measure, print, and write docs/performance.md anew."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="dealsite-benchmark-") as var:
        begin(Path(var))
        return _run(options, Path(var))


def begin(var: Path) -> None:
    """Make Django ready with a data folder of its own, and no other table than that of an engine to come."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "DYNAMODB_"))]:
        del os.environ[name]
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "dealsite.settings",
        "DEALSITE_VAR": str(var),
        "DYNAMODB_ENDPOINT_URL": "http://127.0.0.1:9",  # each content has an engine of its own
        "DEALSITE_TABLE": "benchmark",
        "DEALSITE_PAGE_CACHE_SECONDS": "0",
        "DEALSITE_LOG_LEVEL": "ERROR",
    }
    import django

    django.setup()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what pages cost.")
    parser.add_argument("folder", nargs="?", type=Path, help="where deals_2000.csv and deals.csv.gz are")
    parser.add_argument("--times", type=int, default=200, help="requests of each page")
    parser.add_argument("--seconds", type=float, default=5, help="of asking for the served front page")
    parser.add_argument("--users", type=int, default=100_000, help="who get a message")
    parser.add_argument(
        "--only",
        action="append",
        help="a content, ask, check, client, fan-out, orders, payments, search, stream or weights; may be repeated",
    )
    return parser.parse_args()


def _run(options: argparse.Namespace, var: Path) -> int:
    from benchmarks import (
        asking,
        content,
        fan_out,
        orders,
        pages,
        payments,
        report,
        search,
        serving,
        streaming,
        table_client,
        weights,
        whole_table,
    )

    costs: list[pages.Cost] = []
    served: dict[str, tuple[float, float]] = {}
    contents = content.contents(ROOT, options.folder)
    weighed: list[weights.Weight] = []
    shown: list[weights.Showing] = []
    for number, (name, load) in enumerate(contents.items()):
        costing = not options.only or name in options.only
        weighing = number < weights.CONTENTS and (not options.only or "weights" in options.only)
        if not costing and not weighing:
            continue
        with loaded(name, load, var / f"engine-{number}") as environ:
            if costing:
                costs += pages.measure(name, options.times)
                cached = environ | {"DEALSITE_PAGE_CACHE_SECONDS": "2"}
                served[name] = (
                    serving.requests_per_second(cached, options.seconds),
                    serving.requests_per_second(environ, options.seconds),
                )
            if weighing:
                more_weighed, more_shown = weights.measure(name, environ)
                weighed += more_weighed
                shown += more_shown
    results: list[str] = []

    def note(tables: str) -> None:
        print(f"\n{tables}\n", flush=True)
        results.append(tables)

    if costs:
        note(report.tables(costs, served))
    if weighed:
        note(weights.tables_of(weighed, shown))
    slow: list[str] = []
    asks = not options.only or "ask" in options.only
    if asks and (asked := asking.measure(ROOT, options.folder, var / "engine-ask")):
        note(asking.tables_of(asked))
        slow = asking.slow(asked)
    if not options.only or "fan-out" in options.only:
        note(fan_out.table_of(fan_out.measure(var / "engine-fan-out", options.users)))
    if not options.only or "search" in options.only:
        note(search.table_of(search.measure(var / "engine-search", list(contents.values())[-1])))
    if not options.only or "check" in options.only:
        note(whole_table.table_of(whole_table.measure(var / "engine-check", list(contents.values())[-1])))
    if not options.only or "stream" in options.only:
        note(streaming.table_of(streaming.measure(var / "engine-stream")))
    calls: list[table_client.Cost] = []
    if not options.only or "client" in options.only:
        calls = table_client.measure(var / "engine-client")
        note(table_client.table_of(calls))
    if not options.only or "orders" in options.only:
        note(orders.tables_of(orders.measure(var / "engine-orders", options.folder)))
    if not options.only or "payments" in options.only:
        note(payments.table_of(payments.measure(var / "engine-payments")))
    if not options.only:
        report.rewrite(ROOT / "docs" / "performance.md", "\n\n".join(results))
    grown = [
        *report.growth(costs),
        *pages.too_much(costs),
        *slow,
        *weights.too_much(weighed, shown),
        *table_client.too_much(calls),
    ]
    for sentence in grown:
        print(sentence, file=sys.stderr)
    return 1 if grown else 0


@contextlib.contextmanager
def loaded(name: str, load: Callable[[], None], folder: Path) -> Iterator[dict[str, str]]:
    """Load and index a content in an engine of its own; give what a server of it needs in its environment."""
    from django.conf import settings

    from dealsite.data import table
    from dealsite.data.catalogue import buckets
    from dealsite.data.catalogue.display_names import category_names
    from dealsite.data.table import schema
    from dealsite.engine.server import Engine
    from dealsite.search.projection import SearchIndex
    from dealsite.stream import rebuilding

    with Engine(folder) as engine:
        endpoint_url = engine.url
        settings.DYNAMODB_ENDPOINT_URL = endpoint_url
        settings.SEARCH_ROOT = folder / "search"
        table.reset()
        buckets.forget()
        category_names.forget()
        schema.create_table()
        print(f"Loading {name} ...", flush=True)
        started = time.monotonic()
        load()
        rebuilding.rebuild(SearchIndex(), now=datetime.now(UTC))
        print(f"Loaded and indexed in {time.monotonic() - started:.0f} s. Measuring ...", flush=True)
        yield {"DYNAMODB_ENDPOINT_URL": endpoint_url}
        table.reset()


if __name__ == "__main__":
    sys.exit(main())
