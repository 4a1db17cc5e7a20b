"""Dealsite's command line: `dealsite`, `python -m dealsite` and manage.py."""

import os
import signal
import sys


def main() -> None:
    if os.environ.get("RUN_MAIN"):  # what runserver starts again and again
        from dealsite.engine.namespace import end_with_parent

        end_with_parent(os.getppid(), signal.SIGKILL)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dealsite.settings")
    from django.core.exceptions import ImproperlyConfigured

    try:
        run()
    except ImproperlyConfigured as error:  # a sentence for whoever runs the site, which says what to do
        sys.exit(f"{error}")
    except KeyboardInterrupt:  # Ctrl-C at a terminal, where a traceback would say nothing more
        sys.exit(128 + signal.SIGINT)


def run() -> None:
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
