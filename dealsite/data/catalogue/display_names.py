"""Display names for pages that know only slugs: read once a minute by each process, not by each page."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from django.utils.translation import gettext as _

from dealsite.data.catalogue import brands
from dealsite.data.catalogue.brands import all_brands
from dealsite.data.catalogue.categories import CATEGORIES, all_categories, named_by
from dealsite.data.entities.pages import EDITORS_CHOICE, FRONT
from dealsite.data.names import slugify
from dealsite.data.table import meters
from dealsite.data.table.errors import DataError, Unavailable

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
