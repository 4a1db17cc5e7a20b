"""Takes in the pictures that people upload: checked, turned upright, stripped of metadata, stored as WebP.

A picture is stored once per width in WIDTHS, under a name made from its content. So a file never
changes, may be cached for ever, and storing the same picture again writes nothing. The upload is kept
beside them, larger and hardly compressed: `renditions` makes the other files from it, outside the request.
`encoding` reads it in a process of its own, of which few run at once.
"""

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils.translation import gettext as _

from dealsite.data.catalogue.cards import Picture
from dealsite.data.names import as_typed
from dealsite.data.table.errors import Invalid
from dealsite.data.table.meters import working
from dealsite.pictures import encoding
from dealsite.pictures.encoding import MAX_PIXELS, TALLEST, WIDTHS
from dealsite.processes.orphans import first_free

MAX_BYTES = 10_000_000
# What reading one picture may take: a picture of 20 megapixels needs a third of it.
MEMORY = 600_000_000  # bytes
SECONDS = 10
AT_ONCE = 2  # on this machine
PATIENCE = 10.0  # seconds for which a picture waits for its turn


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


def encode(data: bytes) -> tuple[dict[int, bytes], tuple[int, int], bytes]:
    """Return the WebP files of a picture by width, the size of the largest, and the original; raise Invalid."""
    if len(data) > MAX_BYTES:
        why = _("The picture is larger than %(value)s MB. Choose a smaller one.")
        raise Invalid(picture=why % {"value": MAX_BYTES // 1_000_000})
    if not data:
        raise Invalid(picture=_("The picture file is empty."))
    with _slot() as slot:
        first, _newline, rest = _answer(data, slot).partition(b"\n")
    answer = json.loads(first or b"{}")
    if "refused" not in answer and "size" not in answer:
        raise Invalid(picture=_("This picture takes too long or too much memory to read. Make it smaller."))
    if answer.get("refused") == "pixels":
        why = _("The picture has more than %(value)s million pixels. Choose a smaller one.")
        raise Invalid(picture=why % {"value": MAX_PIXELS // 1_000_000})
    if "refused" in answer:
        why = _("This file is not a picture that can be read. Use a JPEG, PNG, WebP, AVIF or GIF file.")
        raise Invalid(picture=why)
    parts = io.BytesIO(rest)
    original, *files = (parts.read(size) for size in answer["bytes"])
    return dict(zip(WIDTHS, files, strict=True)), (answer["size"][0], answer["size"][1]), original


def _answer(data: bytes, slot: IO[str]) -> bytes:
    """Return what the process says that reads a picture; nothing if it broke off. It keeps its slot until it ends."""
    child = subprocess.Popen(
        [sys.executable, "-I", "-B", encoding.__file__, str(MEMORY), str(SECONDS), str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(slot.fileno(),),
        env={"MALLOC_ARENA_MAX": "1"},
    )
    with child:
        try:
            said, _errors = child.communicate(data, timeout=SECONDS + 2)  # its own alarm comes first
        except subprocess.TimeoutExpired:
            child.kill()
            return b""
    return said if child.returncode == 0 else b""


@contextlib.contextmanager
def _slot() -> Iterator[IO[str]]:
    """Wait for one of the places for pictures that are read at the same time: a file, locked as long as it is used."""
    end = time.monotonic() + PATIENCE
    while (slot := first_free(Path(settings.VAR) / "pictures", range(AT_ONCE))) is None:
        if time.monotonic() >= end:
            raise Invalid(picture=_("Other pictures are being read just now. Try again in a moment."))
        time.sleep(0.02)
    with slot:
        yield slot


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


def srcset(picture: Picture, widths: tuple[int, ...], kind: str) -> str:
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
    return Picture(name=name, width=size[0], height=size[1], alt=as_typed(alt))


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
