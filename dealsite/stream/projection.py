"""What a projection has to be able to do, so that a consumer can feed it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from dealsite.data.table.convert import Item
from dealsite.stream.changes import ItemChange
from dealsite.stream.checkpoints import Checkpoint


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
    patience: float  # seconds that an applied change may wait for its commit, while more come; 0: none
    portion: int  # changes after which it wants a commit in any case

    def checkpoint(self) -> Checkpoint | None:
        """Return where it stands as of its last commit, None where nothing is built; also while another has it open."""

    def open(self) -> Checkpoint | None:
        """Get ready for changes and return where it stands; None where it has to be built first."""

    def apply(self, changes: Sequence[ItemChange]) -> None:
        """Take changes in, those of each item in their order."""

    def commit(self, checkpoint: Checkpoint | None) -> None:
        """Keep what was applied, and with it, never before it, the checkpoint; None leaves that as it is."""

    def close(self) -> None:
        """Give up what was not committed, and everything that another process would need."""

    def build(self, items: Iterable[Item], start: Checkpoint) -> None:
        """Make a new one aside, from all items of the table as a scan found them after `start`.

        The one in use goes on being fed and read meanwhile, maybe by another process. What an earlier,
        unfinished build left behind is thrown away.
        """

    def swap(self) -> None:
        """Put the new one in the place of the old one, with its `start` as the checkpoint; nobody has it open."""
