"""A progress bar for commands that take a while."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TextIO

WIDTH = 30
SECONDS = 0.1  # between two drawings
QUIET_STEPS = 4  # lines where the output is no terminal


class Progress:
    """Shows how much of `total` is done: one line that is drawn again, or a few lines in a log file."""

    def __init__(self, label: str, total: int, stream: TextIO) -> None:
        self.label, self.total, self.stream = label, total, stream
        self.done = 0
        self._live = stream.isatty()
        self._drawn_at = float("-inf")
        self._started = time.monotonic()
        self._drawn = ""

    def __enter__(self) -> Progress:
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._draw(last=True)
        if self._live:
            self.stream.write("\n")
            self.stream.flush()

    def advance(self, steps: int = 1) -> None:
        """Count some more as done."""
        self.done += steps
        if not self._live or time.monotonic() - self._drawn_at >= SECONDS:
            self._draw()

    def _draw(self, *, last: bool = False) -> None:
        share = min(self.done / self.total, 1.0) if self.total else 1.0
        if self._live:
            self._drawn_at = time.monotonic()
            seconds = self._drawn_at - self._started
            left = f", {seconds / share - seconds:.0f} s left" if 0.02 < share < 1 and not last else ""
            bar = "█" * int(share * WIDTH) + "░" * (WIDTH - int(share * WIDTH))
            self.stream.write(f"\r{self.label} {bar} {self.done:,} of {self.total:,}{left}\x1b[K")
        else:
            line = f"{self.label}: {int(share * QUIET_STEPS) * 100 // QUIET_STEPS} %\n"
            if line != self._drawn:
                self.stream.write(line)
                self._drawn = line
        self.stream.flush()
