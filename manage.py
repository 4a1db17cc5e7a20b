#!/usr/bin/env python
"""Django's command line for Dealsite."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    import django
    from django.core.management import call_command, execute_from_command_line

    from dealsite.data import table

    if sys.argv[1:] in (["version"], ["--version"]):  # Django would tell its own
        django.setup()
        call_command("version")
        return
    if "runserver" not in sys.argv[1:2]:
        table.be_patient()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
