"""The table of a site: made with all that every site has in it, or compared with what it should be."""

from collections.abc import Iterator

from django.conf import settings

from dealsite.data import table
from dealsite.data.catalogue import categories
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.people import users
from dealsite.data.table import schema
from dealsite.data.table.drift import drift
from dealsite.data.table.errors import DataError, Misconfigured
from dealsite.data.table.schema import Throughput
from dealsite.home import COMMAND
from dealsite.site_setup.finding import Finding

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
