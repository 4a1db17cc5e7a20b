"""Takes in the pictures that people bring: checked, turned upright, stripped of metadata, stored as WebP.

A picture is stored once per width in WIDTHS, under a name made from its content. So a file never
changes, may be cached for ever, and storing the same picture again writes nothing.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from typing import IO, Any, Protocol

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from PIL import Image, ImageCms, ImageOps

from dealsite.data.cards import Picture
from dealsite.data.errors import Invalid
from dealsite.data.ids import normalise

WIDTHS = (480, 1200)  # of the stored files; a smaller original is never enlarged
FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "GIF")
MAX_BYTES = 10_000_000
MAX_PIXELS = 20_000_000
TALLEST = 2  # times as high as wide; what is taller is fitted into that
QUALITY = 82

# A second line for whatever opens a picture elsewhere in this process: Pillow itself refuses what is larger.
Image.MAX_IMAGE_PIXELS = MAX_PIXELS
warnings.simplefilter("error", Image.DecompressionBombWarning)


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def store_picture(source: bytes | Readable | IO[bytes], alt: str) -> Picture:
    """Check a picture, store it at every width, and return what cards and deals keep of it.

    `width` and `height` are those of the largest stored file. Raises Invalid with a sentence under
    `picture` when the file is too large, not a picture or damaged. No requests to DynamoDB.
    """
    data = source if isinstance(source, bytes) else source.read(MAX_BYTES + 1)
    files, size = encode(data)
    return _store(files, size, alt)


def store_image(image: Image.Image, alt: str) -> Picture:
    """Store a picture that this program has drawn itself, RGB or RGBA, as `store_picture` does."""
    files, size = _files(image.copy(), effort=2)  # twice as fast, and a drawing is hardly larger for it
    return _store(files, size, alt)


def encode(data: bytes) -> tuple[dict[int, bytes], tuple[int, int]]:
    """Return the WebP files of a picture by width, and the size of the largest; raise Invalid."""
    if len(data) > MAX_BYTES:
        raise Invalid(
            picture=f"The picture is larger than {MAX_BYTES // 1_000_000} MB. Choose a smaller one."
        )
    if not data:
        raise Invalid(picture="The picture file is empty.")
    try:
        _check(data)
        image = _upright(data)
        return _files(image)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_many_pixels() from error
    except Invalid:
        raise
    except Exception as error:  # a made-up file can bring any error out of a decoder
        raise Invalid(
            picture="This file is not a picture that can be read. Use a JPEG, PNG, WebP, AVIF or GIF file."
        ) from error


def name_of(files: dict[int, bytes]) -> str:
    """Return the name of a picture, made from the content of its files."""
    digest = hashlib.sha256(b"".join(files[width] for width in WIDTHS)).hexdigest()[:32]
    return f"pictures/{digest[:2]}/{digest}"


def file_name(name: str, width: int) -> str:
    """Return the name in the storage of a picture's file of one width."""
    return f"{name}-{width}.webp"


def url(picture: Picture, width: int) -> str:
    """Return the address of the smallest stored file that is at least so wide, else of the widest."""
    wide = next((w for w in WIDTHS if w >= width), WIDTHS[-1])
    return str(default_storage.url(file_name(picture.name, wide)))


def srcset(picture: Picture) -> str:
    """Return the `srcset` attribute: the picture's files with the width of each."""
    widths = [w for w in WIDTHS if w < picture.width] + [
        next((w for w in WIDTHS if w >= picture.width), WIDTHS[-1])
    ]
    return ", ".join(f"{url(picture, w)} {min(w, picture.width)}w" for w in widths)


def _store(files: dict[int, bytes], size: tuple[int, int], alt: str) -> Picture:
    name = name_of(files)
    for wide, content in files.items():
        _save(file_name(name, wide), content)
    return Picture(name=name, width=size[0], height=size[1], alt=normalise(alt))


def _check(data: bytes) -> None:
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:  # reads the header, decodes nothing
        if image.width * image.height > MAX_PIXELS:
            raise _too_many_pixels()
        image.verify()


def _upright(data: bytes) -> Image.Image:
    image: Image.Image = Image.open(io.BytesIO(data), formats=FORMATS)
    image.seek(0)
    largest = WIDTHS[-1]
    image.draft(None, (largest * 2, largest * 2))  # a large JPEG is decoded at a fraction of its size
    image.load()
    profile: Any = image.info.get("icc_profile")
    return _to_srgb(ImageOps.exif_transpose(image), profile)


def _to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    if image.mode.startswith("I;16"):
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    mode = "RGBA" if image.has_transparency_data else "RGB"
    if profile and image.mode in ("RGB", "RGBA", "CMYK"):
        try:
            converted = ImageCms.profileToProfile(
                image, io.BytesIO(profile), ImageCms.createProfile("sRGB"), outputMode=mode
            )
            image = converted or image
        except (ImageCms.PyCMSError, OSError, ValueError):
            pass  # a broken profile only costs some truth of colour
    return image.convert(mode)


def _files(image: Image.Image, effort: int = 4) -> tuple[dict[int, bytes], tuple[int, int]]:
    files: dict[int, bytes] = {}
    for width in sorted(WIDTHS, reverse=True):
        image.thumbnail((width, width * TALLEST), Image.Resampling.LANCZOS, reducing_gap=2.0)
        if not files:
            size = image.size
        bare = Image.new(image.mode, image.size)  # carries no EXIF, comments or profile along
        bare.paste(image)
        file = io.BytesIO()
        bare.save(file, "WEBP", quality=QUALITY, method=effort)
        files[width] = file.getvalue()
    return files, size


def _save(name: str, content: bytes) -> None:
    if default_storage.exists(name):
        if default_storage.size(name) == len(content):
            return
        default_storage.delete(name)  # cut short by a crash while it was written
    saved = default_storage.save(name, ContentFile(content))
    if saved != name:  # the same picture came in at the same moment; one file is enough
        default_storage.delete(saved)


def _too_many_pixels() -> Invalid:
    return Invalid(
        picture=f"The picture has more than {MAX_PIXELS // 1_000_000} million pixels. Choose a smaller one."
    )
