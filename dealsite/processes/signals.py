"""What a launcher makes of signals: Ctrl-C and SIGTERM end its site, SIGHUP replaces the site's parts."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Stopped(BaseException):
    """Ctrl-C, or somebody asked this process to end."""


@contextlib.contextmanager
def caught() -> Iterator[threading.Event]:
    """Turn the first signal to end into Stopped; later ones do not disturb the ending. SIGHUP sets the event.

    Under a terminal SIGHUP ends the site as well: its window was closed.
    """
    reload = threading.Event()

    def end(number: int, _frame: FrameType | None) -> None:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        raise Stopped

    handlers = {signal.SIGINT: end, signal.SIGTERM: end}
    handlers[signal.SIGHUP] = end if has_terminal() else lambda *_: reload.set()
    before = {one: signal.signal(one, handler) for one, handler in handlers.items()}
    try:
        yield reload
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def has_terminal() -> bool:
    """Tell whether this process belongs to a terminal: SIGHUP then says that its window was closed."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True
