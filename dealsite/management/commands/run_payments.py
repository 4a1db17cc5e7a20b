import signal
import threading
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dealsite.data import table
from dealsite.data.jobs import site_switch
from dealsite.data.table.errors import DataError
from dealsite.gateways import choice
from dealsite.worker import loop


class Command(BaseCommand):
    help = (
        "Charge payments as they come due, until stopped. Each worker does so, too; any number may run at once, "
        "and none takes a payment that another has taken."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="charge what is due now, then end")

    def handle(self, *args: Any, **options: Any) -> None:
        table.be_patient()
        if not options["once"]:
            stop = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: stop.set())
            loop.charge(stop)
            return
        total: Counter[str] = Counter()
        gateway = choice.current()
        try:
            if site_switch.read().is_copy:
                raise CommandError(site_switch.COPY_RESTS)
            while counts := loop.charge_due(gateway):
                total += counts
                if not any(counts[outcome] for outcome in loop.ENDED):
                    break  # the rest is with other runners, or the gateway does not answer
        except DataError as error:
            raise CommandError(str(error)) from None
        words = ", ".join(f"{number:,} {outcome}" for outcome, number in sorted(total.items()))
        self.stdout.write(words or "No payment is due.")
