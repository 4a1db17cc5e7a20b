"""The deals site: Big Time Deals, chapter 20 of The DynamoDB Book."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from django.conf import settings
from django.test import override_settings

from dealsite.data import table
from dealsite.data.catalogue import brands, categories, deals, featured, lists, publishing
from dealsite.data.catalogue.cards import EDITORS_CHOICE, FRONT, DealCard
from dealsite.data.catalogue.featured import FeaturedPage
from dealsite.data.table import schema
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import iso, time_of
from tests.builders import DAY, EDITOR, NOW, make_brand, make_content, make_id
from tests.seeds import Ask, Both, Model, stored
from tests.seeds.shop import BRAND, CATEGORY, LONG_AGO, PAGE, old_deal, old_deals

MODEL = Model(
    "Deals site",
    "*Big Time Deals*, chapter 20 of [The DynamoDB Book](https://www.dynamodbbook.com) by Alex DeBrie: 12 entities and "
    "23 access patterns. The text is not public. Entities, keys and conditions are those of the entity chart "
    "that goes with the chapter's example code and of an independent implementation "
    "([modyne](https://github.com/neoeinstein/modyne/tree/main/dynamodb-book/ch20-bigtimedeals)), from whose test the "
    "examples are; the questions are named in our words.",
)
CARDS = "An index holds the card alone: what a list does not show costs no write there."
LISTED = "The deals know which pages feature them, so an edit reaches every copy; of two editors the second is told."


# What editors do


@MODEL.question(
    1,
    "Create a deal",
    "PutItem DEAL#id",
    publishing.publish,
    differs="With its offer, first price, counters and list of days. Buckets are days (all deals), months (a category) "
    f"and years (a brand) instead of days everywhere, so a small brand takes one query. {CARDS}",
)
def create_deal(ask: Ask) -> Both:
    """id, title and price of the deal"""
    brand, deal_id = make_brand("Old Things"), make_id(LONG_AGO)
    old_deal()  # its category exists
    made = ask(make_content(brand=brand.slug), deal_id=deal_id, brand=brand, by=EDITOR, now=NOW)
    found = [item["card"] for item in stored("Deal", id=deal_id)]
    return [(made.id, made.content.title, made.content.price)], [
        (card["id"], card["title"], card["price"]) for card in found
    ]


@MODEL.question(
    2,
    "Create a brand",
    "transaction: PutItem BRAND#b, if it is not there; ADD to BRANDS",
    brands.create,
    differs="Each name is an item of its own: one set of all names costs 13 KB a write at 1,000 of them and ends at "
    "some 30,000.",
)
def create_brand(ask: Ask) -> Both:
    """the brand, and its name in the list of names"""
    made = ask("Quiet Lamps", by=EDITOR, now=NOW)
    listed = [item["name"] for item in stored("BrandName", slug="quiet-lamps")]
    return (made.slug, made.name), (*[item["slug"] for item in stored("Brand", name="Quiet Lamps")], *listed)


@MODEL.question(
    3,
    "Create a category",
    "PutItem CATEGORY#c",
    categories.create,
    differs="There are eight, which an empty table gets; with the item come its counters.",
)
def create_category(ask: Ask) -> Both:
    """the categories of a table that had none"""
    with empty_table():
        ask(CATEGORY)
        found = [item["slug"] for kind in ("Category", "CategoryCounts") for item in stored(kind)]
    return [CATEGORY, CATEGORY], found


@MODEL.question(
    4, "Set the front page's featured deals", "UpdateItem FRONTPAGE", featured.set_featured, differs=LISTED
)
def feature_on_front_page(ask: Ask) -> Both:
    """the order on the page, and the deals that say that it features them"""
    return set_featured(ask, FRONT, "FrontPage")


@MODEL.question(
    5, "Set a category's featured deals", "UpdateItem CATEGORY#c", featured.set_featured, differs=LISTED
)
def feature_on_category(ask: Ask) -> Both:
    """the order on the page, and the deals that say that it features them"""
    return set_featured(ask, "toys-hobbies", "Category", slug="toys-hobbies")


@MODEL.question(
    6,
    "Set the Editors' Choice page's featured deals",
    "UpdateItem EDITORSCHOICE",
    featured.set_featured,
    differs=LISTED,
)
def feature_on_editors_choice(ask: Ask) -> Both:
    """the order on the page, and the deals that say that it features them"""
    return set_featured(ask, EDITORS_CHOICE, "EditorsChoicePage")


def set_featured(ask: Ask, page_id: str, type_: str, **of_item: str) -> Both:
    made = feature(page_id, ask)
    (item,) = stored(type_, **of_item)
    said = {item["id"] for item in stored("Deal") if page_id in item.get("featured_on", ())}
    return (made.ids, set(made.ids)), (item["order"], said)


def feature(page_id: str, change: Callable[..., FeaturedPage] = featured.set_featured) -> FeaturedPage:
    """Feature some deals on a page, one of which is over; return the page."""
    some = [*old_deals(2), old_deal(title="Over", expires_at=LONG_AGO + DAY)]
    page, found = featured.load(page_id, [deal.id for deal in some])
    return change(page, list(reversed(found.values())), version=page.version, by=EDITOR, now=NOW)


# What shoppers see


@MODEL.question(
    7,
    "Front page and latest deals",
    "GetItem FRONTPAGE; Query GSI1 DEALS#day, a day back each",
    lists.front_page,
    requests="1 batch get + d queries",
    differs="Only days that hold deals are asked; ids are times: a scheduled deal appears by itself. The book copies "
    "the latest deals to several items against hot partitions: here visitors share a page of two seconds.",
)
def front_page(ask: Ask) -> Both:
    """deals published by now, the newest 25; the page's list without what is over"""
    feature(FRONT)
    cards, page = ask(now=NOW)
    ask.d = len({time_of(one).date() for one in latest(PAGE + 1)})
    return (ids(cards), ids(page.cards)), (listed_on("FrontPage"), latest())


@MODEL.question(
    8,
    "Category and its latest deals",
    "GetItem CATEGORY#c; Query GSI3 CATEGORY#c#day, a day back each",
    lists.category_page,
    requests="1 batch get + d queries",
    differs="A month is a bucket. Counters come with it.",
)
def category_page(ask: Ask) -> Both:
    """deals of the category published by now, the newest 25; the page's list without what is over"""
    feature(CATEGORY)
    category, cards, page = ask(CATEGORY, now=NOW)
    ask.d = len({time_of(one).month for one in latest(PAGE + 1, category=CATEGORY)})
    of_category = listed_on("Category", slug=CATEGORY)
    likes = len(stored("CategoryLike", slug=CATEGORY))
    return (ids(cards), ids(page.cards), category.counts.likes), (
        of_category,
        latest(category=CATEGORY),
        likes,
    )


@MODEL.question(9, "Editors' Choice page", "GetItem EDITORSCHOICE", lists.editors_choice)
def editors_choice(ask: Ask) -> Both:
    """the page's list without what is over"""
    feature(EDITORS_CHOICE)
    _, cards = ask(now=NOW)
    return ids(cards), listed_on("EditorsChoicePage")


@MODEL.question(
    10,
    "Latest deals of a brand",
    "Query GSI2 BRAND#b#day, a day back each",
    lists.brand_page,
    requests="1 batch get + d queries",
    differs="A year is a bucket. The brand and its counters come with it.",
)
def brand_page(ask: Ask) -> Both:
    """deals of the brand published by now, the newest 25"""
    brand, page = ask(BRAND, now=NOW)
    ask.d = len({time_of(one).year for one in latest(PAGE + 1, brand=BRAND)})
    return (brand.name, ids(page.cards)), (stored("Brand", slug=BRAND)[0]["name"], latest(brand=BRAND))


@MODEL.question(
    11, "All brands", "GetItem BRANDS", brands.names, differs="From A to Z, 100 at a time: see 2."
)
def all_brands(ask: Ask) -> Both:
    """slug and name of every brand"""
    return {(one.slug, one.name) for one in ask().rows}, {
        (item["slug"], item["name"]) for item in stored("Brand")
    }


@MODEL.question(
    12,
    "One deal",
    "GetItem DEAL#id",
    deals.get,
    differs="The offer (price, stock, expiry) is an item of its own: a flash sale contends on 200 bytes.",
)
def one_deal(ask: Ask) -> Both:
    """title, price and stock"""
    found = ask(old_deal(stock=7).id)
    (item,), (offer,) = stored("Deal", id=found.id), stored("Offer", id=found.id)
    said = (item["card"]["title"], item["card"]["price"], offer["price"], offer["stock"])
    return (found.content.title, found.content.price, found.content.price, found.stock), said


# What a scan says


@contextmanager
def empty_table() -> Iterator[None]:
    """Let the site have an empty table for a while."""
    with override_settings(DEALSITE_TABLE=f"{settings.DEALSITE_TABLE}-empty"):
        schema.create_table()
        yield
        table.call("DeleteTable", TableName=settings.DEALSITE_TABLE)


def ids(cards: Sequence[DealCard]) -> list[str]:
    return [card.id for card in cards]


def newest(items: Sequence[Item], count: int = PAGE) -> list[str]:
    """Return the newest ids, as many as a page has."""
    return sorted((item["id"] for item in items), reverse=True)[:count]


def latest(count: int = PAGE, **equal: str) -> list[str]:
    """Return the newest deals that are published, of a brand or category or all."""
    shown = [item for item in stored("Deal") if time_of(item["id"]) <= NOW]
    return newest(
        [item for item in shown if all(item["card"][name] == value for name, value in equal.items())], count
    )


def listed_on(type_: str, **of_item: str) -> list[str]:
    """Return the deals that a page features, without what is scheduled or over."""
    (page,) = stored(type_, **of_item)
    cards = {item["id"]: item["card"] for item in stored("Deal")}
    over = {
        one for one, card in cards.items() if card.get("expires_at", "~") <= iso(NOW) or time_of(one) > NOW
    }
    return [one for one in page.get("order", ()) if one in cards and one not in over]
