"""What a projection has to be able to do, so that a consumer can feed it, and how far it has come in the stream.

A projection (the search index) is a second form of what the table holds. A consumer feeds it each change
at least once; with its checkpoint it keeps where it stands, so that killed anywhere it ends equal to the table.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol, Self

import orjson

from dealsite.data.keys import Key
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, iso
from dealsite.stream.records import BEFORE_ALL, ItemChange

# A stream keeps its records for 24 hours; an hour is left for clocks that differ and for the reading itself.
KEPT = timedelta(hours=23)
FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All records up to here are applied: by shard the last sequence number, '' at its start, or FINISHED.

    `read_at` is a moment up to which the whole stream had been read.
    """

    stream: str
    read_at: datetime
    shards: Mapping[str, str] = field(default_factory=dict)

    def reaches(self, now: datetime) -> bool:
        """Tell whether the stream still holds everything that follows."""
        return now - self.read_at < KEPT

    @property
    def floor(self) -> str:
        """A sequence number that every change after this moment exceeds, and none before it.

        It stands for what a scan after this moment finds. Only of a stream's single shard is it known to be later
        than nothing that is still to come: sequence numbers of different shards say nothing about each other.
        """
        if len(self.shards) != 1:
            return BEFORE_ALL
        (sequence,) = self.shards.values()
        return sequence if sequence and sequence != FINISHED else BEFORE_ALL

    def moved(self, shards: Mapping[str, str], *, read_at: datetime | None = None) -> Self:
        """Return the checkpoint with some shards further on."""
        return replace(self, read_at=read_at or self.read_at, shards={**self.shards, **shards})

    def only(self, shards: Iterable[str]) -> Self:
        """Return the checkpoint without the shards that the stream no longer has."""
        kept = set(shards)
        return replace(self, shards={s: n for s, n in self.shards.items() if s in kept})

    def to_json(self) -> str:
        value = {"stream": self.stream, "read_at": iso(self.read_at), "shards": dict(self.shards)}
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        value = orjson.loads(text)
        return cls(value["stream"], from_iso(value["read_at"]), dict(value["shards"]))


class Damaged(Exception):
    """What a projection keeps is not as it left it: something is missing or cannot be read, so it is built anew."""


class Projection(Protocol):
    """A second form of what the table holds, kept in files that outlive the process.

    One consumer at a time has it open. It calls, over and over: apply, apply, ..., commit. After a crash it opens
    the projection again and goes on from the checkpoint that `open` returns, so whatever was applied and
    not committed comes again, and may come in other portions. A projection may also be given changes that
    it has committed already: it takes a change only where its sequence is
    greater than that of the item's last one.
    """

    name: str  # as `manage.py rebuild` calls it
    folder: Path  # its lock and what is made aside lie here
    keep_every: timedelta  # so often it is also told of a checkpoint while nothing changes

    def leads(self) -> bool:
        """Tell whether it is this process's turn to feed it; where it is another machine's, fetch what that made."""

    def leave(self) -> None:
        """Let another machine feed it at once."""

    def checkpoint(self) -> Checkpoint | None:
        """Return where it stands as of its last commit, None where nothing is built; also while another has it open."""

    def open(self) -> Checkpoint | None:
        """Get ready for changes and return where it stands; None where it has to be built first. Raises Damaged."""

    def check(self, read_at: datetime) -> None:
        """Raise Damaged where what it keeps was deleted or spoilt since, TurnLost where it is another machine's turn.

        Asked about once a second while it is open, and told up to when the stream was read.
        """

    def apply(self, changes: Sequence[ItemChange]) -> bool:
        """Take changes in, those of each item in their order; tell whether there is something to commit."""

    def commit(self, checkpoint: Checkpoint | None) -> None:
        """Keep what was applied, and with it, never before it, the checkpoint; None leaves that as it is."""

    def close(self) -> None:
        """Give up what was not committed, and everything that another process would need."""

    def build(self, items: Iterable[Item], start: Checkpoint) -> list[tuple[Key, str]]:
        """Make a new one aside, from all items of the table as a scan found them after `start`.

        Returns the keys of items that it cannot take, each with the reason; all others are in it.

        The one in use goes on being fed and read meanwhile, maybe by another process. What an earlier,
        unfinished build left behind is thrown away.
        """

    def swap(self) -> None:
        """Put the new one in the place of the old one, with its `start` as the checkpoint; nobody has it open.

        Raises Damaged where the new one is gone.
        """
