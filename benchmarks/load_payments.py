"""Load made-up payments into the table that the environment names: `python -m benchmarks.load_payments N`."""

from __future__ import annotations

import argparse
import os
import sys

import django
from django.core.management.base import OutputWrapper

from dealsite.management.command import Progress


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load_payments", description=__doc__)
    parser.add_argument("payments", type=int)
    parser.add_argument("--size", type=int, default=1024, help="bytes of data of each")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many write at once")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    django.setup()
    from django.utils import timezone

    from benchmarks.generated_payments import GeneratedSource, load
    from dealsite.data import table

    table.be_patient()
    first = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    source = GeneratedSource(options.payments, first=first, size=options.size, method="test:approve")
    with Progress("Loading payments", source.total, OutputWrapper(sys.stderr)) as progress:

        def advance(payments: int, units: int) -> None:
            progress.advance(units, made=payments)

        done = load(source, processes=options.processes, now=timezone.now(), advance=advance)
    print(f"{done.inserted:,} payments loaded, {done.repeated:,} were there. {progress.rate:,.0f} a second.")


if __name__ == "__main__":
    main()
