from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

from dealsite.environment import rotate_secret_key
from dealsite.management.command import SiteCommand


class Command(SiteCommand):
    help = (
        "Make a new secret key, and keep the one before as the first of the fallbacks. Restart the site afterwards. "
        "Where settings give the key, it changes nothing."
    )
    requires_system_checks: list[str] = []

    def work(self) -> str:
        try:
            earlier = rotate_secret_key(settings.VAR)
        except (ImproperlyConfigured, OSError) as error:
            raise CommandError(f"{error} See docs/operations.md, The secret key.") from error
        return (
            f"{settings.VAR / 'secret_key'} is new; earlier keys in secret_key_fallbacks: {earlier}."
            " Restart all web servers and workers."
        )
