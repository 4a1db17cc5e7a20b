"""Featured deals: the lists of the pages, their earlier ones, and those that are planned."""

from dataclasses import replace

from dealsite.data import keys
from dealsite.data.entities.attributes import Expiry, ListOf, Map, MapOf, Shape, Time, Whole
from dealsite.data.entities.deals import BY, DEAL_CARD, TITLE_CHARACTERS
from dealsite.data.entities.entity import At, Entity
from dealsite.data.entities.pages import PAGES
from dealsite.data.entities.texts import Text, Ulid
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
