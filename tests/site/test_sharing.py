"""Processes that share work: each ends when the pool tells it to."""

from __future__ import annotations

import os
import signal

from benchmarks.sharing import share


def test_a_process_that_shares_work_ends_by_the_signal_that_its_parent_handles():
    signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
    tasks = range(4)
    handled = share(
        tasks, lambda task, advance: signal.getsignal(signal.SIGTERM), processes=2, advance=lambda step: None
    )
    assert handled == [signal.SIG_DFL] * len(tasks)
