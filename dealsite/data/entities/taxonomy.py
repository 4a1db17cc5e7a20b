"""Brands, categories and featured lists; how many deals each and each day has; who likes and watches what."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    YEARS,
    Expiry,
    Flag,
    ListOf,
    Map,
    MapOf,
    SetOf,
    Shape,
    Slug,
    Text,
    Time,
    Ulid,
    Username,
    Whole,
)
from dealsite.data.entities.deals import (
    BY,
    CATEGORIES,
    DEAL_CARD,
    NAME_CHARACTERS,
    PAGES,
    PICTURE,
    TITLE_CHARACTERS,
)
from dealsite.data.entities.entity import At, Entity
from dealsite.data.table.convert import Item

MAX_CARDS = 24
PLANNED, SET, PUT_ASIDE, CANCELLED = "planned", "set", "put aside", "cancelled"
OPEN = (PLANNED, PUT_ASIDE)
LISTED: Shape = {
    "id": Ulid(about="of a deal that may have been deleted since"),
    "title": Text(most=TITLE_CHARACTERS),
}


def featured(*, optional: bool = False) -> Shape:
    """Return what a page stores of its featured list, if it has one."""
    return {
        "order": ListOf(
            Ulid(), most=MAX_CARDS, optional=optional, about="of deals; one without a card was deleted"
        ),
        "cards": MapOf(Ulid(), Map(DEAL_CARD, copy_of="Deal.card"), most=MAX_CARDS, optional=optional),
        "featured_version": Whole(least=1, optional=optional, about="counts how often it was set"),
        "featured_at": Time(optional=optional),
        "featured_by": replace(BY, optional=optional),
        "featured_edit": Ulid(optional=optional),
        "featured_by_hand": Whole(optional=True, about="the version that somebody set last, and no plan"),
    }


def list_is_whole(item: Item) -> str:
    """Say what is missing of a featured list that was set."""
    there, whole = FEATURED.keys() & item.keys(), FEATURED.keys() - {"featured_by_hand"}
    if there and not whole <= there:
        return f"Its featured list has no {', '.join(sorted(whole - there))}."
    late = item.get("featured_by_hand", 0) > item.get("featured_version", 0)
    return "Its featured list was set by hand at a version that is still to come." if late else ""


FEATURED = featured()
FRONT_PAGE = Entity(
    type="FrontPage",
    about="the featured deals of the front page",
    key=At(keys.front_page),
    shape=FEATURED,
    rules=(list_is_whole,),
    is_root=True,
)
EDITORS_CHOICE_PAGE = Entity(
    type="EditorsChoicePage",
    about="the featured deals of Editors' Choice",
    key=At(keys.editors_choice_page),
    shape=FEATURED,
    rules=(list_is_whole,),
    is_root=True,
)

FEATURED_VERSION = Entity(
    type="FeaturedVersion",
    about="a list that a page had",
    key=At(keys.featured_version, page="page", version="version"),
    shape={
        "page": Text(one_of=PAGES),
        "version": Whole(least=1, most=999_999_999),
        "deals": ListOf(Map(LISTED), most=MAX_CARDS),
        "by": BY,
        "at": Time(optional=True, about="when it was set; absent before that was kept"),
    },
)


def goes_when_it_is_over(item: Item) -> str:
    """Say what is wrong with a plan that stays for ever, or goes before it is carried out."""
    is_open = item["state"] in OPEN
    return (
        ""
        if is_open != ("ttl" in item)
        else f"It is {item['state']}, and has {'a' if is_open else 'no'} ttl."
    )


FEATURED_PLAN = Entity(
    type="FeaturedPlan",
    about="a list for a page from a time on; one that is planned has a job, which may be gone afterwards",
    key=At(keys.featured_plan, plan="id"),
    shape={
        "id": Ulid(),
        "page": Text(one_of=PAGES),
        "deals": ListOf(Map(LISTED), least=1, most=MAX_CARDS),
        "at": Time(),
        "base": Whole(about="the version of the page's list that it was planned on"),
        "state": Text(one_of=(PLANNED, SET, PUT_ASIDE, CANCELLED)),
        "version": Whole(least=1, about="counts its changes"),
        "job": Ulid(),
        "by": BY,
        "updated_at": Time(),
        "why": Text(least=0, one_of=("", "hand", "gone", "left"), about="why it was put aside"),
        "left_out": ListOf(
            Text(most=TITLE_CHARACTERS), most=MAX_CARDS, about="titles of deals that were gone"
        ),
        "last_edit": Ulid(),
        "ttl": Expiry(optional=True),
    },
    rules=(goes_when_it_is_over,),
)


ABOUT_CHARACTERS = 2_000
MOST_ALSO = 20
# What names of data begin with.
DAY_ATTRIBUTE, BUCKET_ATTRIBUTE = "day:", "deals_"


ALSO = ListOf(
    Text(most=NAME_CHARACTERS),
    most=MOST_ALSO,
    optional=True,
    about="other names that find it, such as earlier ones",
)


def edited(*, optional: bool = False) -> Shape:
    """Return what every edit of a brand or category says."""
    return {
        "last_edit": Ulid(optional=optional),
        "updated_at": Time(optional=optional),
        "updated_by": replace(BY, optional=optional),
    }


BRAND = Entity(
    type="Brand",
    about="a brand: the texts and the logo of its page",
    key=At(keys.brand, slug="slug"),
    shape={
        "slug": Slug(about="made of its first name, and never changed"),
        "name": Text(most=NAME_CHARACTERS),
        "also": ALSO,
        "description": Text(least=0, most=ABOUT_CHARACTERS),
        "logo": Map(PICTURE, optional=True),
        "version": Whole(least=1, about="counts its edits"),
        "created_at": Time(),
        **edited(),
        "merged_into": Slug(
            optional=True, refers="Brand", about="the brand that its names and deals went to"
        ),
        "merged": ListOf(
            Slug(), optional=True, about="all that were merged into it; whoever watches them is told"
        ),
        "merge_jobs": ListOf(
            Ulid(),
            most=2,
            optional=True,
            about="what moves deals, and drafts, of its last merge, or of the undo",
        ),
    },
    is_root=True,
)
CATEGORY = Entity(
    type="Category",
    about="one of the eight categories: its texts, its picture, its featured deals",
    key=At(keys.category, slug="slug"),
    shape={
        "slug": Text(one_of=tuple(CATEGORIES)),
        "name": Text(most=NAME_CHARACTERS),
        "also": ALSO,
        "description": Text(least=0, most=ABOUT_CHARACTERS, optional=True),
        "logo": Map(PICTURE, optional=True),
        "version": Whole(least=1, about="counts its edits"),
        **edited(optional=True),
        **featured(optional=True),
    },
    rules=(list_is_whole,),
    is_root=True,
)


def listed_in(item: Item, beginning: str) -> dict[str, Any]:
    """Return what an item lists in attributes whose names begin so, by the rest of these."""
    return {name.removeprefix(beginning): value for name, value in item.items() if name.startswith(beginning)}


def names_begin(beginning: str, pattern: str) -> Callable[[Item], str]:
    """Return the rule that what stands after the beginning of names of data is of a form."""
    fits = re.compile(f"{beginning}({pattern})").fullmatch

    def rule(item: Item) -> str:
        odd = sorted(name for name in item if name.startswith(beginning) and not fits(name))
        return f"It has {', '.join(odd)}, which cannot be." if odd else ""

    return rule


def counts(type_: str, of: str, key: Callable[..., keys.Key], bucket: str, about: str) -> Entity:
    """Declare the counters of brands or categories; they change with what they count."""
    return Entity(
        type=type_,
        about=about,
        key=At(key, slug="slug"),
        shape={
            "slug": Slug(refers=of),
            "deals": Whole(counts="Deal"),
            "likes": Whole(counts=f"{of}Like"),
            "watches": Whole(counts=f"{of}Watch"),
        },
        named={BUCKET_ATTRIBUTE: Whole(counts="Deal")},
        rules=(names_begin(BUCKET_ATTRIBUTE, bucket),),
    )


BRAND_COUNTS = counts(
    "BrandCounts",
    "Brand",
    keys.brand_counts,
    r"\d{4}",
    "how many deals a brand has, also by year, how many likes and watches",
)
CATEGORY_COUNTS = counts(
    "CategoryCounts",
    "Category",
    keys.category_counts,
    r"\d{4}-(0[1-9]|1[0-2])",
    "how many deals a category has, also by month, how many likes and watches",
)


DEAL_COUNTS = Entity(
    type="DealCounts",
    about="how many like a deal; none before the first",
    key=At(keys.deal_counts, deal="deal"),
    shape={"deal": Ulid(refers="Deal or Trash"), "likes": Whole(counts="DealLike")},
)


BRAND_NAME = Entity(
    type="BrandName",
    about="a name that finds a brand: its own, or another of its names",
    key=At(keys.brand_name, name="slug"),
    shape={
        "slug": Slug(about="made of the name"),
        "brand": Slug(refers="Brand"),
        "name": Text(most=NAME_CHARACTERS, copy_of="Brand.name", about="the brand's own, as it is shown"),
    },
)


def years_there_are(item: Item) -> str:
    """Say which years the list of years cannot hold."""
    odd = sorted(year for year in item.get("years", ()) if int(year) not in YEARS)
    return f"It lists {', '.join(odd)}." if odd else ""


YEARS_LIST = Entity(
    type="Years",
    about="the years that have a list of days",
    key=At(keys.years),
    shape={"years": SetOf(Text(pattern=r"\d{4}"), optional=True)},
    rules=(years_there_are,),
)


def days_of_its_year(item: Item) -> str:
    """Say which days are none of the year of their list."""
    year, odd = int(item["SK"].removeprefix("DAYS#")), []
    for name in item:
        if name.startswith(DAY_ATTRIBUTE):
            text = name.removeprefix(DAY_ATTRIBUTE)
            try:
                fits = date.fromisoformat(text).year == year and len(text) == 10 and item[name] is True
            except ValueError:
                fits = False
            odd += [] if fits else [text]
    return f"{', '.join(sorted(odd))} cannot be listed here." if odd else ""


DAYS = Entity(
    type="Days",
    about="the days of a year that hold deals, an attribute each: `day:2026-11-23`",
    key=At(keys.days),
    shape={},
    named={DAY_ATTRIBUTE: Flag(about="always true")},
    rules=(days_of_its_year,),
)


def is_a_days(item: Item) -> str:
    """Say what is wrong with a number of deals of something that is no day."""
    try:
        return (
            "" if date.fromisoformat(item["SK"].removeprefix("DAY#")).year in YEARS else "It is of no year."
        )
    except ValueError:
        return "It is of no day."


DAY_COUNT = Entity(
    type="DayCount",
    about="how many deals a day has",
    key=At(keys.day_count),
    shape={"deals": Whole(least=1, counts="Deal")},
    rules=(is_a_days,),
)


def is_muted_for_lists(item: Item) -> str:
    """Say what is wrong where lists say otherwise than the watch whether it is muted."""
    muted = [item.get("muted", False), item.get("card", {"muted": False})["muted"]]
    return "" if muted in ([True, True], [False, False]) else "Lists show it otherwise than it is muted."


def relation(target: str, verb: str, key: Callable[..., keys.Key]) -> Entity:
    """Declare the likes or watches of brands, categories or deals; the slug of a deal is its id."""
    can_be_muted: Shape = {
        "muted": Flag(optional=True, about="no messages are sent for it"),
        "card": Map({"muted": Flag()}, optional=True, about="what lists show of it"),
    }
    rows = partial(keys.relations_of_user, verb=verb.upper(), target=target.upper())
    return Entity(
        type=f"{target}{verb}",
        about=f"a {verb.lower()} of a {target.lower()} by a user",
        key=At(key, slug="slug", username="username"),
        rows=[At(rows, slug="slug", username="username")],
        shape={
            "slug": Ulid(refers="Deal or Trash") if target == "Deal" else Slug(refers=target),
            "username": Username(refers="User", personal=True),
            "created_at": Time(),
            **(can_be_muted if verb == "Watch" else {}),
        },
        rules=(is_muted_for_lists,) if verb == "Watch" else (),
    )


BRAND_LIKE = relation("Brand", "Like", keys.brand_like)
CATEGORY_LIKE = relation("Category", "Like", keys.category_like)
BRAND_WATCH = relation("Brand", "Watch", keys.brand_watch)
CATEGORY_WATCH = relation("Category", "Watch", keys.category_watch)
DEAL_LIKE = relation("Deal", "Like", keys.deal_like)
