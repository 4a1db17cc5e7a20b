"""Draws the demo's pictures: an object of the installed icon set on a calm stage, and categories' emblems."""

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from django.conf import settings
from PIL import Image, ImageChops, ImageColor, ImageDraw, ImageFilter

from dealsite.demo.logos import LOGO

OBJECTS = Path("node_modules/@lobehub/fluent-emoji-3d/assets")
WIDTH, HEIGHT = 960, 720
FLOOR = 0.70  # where the wall ends

Figure = tuple[str, tuple[int, int, int, int]]  # ellipse, rectangle or rounded, and its box


@dataclass(frozen=True)
class Stage:
    """The colours of a wall, a shape on it and the floor."""

    top: str
    bottom: str
    shape: str
    floor: str


STAGES = (
    Stage("#f3e9dc", "#eedcc6", "#f9f3ea", "#e4cfb4"),  # sand
    Stage("#dfe9f5", "#c9daee", "#eff5fb", "#b7cce6"),  # sky
    Stage("#e4efe3", "#cfe3d0", "#f1f8f0", "#bcd6be"),  # sage
    Stage("#f8e1e0", "#f2cecd", "#fdf0ef", "#e8bcbb"),  # rose
    Stage("#e8e3f4", "#d7cfec", "#f4f1fa", "#c6bbe1"),  # lilac
    Stage("#fdeecb", "#f9e0a8", "#fff8e6", "#f0d190"),  # honey
    Stage("#d9eeee", "#c0e1e1", "#ecf8f8", "#aad3d3"),  # lagoon
    Stage("#ece9e6", "#dcd8d3", "#f8f6f4", "#cbc5be"),  # stone
    Stage("#fbe3d2", "#f6cfb5", "#fef2e9", "#ebbd9d"),  # apricot
    Stage("#dde3ee", "#c5cfe0", "#eef1f7", "#b1bdd3"),  # slate
    Stage("#3f4a63", "#323c53", "#4f5b78", "#2a3347"),  # night
    Stage("#2f5550", "#264743", "#3f6963", "#203c39"),  # forest
    Stage("#6a4a5e", "#583c4e", "#7d5b70", "#4a3242"),  # plum
    Stage("#f1d9b8", "#e9c799", "#f9ead3", "#dcb581"),  # caramel
)
# Of each object of a pose: which one, how far right and below it stands, its share of the height, how much of the
# scene's turn it takes, and by how much it leans besides.
POSES = {
    "one": ((0, 0, 0, 1.0, 1, 0),),
    "pair": ((0, 135, -34, 0.72, -1, 0), (0, -70, 8, 0.92, 1, 0)),
    "trio": ((0, -185, -30, 0.62, 0, 8), (0, 185, -30, 0.62, 0, -8), (0, 0, 10, 0.88, 1, 0)),
    "companion": ((0, -62, -4, 0.95, 1, 0), (1, 185, 20, 0.47, 0, 0)),
}
FAR = -10  # what stands higher than that is out of focus


@dataclass(frozen=True)
class Scene:
    """What a picture shows: objects by file name without ending, and how they stand on which stage.

    `shape` is arch, sun, podium, window, waves or plain; `pose` is one, pair, trio or companion.
    """

    objects: tuple[str, ...]
    stage: int
    shape: str
    pose: str
    turn: float = 0.0  # degrees
    tint: float = 0.0  # of the hue circle


def draw(scene: Scene) -> Image.Image:
    """Return the picture of a scene, WIDTH x HEIGHT."""
    stage = STAGES[scene.stage]
    empty, ground = _empty(stage, scene.shape)
    picture = empty.copy()
    _place(picture, scene, ground, dark=_luminance(stage.top) < 110)
    return picture


@lru_cache(maxsize=4)  # pictures are drawn stage by stage
def _empty(stage: Stage, shape: str) -> tuple[Image.Image, int]:
    """Return a stage with nobody on it, and the height at which objects stand."""
    picture = _wall(stage)
    return picture, _shape(picture, shape, stage)


def _wall(stage: Stage) -> Image.Image:
    wall = _gradient(stage.top, stage.bottom, (WIDTH, HEIGHT))
    edge = int(HEIGHT * FLOOR)
    floor = _gradient(stage.floor, _mix(stage.floor, stage.top, 0.35), (WIDTH, HEIGHT - edge))
    wall.paste(floor, (0, edge))
    # A soft light from the upper left.
    light = Image.new("L", (WIDTH // 4, HEIGHT // 4), 0)
    ImageDraw.Draw(light).ellipse((-70, -90, 170, 130), fill=26 if _luminance(stage.top) < 110 else 70)
    light = light.filter(ImageFilter.GaussianBlur(44)).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    wall.paste(Image.new("RGB", wall.size, "white"), mask=light)
    # Where wall and floor meet.
    seam = Image.new("L", (WIDTH, 24), 0)
    for y in range(24):
        seam.paste(int(26 * (1 - y / 24) ** 2), (0, y, WIDTH, y + 1))
    wall.paste(Image.new("RGB", seam.size, _mix(stage.floor, "#20160c", 0.5)), (0, edge), seam)
    return wall


def _shape(picture: Image.Image, shape: str, stage: Stage) -> int:
    """Draw what stands on the wall, and return the height at which objects stand."""
    edge = int(HEIGHT * FLOOR)
    mid = WIDTH // 2
    if shape == "arch":
        round_top = ("ellipse", (mid - 215, 70, mid + 215, 500))
        _fill(picture, stage, round_top, ("rectangle", (mid - 215, 285, mid + 215, edge)))
    elif shape == "sun":
        _fill(picture, stage, ("ellipse", (mid - 260, 60, mid + 260, 580)), below=edge)
    elif shape == "window":
        panes = ((mid - 330, 84, mid - 12, edge - 48), (mid + 12, 84, mid + 330, edge - 48))
        _fill(picture, stage, *(("rounded", pane) for pane in panes), strength=0.8)
    elif shape == "waves":
        for radius, strength in ((400, 0.35), (295, 0.55), (190, 0.8)):
            ring = ("ellipse", (mid - radius, edge - radius, mid + radius, edge + radius))
            _fill(picture, stage, ring, strength=strength, below=edge)
    elif shape == "podium":
        return _podium(picture, stage)
    return edge + 62


def _podium(picture: Image.Image, stage: Stage) -> int:
    mid, top, half, tall, flat = WIDTH // 2, 520, 270, 92, 46
    side = Image.new("RGB", (half * 2, 1))
    light, shade = _mix(stage.shape, stage.floor, 0.25), _mix(stage.floor, "#1a1410", 0.16)
    for x in range(half * 2):
        across = x / (half * 2)
        side.putpixel((x, 0), _rgb(_mix(light, shade, min(1.0, abs(across - 0.32) * 1.5))))
    shadow = Image.new("L", (WIDTH // 4, HEIGHT // 4), 0)
    ImageDraw.Draw(shadow).ellipse(
        [v // 4 for v in (mid - half - 10, top + tall - 50, mid + half + 90, top + tall + 74)], fill=90
    )
    shadow = shadow.filter(ImageFilter.GaussianBlur(7)).resize(picture.size, Image.Resampling.BICUBIC)
    picture.paste(Image.new("RGB", picture.size, _mix(stage.floor, "#1a1410", 0.6)), mask=shadow)
    body = side.resize((half * 2 + 4, tall + flat * 2))
    layer = Image.new("RGB", picture.size)
    layer.paste(body, (mid - half - 2, top))
    foot = ("ellipse", (mid - half, top + tall - flat, mid + half, top + tall + flat))
    picture.paste(layer, mask=_mask(("rectangle", (mid - half, top, mid + half, top + tall)), foot))
    _fill(picture, stage, ("ellipse", (mid - half, top - flat, mid + half, top + flat)))
    return top + 12


def _place(picture: Image.Image, scene: Scene, ground: int, *, dark: bool) -> None:
    tall = 470 if scene.shape != "podium" else 410
    pose = "one" if scene.pose == "companion" and len(scene.objects) < 2 else scene.pose
    for number, x, down, share, turned, lean in POSES[pose]:
        tint = 0.0 if number else round(scene.tint, 2)
        # Premultiplied, else the colour of what cannot be seen would frame the object.
        drawing = _object(scene.objects[number], tint).convert("RGBa")
        drawing = drawing.resize((int(tall * share),) * 2, Image.Resampling.LANCZOS)
        if turn := scene.turn * turned + lean:
            drawing = drawing.rotate(turn, Image.Resampling.BICUBIC, expand=True)
        if down < FAR:
            drawing = drawing.filter(ImageFilter.GaussianBlur(1.4))
        drawing = drawing.convert("RGBA")
        _stand(picture, drawing.crop(drawing.getbbox()), WIDTH // 2 + x, ground + down, dark)


def _stand(picture: Image.Image, drawing: Image.Image, x: int, ground: int, dark: bool) -> None:
    """Put an object with its shadow on the ground, its foot in the middle at x."""
    _cast_shadow(picture, drawing, x, ground, dark)
    picture.paste(drawing, (x - drawing.width // 2, ground - drawing.height), drawing)


def _cast_shadow(picture: Image.Image, drawing: Image.Image, x: int, ground: int, dark: bool) -> None:
    small = Image.new("L", (WIDTH // 4, HEIGHT // 4), 0)
    # A wide soft pool, and a narrow dark one where the object touches the ground.
    foot = (
        drawing.getchannel("A").crop((0, drawing.height * 9 // 10, drawing.width, drawing.height)).getbbox()
    )
    half = (foot[2] - foot[0]) // 2 if foot else drawing.width // 3
    middle = x - drawing.width // 2 + ((foot[0] + foot[2]) // 2 if foot else drawing.width // 2)
    draw = ImageDraw.Draw(small)
    wide = max(half, drawing.width // 3)
    draw.ellipse([v / 4 for v in (x - wide * 1.02, ground - 26, x + wide * 1.2, ground + 30)], fill=74)
    small = small.filter(ImageFilter.GaussianBlur(5))
    touch = Image.new("L", small.size, 0)
    ImageDraw.Draw(touch).ellipse(
        [v / 4 for v in (middle - half * 0.95, ground - 13, middle + half * 1.0, ground + 11)], fill=120
    )
    small = ImageChops.lighter(small, touch.filter(ImageFilter.GaussianBlur(2.2)))
    mask = small.resize(picture.size, Image.Resampling.BICUBIC)
    picture.paste(Image.new("RGB", picture.size, "#080a10" if dark else "#3a2a22"), mask=mask)


@cache
def _object(name: str, tint: float) -> Image.Image:
    with Image.open(settings.BASE_DIR / OBJECTS / f"{name}.webp") as file:
        image = file.convert("RGBA")
    if tint:
        hue, saturation, value = image.convert("RGB").convert("HSV").split()
        hue = hue.point(lambda v: (v + int(tint * 255)) % 256)
        # Other hues soon look like neon.
        saturation = saturation.point(lambda v: int(v * 0.72))
        value = value.point(lambda v: int(v * 0.92))
        turned = Image.merge("HSV", (hue, saturation, value)).convert("RGB")
        turned.putalpha(image.getchannel("A"))
        return turned
    return image


def emblem(name: str, stage: int) -> Image.Image:
    """Return a category's emblem: one object in front of a disc, LOGO x LOGO."""
    colors = STAGES[stage]
    image = _gradient(colors.top, colors.bottom, (LOGO * 2, LOGO * 2))
    ImageDraw.Draw(image).ellipse((80, 80, LOGO * 2 - 80, LOGO * 2 - 80), fill=colors.shape)
    image = image.reduce(2)
    drawing = _object(name, 0.0).resize((310, 310), Image.Resampling.LANCZOS)
    image.paste(drawing, ((LOGO - 310) // 2, (LOGO - 310) // 2), drawing)
    return image


def _fill(
    picture: Image.Image, stage: Stage, *figures: Figure, strength: float = 1.0, below: int | None = None
) -> None:
    """Paint figures in the colour of the stage's shape, down to a height."""
    mask = _mask(*figures)
    if below is not None:
        mask.paste(0, (0, below, WIDTH, HEIGHT))
    if strength < 1:
        mask = mask.point(lambda v: int(v * strength))
    picture.paste(_gradient(stage.shape, _mix(stage.shape, stage.bottom, 0.35), picture.size), mask=mask)


def _mask(*figures: Figure) -> Image.Image:
    """Return a mask with smooth edges: it is drawn at twice its size."""
    mask = Image.new("L", (WIDTH * 2, HEIGHT * 2), 0)
    draw = ImageDraw.Draw(mask)
    for kind, (left, top, right, bottom) in figures:
        box = (left * 2, top * 2, right * 2, bottom * 2)
        if kind == "ellipse":
            draw.ellipse(box, fill=255)
        else:
            draw.rounded_rectangle(box, 56 if kind == "rounded" else 0, fill=255)
    return mask.reduce(2)


def _gradient(top: str, bottom: str, size: tuple[int, int]) -> Image.Image:
    """Return a picture of one colour that passes into another, from top to bottom."""
    column = Image.new("RGB", (1, 64))
    for y in range(64):
        column.putpixel((0, y), _rgb(_mix(top, bottom, y / 63)))
    return column.resize(size, Image.Resampling.BICUBIC)


def _mix(a: str, b: str, share: float) -> str:
    """Return a colour between two."""
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in zip(_rgb(a), _rgb(b), strict=True))


def _rgb(color: str) -> tuple[int, int, int]:
    r, g, b = ImageColor.getrgb(color)[:3]
    return r, g, b


def _luminance(color: str) -> float:
    """Return how light a colour looks, 0 to 255."""
    r, g, b = _rgb(color)
    return 0.299 * r + 0.587 * g + 0.114 * b
