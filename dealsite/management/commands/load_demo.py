from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dealsite.data.jobs import command_runs
from dealsite.demo import loading
from dealsite.demo.loading import SignIn
from dealsite.management.command import Progress, SiteCommand


class Command(SiteCommand):
    help = (
        "Load the demo content: some 200 deals of invented brands, editors and shoppers. Loaded once; "
        "run again after an interruption, it goes on where it was."
    )

    failures = (loading.NotOurs,)

    def add_arguments(self, parser: CommandParser) -> None:
        foreign = (
            "load it into a public site or a table that this project did not start, with random passwords"
        )
        parser.add_argument("--yes", action="store_true", help=foreign)

    def work(self, yes: bool) -> str | None:
        own = settings.DEALSITE_EMBEDDED and not settings.HTTPS  # everybody knows the passwords of the demo
        if not own and not yes:
            where = settings.DYNAMODB_ENDPOINT_URL or f"Amazon DynamoDB in {settings.DEALSITE_REGION}"
            not_own = "of a public site" if settings.HTTPS else "not of the embedded engine"
            raise CommandError(
                f"The table {settings.DEALSITE_TABLE} at {where} is {not_own}. "
                "To load the demo content there all the same, with random passwords: load_demo --yes"
            )
        if loading.is_loaded():
            return "The demo content is here already."
        started, made = loading.begin(timezone.now(), random_passwords=not own)
        if made and not own:
            self._tell(made)
        with Progress("Demo content", loading.steps(), self.stderr) as progress:
            loading.load_content(started, progress.advance)
        command_runs.plan(command_runs.SNAPSHOT, due=timezone.now())  # so that there is something to ask
        for sign_in in loading.finish(started, random_passwords=not own):
            if not own:
                self._tell(sign_in)
        return None

    def _tell(self, made: SignIn) -> None:
        """Print a random password; it is stored nowhere."""
        roles = " and ".join(made.person.roles) or "shopper"
        self.stdout.write(f"{made.person.username:<10}{made.password:<20}{roles}")
