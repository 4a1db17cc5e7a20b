from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from dealsite.install import assets
from dealsite.text import translations


class Command(BaseCommand):
    help = (
        "Builds the CSS, the icon sprite and the translations into build/, and collects all that pages load."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            assets.copy_installed()
            assets.build_sprite()
            assets.build_css()
            translations.compile_all(settings.LOCALE_PATHS[0])
        except assets.AssetError as error:
            raise CommandError(str(error)) from error
        # settings.py lists the folder only where it is there, and this command may just have made it.
        if assets.ASSETS not in settings.STATICFILES_DIRS:
            settings.STATICFILES_DIRS.append(assets.ASSETS)
        call_command("collectstatic", interactive=False, verbosity=0)
        self.stdout.write("Built the CSS, the icons and the translations.")
