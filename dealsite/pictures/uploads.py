"""Takes in the pictures that people upload: checked, turned upright, stripped of metadata, stored as WebP.

A picture is stored once per width in WIDTHS, under a name made from its content. So a file never
changes, may be cached for ever, and storing the same picture again writes nothing. The upload is kept
beside them, larger and hardly compressed: `renditions` makes the other files from it, outside the request.
"""

import hashlib
import io
import warnings
from typing import IO, Any, Protocol

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _
from PIL import Image, ImageCms, ImageOps

from dealsite.data.catalogue.cards import Picture
from dealsite.data.names import normalise
from dealsite.data.table.errors import Invalid
from dealsite.data.table.meters import working

WIDTHS = (480, 1200)  # of the files that a request stores; a smaller picture is never enlarged
ORIGINAL_WIDTH = 2400
FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "GIF")
MAX_BYTES = 10_000_000
MAX_PIXELS = 20_000_000
TALLEST = 2  # times as high as wide; what is taller is fitted into that
QUALITY = 82
ORIGINAL_QUALITY = 95

# A second line for whatever opens a picture elsewhere in this process: Pillow itself refuses what is larger.
Image.MAX_IMAGE_PIXELS = MAX_PIXELS
warnings.simplefilter("error", Image.DecompressionBombWarning)


class ByteSource(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def store_picture(source: bytes | ByteSource | IO[bytes], alt: str) -> Picture:
    """Check a picture, store it at every width, and return what cards and deals keep of it.

    `width` and `height` are those of the largest stored file. Raises Invalid with a sentence under
    `picture` when the file is too large, not a picture or damaged. No requests to DynamoDB.
    """
    with working():  # a large picture takes as long as a page may wait for the table
        data = source if isinstance(source, bytes) else source.read(MAX_BYTES + 1)
        files, size, original = encode(data)
        picture = _store(files, size, alt)
        save_file(original_name(picture.name), original, "image/webp")
    return picture


def store_image(image: Image.Image, alt: str) -> Picture:
    """Store a picture that this program has drawn itself, RGB or RGBA, as `store_picture` does."""
    files, size = _files(image.copy(), effort=2)  # twice as fast, and a drawing is hardly larger for it
    return _store(files, size, alt)


def encode(data: bytes) -> tuple[dict[int, bytes], tuple[int, int], bytes]:
    """Return the WebP files of a picture by width, the size of the largest, and the original; raise Invalid."""
    if len(data) > MAX_BYTES:
        why = _("The picture is larger than %(value)s MB. Choose a smaller one.")
        raise Invalid(picture=why % {"value": MAX_BYTES // 1_000_000})
    if not data:
        raise Invalid(picture=_("The picture file is empty."))
    try:
        _check(data)
        image = _upright(data)
        fit(image, ORIGINAL_WIDTH)
        original = as_file(image, "WEBP", quality=ORIGINAL_QUALITY, method=1)
        return *_files(image), original
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_many_pixels() from error
    except Invalid:
        raise
    except Exception as error:  # a made-up file can bring any error out of a decoder
        why = _("This file is not a picture that can be read. Use a JPEG, PNG, WebP, AVIF or GIF file.")
        raise Invalid(picture=why) from error


def name_of(files: dict[int, bytes]) -> str:
    """Return the name of a picture, made from the content of its files."""
    digest = hashlib.sha256(b"".join(files[width] for width in WIDTHS)).hexdigest()[:32]
    return f"pictures/{digest[:2]}/{digest}"


def file_name(name: str, width: int, kind: str = "webp") -> str:
    """Return the name in the storage of a picture's file of one width."""
    return f"{name}-{width}.{kind}"


def original_name(name: str) -> str:
    """Return the name in the storage of an upload; no page shows it."""
    return f"{name}-original.webp"


def url(picture: Picture, width: int) -> str:
    """Return the address of the smallest stored file that is at least so wide, else of the widest."""
    wide = next((w for w in WIDTHS if w >= width), WIDTHS[-1])
    return str(default_storage.url(file_name(picture.name, wide)))


def srcset(picture: Picture, widths: tuple[int, ...] = WIDTHS, kind: str = "webp") -> str:
    """Return the `srcset` attribute: the picture's files of these widths, with the true width of each."""
    sources = []
    for width in widths:
        # A file of a width is fitted into so wide and twice so high; what is small or narrow does not fill that.
        true = min(width, picture.width, round(width * TALLEST * picture.width / picture.height))
        sources.append(f"{default_storage.url(file_name(picture.name, width, kind))} {true}w")
        if true >= picture.width:
            break
    return ", ".join(sources)


def _store(files: dict[int, bytes], size: tuple[int, int], alt: str) -> Picture:
    name = name_of(files)
    for wide, content in files.items():
        save_file(file_name(name, wide), content, "image/webp")
    return Picture(name=name, width=size[0], height=size[1], alt=normalise(alt))


def _check(data: bytes) -> None:
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:  # reads the header, decodes nothing
        if image.width * image.height > MAX_PIXELS:
            raise _too_many_pixels()
        image.verify()


def _upright(data: bytes) -> Image.Image:
    image: Image.Image = Image.open(io.BytesIO(data), formats=FORMATS)
    image.seek(0)
    image.draft(None, (WIDTHS[-1] * 2, WIDTHS[-1] * 2))  # a large JPEG is decoded at a fraction of its size
    image.load()
    profile: Any = image.info.get("icc_profile")
    return _to_srgb(ImageOps.exif_transpose(image), profile)


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
    return image.convert(mode)


def _files(image: Image.Image, effort: int = 4) -> tuple[dict[int, bytes], tuple[int, int]]:
    files: dict[int, bytes] = {}
    for width in sorted(WIDTHS, reverse=True):
        fit(image, width)
        if not files:
            size = image.size
        files[width] = as_file(image, "WEBP", quality=QUALITY, method=effort)
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


def save_file(name: str, content: bytes, content_type: str) -> None:
    """Store a file under its name, unless it is there; one that was cut short is written again."""
    if default_storage.exists(name):
        if default_storage.size(name) == len(content):
            return
        default_storage.delete(name)  # cut short by a crash while it was written
    file = ContentFile(content)
    file.content_type = content_type  # type: ignore[attr-defined] # what a bucket serves it as
    saved = default_storage.save(name, file)
    if saved != name:  # the same picture came in at the same moment; one file is enough
        default_storage.delete(saved)


def _too_many_pixels() -> Invalid:
    why = _("The picture has more than %(value)s million pixels. Choose a smaller one.")
    return Invalid(picture=why % {"value": MAX_PIXELS // 1_000_000})
