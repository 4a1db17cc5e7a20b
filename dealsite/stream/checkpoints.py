"""How far a projection has come in the stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import orjson

from dealsite.data.table.ids import from_iso, iso
from dealsite.stream.changes import BEFORE_ALL

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

    def moved(self, shards: Mapping[str, str], *, read_at: datetime | None = None) -> Checkpoint:
        """Return the checkpoint with some shards further on."""
        return Checkpoint(self.stream, read_at or self.read_at, {**self.shards, **shards})

    def only(self, shards: Iterable[str]) -> Checkpoint:
        """Return the checkpoint without the shards that the stream no longer has."""
        kept = set(shards)
        return Checkpoint(self.stream, self.read_at, {s: n for s, n in self.shards.items() if s in kept})

    def to_json(self) -> str:
        value: dict[str, Any] = {
            "stream": self.stream,
            "read_at": iso(self.read_at),
            "shards": dict(self.shards),
        }
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Checkpoint:
        value = orjson.loads(text)
        return cls(value["stream"], from_iso(value["read_at"]), dict(value["shards"]))
