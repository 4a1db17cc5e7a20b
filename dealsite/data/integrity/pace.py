"""How fast a check or a migration goes: called for each item, it counts them and waits where they come too fast."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

STEP = 50  # items between two looks at the clock


@dataclass
class Pace:
    """At most `rate` items a second, 0 for as many as come; `then` is called each 50 items.

    What took long is not made up for afterwards.
    """

    rate: float = 0
    then: Callable[[], object] = lambda: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    items: int = 0
    _began: float = field(init=False)
    _next: float = field(init=False)
    _new: int = 0

    def __post_init__(self) -> None:
        self._began = self._next = self.clock()

    @property
    def seconds(self) -> float:
        return self.clock() - self._began

    def __call__(self, items: int = 1) -> None:
        """Count an item, or some that come together, and wait until they may."""
        self.items += items
        self._new += items
        if items == 1 and self._new < STEP:
            return
        if self.rate:
            self._next += self._new / self.rate
            now = self.clock()
            if self._next > now:
                self.sleep(self._next - now)
            self._next = max(self._next, now)
        self._new = 0
        self.then()
