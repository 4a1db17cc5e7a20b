"""Place the orders of a file by the site's own cart and checkout: deals are published, users made that cannot sign in.

`python -m benchmarks.load_orders FILE` fills the running site that the environment names, as manage.py would; run
again after an interruption, it goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import django
from django.core.management.base import OutputWrapper

from dealsite.management.command import Progress


def main(arguments: list[str] | None = None) -> str:
    """Load a file and return what came of it, in sentences; SystemExit where it cannot be loaded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load_orders", description=__doc__)
    parser.add_argument("file", type=Path, help="JSON lines, which may be compressed with gzip")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="place orders at once")
    parser.add_argument(
        "--yes", action="store_true", help="also into a table that the site did not start itself"
    )
    options = parser.parse_args(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    django.setup()
    from django.conf import settings

    from benchmarks import placing
    from dealsite.data import table
    from dealsite.data.table.errors import DataError
    from dealsite.imports.csv_files import BadFile

    if not settings.DEALSITE_EMBEDDED and not options.yes:
        raise SystemExit("The table is not of the embedded engine. To fill it all the same: --yes")
    table.be_patient()
    try:
        contents = placing.survey(options.file)
        placing.publish_products(contents)
        with Progress("Placing orders", contents.parts, OutputWrapper(sys.stderr)) as progress:

            def advance(step: placing.Step) -> None:
                progress.advance(step.placed + step.there, made=step.placed)

            placing.load(options.file, contents, processes=options.processes, advance=advance)
    except (DataError, BadFile, placing.CannotLoad, OSError) as error:
        raise SystemExit(f"{error} Run this again to go on.") from None
    return (
        f"{contents.orders:,} orders of {len(contents.users):,} users, placed as {contents.parts:,}: {progress.made:,} "
        f"now, {progress.done - progress.made:,} before. {progress.rate:,.0f} a second."
    )


if __name__ == "__main__":
    print(main())
