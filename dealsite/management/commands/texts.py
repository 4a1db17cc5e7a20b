from typing import Any

from django.core.management.base import BaseCommand

from dealsite.text import translations


class Command(BaseCommand):
    help = "Finds the texts of the site and brings locale/ up to date with them; says how many have no translation."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        for language in translations.languages():
            translations.update(language)
            catalogue = translations.read(language)
            missing = sum(1 for text in catalogue if text.id and not translations.is_translated(text))
            self.stdout.write(f"{language}: {len(catalogue)} texts, {missing} without a translation.")
