"""Scheduled payments from a file: JSON lines, or CSV with a header; one payment a line.

Fields: `account`, `due_at` (ISO 8601 with a zone), `amount`; optional `id` (unique within an account), `data` (text) or
`data_base64`, `method` (a card's token at the gateway). A payment's id is made of its account and `id`, or, without
one, of the whole line: the same line twice is one payment.
"""

import base64
import binascii
import csv
import gzip
import hashlib
import json
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from dealsite.data import keys
from dealsite.data.commerce.payment.payment_record import Payment
from dealsite.data.entities.attributes import CENT, YEARS
from dealsite.data.entities.payments import DATA_BYTES, METHOD_CHARACTERS
from dealsite.data.table.ids import EPOCH, RANDOM_BITS, new_ulid
from dealsite.imports.csv_files import CHUNK, NO_ROWS, BadFile, hinted_separator, lines_of, opened
from dealsite.imports.csv_format import format_of

LARGEST_AMOUNT = Decimal("1000000000")
ACCOUNT_CHARACTERS = 200
LINE_BYTES = 100_000
BLOCK = 1 << 20  # bytes read at once to tell files apart
FIELDS = {"account", "due_at", "amount", "id", "data", "data_base64", "method"}


class FileSource:
    """The payments of a file; positions are bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.id = _digest_id(path)
        self.header: list[str] | None = None
        self.separator = ""
        self.body = 0  # where the payments begin
        if {".csv", ".CSV"} & set(path.suffixes):
            self._read_header()
        self.total = self.path.stat().st_size

    def _read_header(self) -> None:
        """Read what the first line of a CSV file names; a file that is not in UTF-8 with usual lines is copied."""
        with opened(self.path) as file:
            read_as = format_of(file)
            file.seek(0)
            is_plain = read_as.encoding.startswith("utf-8") and b"\n" in file.read(CHUNK)
            if not is_plain or isinstance(file, gzip.GzipFile):
                copy = tempfile.TemporaryFile()  # noqa: SIM115 - as long as this lives, also in forked processes
                weakref.finalize(self, copy.close)
                lines = lines_of(file, read_as.encoding)
                copy.writelines(line.encode("utf-8", "surrogatepass") for line in lines)
                copy.flush()
                self.path = Path(f"/proc/self/fd/{copy.fileno()}")
        self.separator = read_as.separator
        with self.path.open("rb") as file:
            line = file.readline().decode("utf-8-sig")
            if hinted_separator(line.strip()):
                line = file.readline().decode()
            self.header = _fields(line, self.separator)
            self.body = file.tell()
            is_all = not file.read(CHUNK).strip()
        if unknown := set(self.header) - FIELDS or {"account", "due_at", "amount"} - set(self.header):
            raise BadFile(f"The header names wrong or too few fields: {', '.join(sorted(unknown))}.")
        if is_all:
            raise BadFile(str(NO_ROWS))

    def bounds(self, segment: int, segments: int) -> tuple[int, int]:
        """Return the first byte of a segment, and the first after it: both where a line begins."""
        return self._line_at(segment, segments), self._line_at(segment + 1, segments)

    def _line_at(self, segment: int, segments: int) -> int:
        at = self.total * segment // segments
        if at <= self.body:
            return self.body
        if at >= self.total:
            return self.total
        with self.path.open("rb") as file:
            file.seek(at - 1)
            file.readline()
            return file.tell()

    def payments(self, start: int, end: int) -> Iterator[tuple[Payment, int, int]]:
        """Yield the payments of the lines from a byte on, with their own position and the next. BadFile."""
        with self.path.open("rb") as file:
            file.seek(start)
            position = start
            while position < end and (line := file.readline(LINE_BYTES + 1)):
                following = position + len(line)
                if line.strip():
                    try:
                        if len(line) > LINE_BYTES:
                            raise ValueError(f"it is longer than {LINE_BYTES:,} bytes.")
                        payment = payment_of(self._values(line.decode()), line.strip())
                    except (ValueError, InvalidOperation, RecursionError) as error:
                        raise BadFile(f"Line {self._number(position)} of {self.name}: {error}") from None
                    yield payment, position, following
                position = following

    def _values(self, line: str) -> Mapping[str, Any]:
        if self.header is None:
            values = json.loads(line, parse_float=Decimal)
            if not isinstance(values, dict) or not values.keys() <= FIELDS:
                raise ValueError("this is no object with the fields of a payment.")
            return values
        cells = _fields(line, self.separator)
        if len(cells) != len(self.header):
            raise ValueError(f"it has {len(cells)} fields, the header {len(self.header)}.")
        return dict(zip(self.header, cells, strict=True))

    def _number(self, position: int) -> int:
        """Return the number of the line at a byte, for people: counted only when something is wrong."""
        with self.path.open("rb") as file:
            number = 1
            while position > 0 and (block := file.read(min(BLOCK, position))):
                number += block.count(b"\n")
                position -= len(block)
        return number


def payment_of(values: Mapping[str, Any], line: bytes) -> Payment:
    """Return the payment of a line's fields, or raise ValueError."""
    for name in ("account", "due_at"):
        if not isinstance(values.get(name), str) or not values[name]:
            raise ValueError(f"{name} is missing.")
    account = keys.part(values["account"])
    if len(account) > ACCOUNT_CHARACTERS:
        raise ValueError("the account's name is too long.")
    due_at = time_of_text(values["due_at"], "due_at")
    reference = str(values.get("id") or "")
    told_apart = f"{account}#{reference}".encode() if reference else line
    digest = hashlib.sha256(told_apart).digest()
    return Payment(
        id=new_ulid(due_at, int.from_bytes(digest[: RANDOM_BITS // 8], "big")),
        account=account,
        amount=_amount(values.get("amount")),
        due_at=due_at,
        next_at=due_at,
        method=str(values.get("method") or "")[:METHOD_CHARACTERS],
        data=_data(values),
    )


def time_of_text(text: str, field: str) -> datetime:
    """Return a time in UTC, or raise ValueError: without a zone, or far from now."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{field} needs a time zone, such as 2026-12-01T09:00:00Z.")
    with suppress(OverflowError):  # of a time at the end of the calendar, whose own year is refused as well
        at = at.astimezone(UTC)
    if at.year not in YEARS:
        raise ValueError(f"the year of {field} should be from {YEARS[0]} to {YEARS[-1]} in UTC.")
    return at


def _amount(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
        raise ValueError("amount is missing.")
    try:
        amount = Decimal(value)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or not 0 < amount < LARGEST_AMOUNT or amount != amount.quantize(CENT):
        raise ValueError(f"{value} is no amount such as 12.50.")
    return amount.quantize(CENT)


def _data(values: Mapping[str, Any]) -> bytes:
    try:
        data = str(values.get("data") or "").encode()
        if encoded := values.get("data_base64"):
            data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, TypeError):
        raise ValueError("data_base64 is not base64.") from None
    if len(data) > DATA_BYTES:
        raise ValueError(f"its data is {len(data):,} bytes long, {DATA_BYTES:,} are the most.")
    return data


def _fields(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line.rstrip("\r\n")], strict=True, delimiter=separator), [])
    except csv.Error as error:
        raise ValueError(f"it is no line of CSV ({error}); a field may hold no line break.") from None


def _digest_id(path: Path) -> str:
    """Return an id that is the same for the same content, so that an interrupted load is known again."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return new_ulid(EPOCH, int.from_bytes(digest.digest()[: RANDOM_BITS // 8], "big"))
