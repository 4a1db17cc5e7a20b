import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dealsite.worker import charging, loop


class Command(BaseCommand):
    help = (
        "Run jobs and charge payments as they come due, and feed the projections, until stopped. "
        "Several workers may run at once."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        charges = threading.Thread(target=charging.run, args=(stop,), name="charging", daemon=True)
        charges.start()  # a gateway that takes its time holds up no job
        with loop.feeding(stop):
            loop.run(stop, expire=settings.DEALSITE_EMBEDDED)
