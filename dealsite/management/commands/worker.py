import os
import signal
import threading
from argparse import SUPPRESS

import structlog
from django.conf import settings
from django.core.management.base import CommandParser

from dealsite.management.command import SiteCommand
from dealsite.processes import heartbeat
from dealsite.processes.heartbeat import use_few_arenas
from dealsite.processes.launcher import tell_that_it_serves
from dealsite.web import counting, log_lines, metrics
from dealsite.worker import loop

START_SECONDS = 10  # for its threads
STOP_SECONDS = 20  # for what runs when it is told to stop: killed anywhere, it loses nothing

logger = structlog.get_logger(__name__)


class Command(SiteCommand):
    help = (
        "Run jobs and charge payments as they come due, and feed the search index, until stopped. "
        "Several workers may run at once."
    )

    failures = (loop.PartDied,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tells", type=int, help=SUPPRESS)  # where the launcher hears that it has begun

    def work(self, tells: int | None) -> None:
        log_lines.note_uncaught()
        use_few_arenas()
        counting.begin("worker")
        stop, woken = threading.Event(), threading.Event()

        def end(*_: object) -> None:
            stop.set()
            signal.alarm(STOP_SECONDS)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        signal.signal(signal.SIGALRM, give_up)
        signal.alarm(START_SECONDS)
        try:
            if number := settings.DEALSITE_METRICS_PORT:
                loop.Part("metrics-port", lambda: metrics.keep_port(stop, number)).start()
            heart = loop.Part("heartbeat", lambda: heartbeat.keep(stop, "worker"))
            parts = [
                loop.Part(
                    "charging", lambda: loop.charge(stop)
                ),  # a gateway that takes its time holds up no job
                heart,
                loop.Part("metrics", lambda: counting.keep_gauges(stop)),
            ]
            for part in parts:
                part.start()
            with loop.feeding(stop, woken) as consumer:
                signal.alarm(STOP_SECONDS if stop.is_set() else 0)
                tell_that_it_serves(tells)
                loop.run(stop, expire=settings.DEALSITE_EMBEDDED, parts=[*parts, consumer], woken=woken)
            heart.join(heartbeat.END_SECONDS)
        except loop.PartDied:
            raise
        except Exception:
            # It would wait for its threads, which do not know that it is over.
            logger.exception("worker_failed")
            os._exit(1)


def give_up(*_: object) -> None:
    """End, although a thread does not start or end: without memory for it, Python waits for ever."""
    try:
        logger.error("worker_hangs")
    finally:
        os._exit(1)
