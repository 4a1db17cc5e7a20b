"""Makes WebP files of an uploaded picture; run as a script, with the file as its input, by `uploads`.

A process of its own, because what strangers made is read here: a file of 78 KB may hold 20 million pixels, and decoders
have bugs. The process has limits of memory and time, an empty environment, and ends with its picture.

The answer is a line of JSON, {"refused": "pixels" or "format"} or {"size": [width, height], "bytes": [...]}, and behind
it the files: the original, then one of each width. Anything else: it broke off.
"""

import io
import json
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

from PIL import Image, ImageCms, ImageOps

WIDTHS = (480, 1200)  # of the files that a request stores; a smaller picture is never enlarged
ORIGINAL_WIDTH = 2400
FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "GIF")
MAX_PIXELS = 20_000_000
TALLEST = 2  # times as high as wide; what is taller is fitted into that
QUALITY = 82
ORIGINAL_QUALITY = 95

# A second line for whatever opens a picture elsewhere in a process: Pillow itself refuses what is larger.
Image.MAX_IMAGE_PIXELS = MAX_PIXELS
warnings.simplefilter("error", Image.DecompressionBombWarning)


class TooManyPixels(Exception):
    """The picture's header names more pixels than are decoded."""


def main(memory: int, seconds: int, parent: int) -> None:
    """Take on the limits, in bytes and seconds, and answer, unless the parent process ends."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
    from PIL import AvifImagePlugin

    from dealsite.ask import confinement
    from dealsite.engine.namespace import end_with_parent

    end_with_parent(parent, signal.SIGKILL)
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1  # or a large machine's threads need more memory than there is
    confinement.limit(memory=memory, seconds=seconds, file_size=0)
    out = sys.stdout.buffer
    try:
        original, files, size = encode(sys.stdin.buffer.read())
    except MemoryError:
        return
    except (TooManyPixels, Image.DecompressionBombError, Image.DecompressionBombWarning):
        out.write(b'{"refused": "pixels"}\n')
    except Exception:  # noqa: BLE001 - a made-up file can bring any error out of a decoder
        out.write(b'{"refused": "format"}\n')
    else:
        parts = [original, *(files[width] for width in WIDTHS)]
        out.write(json.dumps({"size": size, "bytes": [len(part) for part in parts]}).encode() + b"\n")
        out.writelines(parts)


def encode(data: bytes) -> tuple[bytes, dict[int, bytes], tuple[int, int]]:
    """Return the original and the files of a picture by width, and the size of the largest."""
    _check(data)
    image = _upright(data)
    fit(image, ORIGINAL_WIDTH)
    original = as_file(image, "WEBP", quality=ORIGINAL_QUALITY, method=1)
    return original, *files_of(image)


def files_of(image: Image.Image) -> tuple[dict[int, bytes], tuple[int, int]]:
    """Shrink a picture in place, and return its files by width and the size of the largest."""
    files: dict[int, bytes] = {}
    for width in sorted(WIDTHS, reverse=True):
        fit(image, width)
        if not files:
            size = image.size
        files[width] = as_file(image, "WEBP", quality=QUALITY, method=4)
    return files, size


def fit(image: Image.Image, width: int) -> None:
    """Shrink a picture, in place, to a width; a tall one to twice that height."""
    image.thumbnail((width, width * TALLEST), Image.Resampling.LANCZOS, reducing_gap=2.0)


def as_file(image: Image.Image, kind: str, **options: Any) -> bytes:
    """Return a picture as a file of a kind that holds nothing but the picture."""
    bare = Image.new(image.mode, image.size)  # carries no EXIF, comments or profile along
    bare.paste(image)
    file = io.BytesIO()
    bare.save(file, kind, **options)
    return file.getvalue()


def _check(data: bytes) -> None:
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:  # reads the header, decodes nothing
        if image.width * image.height > MAX_PIXELS:
            raise TooManyPixels
        image.verify()


def _upright(data: bytes) -> Image.Image:
    image: Image.Image = Image.open(io.BytesIO(data), formats=FORMATS)
    image.seek(0)
    image.draft(None, (WIDTHS[-1] * 2, WIDTHS[-1] * 2))  # a large JPEG is decoded at a fraction of its size
    image.load()
    profile: Any = image.info.get("icc_profile")
    ImageOps.exif_transpose(image, in_place=True)
    return _to_srgb(image, profile)


def _to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    if image.mode.startswith("I;16"):
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    mode = "RGBA" if image.has_transparency_data else "RGB"
    if profile and image.mode in ("RGB", "RGBA", "CMYK"):
        try:
            own, srgb = io.BytesIO(profile), ImageCms.createProfile("sRGB")
            image = ImageCms.profileToProfile(image, own, srgb, outputMode=mode) or image
        except (ImageCms.PyCMSError, OSError, ValueError):
            pass  # a broken profile only costs some truth of colour
    return image if image.mode == mode else image.convert(mode)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
