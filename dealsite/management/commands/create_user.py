import getpass
import sys

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dealsite.accounts import passwords
from dealsite.accounts.passwords import Owner
from dealsite.data.entities.people import ROLES
from dealsite.data.names import email_as_typed, normalise_username
from dealsite.data.people import users
from dealsite.data.table.ids import new_ulid
from dealsite.management.command import SiteCommand


class Command(SiteCommand):
    help = "Create a user. The password is asked for, or read as the first line of standard input."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="3 to 30 letters, digits, dots, dashes or underscores")
        parser.add_argument("--email", required=True)
        parser.add_argument(
            "--role", action="append", default=[], choices=ROLES, help="may be given several times"
        )

    def work(self, name: str, email: str, role: list[str]) -> str:
        now = timezone.now()
        try:
            normalise_username(name)
            email = email_as_typed(email)
            password = self._password()
            passwords.check(password, Owner(name, name, email))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        hashed, registration = passwords.hashed(password), new_ulid(now)
        user = users.create(
            username=name, email=email, password=hashed, registration=registration, roles=role, now=now
        )
        having = f" with the roles {', '.join(user.roles_in_order)}" if user.roles else ""
        return f"{user.username} can now sign in{having}."

    def _password(self) -> str:
        """Return the password typed twice at a terminal, or one line of standard input."""
        if not sys.stdin.isatty():
            password = sys.stdin.readline().removesuffix("\n").removesuffix("\r")
            if not password:
                raise CommandError("Standard input holds no password.")
            return password
        try:
            password = getpass.getpass("Password: ")
            again = getpass.getpass("The same again: ")
        except (EOFError, KeyboardInterrupt):
            raise CommandError("No password was given.") from None
        if password != again:
            raise CommandError("The two passwords differ.")
        return password
