"""How fast a check goes: called for each item, it counts them and waits where they come too fast."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

STEP = 50  # items between two looks at the clock


@dataclass
class Pace:
    """At most `rate` items a second, 0 for as many as come; `then` is called each 50 items."""

    rate: int = 0
    then: Callable[[], object] = lambda: None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    items: int = 0
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def seconds(self) -> float:
        return self.clock() - self._began

    def __call__(self) -> None:
        self.items += 1
        if self.items % STEP:
            return
        if self.rate and (early := self.items / self.rate - self.seconds) > 0:
            self.sleep(early)
        self.then()
