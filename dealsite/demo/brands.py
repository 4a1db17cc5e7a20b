"""The demo's brands, all invented, and what it says of the categories."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent / "brands.csv"


@dataclass(frozen=True)
class DemoBrand:
    """A brand and its mark: initials on a figure (0 to 7) in colours around `hue` (0 to 1)."""

    name: str
    initials: str
    figure: int
    hue: float
    description: str


def _read() -> tuple[DemoBrand, ...]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return tuple(
            DemoBrand(row["name"], row["initials"], int(row["figure"]), float(row["hue"]), row["description"])
            for row in csv.DictReader(file)
        )


BRANDS = _read()
CATEGORY_TEXTS = {
    "computers-components": "Laptops, tablets and the parts inside them, from memory to power supplies.",
    "peripherals-networking": "Mice, keyboards, printers, and everything that brings the network into every room.",
    "audio-tv-photo": "Headphones, televisions, cameras and instruments: things to listen with and look through.",
    "office-software": "Pens, paper, furniture for files, and software that does the dull part.",
    "home-furniture": "Furniture, light, plants and kitchen things for rooms that are lived in.",
    "grocery-household": "Coffee, cheese, fruit and soap: the good everyday, for less than every day.",
    "fashion-beauty": "Shoes, clothes, bags, watches and what stands on the shelf in the bathroom.",
    "toys-hobbies": "Games, kits, instruments, bicycles and tents for all ages.",
}
CATEGORY_OBJECTS = {
    "computers-components": "1f4bb",
    "peripherals-networking": "1f5b1-fe0f",
    "audio-tv-photo": "1f3a7",
    "office-software": "1f58b-fe0f",
    "home-furniture": "1f6cb-fe0f",
    "grocery-household": "1f34e",
    "fashion-beauty": "1f45f",
    "toys-hobbies": "1f9f8",
}
