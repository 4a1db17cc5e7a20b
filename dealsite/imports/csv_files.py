"""Reading CSV files that may be damaged, of any size: their records, and what is shown of a file before it is read.

A broken record never takes its neighbours along.
"""

import csv
import gzip
import io
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from dealsite.data.names import normalise
from dealsite.imports.csv_format import (
    CHUNK,
    GZIP,
    START_BYTES,
    BadFile,
    CsvFormat,
    File,
    decoder,
    format_of,
    hinted_separator,
)

MAX_BYTES = 50_000_000
LINE_CHARACTERS = 1_000_000  # a longer line is cut there, and rejected
RECORD_LINES = 1_000  # a record of more lines is rejected, not gathered in memory
FIELD_CHARACTERS = 131_072  # csv's own limit
MAX_COLUMNS = 100
TITLE_CHARACTERS = 60
START_ROWS = 200  # from which the columns are found out
SAMPLES, SAMPLE_CHARACTERS = 3, 60


@dataclass(frozen=True, slots=True)
class Upload:
    """What was found out about a file: `rows` is about how many it has, `samples` holds the first ones."""

    encoding: str
    separator: str
    titles: list[str]
    samples: list[list[str]]
    rows: int
    first_rows: list[list[str]] = field(default_factory=list)


NO_ROWS = gettext_lazy("The file names its columns, and holds no row.")


class Record(NamedTuple):
    """The cells of a record and the line where it starts; `problem` says why it has none, `text` is its first line."""

    line: int
    cells: list[str]
    problem: str = ""
    text: str = ""


@contextmanager
def opened(path: Path) -> Iterator[File]:
    """Open a .csv or .csv.gz file; BadFile where it cannot be read at all, or not to its end."""
    try:
        with path.open("rb") as raw:
            if not raw.peek(2).startswith(GZIP):
                yield raw
            else:
                with gzip.open(raw) as unpacked:
                    yield unpacked
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        sentence = _("The compressed file is damaged or ends too early (%(error)s).")
        raise BadFile(sentence % {"error": error}) from error
    except OSError as error:
        reason = {"error": error.strerror or error}
        raise BadFile(_("The file cannot be read: %(error)s.") % reason) from error


def read(path: Path, read_as: CsvFormat | None = None) -> Iterator[Record]:
    """Yield the records of a file, the header first. BadFile as `opened` and `format_of` raise it.

    What cannot be decoded comes out as lone surrogates, so that a row can be rejected for it.
    """
    with opened(path) as file:
        yield from records(file, read_as or format_of(file))


def records(file: File, read_as: CsvFormat) -> Iterator[Record]:
    """Yield the records of an open file, from its beginning."""
    lines = _Lines(lines_of(file, read_as.encoding))
    while True:
        lines.begin()
        start = lines.number + 1
        try:
            cells = next(csv.reader(lines, strict=True, delimiter=read_as.separator))
        except StopIteration:
            return
        except csv.Error as error:
            yield Record(start, [], _sentence(str(error)), lines.skip_one())
        else:
            if cells and not (start == 1 and hinted_separator(read_as.separator.join(cells))):
                yield Record(start, cells)


def lines_of(file: File, encoding: str) -> Iterator[str]:
    """Yield the lines of a file from its beginning, each with its end; those of old Macs end with a return."""
    file.seek(0)
    decode, newline, rest, is_first = decoder(encoding).decode, "\n", "", True
    while chunk := file.read(CHUNK):
        text = decode(chunk)
        if is_first:
            text, is_first = text.removeprefix("\ufeff"), False
            newline = "\r" if "\r" in text and "\n" not in text else "\n"
        *whole, rest = (rest + text).split(newline)
        for line in whole:
            yield line[:LINE_CHARACTERS] + "\n"
        rest = rest[:LINE_CHARACTERS]
    if not encoding.startswith("utf-16"):  # half a character of which cannot be kept
        rest += decode(b"", final=True)
    if rest:
        yield rest


def count(file: File) -> int:
    """Return about how many records follow the header: lines, for a progress bar."""
    newlines = returns = 0
    file.seek(0)
    while chunk := file.read(CHUNK):
        newlines += chunk.count(b"\n")
        returns += chunk.count(b"\r") if not newlines else 0
    return max((newlines or returns) - 1, 0)


class _Lines:
    """Physical lines, of which the last record's can be read again."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._again: deque[str] = deque()
        self._taken: list[str] = []
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._lines)
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
    found = format_of(file, encoding=encoding, separator=separator)
    file.seek(0)
    start = file.read(START_BYTES)
    first = list(islice(records(io.BytesIO(start), found), START_ROWS + 1))
    if not first:
        raise BadFile(_("The file is empty."))
    header, *rest = first
    check_header(header)
    if len(header.cells) > MAX_COLUMNS:
        raise BadFile(_("The file has more than %(most)s columns.") % {"most": MAX_COLUMNS})
    is_all = len(start) < START_BYTES and len(rest) < START_ROWS
    if is_all and not any(record.problem or any(map(str.strip, record.cells)) for record in rest):
        raise BadFile(NO_ROWS)
    titles = [
        normalise(cell)[:TITLE_CHARACTERS] or _("Column %(number)s") % {"number": number}
        for number, cell in enumerate(header.cells, 1)
    ]
    first_rows = [record.cells for record in rest if len(record.cells) == len(titles)]
    samples = [[_sample(cell) for cell in cells] for cells in first_rows[:SAMPLES]]
    rows = max(count(file), len(rest))
    return Upload(found.encoding, found.separator, titles, samples, rows, first_rows)


def check_header(header: Record) -> None:
    """Raise BadFile where the first line cannot be read."""
    if header.problem:
        words = {"line": f"{header.line:,}", "problem": header.problem}
        raise BadFile(_("Line %(line)s should name the columns. %(problem)s") % words)


def _sample(cell: str) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in cell).split())
    return text if len(text) <= SAMPLE_CHARACTERS else text[: SAMPLE_CHARACTERS - 1] + "…"
