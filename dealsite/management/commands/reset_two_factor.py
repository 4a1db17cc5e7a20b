from django.core.management.base import CommandParser
from django.utils import timezone

from dealsite.data.entities.work import SITE
from dealsite.data.people import two_factor, users
from dealsite.management.command import SiteCommand


class Command(SiteCommand):
    help = (
        "Turn off two-factor sign-in of a user who has lost app and recovery codes; ends all their sessions."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user name")

    def work(self, name: str) -> str:
        user = users.get(name)
        if not user.two_factor:
            return f"{name} signs in with the password alone already."
        two_factor.turn_off(user, by=SITE, now=timezone.now())
        return f"{name} signs in with the password alone now, and is signed out everywhere."
