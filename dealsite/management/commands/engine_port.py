from django.conf import settings
from django.core.management.base import CommandError

from dealsite.data.table import connection
from dealsite.engine import server
from dealsite.management.command import SiteCommand

WARNING = (
    "While this runs, every user of this machine and every web page that is open on it can read and change what the"
    " site stores. Ctrl-C closes the port."
)


class Command(SiteCommand):
    help = (
        "Opens a loopback port to the engine for other DynamoDB tools, until Ctrl-C, and prints its address."
    )
    requires_system_checks: list[str] = []

    def work(self) -> None:
        url = settings.DYNAMODB_ENDPOINT_URL
        if not connection.on_this_machine(url):
            raise CommandError("The table is in no engine on this machine; reach it as the site does.")
        try:
            connection.connect(url, 2).close()
        except OSError as error:
            raise CommandError(f"There is no engine at {url} ({error}). Start the site first.") from error
        server.serve_port(url, self._tell)

    def _tell(self, opened: str) -> None:
        self.say(f"DYNAMODB_ENDPOINT_URL={opened}")
        self.stderr.write(self.style.WARNING(WARNING))
