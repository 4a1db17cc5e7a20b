"""Pages of a partition whose sort keys end in a ULID: the newest first, with a cursor to either side."""

from __future__ import annotations

from dataclasses import dataclass

from dealsite.data import table
from dealsite.data.convert import Item
from dealsite.data.errors import BadCursor
from dealsite.data.ids import LAST_ULID, is_ulid, next_ulid, previous_ulid

ULID_CHARACTERS = 26


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows, newest first; `after` leads to the older ones, `before` to the newer, None where there are none."""

    rows: list[Item]
    after: str | None
    before: str | None

    @property
    def ids(self) -> list[str]:
        """The ULIDs of the rows."""
        return [_id(row) for row in self.rows]


def newest_first(
    partition: str,
    start: str,
    *,
    after: str | None,
    before: str | None,
    size: int,
    index: str | None = None,
    consistent: bool = False,
) -> Rows:
    """Return up to `size` rows whose sort keys are `start` and a ULID, older than `after` or newer than `before`.

    Neither, or '' for it, asks for the newest. BadCursor for both, and for what is no ULID. 1 query.
    """
    after, before = after or None, before or None
    if (after and before) or any(cursor and not is_ulid(cursor) for cursor in (after, before)):
        raise BadCursor()
    found = table.query(
        partition,
        index=index,
        low=f"{start}{next_ulid(before) if before else '0' * ULID_CHARACTERS}",
        high=f"{start}{previous_ulid(after) if after else LAST_ULID}",
        newest_first=not before,
        limit=size + 1,
        consistent=consistent,
    )
    rows, more = found[:size], len(found) > size
    if before:
        rows.reverse()
        return Rows(
            rows, _id(rows[-1]) if rows else next_ulid(before), _id(rows[0]) if rows and more else None
        )
    newer = (_id(rows[0]) if rows else previous_ulid(after)) if after else None
    return Rows(rows, _id(rows[-1]) if rows and more else None, newer)


def _id(row: Item) -> str:
    return str(row["SK"])[-ULID_CHARACTERS:]
