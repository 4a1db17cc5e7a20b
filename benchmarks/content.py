"""The contents that pages are measured with: the demo, 2,000 deals, 41,000 deals."""

from __future__ import annotations

import csv
import gzip
import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.core.management import call_command

FOLDER_VARIABLE = "DEALSITE_BENCH_DATA"
FILES = {"deals_2000.csv": 2_000, "deals.csv.gz": 41_000}
CATEGORIES = ("computers-components", "home-furniture", "toys-hobbies", "grocery-household")
COLUMNS = (
    *("title", "brand", "category", "price", "was_price"),
    *("url", "image_url", "description", "published_at", "expires_at"),
)


def folder(root: Path, named: Path | None) -> Path:
    """Return where the files of deals are looked for."""
    return named or Path(os.environ.get(FOLDER_VARIABLE) or root.parent / "shared" / "data")


def contents(root: Path, named: Path | None) -> dict[str, Callable[[], None]]:
    """Return what to measure with: a name for the table of results, and how to load it."""
    found: dict[str, Callable[[], None]] = {"demo": _demo}
    for name, rows in FILES.items():
        path = folder(root, named) / name
        if path.is_file():
            found[name] = importing(path)
        else:
            print(f"{path} is not there: {rows:,} generated deals take its place.")
            found[f"{rows:,} generated deals"] = _generate(rows)
    return found


def importing(path: Path) -> Callable[[], None]:
    """Return what imports a file of deals."""

    def load() -> None:
        call_command("import_deals", str(path), stdout=_Quiet())

    return load


def _demo() -> None:
    call_command("load_demo", yes=True, stdout=_Quiet())


def _generate(rows: int) -> Callable[[], None]:
    def load() -> None:
        with tempfile.TemporaryDirectory(prefix="dealsite-benchmark-") as spare:
            path = Path(spare) / "deals.csv.gz"
            with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
                write_rows(file, rows)
            importing(path)()

    return load


def write_rows(file, rows: int) -> None:
    """Write deals of the last 180 days, the same ones each time but for their days."""
    now = datetime.now(UTC).replace(microsecond=0)
    table = csv.writer(file)
    table.writerow(COLUMNS)
    for n in range(rows):
        published = now - timedelta(days=180) * n / rows
        table.writerow(
            [
                f"Generated deal number {n} with a title of usual length",
                f"Maker {n % 97}",
                CATEGORIES[n % len(CATEGORIES)],
                f"{10 + n % 500}.99",
                f"{20 + n % 500}.99" if n % 3 else "",
                f"https://shop.example/{n}",
                "",
                "Sturdy, quiet and light. " * (1 + n % 8),
                published.strftime("%Y-%m-%dT%H:%M:%SZ"),
                (published + timedelta(days=14)).strftime("%Y-%m-%dT%H:%M:%SZ") if n % 4 else "",
            ]
        )


class _Quiet:
    """Takes a command's words: results alone are printed."""

    def write(self, *_: object, **__: object) -> None:
        return

    def flush(self) -> None:
        return

    def isatty(self) -> bool:
        return False
