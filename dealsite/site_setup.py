"""What setup_site makes and tries: the table, the buckets, mail, the proxy in front, the clock and the disk.

A finding says that something is as it should be, or what is missing and what to do about it. Nothing is believed that
can be tried: a small object is put into each bucket, read and deleted; everybody sees pictures, nobody the rest.
"""

import json
import smtplib
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages
from django.core.mail import get_connection, send_mail

from dealsite import environment
from dealsite.data import table
from dealsite.data.catalogue import brands, categories
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.people import users
from dealsite.data.table import schema
from dealsite.data.table.errors import DataError, Misconfigured
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.schema import Throughput, drift
from dealsite.home import COMMAND
from dealsite.web import readiness


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence about a part of the site; `todo` is what to do, '' where all is well.

    Without what `is_needed` the site is not ready; the rest is advice.
    """

    about: str
    text: str
    todo: str = ""
    is_needed: bool = True


CONTENT = b"Written by setup_site, to try the bucket.\n"
RIGHTS = "Let the site's role s3:PutObject, GetObject and DeleteObject there, and ListBucket the bucket"


def buckets(now: datetime) -> Iterator[Finding]:
    """Try each bucket that a setting names."""
    name = f"setup-{new_ulid(now)}.txt"
    if bucket := settings.DEALSITE_MEDIA_BUCKET:  # the public may see pictures/ alone
        pictures = storages["default"]
        yield from _tried("DEALSITE_MEDIA_BUCKET", bucket, pictures, f"pictures/{name}", is_public=True)
    if bucket := settings.DEALSITE_PRIVATE_BUCKET:
        yield from _tried("DEALSITE_PRIVATE_BUCKET", bucket, storages["private"], name, is_public=False)
    if settings.DEALSITE_LAKE:
        yield from _tried("DEALSITE_LAKE", settings.DEALSITE_LAKE, storages["lake"], name, is_public=False)
    elif not settings.DEALSITE_MEDIA_BUCKET and not settings.DEALSITE_EMBEDDED:
        todo = "Right for a single machine; several need DEALSITE_MEDIA_BUCKET and DEALSITE_PRIVATE_BUCKET."
        yield Finding("buckets", "Pictures and files are on this machine's disk.", todo, is_needed=False)


def _tried(setting: str, bucket: str, storage: Storage, name: str, *, is_public: bool) -> Iterator[Finding]:
    kept = ""
    try:
        kept = storage.save(name, ContentFile(CONTENT))
        with storage.open(kept) as file:
            is_same = file.read() == CONTENT
        can_be_seen = _can_be_seen(storage.url(kept).partition("?")[0])
    except Exception as error:  # noqa: BLE001 - whatever the library of a storage raises
        yield _refused(setting, bucket, error)
        return
    finally:
        try:
            if kept:
                storage.delete(kept)
        except Exception as error:  # noqa: BLE001 - as above
            yield _refused(setting, bucket, error)
    if not is_same:
        yield Finding("buckets", f"{setting}: {bucket} returns something else than was put into it.", RIGHTS)
    elif is_public and not can_be_seen:
        todo = "Let the public read it, or the CDN of DEALSITE_MEDIA_HOST; setup_site looks again."
        yield Finding("buckets", f"{bucket}: visitors cannot see its pictures.", todo, is_needed=False)
    elif can_be_seen and not is_public:
        todo = "Turn on Block Public Access: what it holds concerns nobody else."
        yield Finding("buckets", f"{bucket}: everybody can read it.", todo)
    else:
        yield Finding("buckets", f"{bucket} takes, returns and deletes files.")


def _can_be_seen(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:  # noqa: S310 - of our own bucket
            return bool(answer.read(len(CONTENT)) == CONTENT)
    except OSError:  # a refusal is one, too
        return False


def _refused(setting: str, bucket: str, error: Exception) -> Finding:
    return Finding(
        "buckets",
        f"{setting}: {bucket} cannot be used: {error}",
        f"{RIGHTS} (in {settings.DEALSITE_REGION}).",
    )


WAIT_SECONDS = 600.0  # for a new table and its indexes; one with warm throughput takes minutes
SWITCHES = ("The TTL attribute is off", "The stream is off", "The protection", "The point-in-time")
KEYS = ("The table's key ", "The key attribute ")
FIRST_ADMIN = f"{COMMAND} setup_site --admin NAME --email E"


def prepare(*, warm: Throughput | None = None, repair: bool = False) -> bool:
    """Make what is missing of the table and of what every site has in it; True if the table is new.

    On Amazon it is protected. `repair` turns on what is off of an existing one, as is done where making it was cut
    short. Raises DataError, and writes nothing, where the table is not a site's.
    """
    is_protected = not settings.DEALSITE_EMBEDDED
    made = schema.create_table(protected=is_protected, warm=warm, wait=WAIT_SECONDS)
    is_unfinished = _is_unfinished() and not made
    if repair or is_unfinished:
        try:
            schema.switch_on(table.name(), protected=is_protected)
        except Misconfigured:
            if repair:
                raise  # else problems() names what is off
    categories.create_all()
    brands.list_names_anew()
    return made


def _is_unfinished() -> bool:
    """Tell whether the table lacks all that a site has. Raises DataError where it is something else's."""
    others = [one for one in drift() if one.startswith(KEYS) and " is missing, " not in one]
    if not others and len(categories.missing()) < len(categories.CATEGORIES):
        return False
    first = table.scan_page(limit=1, as_stored=True).items
    if not others and all(item.get("type") in ENTITIES for item in first):
        return True
    reason = " ".join(others) or "It holds items of something else."
    raise DataError(
        f"The table {table.name()} is not a site's: {reason} Nothing was written to it. Set DEALSITE_TABLE to another."
    )


def problems(*, warm: Throughput | None = None, protected: bool = False) -> Iterator[Finding]:
    """Find in what the table differs from its definition, and what it lacks that every site has."""
    for sentence in drift(protected=protected, warm=warm):
        if sentence.startswith(SWITCHES):
            yield Finding("table", sentence, f"{COMMAND} setup_site --repair turns it on.")
        elif " from the start" in sentence:
            todo = "aws dynamodb update-table --warm-throughput raises it; it costs once."
            yield Finding("table", sentence, todo, is_needed=False)
        else:
            yield Finding(
                "table",
                sentence,
                "docs/upgrading.md says how an index is added; keys need a new table, filled from a backup.",
            )
    if missing := categories.missing():
        yield Finding(
            "table",
            f"It lacks the categories {', '.join(missing)}, whose counters are there.",
            f"{COMMAND} check_table --repair restores them with their featured deals.",
        )


def no_admin() -> Iterator[Finding]:
    """Find that nobody can administer the site."""
    if users.lacks_admin():
        yield Finding("admin", "Nobody can administer the site.", f"Make the first account: {FIRST_ADMIN}")


def place() -> str:
    """Say where the table is."""
    if settings.DEALSITE_EMBEDDED:
        return f"{table.name()} in {settings.VAR}"
    at = settings.DYNAMODB_ENDPOINT_URL or f"Amazon DynamoDB, {settings.DEALSITE_REGION}"
    return f"{table.name()} at {at}"


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
    for name, found in readiness.disks_now().items():
        text = f"{found['free_bytes'] // readiness.MEGABYTE:,} MB free ({name})."
        if not found["little"]:
            yield Finding("disk", text)
            continue
        todo = f"Make room: below {settings.DEALSITE_FREE_DISK_MB} MB the site takes itself out."
        yield Finding("disk", text, todo, is_needed=found["too_little"])
