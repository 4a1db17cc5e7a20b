from argparse import ArgumentParser

from dealsite.management.command import SiteCommand
from dealsite.text import translations


class Command(SiteCommand):
    help = (
        "Finds the texts of the site and brings locale/ up to date with them; says which have no translation."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true", help="change nothing")

    def work(self, check: bool) -> None:
        for language in translations.languages():
            if not check:
                translations.update(language)
            kept = {
                (text.context, text.id)
                for text in translations.read(language)
                if translations.is_translated(text)
            }
            missing = [
                text for text in translations.found() if text.id and (text.context, text.id) not in kept
            ]
            for text in missing:
                self.stdout.write(f"{language}: {text.locations[0][0]}: {text.id!r} is shown in English")
