"""What `manage.py check` says of two-factor sign-in: it warns where a public site does without it."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as Caution


@register(Tags.security)
def two_factor_is_required(**kwargs: Any) -> list[CheckMessage]:
    """Warn of a public site on which a password alone is enough for an editor or admin."""
    if not settings.HTTPS or settings.DEALSITE_REQUIRE_TWO_FACTOR:
        return []
    said = "Users with a role need no second factor: who has an editor's or admin's password has the CMS."
    hint = "Remove DEALSITE_REQUIRE_TWO_FACTOR=no."
    return [Caution(said, hint=hint, id="dealsite.two_factor")]
