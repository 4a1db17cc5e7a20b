"""Draws the demo's logos: a brand's initials on a simple figure."""

import colorsys
import math
from pathlib import Path

from django.conf import settings
from PIL import Image, ImageDraw, ImageFont

FONT = Path("node_modules/@fontsource-variable/figtree/files/figtree-latin-wght-normal.woff2")
LOGO = 480


def logo(initials: str, mark: int, hue: float) -> Image.Image:
    """Return a brand's mark: its initials on a simple figure, LOGO x LOGO."""
    deep = _hsl(hue, 0.42, 0.34)
    mid = _hsl(hue + 0.03, 0.45, 0.55)
    pale = _hsl(hue + 0.06, 0.55, 0.92)
    size = LOGO * 2
    image = Image.new("RGB", (size, size), pale)
    d = ImageDraw.Draw(image)
    c = size // 2
    ink = pale
    if mark == 0:  # disc
        d.ellipse((70, 70, size - 70, size - 70), fill=deep)
    elif mark == 1:  # two discs that overlap
        d.ellipse((60, 190, 640, 770), fill=mid)
        d.ellipse((320, 190, 900, 770), fill=deep)
    elif mark == 2:  # leaf
        d.rounded_rectangle(
            (110, 110, size - 110, size - 110), 370, fill=deep, corners=(True, False, True, False)
        )
    elif mark == 3:  # squircle with a horizon
        d.rounded_rectangle((100, 100, size - 100, size - 100), 190, fill=deep)
        d.rounded_rectangle(
            (100, 640, size - 100, size - 100), 190, fill=mid, corners=(False, False, True, True)
        )
    elif mark == 4:  # ring
        d.ellipse((70, 70, size - 70, size - 70), fill=mid)
        d.ellipse((130, 130, size - 130, size - 130), fill=pale)
        ink = deep
    elif mark == 5:  # diamond
        d.polygon([(c, 40), (size - 40, c), (c, size - 40), (40, c)], fill=deep)
    elif mark == 6:  # arch
        d.ellipse((150, 90, size - 150, 750), fill=deep)
        d.rectangle((150, 420, size - 150, size - 100), fill=deep)
    else:  # hexagon
        points = [
            (c + 430 * math.cos(math.radians(60 * n + 30)), c + 430 * math.sin(math.radians(60 * n + 30)))
            for n in range(6)
        ]
        d.polygon(points, fill=deep)
    font = ImageFont.truetype(str(settings.BASE_DIR / FONT), 330 if len(initials) == 2 else 420)
    font.set_variation_by_axes([700])
    d.text((c, c), initials, fill=ink, font=font, anchor="mm")
    return image.resize((LOGO, LOGO), Image.Resampling.LANCZOS)


def _hsl(hue: float, saturation: float, lightness: float) -> tuple[int, int, int]:
    r, g, b = colorsys.hls_to_rgb(hue % 1.0, lightness, saturation)
    return round(r * 255), round(g * 255), round(b * 255)
