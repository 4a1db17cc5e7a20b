"""What the demo knows of one kind of product."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """A kind of product: how deals of it are named, priced, described and drawn.

    `objects` are files of the installed icon set without their ending, the first one the product itself.
    `tints` says whether it comes in other colours.
    """

    noun: str
    objects: tuple[str, ...]
    alt: str
    low: int
    high: int
    models: tuple[str, ...]
    variants: tuple[str, ...]
    pitch: str
    points: tuple[str, ...]
    tints: bool = False
