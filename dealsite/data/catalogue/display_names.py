"""Names for pages that know only slugs, kept a minute by each process; and links and numbers that tell a deal.

An item says that a deal had a link or article number once. It is never taken back: whoever finds a deal by it reads it
and compares.
"""

import math
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from django.utils.translation import gettext as _

from dealsite.data import keys, table
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.categories import CATEGORIES, all_categories, named_by
from dealsite.data.entities.deals import DEAL_BY, EDITORS_CHOICE, FRONT
from dealsite.data.names import is_slug, normalise, slugify, without_unseen
from dealsite.data.table import meters
from dealsite.data.table.errors import DataError
from dealsite.data.table.ids import hash_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.parallel import together
from dealsite.data.table.writes import Put

SECONDS = 60.0
SECONDS_BETWEEN = 5.0  # at least, where a name is missing or the table did not answer
MOST_KEPT = 20_000  # of brands: all are forgotten then

clock: Callable[[], float] = time.monotonic


class CategoryNames:
    """The categories' names by slug, and which slugs other names find, by the slugs of these: as they were read last.

    A read is not counted as the page's, but keeps to its deadline. `missing` are those that are not there at all: a
    table that is not set up lacks them.
    """

    def __init__(self) -> None:
        self.known, self.others, self.missing = dict(CATEGORIES), dict[str, str](), list[str]()
        self.read_again_at, self.has_failed = -math.inf, False
        self._lock = threading.Lock()

    def names(self) -> dict[str, str]:
        """Return slug -> name. 1 request a minute; names of before are good enough while the table does not answer."""
        if clock() >= self.read_again_at and self._lock.acquire(blocking=False):
            try:
                self.read_again_at, self.has_failed = clock() + SECONDS_BETWEEN, True
                with suppress(DataError), meters.unmetered():
                    found = all_categories()
                    self.missing = [one.slug for one in found if not one.version]
                    self.known = {one.slug: one.name for one in found}
                    self.others = {name: one.slug for name, one in named_by(found).items()}
                    self.read_again_at, self.has_failed = clock() + SECONDS, False
            finally:
                self._lock.release()
        return self.known

    def find(self, text: str) -> str:
        """Return the slug of the category that has or had a name; '' where none does."""
        slug = slugify(text)
        return slug if slug in self.names() else self.others.get(slug, "")

    def forget(self) -> None:
        """Read the names again at the next look, after one was changed."""
        self.read_again_at, self.has_failed = -math.inf, False


class BrandNames:
    """Names of brands by slug, and brands by the slugs of their names: each as it was read in the last minute.

    A read is not counted as the page's, but keeps to its deadline.
    """

    def __init__(self) -> None:
        self._names, self._slugs = dict[str, Kept](), dict[str, Kept]()

    def names(self, slugs: Iterable[str]) -> dict[str, str]:
        """Return slug -> name of some, the slug where there is no such brand. 1 batch get for each 100 not known.

        While the table does not answer, names of before are good enough; an error where one is not known.
        """
        slugs, now = [*dict.fromkeys(slugs)], clock()
        shown = {slug: self._names[slug] for slug in slugs if slug in self._names}
        missing = [slug for slug in slugs if slug not in shown or shown[slug].until <= now]
        if missing:
            try:
                with meters.unmetered():
                    found = brands.get_many(slug for slug in missing if is_slug(slug))
            except DataError:
                if not shown.keys() >= {*missing}:
                    raise
            else:
                for slug in missing:
                    brand = found.get(slug)
                    shown[slug] = (
                        Kept(brand.name, now + SECONDS) if brand else Kept(slug, now + SECONDS_BETWEEN)
                    )
                    _keep(self._names, slug, shown[slug])
        return {slug: shown[slug].text for slug in slugs}

    def find(self, text: str) -> str:
        """Return the slug of the brand that has or had a name; '' where none does. Up to 3 batch gets, or none."""
        slug = slugify(text)
        known = self._slugs.get(slug)
        if known and clock() < known.until:
            return known.text
        with meters.unmetered():
            found = brands.named_by([slug] if slug else []).get(slug)
        if found is None:
            return ""
        _keep(self._slugs, slug, Kept(found.slug, clock() + SECONDS))
        return found.slug

    def forget(self) -> None:
        """Read all names again at the next look, after one was changed."""
        self._names, self._slugs = {}, {}


class Kept(NamedTuple):
    """A name, or slug, and until when it is good enough, as the clock says."""

    text: str
    until: float


def _keep(kept: dict[str, Kept], slug: str, one: Kept) -> None:
    if len(kept) >= MOST_KEPT:
        kept.clear()
    kept[slug] = one


brand_names = BrandNames()


def brand_slug(text: str) -> str:
    """Return the slug of the brand that a text names, or the text's own where it names none. As `find` costs."""
    return brand_names.find(text) or slugify(text)


category_names = CategoryNames()


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
    try:
        parts = urlsplit(link.strip())
        host = (parts.hostname or "").removeprefix("www.").rstrip(".").encode("idna").decode()
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
