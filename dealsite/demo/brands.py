"""The demo's brands, all invented, and what it says of the categories."""

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class DemoBrand:
    """A brand and its mark: initials on a figure (0 to 7) in colours around `hue` (0 to 1)."""

    name: str
    initials: str
    figure: int
    hue: float
    description: str


def _rows(file_name: str) -> list[dict[str, str]]:
    with (Path(__file__).parent / file_name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


BRANDS = tuple(
    DemoBrand(row["name"], row["initials"], int(row["figure"]), float(row["hue"]), row["description"])
    for row in _rows("brands.csv")
)
CATEGORY_TEXTS = {row["slug"]: row["description"] for row in _rows("categories.csv")}
CATEGORY_OBJECTS = {row["slug"]: row["object"] for row in _rows("categories.csv")}
