from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dealsite.data.entities.work import SITE
from dealsite.data.people import two_factor, users
from dealsite.data.table.errors import DataError


class Command(BaseCommand):
    help = (
        "Turn off two-factor sign-in of a user who has lost app and recovery codes; ends all their sessions."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user name")

    def handle(self, *args: Any, name: str, **options: Any) -> None:
        try:
            user = users.get(name)
            if not user.two_factor:
                self.stdout.write(f"{name} signs in with the password alone already.")
                return
            two_factor.turn_off(user, by=SITE, now=timezone.now())
        except DataError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{name} signs in with the password alone now, and is signed out everywhere.")
