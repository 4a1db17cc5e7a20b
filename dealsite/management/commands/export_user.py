from pathlib import Path

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from dealsite.data.entities.work import SITE
from dealsite.data.people import my_data
from dealsite.data.table.errors import DataError
from dealsite.management.command import SiteCommand


class Command(SiteCommand):
    help = (
        "Write all that is stored about a person into a file (JSON), for who asks by letter, "
        "also after they deleted their account."
    )

    is_patient = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user name")
        parser.add_argument("--out", metavar="FILE", help="NAME-data.json here if left out")
        parser.add_argument(
            "--everywhere",
            action="store_true",
            help="also what they made or changed, and jobs about them: reads the whole table",
        )

    def work(self, name: str, out: str, everywhere: bool) -> str:
        path, now = Path(out or f"{name}-data.json"), timezone.now()
        try:
            with path.open("x", encoding="utf-8") as file:
                path.chmod(0o600)
                text, counts = my_data.as_json(name, now=now, everywhere=everywhere)
                file.write(text)
            if not counts:
                path.unlink()
                raise CommandError(f"Nothing is stored about {name!r}.")
            my_data.note_export(name, by=SITE, now=now)
        except FileExistsError:
            raise CommandError(f"{path} is there already.") from None
        except (DataError, ValueError) as error:
            path.unlink(missing_ok=True)
            raise CommandError(str(error)) from error
        for type_, number in sorted(counts.items()):
            self.stdout.write(f"{number:8,} {type_}")
        return f"Wrote {path}. It holds personal data: delete it when it is handed over."
