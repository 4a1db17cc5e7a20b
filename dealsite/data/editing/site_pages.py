"""The texts of the pages that each site has: terms, privacy and the like, one item a page once an admin edits it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.operations import SITE_PAGE, SITE_PAGES
from dealsite.data.table.errors import NotFound, VersionConflict
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Put, at_version
from dealsite.home import HOME

SAMPLES = HOME / "templates" / "shopping" / "about"


@lru_cache(maxsize=20)
def sample(slug: str, language: str) -> str:
    """Return the Markdown that a page shows in a language before anybody edits it."""
    name = f"{slug}.{'de' if language.startswith('de') else 'en'}.md"
    return (SAMPLES / name).read_text("utf-8").strip()


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page's Markdown in each language; empty in both: it shows its sample. `version` counts its edits."""

    slug: str
    en: str = ""
    de: str = ""
    version: int = 0
    by: str = ""
    at: datetime | None = None

    @property
    def texts(self) -> dict[str, str]:
        return {"en": self.en, "de": self.de}

    @property
    def is_edited(self) -> bool:
        return bool(self.en or self.de)

    def text(self, language: str) -> str:
        """Return what it says in a language, or else in the other one; unedited, its sample."""
        return self.texts.get(language[:2]) or self.en or self.de or sample(self.slug, language)

    @property
    def title(self) -> str:
        return str(SITE_PAGES[self.slug])


_read, _store = reader(SITE_PAGE.shape, SitePage), writer(SITE_PAGE.shape, SitePage)


@access_pattern("the texts of a page such as the terms", "1 get")
def get(slug: str) -> SitePage:
    """Return a page, or raise NotFound."""
    if slug not in SITE_PAGES:
        raise NotFound(gettext_lazy("There is no such page."))
    item = table.get(keys.site_page(slug))
    return _read(item) if item else SitePage(slug)


@access_pattern("all such pages", "1 batch get")
def all_pages() -> list[SitePage]:
    """Return the pages in the site's order."""
    items = table.batch_get(map(keys.site_page, SITE_PAGES))
    found = ((slug, items.get(keys.site_page(slug))) for slug in SITE_PAGES)
    return [_read(item) if item else SitePage(slug) for slug, item in found]


@access_pattern("change the texts of such a page", "1 transaction")
def edit(page: SitePage, *, en: str, de: str, by: str, now: datetime) -> SitePage:
    """Change a page's texts, by empty ones back to its sample; VersionConflict if it changed since it was loaded."""
    changed = replace(page, en=en, de=de, version=page.version + 1, by=by, at=now)
    put = Put(
        key=keys.site_page(page.slug),
        item=SITE_PAGE.item(_store(changed)),
        when=at_version(page.version),
        otherwise=VersionConflict(),
    )
    what = "changed" if changed.is_edited else "given its sample again"
    differing = audit.changed(page.texts, changed.texts)
    entry = audit.entry_write(by=by, kind="site_page", subject=page.slug, what=what, now=now, **differing)
    try:
        table.transact([put, entry])
    except VersionConflict as conflict:
        conflict.current = get(page.slug)
        raise
    return changed
