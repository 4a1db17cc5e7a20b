"""Reads the records of a CSV file that may be damaged: a broken record never takes its neighbours along."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from django.utils.translation import gettext as _

LINE_BYTES = 1_000_000  # a longer line is cut there, and refused
RECORD_LINES = 1_000  # a record of more lines is refused, not gathered in memory
FIELD_CHARACTERS = 131_072  # csv's own limit
GZIP, ZIP, UTF16 = b"\x1f\x8b", b"PK\x03\x04", (b"\xff\xfe", b"\xfe\xff")


File = IO[bytes] | gzip.GzipFile


class BadFile(Exception):
    """The file as a whole cannot be imported; the message says why."""


class Record(NamedTuple):
    """The cells of a record and the line where it starts; `problem` says why it has none, `text` is its first line."""

    line: int
    cells: list[str]
    problem: str = ""
    text: str = ""


def read(path: Path, separator: str = ",") -> Iterator[Record]:
    """Yield the records of a .csv or .csv.gz file, the header first.

    Bytes that are not UTF-8 come out as lone surrogates, so that a row can be refused for them. Raises
    BadFile where the file cannot be read at all, or not to its end.
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
        raise BadFile(
            _("The compressed file is damaged or ends too early (%(error)s).") % {"error": error}
        ) from error
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
                return max(_newlines(raw) - 1, 0)
            with gzip.open(raw) as unpacked:
                return max(_newlines(unpacked) - 1, 0)
    except (OSError, EOFError, zlib.error):
        return 0  # what is wrong with the file, `read` says


def _newlines(file: File) -> int:
    return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


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
            text = lines.skip_one()
            yield Record(start, [], _sentence(str(error)), text)
            continue
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
