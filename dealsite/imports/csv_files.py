"""Reading CSV files that may be damaged, of any size, in the format that `csv_format` finds out.

A broken record never takes its neighbours along. The encoding is told by a mark, by zeros, as UTF-8, or as the code
page that makes words of it.
"""

import codecs
import csv
import gzip
import re
import unicodedata
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import IO, NamedTuple

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _, gettext_lazy

CHUNK = 1 << 20
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
HINT = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # a first line for Excel, which says the separator
GZIP = b"\x1f\x8b"
MAX_BYTES = 50_000_000
LINE_CHARACTERS = 1_000_000  # a longer line is cut there, and rejected
RECORD_LINES = 1_000  # a record of more lines is rejected, not gathered in memory
FIELD_CHARACTERS = 131_072  # csv's own limit


File = IO[bytes] | gzip.GzipFile
NO_ROWS = gettext_lazy("The file names its columns, and holds no row.")
REASONS = gettext_lazy("Why it was rejected")  # the title of the last column of a file of rejected rows


class BadFile(Exception):
    """The file as a whole cannot be taken; the message says why."""


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How the bytes of a file become cells."""

    encoding: str
    separator: str


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


def read(path: Path, read_as: CsvFormat) -> Iterator[Record]:
    """Yield the records of a file, the header first. BadFile as `opened` raises it.

    What cannot be decoded comes out as lone surrogates, so that a row can be rejected for it.
    """
    with opened(path) as file:
        yield from records(file, read_as)


def records(file: File, read_as: CsvFormat) -> Iterator[Record]:
    """Yield the records of an open file, from its beginning, without the reasons of a file of rejected rows."""
    width, reasons = 0, -1
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
                if not width:
                    width, titles = len(cells), [cell.strip() for cell in cells]
                    reasons = next((n for n in range(1, width) if titles[n] in _titles_of_reasons()), -1)
                if reasons > 0:
                    del cells[reasons : reasons + 1]
                yield Record(start, cells)


@cache
def _titles_of_reasons() -> frozenset[str]:
    """Return what the column of reasons is called, in every language: another editor may read the file."""
    found = []
    for code, _name in settings.LANGUAGES:
        with translation.override(code):
            found.append(str(REASONS))
    return frozenset(found)


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


def decoder(encoding: str) -> codecs.IncrementalDecoder:
    """Return what decodes a file piece by piece; what cannot be decoded becomes lone surrogates."""
    is_utf16 = encoding.startswith("utf-16")
    return codecs.getincrementaldecoder(encoding)("surrogatepass" if is_utf16 else "surrogateescape")


def hinted_separator(line: str) -> str:
    """Return what the first line says that separates cells; '' if it says nothing, or what is no separator here."""
    found = HINT.fullmatch(line)
    return found[1] if found and found[1] in SEPARATORS else ""


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


def check_header(header: Record) -> None:
    """Raise BadFile where the first line cannot be read."""
    if header.problem:
        words = {"line": f"{header.line:,}", "problem": header.problem}
        raise BadFile(_("Line %(line)s should name the columns. %(problem)s") % words)


ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-8-sig": gettext_lazy("UTF-8 with a byte order mark"),
    "utf-16-le": "UTF-16",
    "utf-16-be": gettext_lazy("UTF-16, big end first"),
    "cp1252": "Windows-1252",
    "cp1250": gettext_lazy("Windows-1250, Central Europe"),
    "cp1251": gettext_lazy("Windows-1251, Cyrillic"),
    "mac-roman": "Mac",
    "cp850": "DOS (850)",
    "gb18030": "GBK",
    "cp932": "Shift-JIS",
}
CODE_PAGES = tuple(ENCODINGS)[4:]
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
UNDECODED = re.compile("[\udc80-\udcff]")
NO_LETTERS = {"Cn", "Co", "Cs"}  # unassigned, private, half of a pair
JUNK = NO_LETTERS | {"Cc"}  # or control
WORD = re.compile(r"[^\s!-/:-@\[-`{-~’‘–—…•·]+")
AS_ONE = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "HALFWIDTH": "half a kana"}
SAMPLE_CHARACTERS = 40
TELLING_BYTES = 20_000  # of lines with letters that are not ASCII
CLEARLY = 4  # times as few words that look wrong


def encoding_of(file: File, start: bytes) -> str:
    """Return the encoding that a file is most likely in; Windows-1252 where its letters do not tell."""
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return name
    low, high = start[::2].count(0), start[1::2].count(0)
    if max(low, high) > len(start) * 0.05 and min(low, high) * 10 < max(low, high):
        return "utf-16-le" if high > low else "utf-16-be"
    if _is_utf8(file):
        return "utf-8"
    lines = b"\n".join(_telling_lines(start))[:TELLING_BYTES]
    wrong = {name: _wrong_words(lines, name) for name in CODE_PAGES}
    best, second = sorted(CODE_PAGES, key=lambda name: wrong[name])[:2]
    return best if wrong[best] * CLEARLY < wrong["cp1252"] and wrong[best] < wrong[second] else "cp1252"


def in_each(start: bytes) -> dict[str, str]:
    """Return how the first words of a file with letters of their own look in each encoding that can have them."""
    line = next(iter(_telling_lines(start)), b"")
    first = re.search(rb"[\x80-\xff]", line)
    begin = max(0, first.start() - 10) if first else 0
    piece = line[begin : begin + 4 * SAMPLE_CHARACTERS]
    found = {name: decoder(name).decode(piece).strip()[:SAMPLE_CHARACTERS] for name in ENCODINGS if piece}
    return {
        name: text
        for name, text in found.items()
        if not any(unicodedata.category(letter) in JUNK for letter in text.replace("\t", " "))
    }


def _telling_lines(start: bytes) -> list[bytes]:
    """Return the lines that are not all ASCII."""
    return [line for line in re.split(rb"[\r\n]+", start) if not line.isascii()]


def _is_utf8(file: File) -> bool:
    """Tell whether most of what is not ASCII is UTF-8: a damaged row does not make a file another one."""
    good = bad = 0
    decode = decoder("utf-8").decode
    file.seek(0)
    while chunk := file.read(CHUNK):
        text = decode(chunk)
        if text.isascii():
            continue
        wrong = len(UNDECODED.findall(text))
        bad += wrong
        good += len(text) - len(text.encode("ascii", "ignore")) - wrong
    return good >= bad


def _wrong_words(data: bytes, encoding: str) -> int:
    """Return how many words look as if they were read in the wrong code page."""
    return sum(
        not word.isascii() and _looks_wrong(word, encoding)
        for word in WORD.findall(decoder(encoding).decode(data))
    )


def _looks_wrong(word: str, encoding: str) -> bool:
    """Tell whether a word mixes scripts, or holds signs, capitals or too many accents among its letters."""
    scripts = {_script(letter) for letter in word if letter.isalpha()}
    is_junk = any(unicodedata.category(letter) in JUNK for letter in word)
    if is_junk or len(scripts) > 1 or "half a kana" in scripts:
        return True
    if scripts == {"CJK"}:
        return encoding == "gb18030" and not _is_usual(word)
    inner = word.strip("".join(letter for letter in word if not letter.isalpha()))
    if any(not letter.isalnum() or (letter.isnumeric() and not letter.isascii()) for letter in inner):
        return True
    if any(a.islower() and b.isupper() and not b.isascii() for a, b in pairwise(word)):
        return True
    accents = (len(list(run)) for is_plain, run in groupby(word, str.isascii) if not is_plain)
    return scripts == {"LATIN"} and max(accents) > 3


def _script(letter: str) -> str:
    name = unicodedata.name(letter, "?").partition(" ")[0]
    return AS_ONE.get(name, name)


def _is_usual(word: str) -> bool:
    """Tell whether a Chinese word is written in the usual signs, which any other file would hardly hit."""
    try:
        word.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return True
