from django.conf import settings
from django.core.management import call_command

from dealsite.install import packages
from dealsite.management.command import SiteCommand
from dealsite.text import translations


class Command(SiteCommand):
    help = "Builds CSS, scripts, icons and translations into build/, and collects all that pages load."
    requires_system_checks: list[str] = []
    failures = (packages.AssetError,)

    def work(self) -> str:
        packages.copy_fonts()
        packages.build_sprite()
        packages.compile_assets()
        translations.compile_all(settings.LOCALE_PATHS[0])
        # settings.py lists the folder only where it is there, and this command may just have made it.
        if packages.ASSETS not in settings.STATICFILES_DIRS:
            settings.STATICFILES_DIRS.append(packages.ASSETS)
        call_command("collectstatic", interactive=False, verbosity=0)
        return "Built the CSS, the scripts, the icons and the translations."
