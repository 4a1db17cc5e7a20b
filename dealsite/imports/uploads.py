"""What a file is that an editor brings: its encoding, its separator, its first lines."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import IO

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data.names import normalise
from dealsite.imports import lines
from dealsite.imports.lines import BadFile

MAX_BYTES = 50_000_000
CHUNK = 1 << 20
LOOKED_AT = 300_000  # bytes in which the first lines are looked for
ROWS_LOOKED_AT = 200
SAMPLES = 3
SAMPLE_CHARACTERS = 60
TITLE_CHARACTERS = 60
MAX_COLUMNS = 100
ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-8-sig": gettext_lazy("UTF-8 with a byte order mark"),
    "utf-16-le": "UTF-16",
    "utf-16-be": gettext_lazy("UTF-16, big end first"),
    "cp1252": "Windows-1252",
}
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
NO_TEXT = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"\x1f\x8b", b"%PDF", b"\x89PNG", b"\xff\xd8\xff")
UNDECODED = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Upload:
    """What was found out about a file: `rows` is about how many it has, `samples` holds the first ones."""

    encoding: str
    separator: str
    titles: list[str]
    samples: list[list[str]]
    rows: int
    first_rows: list[list[str]] = field(default_factory=list)


def look(file: IO[bytes], *, encoding: str = "", separator: str = "") -> Upload:
    """Return what a file is; its encoding and separator are found out where they are not given. Raises BadFile."""
    file.seek(0)
    start = file.read(LOOKED_AT)
    _refuse_others(start)
    encoding = encoding or _encoding(file, start)
    text = b"".join(as_utf8(file, encoding, most=LOOKED_AT))
    separator = separator or _separator(text)
    records = list(islice(lines.read_bytes(text, separator), ROWS_LOOKED_AT + 1))
    if not records:
        raise BadFile(_("The file is empty."))
    header, *rest = records
    if header.problem:
        raise BadFile(_("The first line should name the columns. %(problem)s") % {"problem": header.problem})
    if len(header.cells) > MAX_COLUMNS:
        raise BadFile(_("The file has more than %(most)s columns.") % {"most": MAX_COLUMNS})
    titles = [
        normalise(cell)[:TITLE_CHARACTERS] or _("Column %(number)s") % {"number": number}
        for number, cell in enumerate(header.cells, 1)
    ]
    file.seek(0)
    units = b"\n\x00" if encoding == "utf-16-le" else b"\x00\n" if encoding == "utf-16-be" else b"\n"
    newlines = sum(chunk.count(units) for chunk in iter(lambda: file.read(CHUNK), b""))
    first_rows = [record.cells for record in rest if len(record.cells) == len(titles)]
    samples = [[_sample(cell) for cell in cells] for cells in first_rows[:SAMPLES]]
    return Upload(encoding, separator, titles, samples, max(newlines - 1, len(rest)), first_rows)


def as_utf8(file: IO[bytes], encoding: str, *, most: int | None = None) -> Iterator[bytes]:
    """Yield a file's content in UTF-8, up to some bytes of it; what cannot be decoded stays undecodable."""
    errors = "surrogatepass" if encoding.startswith("utf-16") else "surrogateescape"
    decode = codecs.getincrementaldecoder(encoding)(errors).decode
    file.seek(0)
    left, first = most if most is not None else -1, True
    while chunk := file.read(CHUNK if left < 0 else min(left, CHUNK)):
        left -= len(chunk) if left >= 0 else 0
        text = decode(chunk)
        if first:
            text, first = text.removeprefix("\ufeff"), False
        yield text.encode("utf-8", errors)
        if left == 0:
            break


def _refuse_others(start: bytes) -> None:
    if not start.strip():
        raise BadFile(_("The file is empty."))
    if start.startswith(NO_TEXT):
        raise BadFile(
            _("This is no CSV file but a spreadsheet, an archive or a picture. Save it as CSV first.")
        )


def _encoding(file: IO[bytes], start: bytes) -> str:
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return name
    head = start[:2000]
    low, high = head[::2].count(0), head[1::2].count(0)
    if high > len(head) * 0.3 and low < len(head) * 0.05:
        return "utf-16-le"
    if low > len(head) * 0.3 and high < len(head) * 0.05:
        return "utf-16-be"
    return "utf-8" if _is_utf8(file) else "cp1252"


def _is_utf8(file: IO[bytes]) -> bool:
    """Tell whether most of what is not ASCII is UTF-8: a damaged row does not make a file another one."""
    good = bad = 0
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    file.seek(0)
    while chunk := file.read(CHUNK):
        text = decode(chunk)
        if text.isascii():
            continue
        wrong = len(UNDECODED.findall(text))
        bad += wrong
        good += len(text) - len(text.encode("ascii", "ignore")) - wrong
    return good >= bad


def _separator(text: bytes) -> str:
    """Return the separator that stands most often in the first line, outside of quotes."""
    line = next((line for line in text.splitlines() if line.strip()), b"").decode("utf-8", "replace")
    bare = re.sub(r'"[^"]*"', "", line)
    return max(SEPARATORS, key=bare.count)


def _sample(cell: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in cell).split())
    return text if len(text) <= SAMPLE_CHARACTERS else text[: SAMPLE_CHARACTERS - 1] + "…"
