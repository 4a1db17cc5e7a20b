"""What `manage.py check` says; with --deploy also what must not be so where strangers can reach the site.

Each finding has an id in words, by which DEALSITE_ACCEPTED_RISKS takes it out. The launcher asks for them, too,
before it starts a site with https.
"""

import os
import stat
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning as CheckWarning, register

from dealsite.data.table.errors import DataError
from dealsite.engine.server import why_not_isolated
from dealsite.environment import LOOPBACK_HOSTS, NOWHERE, unwritable
from dealsite.variables import unknown

DEMO_LOADED = "demo-loaded"  # this file of the data folder: the demo is in its table
KEY_CHARACTERS, KEY_DISTINCT = 32, 10
USERS = 10_000  # that are looked at, so that a large site starts without waiting for it
OTHERS_RIGHTS = stat.S_IRWXG | stat.S_IRWXO


@register(Tags.files)
def data_folder_is_usable(**kwargs: Any) -> list[CheckMessage]:
    """Return an error if nothing can be written to the data folder; commands that run the site then do not start."""
    problem = unwritable(settings.VAR)
    return [Error(problem, id="dealsite.data_folder_unusable")] if problem else []


@register()
def settings_that_are_none(**kwargs: Any) -> list[CheckMessage]:
    """Return a warning for each variable that looks like a setting and is none."""
    return [
        CheckWarning(
            f"{name} is no setting.",
            hint=f"Did you mean {nearest}?" if nearest else "docs/settings.md lists them.",
            id="dealsite.unknown_setting",
        )
        for name, nearest in unknown(os.environ)
    ]


@register()
def opensearch_is_installed(**kwargs: Any) -> list[CheckMessage]:
    """Return an error for a site that keeps its search index in OpenSearch, and lacks the library for it."""
    if not settings.DEALSITE_OPENSEARCH_URL or find_spec("opensearchpy"):
        return []
    hint = "Install requirements-opensearch.txt, too, or remove DEALSITE_OPENSEARCH_URL."
    return [Error("The library that talks to OpenSearch is missing.", hint=hint, id="dealsite.opensearch")]


@register(Tags.security, deploy=True)
def unsafe_public_settings(**kwargs: Any) -> list[CheckMessage]:
    """Return each unsafe setting with what to do about it."""
    public = settings.HTTPS or not _is_loopback(settings.DEALSITE_URL)
    key, gateway = settings.SECRET_KEY, settings.DEALSITE_GATEWAY
    stripe_in_test = gateway == "stripe" and settings.STRIPE_SECRET_KEY.startswith(("sk_test_", "rk_test_"))
    findings = (
        (
            settings.DEBUG and public,
            _refused("debug", "Errors are shown with their code.", "Remove DEALSITE_DEBUG."),
        ),
        (
            len(key) < KEY_CHARACTERS or len(set(key)) < KEY_DISTINCT,
            _refused(
                "secret_key",
                "The secret key can be guessed: who has it can sign in as anybody.",
                f"Remove DEALSITE_SECRET_KEY, or set at least {KEY_CHARACTERS} random characters.",
            ),
        ),
        (
            public and not settings.HTTPS,
            _refused(
                "plain_http",
                "Passwords and sessions cross the network in the clear.",
                "Set DEALSITE_URL to the https address of the proxy that speaks TLS for the site.",
            ),
        ),
        (
            "*" in settings.ALLOWED_HOSTS,
            _refused(
                "hosts", "The site answers to any name.", "Name the hosts in DEALSITE_HOSTS, without *."
            ),
        ),
        (
            settings.HTTPS and settings.DEALSITE_TRUSTED_PROXIES == 0,
            _refused(
                "proxies",
                "The site speaks no TLS itself, so a proxy stands in front, whose X-Forwarded-For is not read:"
                " all visitors look like one.",
                "Set DEALSITE_TRUSTED_PROXIES to the number of proxies that add to X-Forwarded-For.",
            ),
        ),
        (
            settings.HTTPS and (gateway == "test" or stripe_in_test),
            _refused(
                "test_gateway",
                "Orders count as paid although no money moves.",
                "Set DEALSITE_GATEWAY=stripe and STRIPE_SECRET_KEY to a live key.",
            ),
        ),
        (
            gateway == "stripe" and not settings.STRIPE_SECRET_KEY,
            _refused("stripe_key", "Stripe has no key: nobody can pay.", "Set STRIPE_SECRET_KEY."),
        ),
        (
            settings.HTTPS and (settings.VAR / DEMO_LOADED).exists(),
            _refused(
                "demo",
                "The table holds demo accounts, one of an admin, whose passwords everybody knows.",
                "Start with a new data folder (DEALSITE_VAR). If those accounts are deleted: remove the file"
                f" {DEMO_LOADED} from the data folder.",
            ),
        ),
        (
            settings.VAR.exists() and settings.VAR.stat().st_mode & OTHERS_RIGHTS,
            _refused(
                "data_folder",
                f"Other users of this machine can enter the data folder {settings.VAR}.",
                f"chmod 700 {settings.VAR}",
            ),
        ),
        (
            settings.HTTPS and not _cookies_are_safe(),
            _refused(
                "cookies",
                "Cookies can be read by scripts or sent without TLS.",
                "Take changes of *_COOKIE_* back in dealsite/settings.py.",
            ),
        ),
        (
            settings.HTTPS and _is_plain(settings.DYNAMODB_ENDPOINT_URL),
            _refused(
                "plain_table",
                "What the table holds crosses the network in the clear.",
                "Set DYNAMODB_ENDPOINT_URL to an https address.",
            ),
        ),
        (
            settings.HTTPS and _is_plain(settings.DEALSITE_OPENSEARCH_URL),
            _refused(
                "plain_search",
                "What search finds, customers' names too, crosses the network in the clear.",
                "Set DEALSITE_OPENSEARCH_URL to an https address.",
            ),
        ),
        (
            settings.HTTPS and _mail_is_plain(),
            _refused(
                "plain_mail",
                "Mails with reset links, and the mail server's password, cross the network in the clear.",
                "Remove DEALSITE_SMTP_STARTTLS=no, or use port 465.",
            ),
        ),
        (
            settings.HTTPS and not settings.DEALSITE_SECURITY_CONTACT,
            CheckWarning(
                "Who finds a hole in the site is not told where to report it.",
                hint="Set DEALSITE_SECURITY_CONTACT, such as mailto:security@deals.example.",
                id="dealsite.security_contact",
            ),
        ),
    )
    return [message for is_so, message in findings if is_so]


def _refused(name: str, text: str, hint: str) -> Error:
    return Error(text, hint=hint, id=f"dealsite.{name}")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host.startswith("127.") or host in (*LOOPBACK_HOSTS, "::1")


def _is_plain(url: str) -> bool:
    """Tell whether an address leads to another machine without TLS."""
    return url.startswith("http://") and not _is_loopback(url)


def _mail_is_plain() -> bool:
    encrypted = settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL
    return bool(settings.EMAIL_HOST) and not encrypted and not _is_loopback(f"//{settings.EMAIL_HOST}")


def _cookies_are_safe() -> bool:
    return all(
        getattr(settings, f"{cookie}_COOKIE_SECURE")
        and getattr(settings, f"{cookie}_COOKIE_HTTPONLY")
        and getattr(settings, f"{cookie}_COOKIE_SAMESITE") in ("Lax", "Strict")
        and getattr(settings, f"{cookie}_COOKIE_NAME").startswith("__Host-")
        for cookie in ("SESSION", "CSRF")
    )


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
    return [CheckWarning(said, hint=hint, id="dealsite.two_factor")]


@register(Tags.security, deploy=True)
def secrets_open(**kwargs: Any) -> list[CheckMessage]:
    """Warn of users whose app's secret opens under no key of the site; says nothing while the table is away."""
    from dealsite.accounts import second_factor  # which loads what signs, for which the launcher has no use

    try:
        number = second_factor.unreadable(most=USERS)
    except DataError:
        return []
    if not number:
        return []
    said = f"Secrets of authenticator apps that open under no key of the site: {number:,}. Their codes fail."
    hint = "Put the missing key into secret_key_fallbacks, or reset their second factors: docs/operations.md."
    return [CheckWarning(said, hint=hint, id="dealsite.second_factor_keys")]


def exposed(url: str, reason: str) -> str:
    """What to say of an engine that could not be put into a network namespace of its own."""
    return (
        f"Every program on this machine can reach the engine at {url} and change what the site stores: it has no"
        f" network namespace of its own ({reason}). Its address is chosen at random at each start, and is not to be"
        " told. Let no other users work on this machine, or allow user namespaces (docs/operations.md)."
    )


@register()
def engine_is_alone(**kwargs: Any) -> list[CheckMessage]:
    """A warning if the engine of the data folder listens at an address."""
    url = settings.DYNAMODB_ENDPOINT_URL
    if not settings.DEALSITE_EMBEDDED or url == NOWHERE or not url.startswith("http"):
        return []
    reason = why_not_isolated() or "at its last start the system did not allow one"
    return [CheckWarning(exposed(url, reason), id="dealsite.engine.W001")]
