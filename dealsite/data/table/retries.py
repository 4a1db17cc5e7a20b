"""How often a request is tried, and how long each try waits for the one before."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

ATTEMPTS_WITHOUT_ANSWER = 2
ATTEMPTS_WHEN_REFUSED = 9
RESTART_PAUSE = 0.1  # seconds; a supervised engine is back by then

pause: Callable[[float], None] = time.sleep  # replaced in tests, so that none waits
jitter = random.Random()  # noqa: S311 - spreads retries, guards nothing


def back_off(attempt: int) -> None:
    """Wait before a further try: a random part of 10 ms, doubled with each attempt up to 0.64 s ("full jitter")."""
    pause(jitter.uniform(0, 0.01 * 2 ** min(attempt, 6)))
