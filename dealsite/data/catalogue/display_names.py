"""Display names for pages that know only slugs: read once a minute by each process, not by each page."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from django.utils.translation import gettext_lazy

from dealsite.data.catalogue.brands import all_brands
from dealsite.data.catalogue.brands import named_by as brands_named_by
from dealsite.data.catalogue.categories import CATEGORIES, all_categories, named_by
from dealsite.data.entities.pages import EDITORS_CHOICE, FRONT
from dealsite.data.names import slugify
from dealsite.data.table import meters
from dealsite.data.table.errors import DataError, Unavailable

SECONDS = 60.0
SECONDS_BETWEEN = 5.0  # at least, where a name is missing or the table did not answer

clock: Callable[[], float] = time.monotonic


class NameCache:
    """Names by slug, as `read` returned them last; a read is not counted as the page's, but keeps to its deadline."""

    def __init__(self, read: Callable[[], dict[str, str]], known: Mapping[str, str]) -> None:
        self.read = read
        self.known = dict(known)
        self.read_at: float | None = None
        self.has_failed = False
        self._lock = threading.Lock()

    def names(self, slugs: Iterable[str] | None = None) -> dict[str, str]:
        """Return slug -> name of some, the slug where none is known, or of all there are. 1 request a minute."""
        if slugs is None:
            return self._look_up()
        slugs = list(slugs)
        known = self._look_up(*slugs) if slugs else {}
        return {slug: known.get(slug, slug) for slug in slugs}

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
                    self.known = self.read()
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


def brand_slug(text: str) -> str:
    """Return the slug of the brand that a text names, or the text's own where it names none.

    No request where it is the slug of a known brand, else up to 3 batch gets.
    """
    slug = slugify(text)
    if not slug or slug in brand_names.names():
        return slug
    found = brands_named_by([slug]).get(slug)
    return found.slug if found else slug


def _read_brands() -> dict[str, str]:
    """Read the brands' names, and which of them other names find."""
    global _brands_by_alias
    found = all_brands()
    _brands_by_alias = {alias: brand.slug for brand in found for alias in brand.also}
    return {brand.slug: brand.name for brand in found}


def brand_once_called(text: str) -> str:
    """Return the slug of the brand that has or had a name beside that of its slug; '' for none."""
    with suppress(Unavailable):
        brand_names.names()
    return _brands_by_alias.get(slugify(text), "")


brand_names = NameCache(_read_brands, {})
_brands_by_alias = dict[str, str]()


def _read_categories() -> dict[str, str]:
    """Read the categories' names, and note which are not there at all: a table that is not set up lacks them."""
    found = all_categories()
    missing_categories[:] = [one.slug for one in found if not one.version]
    global _categories_by_name
    _categories_by_name = named_by(found)
    return {one.slug: one.name for one in found}


category_names = NameCache(_read_categories, CATEGORIES)


def page_names() -> dict[str, Any]:
    """Return the names of the pages that feature deals, by id."""
    own = {FRONT: gettext_lazy("Front page"), EDITORS_CHOICE: gettext_lazy("Editors' Choice")}
    return own | category_names.names()


missing_categories: list[str] = []  # as of the last look
_categories_by_name = dict(zip(CATEGORIES, CATEGORIES, strict=True))


def category_named(text: str) -> str:
    """Return the slug of the category of a name that it has, had or began with; '' for none."""
    category_names.names()
    return _categories_by_name.get(slugify(text), "")
