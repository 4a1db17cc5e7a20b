"""The lines that each room may have, as docs/architecture.md says them; the budget of a room that shrinks goes down."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/architecture.md"
ROW = re.compile(r"^\| `([\w/]+)` \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)
MOST, FEWEST = 500, 60  # lines of a module


def lines() -> Iterator[str]:
    """Yield the table of budgets: none far above its room, and a room that grew gets what others have left."""
    yield "| room | lines at most | modules under 60 lines at most |"
    yield "|---|---:|---:|"
    budgets, found = budgets_of((ROOT / PAGE).read_text("utf-8")), rooms()
    most, small = {}, {}
    for room, modules in found.items():
        now = ((sum(modules) + 50 + 99) // 100 * 100, sum(count < FEWEST for count in modules))
        most[room], small[room] = map(min, budgets.get(room, now), now)

    def left(room: str) -> int:
        return most[room] - sum(found[room])

    for room in most:
        while left(room) < 0 < left(giver := max(most, key=left)):
            moved = min(-left(room), left(giver))
            most[room], most[giver] = most[room] + moved, most[giver] - moved
    for room in found:
        yield f"| `{room}` | {most[room]:,} | {small[room]} |"


def problems() -> Iterator[str]:
    """Say which rooms and modules are too large, and whether all budgets together were raised without a reason."""
    budgets = budgets_of((ROOT / PAGE).read_text("utf-8"))
    for room, modules in rooms().items():
        most, small = budgets.get(room, (0, 0))
        if sum(modules) > most:
            yield f"{room} has {sum(modules):,} lines, and may have {most:,}: {PAGE} says what to do"
        if (found := sum(count < FEWEST for count in modules)) > small:
            yield f"{room} has {found} modules of less than {FEWEST} lines, and may have {small}: merge some"
    for path in product():
        if (count := len(path.read_text("utf-8").splitlines())) > MOST:
            yield f"{path.relative_to(ROOT)} has {count} lines, and may have {MOST}"
    before = budgets_of(_before())
    if before and _total(budgets) > _total(before) and not _decided():
        yield f"{PAGE}: all budgets together were raised; delete as much elsewhere, or say why in docs/decisions"


def rooms() -> dict[str, list[int]]:
    """Return the lines of each module, by room."""
    found: dict[str, list[int]] = {}
    for path in product():
        *folders, _ = path.relative_to(ROOT).parts
        room = "/".join(folders[: 3 if folders[:2] == ["dealsite", "data"] else 2])
        found.setdefault(room, []).append(len(path.read_text("utf-8").splitlines()))
    return found


def product() -> list[Path]:
    return sorted(path for room in ("cms", "dealsite", "shopping") for path in (ROOT / room).rglob("*.py"))


def budgets_of(text: str) -> dict[str, tuple[int, int]]:
    """Return the lines and small modules that rooms may have, as a page says them."""
    return {room: (int(most.replace(",", "")), int(small)) for room, most, small in ROW.findall(text)}


def _total(budgets: dict[str, tuple[int, int]]) -> int:
    return sum(most for most, _ in budgets.values())


def _before() -> str:
    """Return the page before this change: of the last commit, or of the one before it; "" without git."""
    last, now = _git("show", f"HEAD:{PAGE}"), (ROOT / PAGE).read_text("utf-8")
    return last if last != now else _git("show", f"HEAD~1:{PAGE}")


def _decided() -> bool:
    changed = _git("status", "--porcelain", ":/docs/decisions") or _git(
        "diff", "--name-only", "HEAD~1", ":/docs/decisions"
    )
    return bool(changed)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""
