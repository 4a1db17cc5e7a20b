"""Colours of the demo's pictures."""

from __future__ import annotations

import colorsys

from PIL import Image, ImageColor

Color = tuple[int, int, int]


def gradient(top: str, bottom: str, size: tuple[int, int]) -> Image.Image:
    """Return a picture of one colour that passes into another, from top to bottom."""
    column = Image.new("RGB", (1, 64))
    for y in range(64):
        column.putpixel((0, y), rgb(mix(top, bottom, y / 63)))
    return column.resize(size, Image.Resampling.BICUBIC)


def mix(a: str, b: str, share: float) -> str:
    """Return a colour between two."""
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in zip(rgb(a), rgb(b), strict=True))


def rgb(color: str) -> Color:
    r, g, b = ImageColor.getrgb(color)[:3]
    return r, g, b


def hsl(hue: float, saturation: float, lightness: float) -> Color:
    r, g, b = colorsys.hls_to_rgb(hue % 1.0, lightness, saturation)
    return round(r * 255), round(g * 255), round(b * 255)


def luminance(color: str) -> float:
    """Return how light a colour looks, 0 to 255."""
    r, g, b = rgb(color)
    return 0.299 * r + 0.587 * g + 0.114 * b
