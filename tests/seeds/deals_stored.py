"""What the deals site stores."""

from __future__ import annotations

from decimal import Decimal

from dealsite.data.catalogue import brands, categories, deals, featured, relations
from dealsite.data.catalogue.cards import EDITORS_CHOICE, FRONT
from dealsite.data.catalogue.relations import Relation
from dealsite.data.people import messages, users
from dealsite.data.table.ids import time_of
from tests.builders import EDITOR, NOW, make_brand, make_deal, make_id
from tests.orders import buyer
from tests.seeds import Both, deals_people
from tests.seeds.deals_people import message_to
from tests.seeds.deals_site import empty_table
from tests.seeds.shop import LONG_AGO, old_deal

MODEL = deals_people.MODEL


@MODEL.entity(
    "Deal",
    "DEAL#id; GSI1 DEALS#day / DEAL#id; GSI2 BRAND#b#day / DEAL#id; GSI3 CATEGORY#c#day / DEAL#id",
    "Deal",
    keys="deal deals_of_day deals_of_brand deals_of_category",
    differs="Ids are ULIDs instead of KSUIDs: as well sorted by time, in milliseconds. Wider buckets: see 1.",
)
def deal() -> Both:
    """mtest_deal of mtest_brand for 19.99"""
    made = make_deal(
        live_at=LONG_AGO, brand="mtest_brand", title="mtest_deal", price=Decimal("19.99"), was_price=None
    )
    found = deals.get(made.id).card
    said = (found.title, found.brand_name, found.price, found.live_at)
    return said, ("mtest_deal", "mtest_brand", Decimal("19.99"), time_of(made.id))


@MODEL.entity(
    "Brand",
    "BRAND#b",
    "Brand",
    keys="brand",
    differs="Keys hold slugs: case, spaces and punctuation are folded.",
)
def brand() -> Both:
    """mtest_brand"""
    return brands.get(make_brand("mtest_brand").slug).name, "mtest_brand"


@MODEL.entity("BrandsContainer", "BRANDS", "BrandName", keys="brand_name", differs="An item a name: see 2.")
def brand_names() -> Both:
    """mtest_brand among the names"""
    made = make_brand("mtest_brand")
    return [one.name for one in brands.names().rows if one.slug == made.slug], ["mtest_brand"]


@MODEL.entity(
    "Category",
    "CATEGORY#c",
    "Category",
    keys="category",
    differs="Theirs is orange. Ours are eight, named by slugs.",
)
def category() -> Both:
    """toys-hobbies"""
    with empty_table():
        categories.create("toys-hobbies")
        return categories.get("toys-hobbies").slug, "toys-hobbies"


@MODEL.entity("FrontPage", "FRONTPAGE", "FrontPage", keys="front_page")
def front_page_item() -> Both:
    """mtest_deal, featured"""
    return featured_on(FRONT)


@MODEL.entity(
    "EditorsChoicePage",
    "EDITORSCHOICE (in the other, EDITORPAGE)",
    "EditorsChoicePage",
    keys="editors_choice_page",
    differs="The key says the page's whole name.",
)
def editors_choice_item() -> Both:
    """mtest_deal, featured"""
    return featured_on(EDITORS_CHOICE)


@MODEL.entity(
    "User", "USER#u; UserIndex USER#u", "User", keys="user all_users", differs="Who mutes hot deals: see 21."
)
def user() -> Both:
    """mtest_0"""
    return users.get(mtest_user(0)).username, "mtest_0"


@MODEL.entity(
    "Message",
    "MESSAGES#u / MESSAGE#id; GSI1 the same pair while unread",
    "Message",
    keys="message unread_messages",
)
def message() -> Both:
    """a message to mtest_0"""
    message_id = make_id()
    messages.deliver([message_to(mtest_user(0), message_id)])
    found = messages.get("mtest_0", message_id)
    return (found.headline, found.unread), ("Hot", True)


@MODEL.entity(
    "BrandLike",
    "BRANDLIKE#b#u",
    "BrandLike",
    keys="brand_like relations_of_user",
    differs="A user's own are listed.",
)
def brand_like() -> Both:
    """mtest_1 likes mtest_brand"""
    return related(relations.BRAND_LIKE, 1, make_brand("mtest_brand").slug)


@MODEL.entity(
    "BrandWatch",
    "BRANDWATCH#b / USER#u",
    "BrandWatch",
    keys="brand_watch relations_of_user",
    differs="A user's own are listed; one can be muted.",
)
def brand_watch() -> Both:
    """mtest_2 watches mtest_brand"""
    return related(relations.BRAND_WATCH, 2, make_brand("mtest_brand").slug)


@MODEL.entity(
    "CategoryLike",
    "CATEGORYLIKE#c#u",
    "CategoryLike",
    keys="category_like relations_of_user",
    differs="A user's own are listed.",
)
def category_like() -> Both:
    """mtest_3 likes toys-hobbies"""
    return related(relations.CATEGORY_LIKE, 3, "toys-hobbies")


@MODEL.entity(
    "CategoryWatch",
    "CATEGORYWATCH#c / USER#u",
    "CategoryWatch",
    keys="category_watch relations_of_user",
    differs="A user's own are listed; one can be muted.",
)
def category_watch() -> Both:
    """mtest_4 watches toys-hobbies"""
    return related(relations.CATEGORY_WATCH, 4, "toys-hobbies")


def mtest_user(number: int) -> str:
    return buyer(f"mtest_{number}").username


def related(relation: Relation, number: int, slug: str) -> Both:
    """Add a relation; return what the user's list says of it, and what it has to say."""
    relations.add(relation, slug, mtest_user(number), now=NOW)
    listed = relations.likes_of if relation.verb == "LIKE" else relations.watched_by
    return listed(f"mtest_{number}"), [relations.RelationEntry(relation.target, slug)]


def featured_on(page_id: str) -> Both:
    """Feature a deal alone; return what the page then shows, and what it has to."""
    page, found = featured.load(page_id, [old_deal(title="mtest_deal").id])
    featured.set_featured(page, list(found.values()), version=page.version, by=EDITOR, now=NOW)
    return [card.title for card in featured.get(page_id).cards], ["mtest_deal"]
