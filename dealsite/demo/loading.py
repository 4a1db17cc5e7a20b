"""Loads the demo content, once: what is there already stays as it is, and an interrupted load goes on.

The first user made dates everything: all ids and times follow from it. The last one made tells that
all of it is there, so that nothing which somebody deletes later comes back.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from dealsite.accounts import passwords
from dealsite.data.catalogue import (
    activity,
    brands,
    categories,
    content,
    deal_changes,
    deals,
    drafts,
    featured,
    hot,
    publishing,
    relations,
)
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.deals import Deal
from dealsite.data.names import slugify
from dealsite.data.people import users
from dealsite.data.table.errors import AlreadyExists, NotFound
from dealsite.data.table.ids import from_iso, iso, new_ulid
from dealsite.demo import purchases
from dealsite.demo.deals import (
    BRAND_TEXTS,
    CATEGORY_TEXTS,
    DEALS,
    DRAFTS,
    DRAWING_TEXTS,
    DemoDeal,
    DemoDraft,
    all_deals,
    all_drafts,
    featured as featured_ids,
)
from dealsite.demo.people import ADMIN, EDITOR, EMAIL_DOMAIN, PEOPLE, SHOPPERS, Person
from dealsite.pictures import uploads

DRAWINGS = Path(__file__).parent / "pictures"

BY = EDITOR.username.lower()
WATCHED = ("copperleaf", "ondelle", "tonrausch")  # by each shopper
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
    return len(CATEGORY_TEXTS) + len(BRAND_TEXTS) + len(DRAWING_TEXTS) + DEALS + DRAFTS + len(featured.PAGES)


def load_content(started: datetime, step: Step) -> None:
    """Store categories, brands, deals, drafts and featured lists, those that are missing."""
    categories.create_all()
    _load_categories(started, step)
    there = _load_brands(started, step)
    made_up = all_deals(started)
    stored = deals.get_many(deal.id for deal in made_up)
    waiting = all_drafts(started)
    wanted = {deal.drawing for deal in made_up if deal.id not in stored}
    wanted |= {draft.deal.drawing for draft in waiting if draft.has_picture}
    drawn = _upload(wanted, step)
    content.request_renditions([picture.name for picture in drawn.values()], now=started)
    for deal in made_up:
        _load_deal(deal, stored.get(deal.id), there[deal.content.brand], drawn, started)
        step(1)
    for draft in waiting:
        _load_draft(draft, there, drawn)
        step(1)
    _load_featured(made_up, started, step)


def finish(started: datetime, *, random_passwords: bool) -> Iterator[SignIn]:
    """Make the other users and what the shoppers bought; users made just now are returned, to be told at once.

    The last user marks the end, so they are made when all else is there; they have bought nothing yet.
    """
    for person in PEOPLE[1:]:
        if person is PEOPLE[-1]:
            made_up = all_deals(started)
            purchases.load(made_up, started)
            _load_relations(made_up, started)
            activity.flush()
            hot.rank(now=started)
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
    for category in categories.all_categories():
        if not category.description and not category.logo:
            text = CATEGORY_TEXTS[category.slug]
            categories.edit(category, name=category.name, description=text, logo=None, by=BY, now=now)
        step(1)


def _load_brands(now: datetime, step: Step) -> dict[str, Brand]:
    there = brands.get_many(map(slugify, BRAND_TEXTS))
    for name, text in BRAND_TEXTS.items():
        if slugify(name) not in there:
            brands.create(name, by=BY, now=now, description=text)
        step(1)
    return brands.get_many(map(slugify, BRAND_TEXTS))


def _upload(names: Iterable[str], step: Step) -> dict[str, Picture]:
    """Upload some drawings, as an editor would: a picture is read in a process of its own, so two at a time."""
    ordered = sorted(names)
    with ThreadPoolExecutor(uploads.AT_ONCE) as pool:
        uploaded = {}
        for name, picture in zip(ordered, pool.map(upload, ordered), strict=True):
            uploaded[name] = picture
            step(1)
    step(len(DRAWING_TEXTS) - len(ordered))
    return uploaded


def upload(name: str) -> Picture:
    """Store a drawing as a picture."""
    return uploads.store_picture((DRAWINGS / f"{name}.webp").read_bytes(), DRAWING_TEXTS[name])


def _load_deal(
    deal: DemoDeal, stored: Deal | None, brand: Brand, drawn: Mapping[str, Picture], now: datetime
) -> None:
    """Publish a deal that is missing, and give it the prices that it has not had yet, each at its time."""
    versions = deal.versions(now)
    if stored is None:
        at, content = versions[0]
        content = replace(content, picture=drawn[deal.drawing])
        stored = publishing.publish(content, deal_id=deal.id, brand=brand, by=deal.by, now=min(at, now))
    for number, ((before, _was), (since, content)) in enumerate(pairwise(versions), 1):
        if (stored.version, stored.updated_at) == (number, before):  # else somebody has changed it
            content = replace(content, picture=stored.content.picture)
            stored = deal_changes.edit(stored, content, version=number, brand=brand, by=deal.by, now=since)


def _load_draft(draft: DemoDraft, there: Mapping[str, Brand], drawn: Mapping[str, Picture]) -> None:
    content = draft.content
    if draft.has_picture:
        content = replace(content, picture=drawn[draft.deal.drawing])
    brand = there.get(content.brand)
    drafts.create(content, draft_id=draft.id, by=draft.deal.by, now=draft.updated_at, brand=brand)


def _load_relations(made_up: Iterable[DemoDeal], now: datetime) -> None:
    """Have users like what the deals say, and shoppers watch some brands."""
    for deal in made_up:
        for person in PEOPLE[: deal.likes]:
            relations.add(relations.DEAL_LIKE, deal.id, person.username.lower(), now=now)
    for person in SHOPPERS[:-1]:
        for brand in WATCHED:
            relations.add(relations.BRAND_WATCH, brand, person.username.lower(), now=now)


def _load_featured(made_up: list[DemoDeal], now: datetime, step: Step) -> None:
    for page_id, ids in featured_ids(made_up).items():
        page, found = featured.load(page_id, ids)
        if page.version == 0:
            listed = [found[deal_id] for deal_id in ids if deal_id in found]
            featured.set_featured(page, listed, version=0, by=BY, now=now)
        step(1)
