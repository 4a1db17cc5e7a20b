"""Names for pages that know only slugs, read once a minute by each process; and links and numbers that tell a deal.

An item says that a deal had a link or article number once. It is never taken back: whoever finds a deal by it reads it
and compares.
"""

import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from django.utils.translation import gettext as _

from dealsite.data import keys, table
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.brands import all_brands
from dealsite.data.catalogue.categories import CATEGORIES, all_categories, named_by
from dealsite.data.entities.deals import DEAL_BY, EDITORS_CHOICE, FRONT
from dealsite.data.names import normalise, slugify, without_unseen
from dealsite.data.table import meters
from dealsite.data.table.errors import DataError, Unavailable
from dealsite.data.table.ids import hash_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.parallel import together
from dealsite.data.table.writes import Put

SECONDS = 60.0
SECONDS_BETWEEN = 5.0  # at least, where a name is missing or the table did not answer

clock: Callable[[], float] = time.monotonic


class NameCache:
    """Names by slug, and which slugs other names find, by the slugs of these: as `read` returned both last.

    A read is not counted as the page's, but keeps to its deadline.
    """

    def __init__(
        self, read: Callable[[], tuple[dict[str, str], dict[str, str]]], known: Mapping[str, str]
    ) -> None:
        self.read = read
        self.known = dict(known)
        self.others: dict[str, str] = {}
        self.read_at: float | None = None
        self.has_failed = False
        self._lock = threading.Lock()

    def names(self, slugs: Iterable[str] | None = None) -> dict[str, str]:
        """Return slug -> name of some, the slug where none is known, or of all there are. 1 request a minute."""
        if slugs is None:
            return self._look_up()
        slugs = list(slugs)
        known = self._look_up(*slugs) if slugs else {}
        return {slug: known.get(slug) or known.get(self.others.get(slug, ""), slug) for slug in slugs}

    def find(self, text: str) -> str:
        """Return the slug of what has or had a name; '' where nothing has it, or no name was ever read."""
        slug = slugify(text)
        with suppress(Unavailable):
            return slug if slug in self._look_up() else self.others.get(slug, "")
        return ""

    def forget(self) -> None:
        """Read the names again at the next look, after one was changed."""
        self.read_at, self.has_failed = None, False

    def _look_up(self, *slugs: str) -> dict[str, str]:
        """Return all names, read again after a minute, or after 5 s where one of `slugs` is missing or a read failed.

        While the table does not answer, the names of before are good enough; Unavailable where there are none.
        """
        is_sound = not self.has_failed and all(slug in self.known for slug in slugs)
        seconds = SECONDS if is_sound else SECONDS_BETWEEN
        is_fresh = self.read_at is not None and clock() < self.read_at + seconds
        if not is_fresh and self._lock.acquire(blocking=False):
            try:
                self.read_at = clock()
                with meters.unmetered():
                    self.known, self.others = self.read()
                self.has_failed = False
            except Exception as error:
                self.has_failed = True
                if not isinstance(error, DataError):
                    raise
            finally:
                self._lock.release()
        if self.has_failed and not self.known:
            raise Unavailable
        return self.known


def _read_brands() -> tuple[dict[str, str], dict[str, str]]:
    found = all_brands()
    names = {brand.slug: brand.name for brand in found}
    return names, {alias: brand.slug for brand in found for alias in brand.also}


brand_names = NameCache(_read_brands, {})


def brand_slug(text: str) -> str:
    """Return the slug of the brand that a text names, or the text's own where it names none.

    No request where a known brand has or had that name, else up to 3 batch gets.
    """
    slug = slugify(text)
    if not slug:
        return ""
    if known := brand_names.find(slug):
        return known
    found = brands.named_by([slug]).get(slug)
    return found.slug if found else slug


def _read_categories() -> tuple[dict[str, str], dict[str, str]]:
    """Read the names, and note which categories are not there at all: a table that is not set up lacks them."""
    found = all_categories()
    missing_categories[:] = [one.slug for one in found if not one.version]
    names = {one.slug: one.name for one in found}
    return names, {name: one.slug for name, one in named_by(found).items()}


category_names = NameCache(_read_categories, CATEGORIES)
missing_categories: list[str] = []  # as of the last look


def page_names() -> dict[str, str]:
    """Return the names of the pages that feature deals, by id."""
    return {FRONT: _("Front page"), EDITORS_CHOICE: _("Editors' Choice"), **category_names.names()}


MOST = 200  # deals and drafts of one link or number that are looked at, the newest
AT_ONCE = 8
# What tells shops where a visitor is from.
FROM_WHERE = ("gclid", "dclid", "fbclid", "msclkid", "mc_cid", "mc_eid", "_ga")
PORTS = {"http": 80, "https": 443}


def same_link(link: str) -> str:
    """Return one form of all links to a page: without scheme, www., default port, or where a visitor comes from."""
    parts = urlsplit(link.strip())
    host = (parts.hostname or "").removeprefix("www.").rstrip(".")
    try:
        host = host.encode("idna").decode()
        port = parts.port
    except ValueError:
        return link
    asked = sorted(
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if not name.lower().startswith("utm_") and name.lower() not in FROM_WHERE
    )
    is_page = parts.fragment.startswith(("/", "!"))  # one that is made in the browser
    place = parts.fragment if is_page else ""
    return (
        f"{host}{f':{port}' if port and port != PORTS.get(parts.scheme) else ''}"
        f"{quote(unquote(parts.path)).rstrip('/')}?{urlencode(asked)}#{place}"
    )


def shop_of(link: str) -> str:
    """Return the host, and the port, that a link leads to; '' for what is no link."""
    same = same_link(link)
    return "" if same == link else re.split("[/?]", same)[0]


def is_of_many(link: str) -> bool:
    """Tell whether a link in its one form is that of a whole site, which says nothing of a deal."""
    return link.endswith("?#") and "/" not in link


def same_number(article_number: str) -> str:
    """Return one form of all ways to write an article number; '' for one without letters and digits, such as -."""
    number = without_unseen(normalise(article_number)).casefold()
    return f"#{number}" if any(map(str.isalnum, number)) else ""


def names_of(link: str, article_number: str) -> list[str]:
    """Return what a deal or draft is known by: its link and its article number, each in its one form."""
    return [*([same_link(link)] if link else []), *filter(None, [same_number(article_number)])]


def known_by_write(target_id: str, names: Iterable[str], before: Collection[str] = ()) -> list[Put]:
    """Return the writes that let a deal or draft be found by its link and article number, where they are new."""
    item = DEAL_BY.item({"id": target_id})
    return [Put(key=keys.deal_by(name, target_id), item=item) for name in names if name not in before]


@access_pattern("deals and drafts that have, or had, a link or article number", "1 query")
def known_by(name: str) -> list[str]:
    """Return the ids of up to 200 deals and drafts, the newest, that have, or had, a link or number in its one form."""
    rows = table.query(keys.deal_by.partition(hash_of(name)), newest_first=True, limit=MOST, consistent=True)
    return [row["id"] for row in rows]


def all_known_by(names: Collection[str]) -> dict[str, list[str]]:
    """Return what is known by each of some links and numbers. 1 query for each, eight at a time."""
    reads, found = [partial(known_by, name) for name in names], []
    for first in range(0, len(reads), AT_ONCE):
        found += together(*reads[first : first + AT_ONCE])
    return dict(zip(names, found, strict=True))
