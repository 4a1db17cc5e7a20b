"""The parts that a launcher runs: started in order, replaced one after the other, ended together."""

import contextlib
import os
import signal
from collections.abc import Callable

import structlog

from dealsite.engine.programs import EngineError
from dealsite.engine.server import wait_until
from dealsite.engine.supervisor import Supervisor

SERVES_SECONDS = 60.0  # until a web process answers
END_SECONDS = 10.0  # for what a part is doing, once it is told to end

logger = structlog.get_logger(__name__)


def tell_that_it_serves(tells: int | None) -> None:
    """Tell the launcher that this process has begun its work, where one listens."""
    if tells is not None:
        with contextlib.suppress(OSError):  # nobody listens any more
            os.write(tells, b"%d\n" % os.getpid())


class Children:
    """Supervisors that run. Of those that serve, each process writes its id to the pipe `tells` when it begins to."""

    def __init__(self) -> None:
        self._hears, self.tells = os.pipe2(os.O_NONBLOCK)
        self._serving = set[int]()
        self._made: list[tuple[Callable[[], Supervisor], bool]] = []
        self._leaving: list[Supervisor] = []
        self.running: list[Supervisor] = []

    def start(self, make: Callable[[], Supervisor], *, serves: bool = False) -> None:
        """Start a part; with `serves`, it is one that will write to `tells` once it has begun its work."""
        self._made.append((make, serves))
        self.running.append(make())
        self.running[-1].start()

    def wait_until_they_serve(self) -> None:
        """Wait until every part does that serves and is needed; EngineError where one does not come to it."""
        for (_, serves), one in zip(self._made, self.running, strict=True):
            if serves and one.is_needed:
                self._wait_for(one)

    def replace(self) -> bool:
        """Start every part anew, each beside the one that it replaces; tell whether all of them came up.

        The new one serves before the old one is told to end, and where it does not, the old one goes on.
        """
        for number, (make, serves) in enumerate(self._made):
            new = make()
            self._leaving.append(new)  # ended with the others, should a signal come
            try:
                new.start()
                if serves:
                    self._wait_for(new)
            except (EngineError, OSError) as error:
                new.stop()
                self._leaving.clear()
                logger.error("reload_failed", part=new.name, reason=str(error))
                return False
            self._leaving, old = [self.running[number]], self.running[number]
            self.running[number] = new
            old.ask_to_end(signal.SIGINT)  # which a web process understands: another one serves already
            old.stop(END_SECONDS)
            self._leaving.clear()
        logger.info("reloaded", parts=len(self.running))
        return True

    def stop(self, drain: float = 0) -> None:
        """End all parts at the same time; web processes go on for the seconds that they drain."""
        every = [*self._leaving, *self.running]
        for one in every:
            one.ask_to_end()
        for one in reversed(every):
            one.stop(END_SECONDS + drain)
        os.close(self._hears)
        os.close(self.tells)

    def _wait_for(self, one: Supervisor) -> None:
        wait_until(lambda: one.pid in self._heard(), one, SERVES_SECONDS)

    def _heard(self) -> set[int]:
        with contextlib.suppress(BlockingIOError):
            self._serving.update(map(int, os.read(self._hears, 65_536).split()))
        return self._serving
