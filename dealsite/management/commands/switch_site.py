from typing import get_args

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dealsite.data.entities.operations import NOTICE_CHARACTERS, SwitchState
from dealsite.data.entities.work import SITE
from dealsite.data.jobs import site_switch
from dealsite.management.command import SiteCommand


class Command(SiteCommand):
    help = (
        "Open the site, make it read-only, close it to all but admins, or say that it is a copy, which rests; "
        "without a state, say how it stands. "
        "All processes know it within two seconds."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("state", nargs="?", choices=get_args(SwitchState))
        parser.add_argument("--message", default="", help="what visitors are told")

    def work(self, state: SwitchState | None, message: str) -> str:
        if len(message) > NOTICE_CHARACTERS:
            raise CommandError(f"The message can have {NOTICE_CHARACTERS} characters at most.")
        if state:
            switch = site_switch.switch_site(state, message=message, by=SITE, now=timezone.now())
        else:
            switch = site_switch.read()
        more = site_switch.COPY_RESTS if switch.is_copy else switch.message
        return f"The site's switch says {switch.state}. {more}".rstrip()
