"""What `manage.py check` says of accounts: a public site without mail or second factor, or keys that are gone."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Caution

from dealsite.accounts import second_factor
from dealsite.data.table.errors import DataError

USERS = 10_000  # that are looked at, so that a large site starts without waiting for it


@register(Tags.security, deploy=True)
def mail_is_sent(**kwargs: Any) -> list[CheckMessage]:
    """Refuse a public site without a mail server: nobody there can confirm an address or get a new password."""
    said = "The site has no mail server: no address is confirmed, no password reset."
    hint = "Set DEALSITE_SMTP_HOST to a mail server."
    return [] if settings.DEALSITE_SENDS_MAIL else [Error(said, hint=hint, id="dealsite.no_mail")]


@register(Tags.security)
def two_factor_is_required(**kwargs: Any) -> list[CheckMessage]:
    """Warn of a public site on which a password alone is enough for an editor or admin."""
    if not settings.HTTPS or settings.DEALSITE_REQUIRE_TWO_FACTOR:
        return []
    said = "Users with a role need no second factor: who has an editor's or admin's password has the CMS."
    hint = "Remove DEALSITE_REQUIRE_TWO_FACTOR=no."
    return [Caution(said, hint=hint, id="dealsite.two_factor")]


@register(Tags.security, deploy=True)
def secrets_open(**kwargs: Any) -> list[CheckMessage]:
    """Warn of users whose app's secret opens under no key of the site; says nothing while the table is away."""
    try:
        number = second_factor.unreadable(most=USERS)
    except DataError:
        return []
    if not number:
        return []
    said = f"Secrets of authenticator apps that open under no key of the site: {number:,}. Their codes fail."
    hint = "Put the missing key into secret_key_fallbacks, or reset their second factors: docs/operations.md."
    return [Caution(said, hint=hint, id="dealsite.second_factor_keys")]
