import signal
import threading
from collections import Counter

from django.core.management.base import CommandError, CommandParser

from dealsite.data.jobs import site_switch
from dealsite.management.command import SiteCommand
from dealsite.worker import loop


class Command(SiteCommand):
    help = (
        "Charge payments as they come due, until stopped. Each worker does so, too; any number may run at once, "
        "and none takes a payment that another has taken."
    )

    is_patient = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="charge what is due now, then end")

    def work(self, once: bool) -> str | None:
        if not once:
            stop = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: stop.set())
            loop.charge(stop)
            return None
        total: Counter[str] = Counter()
        gateway = loop.gateway()
        if site_switch.read().is_copy:
            raise CommandError(site_switch.COPY_RESTS)
        while counts := loop.charge_due(gateway):
            total += counts
            if not any(counts[outcome] for outcome in loop.ENDED):
                break  # the rest is with other runners, or the gateway does not answer
        words = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(total.items()))
        return words or "No payment is due."
