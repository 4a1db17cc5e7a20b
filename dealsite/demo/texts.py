"""What the demo says of its brands, all invented, of the categories, and of its drawings, as their alt texts."""

import csv
from pathlib import Path


def _texts(file_name: str, key: str) -> dict[str, str]:
    with (Path(__file__).parent / file_name).open(encoding="utf-8", newline="") as file:
        return {row[key]: row["description"] for row in csv.DictReader(file)}


BRAND_TEXTS = _texts("brands.csv", "name")
CATEGORY_TEXTS = _texts("categories.csv", "slug")
DRAWING_TEXTS = _texts("pictures.csv", "name")
