import io
import sys
from collections.abc import Iterator

from django.conf import settings
from django.core import checks
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dealsite import environment, site_setup
from dealsite.data.people import users
from dealsite.data.table.errors import DataError
from dealsite.data.table.schema import Throughput
from dealsite.engine.programs import EngineError
from dealsite.management.command import SiteCommand
from dealsite.processes import launcher
from dealsite.site_setup import Finding

Units = int | None


class Command(SiteCommand):
    help = (
        "Makes the table, what every site has in it, and the first admin; tries mail, buckets, proxy, clock and disk;"
        " lists what is missing. Safe to repeat. The password is asked for, or read from standard input."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--admin", metavar="NAME", default="", help="user name of the first admin")
        parser.add_argument("--email", default="", help="their e-mail address")
        parser.add_argument("--yes", action="store_true", help="make what is missing without a question")
        parser.add_argument(
            "--repair",
            action="store_true",
            help="turn on what is off of an existing table: TTL, stream, protection",
        )
        parser.add_argument("--warm-read", type=int, metavar="UNITS", help="read units that it takes at once")
        parser.add_argument(
            "--warm-write", type=int, metavar="UNITS", help="write units that it takes at once"
        )
        parser.add_argument("--mail-to", default="", metavar="ADDRESS", help="send a mail there, to try it")

    def work(
        self,
        admin: str,
        email: str,
        mail_to: str,
        yes: bool,
        repair: bool,
        warm_read: Units,
        warm_write: Units,
    ) -> str:
        if (warm_read is None) != (warm_write is None):
            raise CommandError("--warm-read and --warm-write belong together.")
        warm = Throughput(warm_read, warm_write) if warm_read and warm_write else None
        if not yes:
            self._confirm()
        try:
            launcher.make_data_folder(self.say)
            with launcher.engine_at_hand(self.say) as engine:
                made = site_setup.prepare(warm=warm, repair=repair)
                if engine is not None:
                    environment.write_engine_env(settings.VAR, engine.url, settings.DEALSITE_TABLE)
                said = "is made" if made else "was there"
                found = [*site_setup.problems(warm=warm, protected=not settings.DEALSITE_EMBEDDED)]
                whole = "" if found else ", with all that every site has in it"
                found.insert(0, Finding("table", f"{site_setup.place()} {said}{whole}."))
                found += [*self._admin(admin, email, asks=not yes)]
                found += [*site_setup.clock(timezone.now())]
        except (DataError, EngineError, launcher.LaunchError) as error:
            reason = getattr(error, "reason", "")
            raise CommandError(f"{error} {reason}".strip()) from error
        found += [*_settings(), *site_setup.mail(mail_to), *site_setup.buckets(timezone.now())]
        found += [*site_setup.proxy(), *site_setup.disk()]
        return self._told(found)

    def _confirm(self) -> None:
        if not sys.stdin.isatty():
            raise CommandError("Nobody is there to ask: say --yes to make what is missing.")
        said = input(f"Make what is missing of the table {site_setup.place()}? [yes] ").strip()
        if said not in ("", "y", "yes"):
            raise CommandError("Nothing was changed.")

    def _admin(self, name: str, email: str, *, asks: bool) -> Iterator[Finding]:
        """Make the first admin where one is named; find that there is none otherwise."""
        if not name and asks and users.lacks_admin():
            name = input("User name of the first admin (Enter for none now): ").strip()
        if not name:
            yield from site_setup.no_admin()
            return
        if user := users.find(name):
            if "admin" in user.roles:
                yield Finding("admin", f"{user.username} is an admin already; the password is as it was.")
            else:
                todo = "Choose another name, or let an admin give them the role under Users."
                yield Finding("admin", f"{user.username} is a user already, and no admin.", todo)
            return
        if not email and asks:
            email = input("Their e-mail address: ").strip()
        try:
            call_command("create_user", name, email=email, role=["admin"], stdout=io.StringIO())
        except CommandError as error:
            yield Finding("admin", f"{name} was not made: {error}", f"Try again: {site_setup.FIRST_ADMIN}")
            return
        yield Finding("admin", f"{name} can sign in at {settings.DEALSITE_URL}/account/sign-in/.")

    def _told(self, found: list[Finding]) -> str:
        for one in found:
            mark = "ok" if not one.todo else "MISSING" if one.is_needed else "note"
            self.stdout.write(f"{mark:<8} {one.about:<9} {one.text}")
            if one.todo:
                self.stdout.write(f"{'':<18} -> {one.todo}")
        if needed := sum(bool(one.todo and one.is_needed) for one in found):
            raise CommandError(
                f"The site is not ready: {needed} of these {'is' if needed == 1 else 'are'} missing."
            )
        return "The site is ready."


def _settings() -> Iterator[Finding]:
    """Find what `manage.py check` says of the settings, of a public site with --deploy."""
    for one in checks.run_checks(include_deployment_checks=settings.HTTPS):
        if not one.is_silenced():
            todo = one.hint or "docs/settings.md lists all."
            yield Finding("settings", str(one.msg), todo, is_needed=one.level >= checks.ERROR)
