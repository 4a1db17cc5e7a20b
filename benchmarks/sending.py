"""python -m benchmarks.sending: a worker that runs one job, and prints what that took, as JSON."""

from __future__ import annotations

import json
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

MEGABYTE = 1024 * 1024


def main() -> int:
    import django

    django.setup()

    from dealsite.data import table
    from dealsite.data.jobs import jobs
    from dealsite.data.people import announcements
    from dealsite.worker import loop

    table.be_patient()
    (sent,) = announcements.newest().rows
    memory = [_memory()]
    stop = threading.Event()
    watch = threading.Thread(target=_watch, args=(memory, stop))
    watch.start()
    started = time.perf_counter()
    with table.metered() as meter:
        while jobs.get(sent.id).state == "open":
            if (job := loop.take(now=datetime.now(UTC))) is not None:
                loop.work_on(job, datetime.now(UTC))
    seconds = time.perf_counter() - started
    stop.set()
    watch.join()
    progress = jobs.get(sent.id).progress
    told = {"seconds": seconds, "sent": progress["sent"], "write_units": float(meter.write_units)}
    json.dump(told | {"memory": memory}, sys.stdout)
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
