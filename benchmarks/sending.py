"""python -m benchmarks.sending MILLISECONDS: a worker each of whose calls takes so much longer.

When it is told to stop, it prints as JSON how much memory it took, in MB, and the write units of its jobs.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from contextvars import copy_context
from pathlib import Path
from typing import Any

MEGABYTE = 1024 * 1024


def main() -> int:
    import django

    django.setup()

    from django.core.management import call_command

    from dealsite.data import table
    from dealsite.data.table.connection import Connection
    from dealsite.worker import loop

    seconds = float(sys.argv[1]) / 1000
    exchange, work_on = Connection.exchange, loop.work_on

    def later(*given: Any) -> Any:
        time.sleep(seconds)
        return exchange(*given)

    if seconds:
        Connection.exchange = later  # type: ignore[method-assign, assignment]
    memory = [_memory()]
    stop = threading.Event()
    watch = threading.Thread(target=_watch, args=(memory, stop))
    watch.start()
    with table.metered() as meter:
        metered = copy_context()
        loop.work_on = lambda *given: metered.copy().run(work_on, *given)
        call_command("worker")
    stop.set()
    watch.join()
    json.dump({"write_units": float(meter.write_units), "memory": [memory[0], max(memory)]}, sys.stdout)
    return 0


def _watch(memory: list[float], stop: threading.Event) -> None:
    while not stop.wait(0.25):
        memory.append(_memory())


def _memory() -> float:
    """This process's memory now, in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * 4096 / MEGABYTE


if __name__ == "__main__":
    sys.exit(main())
