"""Charging payments as they come due, until told to stop: a thread of each worker, and `manage.py run_payments`."""

import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from dealsite.data.commerce.payment import charging
from dealsite.data.jobs import jobs, site_switch
from dealsite.data.table.errors import DataError
from dealsite.gateways import choice
from dealsite.gateways.interface import Gateway

IDLE_SECONDS = 5.0
ENDED = ("processed", "failed", "cancelled")

logger = structlog.get_logger(__name__)


def run(stop: threading.Event, *, clock: Callable[[], datetime] = timezone.now) -> None:
    """Charge what is due until `stop` is set, but not on a copy; what cannot be read or charged now is tried again."""
    try:
        gateway = choice.current()
    except ImproperlyConfigured as error:
        logger.error("nothing_is_charged", reason=str(error))
        return
    while not stop.is_set():
        counts: Counter[str] = Counter()
        try:
            if site_switch.of_process.lets_work():
                counts = charge_due(gateway, clock=clock)
        except DataError as error:
            logger.warning("charging_waits", reason=str(error))
        except Exception:  # a payment must not take the thread down; its lease brings it back
            logger.exception("charging_failed")
        if not any(counts[outcome] for outcome in ENDED):
            stop.wait(IDLE_SECONDS)


def charge_due(gateway: Gateway, *, clock: Callable[[], datetime] = timezone.now) -> Counter[str]:
    """Charge up to 100 payments that are due; return how many ended as what (`running.run_due`)."""
    counts = charging.run_due(gateway, currency=settings.DEALSITE_CURRENCY, clock=clock)
    if counts:
        logger.info("payments_run", **counts)
    return counts


def refund(job: jobs.Job, now: datetime) -> None:
    """Carry out a job that gives payments back (`charging.refund_payments`)."""
    charging.refund_payments(job, now, gateway=choice.current(), currency=settings.DEALSITE_CURRENCY)
