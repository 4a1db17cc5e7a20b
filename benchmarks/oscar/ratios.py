"""What pages of both sites take as tables, and which ratios are not what they should be."""

from __future__ import annotations

from dataclasses import dataclass

WAYS = {"fresh": "Dealsite with nothing kept", "kept": "Dealsite", "cached": "Dealsite's page cache"}
# How many times as long a page has to take oscar, at least.
BUDGETS = {
    "fresh": {"list": 1.5, "category": 1.2, "product": 1.1, "search": 2.0},
    "kept": {"list": 3.4, "category": 2.9, "product": 1.9, "search": 4.4},
    "cached": {"list": 100.0, "category": 80.0, "product": 30.0},
}


@dataclass(frozen=True)
class Taken:
    """What a page takes: milliseconds of the whole request (p50), of the processor, and requests to the database."""

    ms: float
    processor: float
    asked: int


@dataclass(frozen=True)
class Compared:
    """What a page takes on oscar, and on Dealsite in each of the WAYS; no search is in the page cache."""

    page: str
    oscar: Taken
    dealsite: dict[str, Taken]

    def times(self, way: str) -> float:
        return self.oscar.ms / self.dealsite[way].ms


def tables_of(rows: list[Compared]) -> str:
    """Return the comparison as two Markdown tables: milliseconds, and what stands behind them."""
    lines = [
        f"| page | oscar, ms |{''.join(f' {name}, ms | times |' for name in WAYS.values())}",
        f"|---|{'---:|' * 7}",
    ]
    for one in rows:
        cells = [
            f"{one.dealsite[way].ms:.2f} | {one.times(way):.1f}" if way in one.dealsite else " | "
            for way in WAYS
        ]
        lines.append(f"| {one.page} | {one.oscar.ms:.1f} | {' | '.join(cells)} |")
    lines += [
        "",
        "| page | oscar's processor, ms | Dealsite's | times | oscar's queries | Dealsite's calls |",
        f"|---|{'---:|' * 5}",
    ]
    for one in rows:
        oscar, dealsite = one.oscar, one.dealsite["kept"]
        lines.append(
            f"| {one.page} | {oscar.processor:.1f} | {dealsite.processor:.1f} "
            f"| {oscar.processor / dealsite.processor:.1f} | {oscar.asked} | {dealsite.asked} |"
        )
    return "\n".join(lines)


def too_little(rows: list[Compared]) -> list[str]:
    """Return a sentence for each budget that is not held."""
    return [
        f"The {one.page} takes oscar {one.times(way):.1f} times as long as {WAYS[way]}: {least:g} at least."
        for one in rows
        for way in one.dealsite
        if one.times(way) < (least := BUDGETS[way][one.page])
    ]
