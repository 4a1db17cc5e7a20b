"""What `manage.py check --deploy` says of accounts."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register


@register(Tags.security, deploy=True)
def mail_is_sent(**kwargs: Any) -> list[CheckMessage]:
    """Refuse a public site without a mail server: nobody there can confirm an address or get a new password."""
    if settings.DEALSITE_SENDS_MAIL:
        return []
    hint = "Set DEALSITE_SMTP_HOST to a mail server."
    return [
        Error(
            "The site has no mail server: no address is confirmed, no password reset.",
            hint=hint,
            id="dealsite.no_mail",
        )
    ]
