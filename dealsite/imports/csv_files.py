"""CSV files that may be damaged: their encoding, their separator, and their records.

A broken record never takes its neighbours along.
"""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data.names import normalise

MAX_BYTES = 50_000_000
LINE_BYTES = 1_000_000  # a longer line is cut there, and rejected
RECORD_LINES = 1_000  # a record of more lines is rejected, not gathered in memory
FIELD_CHARACTERS = 131_072  # csv's own limit
MAX_COLUMNS = 100
TITLE_CHARACTERS = 60
CHUNK = 1 << 20
START_BYTES, START_ROWS = 300_000, 200  # from which encoding, separator and columns are found out
SAMPLES, SAMPLE_CHARACTERS = 3, 60
GZIP, ZIP, UTF16 = b"\x1f\x8b", b"PK\x03\x04", (b"\xff\xfe", b"\xfe\xff")
NO_TEXT = (ZIP, GZIP, b"\xd0\xcf\x11\xe0", b"%PDF", b"\x89PNG", b"\xff\xd8\xff")
UNDECODED = re.compile("[\udc80-\udcff]")
ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-8-sig": gettext_lazy("UTF-8 with a byte order mark"),
    "utf-16-le": "UTF-16",
    "utf-16-be": gettext_lazy("UTF-16, big end first"),
    "cp1252": "Windows-1252",
}
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab"}
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}

File = IO[bytes] | gzip.GzipFile


class BadFile(Exception):
    """The file as a whole cannot be imported; the message says why."""


@dataclass(frozen=True, slots=True)
class Upload:
    """What was found out about a file: `rows` is about how many it has, `samples` holds the first ones."""

    encoding: str
    separator: str
    titles: list[str]
    samples: list[list[str]]
    rows: int
    first_rows: list[list[str]] = field(default_factory=list)


class Record(NamedTuple):
    """The cells of a record and the line where it starts; `problem` says why it has none, `text` is its first line."""

    line: int
    cells: list[str]
    problem: str = ""
    text: str = ""


def read(path: Path, separator: str = ",") -> Iterator[Record]:
    """Yield the records of a .csv or .csv.gz file, the header first.

    Bytes that are not UTF-8 come out as lone surrogates, so that a row can be rejected for them. Raises BadFile
    where the file cannot be read at all, or not to its end.
    """
    try:
        with path.open("rb") as raw:
            start = raw.read(4)
            raw.seek(0)
            if start.startswith(ZIP):
                raise BadFile(_("This is a spreadsheet or zip file. Save it as CSV first."))
            if start.startswith(UTF16):
                raise BadFile(_("This file is encoded in UTF-16. Save it as CSV in UTF-8."))
            if start.startswith(GZIP):
                with gzip.open(raw) as unpacked:
                    yield from _records(_Lines(unpacked), separator)
            else:
                yield from _records(_Lines(raw), separator)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        sentence = _("The compressed file is damaged or ends too early (%(error)s).")
        raise BadFile(sentence % {"error": error}) from error
    except OSError as error:
        reason = {"error": error.strerror or error}
        raise BadFile(_("The file cannot be read: %(error)s.") % reason) from error


def read_bytes(content: bytes, separator: str = ",") -> Iterator[Record]:
    """Yield the records of some UTF-8 in memory, as `read` does."""
    return _records(_Lines(io.BytesIO(content)), separator)


def count(path: Path) -> int:
    """Return about how many records follow the header: lines, for a progress bar."""
    try:
        with path.open("rb") as raw:
            if not raw.peek(2).startswith(GZIP):
                return max(_count(b"\n", raw) - 1, 0)
            with gzip.open(raw) as unpacked:
                return max(_count(b"\n", unpacked) - 1, 0)
    except (OSError, EOFError, zlib.error):
        return 0  # what is wrong with the file, `read` says


def _count(newline: bytes, file: File) -> int:
    return sum(chunk.count(newline) for chunk in iter(lambda: file.read(CHUNK), b""))


class _Lines:
    """Physical lines, of which the last record's can be read again."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._again: deque[str] = deque()
        self._taken: list[str] = []
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._from_file()
        self._taken.append(line)
        self.number += 1
        if len(self._taken) > RECORD_LINES:
            raise csv.Error("too many lines")
        return line

    def begin(self) -> None:
        """A record starts here."""
        self._taken.clear()

    def skip_one(self) -> str:
        """Go back to the second line of the record: only its first one is given up, and returned."""
        first, *again = self._taken
        self._again.extendleft(reversed(again))
        self.number -= len(again)
        self._taken.clear()
        return first

    def _from_file(self) -> str:
        data = self._file.readline(LINE_BYTES)
        if not data:
            raise StopIteration
        rest = data
        while not rest.endswith(b"\n"):
            rest = self._file.readline(LINE_BYTES)
            if not rest:
                break
        if self.number == 0:
            data = data.removeprefix(b"\xef\xbb\xbf")
        return data.decode("utf-8", "surrogateescape")


def _records(lines: _Lines, separator: str) -> Iterator[Record]:
    while True:
        lines.begin()
        start = lines.number + 1
        try:
            cells = next(csv.reader(lines, strict=True, delimiter=separator))
        except StopIteration:
            return
        except csv.Error as error:
            yield Record(start, [], _sentence(str(error)), lines.skip_one())
        else:
            if cells:
                yield Record(start, cells)


def _sentence(problem: str) -> str:
    if "unexpected end" in problem:
        return _("A quote is opened here and never closed.")
    if "too many lines" in problem:
        most = {"most": f"{RECORD_LINES:,}"}
        return _("The row has more than %(most)s lines; a quote may be opened here and never closed.") % most
    if "field larger" in problem:
        return _("A cell is longer than %(most)s characters.") % {"most": f"{FIELD_CHARACTERS:,}"}
    if "expected after" in problem:
        return _("Something follows a closing quote; write quotes within a cell twice.")
    return _("This line cannot be read as CSV: %(problem)s.") % {"problem": problem}


def inspect(file: IO[bytes], *, encoding: str = "", separator: str = "") -> Upload:
    """Return what a file is; its encoding and separator are found out where they are not given. Raises BadFile."""
    file.seek(0)
    start = file.read(START_BYTES)
    if not start.strip():
        raise BadFile(_("The file is empty."))
    if start.startswith(NO_TEXT):
        sentence = _("This is no CSV file but a spreadsheet, an archive or a picture. Save it as CSV first.")
        raise BadFile(sentence)
    encoding = encoding or _encoding(file, start)
    text = b"".join(as_utf8(file, encoding, most=START_BYTES))
    separator = separator or _separator(text)
    records = list(islice(read_bytes(text, separator), START_ROWS + 1))
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
    newlines = _count({"utf-16-le": b"\n\x00", "utf-16-be": b"\x00\n"}.get(encoding, b"\n"), file)
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
