"""Whether what a site stands on works: mail, the proxy in front, the clock and the disk are tried, not believed."""

import json
import smtplib
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import get_connection, send_mail

from dealsite import environment
from dealsite.data.table import schema
from dealsite.site_setup.finding import Finding
from dealsite.web import node

SECONDS = 5.0  # for each thing that is tried
WARN_AFTER, REFUSED_AFTER = timedelta(seconds=2), timedelta(seconds=60)
NO_SITE = (502, 503, 504)  # what a proxy answers in its place
DATE_STEP = timedelta(seconds=1)  # a Date header says no more


def mail(to: str = "") -> Iterator[Finding]:
    """Connect to the mail server as the site does, encrypted and signed in; send a mail to whoever is named."""
    server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    if not settings.EMAIL_HOST:
        if settings.DEALSITE_SENDS_MAIL:
            yield Finding("mail", "The site prints its mails: only this machine reaches it.")
        else:
            todo = "Set DEALSITE_SMTP_HOST to a mail server."
            yield Finding("mail", "The site sends no mail: no address is confirmed, no password reset.", todo)
        return
    try:
        with get_connection(timeout=SECONDS) as connection:
            if to:
                words = f"{settings.DEALSITE_NAME} sends mail.", f"From {settings.DEALSITE_URL}, to try it.\n"
                send_mail(*words, settings.DEFAULT_FROM_EMAIL, [to], connection=connection)
    except (smtplib.SMTPException, OSError, ValueError) as error:  # those of TLS are among the second
        todo = f"Check DEALSITE_SMTP_HOST, _PORT, _STARTTLS, _USER and _PASSWORD; {type(error).__name__}: {error}"
        yield Finding("mail", f"{server} does not take mails.", todo)
        return
    yield Finding("mail", f"{server} {f'took a mail to {to}' if to else 'lets the site in'}.")
    if settings.DEFAULT_FROM_EMAIL.rstrip(">").endswith("@localhost"):
        yield Finding(
            "mail",
            "Its mails come from noreply@localhost, which other servers refuse.",
            "Set DEALSITE_MAIL_FROM to an address of a domain that lets this server send (SPF, DKIM).",
        )


def proxy() -> Iterator[Finding]:
    """Ask the site at its own public address how the request reached it, where it says so to the health token."""
    if environment.is_loopback(settings.DEALSITE_URL):
        yield Finding("proxy", "Nothing stands in front: only this machine reaches the site.")
        return
    address = f"{settings.DEALSITE_URL}/readyz"
    token = settings.DEALSITE_HEALTH_TOKEN
    asked = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"} if token else {})  # noqa: S310 - ours
    try:
        with urllib.request.urlopen(asked, timeout=SECONDS) as answer:  # noqa: S310 - the site's own address
            told, reason = _told(answer.read(100_000)), ""
    except urllib.error.HTTPError as error:
        told, reason = _told(error.read(100_000)), f"{error}" if error.code in NO_SITE else ""
    except OSError as error:
        told, reason = None, f"{error}"
    if told is None and reason:
        todo = f"Start it, and set this up again to see what the proxy passes on; now: {reason}"
        yield Finding("proxy", f"{settings.DEALSITE_URL} does not answer.", todo, is_needed=False)
        return
    yield _seen(told)


def _told(body: bytes) -> dict[str, Any] | None:
    """Return what /readyz says, None where something else answers in its place."""
    try:
        told = json.loads(body)
    except ValueError:
        return None
    return told if isinstance(told, dict) and "ready" in told else None


def _seen(told: dict[str, Any] | None) -> Finding:
    if told is None:
        return Finding(
            "proxy",
            f"{settings.DEALSITE_URL}/readyz is answered by something else.",
            "Let the proxy pass everything on to the site.",
        )
    caller = told.get("caller", {})
    if not caller:
        todo = "Set DEALSITE_HEALTH_TOKEN, here and where the site runs, to see what reaches it."
        return Finding(
            "proxy", "It answers; it does not say what the proxy passes on.", todo, is_needed=False
        )
    if settings.HTTPS and caller["scheme"] != "https":
        todo = "Let the proxy set X-Forwarded-Proto, and set DEALSITE_TRUSTED_PROXIES."
        return Finding("proxy", "Requests over https look like plain http to the site.", todo)
    if caller["proxies"] != settings.DEALSITE_TRUSTED_PROXIES:
        return Finding(
            "proxy",
            f"{caller['proxies']} proxies add to X-Forwarded-For; DEALSITE_TRUSTED_PROXIES is"
            f" {settings.DEALSITE_TRUSTED_PROXIES}.",
            "Make them the same: else visitors' addresses are wrong, or can be made up.",
        )
    return Finding("proxy", f"The site sees {caller['scheme']} and the address of each visitor.")


def clock(now: datetime) -> Iterator[Finding]:
    """Compare the clock with the table's."""
    if settings.DEALSITE_EMBEDDED:
        yield Finding("clock", "The table is on this machine, and has its clock.")
        return
    theirs = schema.server_time()
    if theirs is None:
        yield Finding("clock", "The table does not say what time it is there.")
        return
    off = max(theirs - now, now - theirs - DATE_STEP, timedelta())
    if off <= WARN_AFTER:
        yield Finding("clock", "It is the table's, to the second.")
        return
    text = f"It differs from the table's by {off.total_seconds():.0f} seconds."
    todo = "Run chrony or systemd-timesyncd: deals go live by it, and Amazon refuses requests that are off."
    yield Finding("clock", text, todo, is_needed=off > REFUSED_AFTER)


def disk() -> Iterator[Finding]:
    """Look for room, and for the right to write, where the site writes."""
    if problem := environment.unwritable(settings.VAR):
        yield Finding("disk", problem, "Let the site's user write there, or set DEALSITE_VAR.")
        return
    for name, found in node.disks().items():
        text = f"{found['free_bytes'] // node.MEGABYTE:,} MB free ({name})."
        if not found["little"]:
            yield Finding("disk", text)
            continue
        todo = f"Make room: below {settings.DEALSITE_FREE_DISK_MB} MB the site takes itself out."
        yield Finding("disk", text, todo, is_needed=found["too_little"])
