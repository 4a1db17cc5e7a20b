from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dealsite.data.entities.operations import NOTICE_CHARACTERS, SwitchState
from dealsite.data.entities.work import SITE
from dealsite.data.jobs import site_switch
from dealsite.data.table.errors import DataError


class Command(BaseCommand):
    help = (
        "Open the site, make it read-only, close it to all but admins, or say that it is a copy, which rests; "
        "without a state, say how it stands. "
        "All processes know it within two seconds."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("state", nargs="?", choices=get_args(SwitchState))
        parser.add_argument("--message", default="", help="what visitors are told")

    def handle(self, *args: Any, state: SwitchState | None, message: str, **options: Any) -> None:
        if len(message) > NOTICE_CHARACTERS:
            raise CommandError(f"The message can have {NOTICE_CHARACTERS} characters at most.")
        try:
            if state:
                switch = site_switch.switch_site(state, message=message, by=SITE, now=timezone.now())
            else:
                switch = site_switch.read()
        except DataError as error:
            raise CommandError(str(error)) from error
        more = site_switch.COPY_RESTS if switch.is_copy else switch.message
        self.stdout.write(f"The site's switch says {switch.state}. {more}".rstrip())
