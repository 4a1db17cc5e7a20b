"""Loads the demo content, once: what is there already stays as it is, and an interrupted load goes on.

The first user made dates everything: all ids and times follow from it. The last one made tells that
all of it is there, so that nothing which somebody deletes later comes back.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime

from dealsite.accounts import passwords
from dealsite.data.catalogue import brands, categories, deals, drafts, featured
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.cards import Picture
from dealsite.data.names import slugify
from dealsite.data.people import users
from dealsite.data.table.errors import AlreadyExists, Conflict, NotFound
from dealsite.data.table.ids import from_iso, iso, new_ulid
from dealsite.demo import art, logos, purchases
from dealsite.demo.brands import BRANDS, CATEGORY_OBJECTS, CATEGORY_TEXTS
from dealsite.demo.deals import DEALS, DRAFTS, DemoDeal, all_deals, all_drafts
from dealsite.demo.deals import featured as featured_ids
from dealsite.demo.people import ADMIN, EDITOR, EDITORS, EMAIL_DOMAIN, PEOPLE, Person
from dealsite.imports.publishing import Import
from dealsite.imports.rows import Remark
from dealsite.pictures import uploads

DRAWING_THREADS = 2  # Pillow computes outside the interpreter's lock

BY = EDITOR.username.lower()
Step = Callable[[int], None]


class NotOurs(Exception):
    """Somebody else has a name that the demo needs."""


@dataclass(frozen=True)
class SignIn:
    """A demo user that was made just now, with the password to tell."""

    person: Person
    password: str


def begin(now: datetime, *, random_passwords: bool) -> tuple[datetime, SignIn | None]:
    """Make the first user, or find it; return the moment that dates the content. NotOurs if it is a stranger."""
    now = from_iso(iso(now))  # as it is read again
    made = _make_user(ADMIN, now, random_passwords=random_passwords)
    if made:
        return now, made
    try:
        there = users.get(ADMIN.username.lower())
    except NotFound:
        raise NotOurs("The demo content was here before, and its first user was deleted.") from None
    if not there.email.endswith(f"@{EMAIL_DOMAIN}"):
        raise NotOurs(f"There is another user called {ADMIN.username} here; the demo needs this name.")
    return there.created_at, None


def is_loaded() -> bool:
    """Tell whether a load came to its end here. 1 get."""
    last = users.find(PEOPLE[-1].username)
    return last is not None and last.email == PEOPLE[-1].email


def steps() -> int:
    """Return how many steps `load_content` reports."""
    return len(CATEGORY_TEXTS) + len(BRANDS) + 2 * DEALS + DRAFTS + len(featured.PAGES)


def load_content(started: datetime, step: Step) -> None:
    """Store categories, brands, deals, drafts and featured lists, those that are missing."""
    categories.create_all()
    _load_categories(started, step)
    there = _load_brands(started, step)
    made_up = all_deals(started)
    _load_deals(made_up, started, step)
    _load_drafts(there, started, step)
    _load_featured(made_up, started, step)


def finish(started: datetime, *, random_passwords: bool) -> Iterator[SignIn]:
    """Make the other users and what the shoppers bought; users made just now are returned, to be told at once.

    The last user marks the end, so they are made when all else is there; they have bought nothing yet.
    """
    for person in PEOPLE[1:]:
        if person is PEOPLE[-1]:
            purchases.load(all_deals(started), started)
        made = _make_user(person, started, random_passwords=random_passwords)
        if made:
            yield made


def _make_user(person: Person, now: datetime, *, random_passwords: bool) -> SignIn | None:
    password = secrets.token_urlsafe(12) if random_passwords else person.password
    try:
        users.create(
            username=person.username,
            email=person.email,
            password=passwords.hashed(password),
            roles=person.roles,
            registration=new_ulid(now),
            now=now,
        )
    except AlreadyExists:
        return None
    return SignIn(person, password)


def _load_categories(now: datetime, step: Step) -> None:
    for n, category in enumerate(categories.all_categories()):
        if not category.description and not category.logo:
            logo = uploads.store_image(art.emblem(CATEGORY_OBJECTS[category.slug], n), category.name)
            text = CATEGORY_TEXTS[category.slug]
            categories.edit(category, name=category.name, description=text, logo=logo, by=BY, now=now)
        step(1)


def _load_brands(now: datetime, step: Step) -> dict[str, Brand]:
    there = brands.get_many(slugify(brand.name) for brand in BRANDS)
    for brand in BRANDS:
        if slugify(brand.name) not in there:
            logo = uploads.store_image(
                logos.logo(brand.initials, brand.figure, brand.hue), f"The mark of {brand.name}"
            )
            brands.create(brand.name, by=BY, now=now, description=brand.description, logo=logo)
        step(1)
    return brands.get_many(slugify(brand.name) for brand in BRANDS)


def _load_deals(made_up: list[DemoDeal], now: datetime, step: Step) -> None:
    """Import the deals that are missing, those of each editor in their name."""
    stored = deals.get_many(deal.id for deal in made_up)
    missing = [deal for deal in made_up if deal.id not in stored]
    step(2 * len(stored))
    drawn = _draw(missing, step)
    made = [replace(deal, content=replace(deal.content, picture=drawn[deal.id])) for deal in missing]
    for editor in EDITORS:
        own = (deal for deal in made if deal.by == editor)
        Import(by=editor, now=now, report=_refused, step=step).run(own)


def _refused(remark: Remark) -> None:
    raise Conflict(remark.reason)


def _draw(wanted: Iterable[DemoDeal], step: Step) -> dict[str, Picture]:
    """Draw and store the pictures of some deals, stage by stage, since a stage is drawn once."""

    def one(deal: DemoDeal) -> tuple[str, Picture]:
        return deal.id, uploads.store_image(art.draw(deal.scene), deal.alt)

    ordered = sorted(wanted, key=lambda deal: (deal.scene.stage, deal.scene.shape))
    drawn: dict[str, Picture] = {}
    with ThreadPoolExecutor(DRAWING_THREADS) as pool:
        for deal_id, picture in pool.map(one, ordered):
            drawn[deal_id] = picture
            step(1)
    return drawn


def _load_drafts(there: dict[str, Brand], now: datetime, step: Step) -> None:
    for draft in all_drafts(now):
        content = draft.content
        if draft.has_picture:
            picture = uploads.store_image(art.draw(draft.deal.scene), draft.deal.alt)
            content = replace(content, picture=picture)
        drafts.create(
            content, draft_id=draft.id, by=draft.deal.by, now=draft.updated_at, brand=there.get(content.brand)
        )
        step(1)


def _load_featured(made_up: list[DemoDeal], now: datetime, step: Step) -> None:
    for page_id, ids in featured_ids(made_up).items():
        page, found = featured.load(page_id, ids)
        if page.version == 0:
            listed = [found[deal_id] for deal_id in ids if deal_id in found]
            featured.set_featured(page, listed, version=0, by=BY, now=now)
        step(1)
