"""What jobs store: read back as it was, as today's build stores it, and refused where another version did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import ClassVar

import pytest

from dealsite.data.jobs.payloads import UnknownVersion, payload_from_item, payload_to_item, stored_as
from tests.builders import NOW


@dataclass(frozen=True, slots=True)
class Remark:
    line: int
    refused: bool = True


@dataclass(frozen=True, slots=True)
class Payload:
    at: datetime
    day: date
    late: tuple[Remark, ...]
    totals: dict[str, Remark]
    price: Decimal
    import_id: str = stored_as("import")
    by: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Second:
    version: ClassVar[int] = 2
    deal: str


LATE = (Remark(1), Remark(2, False))
WHOLE = Payload(NOW, NOW.date(), LATE, {"a": Remark(3)}, Decimal("5.00"), "I", "eve")
STORED = {
    "import": "I",
    "at": "2026-11-21T12:00:00.000Z",
    "day": "2026-11-21",
    "late": [{"line": 1, "refused": True}, {"line": 2, "refused": False}],
    "totals": {"a": {"line": 3, "refused": True}},
    "price": Decimal("5.00"),
    "by": "eve",
}


def test_what_is_stored_is_read_as_it_was():
    assert payload_to_item(WHOLE) == STORED
    assert payload_from_item(Payload, STORED) == WHOLE
    assert payload_from_item(Payload, STORED | {"until": None}) == WHOLE


def test_a_first_version_says_nothing_of_it_and_later_ones_do():
    assert payload_to_item(Second("D")) == {"deal": "D", "version": 2}
    assert payload_from_item(Second, {"deal": "D", "version": 2}) == Second("D")


@pytest.mark.parametrize(
    ("cls", "item"),
    [
        (Payload, STORED | {"version": 2}),
        (Payload, STORED | {"more": 1}),
        (Payload, STORED | {"late": [{"line": 1, "column": "x"}]}),
        (Second, {"deal": "D"}),
        (Second, {"deal": "D", "version": 3}),
    ],
)
def test_what_another_version_stored_is_refused(cls, item):
    with pytest.raises(UnknownVersion):
        payload_from_item(cls, item)


def test_what_lacks_a_field_is_no_payload():
    with pytest.raises(TypeError):
        payload_from_item(Second, {"version": 2})
