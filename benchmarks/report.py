"""The results as tables, on the screen and in docs/performance.md; and whether costs grow."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from benchmarks.pages import BUDGETS, Cost

FULL = 1_000
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def tables(costs: list[Cost], served: dict[str, tuple[float, float]]) -> str:
    """Return the results as two Markdown tables."""
    lines = [
        "| content | deals | page | ms (p50) | ms (p95) | processor, ms | in gets | budget | calls | read units |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {c.content} | {c.deals:,} | {c.page} | {c.p50:.1f} | {c.p95:.1f} | {c.processor:.1f} | {c.gets:.1f} "
        f"| {BUDGETS.get(c.page, '')} | {c.calls} | {c.units:g} |"
        for c in costs
    ]
    lines += ["", "| content | front pages a second | without the page cache |", "|---|---:|---:|"]
    lines += [f"| {content} | {cached:,.0f} | {fresh:,.0f} |" for content, (cached, fresh) in served.items()]
    return "\n".join(lines)


def two_columns(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return what was measured, and how much it is, as a Markdown table."""
    return "\n".join([f"| {title} | |", "|---|---:|", *(f"| {what} | {value} |" for what, value in rows)])


def rewrite(path: Path, results: str) -> None:
    """Put new results between the markers of a page."""
    text = path.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{results}\n\n{END}{after}", "utf-8")


def growth(costs: list[Cost]) -> list[str]:
    """Return a sentence for each page that costs more calls or clearly more units where there are more deals.

    Fewer than FULL do not fill each list's first page, which then is read by fewer calls.
    """
    found = []
    for page in dict.fromkeys(cost.page for cost in costs):
        full = (cost for cost in costs if cost.page == page and cost.deals >= FULL)
        by_size = sorted(full, key=lambda cost: cost.deals)
        for small, large in pairwise(by_size):
            if large.calls > small.calls:
                found.append(
                    f"The {page} takes {large.calls} calls with {large.deals:,} deals, and {small.calls} "
                    f"with {small.deals:,}."
                )
            # Titles and texts differ between contents, and so does what 25 cards weigh.
            if large.units > small.units * 1.5 + 2:
                found.append(
                    f"The {page} reads {large.units:g} units with {large.deals:,} deals, and {small.units:g} "
                    f"with {small.deals:,}."
                )
    return found
