"""What an import stores of its file, and its jobs of the import."""

from __future__ import annotations

from dataclasses import dataclass

from dealsite.data.jobs.payloads import stored_as


@dataclass(frozen=True, slots=True)
class ImportPayload:
    """What the jobs of an import store: which one it is, and who has its deals imported."""

    import_id: str = stored_as("import")
    by: str | None = None


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How many rows a job has gone through, of about how many, and what became of them."""

    done: int
    total: int
    imported: int
    refused: int


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it came: `rows` is about how many it has, `samples` the first ones, `of` the import that it mends.

    `decimal` and `dates` are what was guessed of its amounts and times.
    """

    name: str
    bytes: int
    rows: int
    encoding: str
    separator: str
    titles: tuple[str, ...]
    decimal: str
    dates: str
    samples: tuple[tuple[str, ...], ...] = ()
    of: str = ""
