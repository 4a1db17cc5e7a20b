"""What commands show on a terminal: a progress bar, and text from elsewhere made harmless."""

import shutil
import time
from typing import Self

from django.core.management.base import OutputWrapper

WIDTH = 30
SECONDS = 0.1  # between two drawings
QUIET_STEPS = 4  # lines where the output is no terminal


class Progress:
    """Shows how much of `total` is done: one line that is drawn again, or a few lines in a log file.

    `made` counts what a load has written, of which a terminal sees the rate.
    """

    def __init__(self, label: str, total: int, stream: OutputWrapper) -> None:
        self.label, self.total, self.stream = label, total, stream
        self.done = self.made = 0
        self._live = stream.isatty()
        self._drawn_at = float("-inf")
        self._started = time.monotonic()
        self._drawn = ""

    def __enter__(self) -> Self:
        self._draw()
        return self

    def __exit__(self, *_error: object) -> None:
        self._draw(last=True)
        if self._live:
            self._write("\n")

    @property
    def rate(self) -> float:
        """How much was made a second."""
        return self.made / max(time.monotonic() - self._started, 0.001)

    def advance(self, steps: int = 1, *, made: int = 0) -> None:
        """Count some more as done."""
        self.done += steps
        self.made += made
        if not self._live or time.monotonic() - self._drawn_at >= SECONDS:
            self._draw()

    def _draw(self, *, last: bool = False) -> None:
        share = min(self.done / self.total, 1.0) if self.total else 1.0
        if self._live:
            self._drawn_at = time.monotonic()
            seconds = self._drawn_at - self._started
            left = f", {seconds / share - seconds:.0f} s left" if 0.02 < share < 1 and not last else ""
            rate = f", {self.rate:,.0f} a second" if self.made else ""
            bar = "█" * int(share * WIDTH) + "░" * (WIDTH - int(share * WIDTH))
            line = f"{self.label}{rate} {bar} {self.done:,} of {self.total:,}{left}"
            self._write(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        else:
            line = f"{self.label}: {int(share * QUIET_STEPS) * 100 // QUIET_STEPS} %\n"
            if line != self._drawn:
                self._write(line)
                self._drawn = line

    def _write(self, text: str) -> None:
        self.stream.write(text, str, ending="")  # by itself Django adds a line end, and the style of errors
        self.stream.flush()


def printable(text: str) -> str:
    """Return a text whose control characters are spelled out: they must not steer the terminal of who reads it."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
