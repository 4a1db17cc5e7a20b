"""The deals site, as far as its users go: likes, watches and messages."""

from __future__ import annotations

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, categories, relations
from dealsite.data.catalogue.relations import Relation
from dealsite.data.jobs import jobs
from dealsite.data.people import announcements, messages, users
from dealsite.data.people.announcements import Audience
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Update
from tests.builders import NOW, WORKER, make_announcement, make_brand, make_id
from tests.seeds import Ask, Both, deals_site, stored
from tests.seeds.deals_site import CARDS, newest
from tests.seeds.shop import BUYER, LONG_AGO, SHOPPERS, old_deal

MODEL = deals_site.MODEL
COUNTED = (
    "The counter stands in an item of its own: a like must not rewrite the page. Repeating it is harmless."
)
SENT = "A job does it, in up to 16 parts that workers share: after a crash nobody gets it twice."
ANNOUNCED = (
    f"{SENT} Deals that an editor announces, while the stream of the example code tells of every new one."
)


@MODEL.question(
    13,
    "Create a user",
    "PutItem USER#u with UserIndex USER#u, if it is not there",
    users.create,
    differs="With profile, e-mail guard (an address is one user's) and a shard of the number of users. User names are "
    "lower case.",
)
def create_user(ask: Ask) -> Both:
    """the sign-in item and the profile of the name"""
    form = {"username": "Mtest_13", "email": "mtest_13@example.org", "password": "a hash"}
    made = ask(**form, registration=make_id(), now=NOW)
    found = [item["email"] for kind in ("User", "Profile") for item in stored(kind, username="mtest_13")]
    return [made.email, made.email], found


@MODEL.question(
    14,
    "Like a brand",
    "transaction: PutItem BRANDLIKE#b#u, if it is not there; likes + 1",
    relations.add,
    differs=COUNTED,
)
def like_brand(ask: Ask) -> Both:
    """who likes it, and how many that are"""
    return relate(ask, relations.BRAND_LIKE)


@MODEL.question(
    15,
    "Watch a brand",
    "PutItem BRANDWATCH#b / USER#u",
    relations.add,
    differs=f"Watchers are counted, too. {COUNTED}",
)
def watch_brand(ask: Ask) -> Both:
    """who watches it, and how many that are"""
    return relate(ask, relations.BRAND_WATCH)


@MODEL.question(
    16,
    "Like a category",
    "transaction: PutItem CATEGORYLIKE#c#u, if it is not there; likes + 1",
    relations.add,
    differs=COUNTED,
)
def like_category(ask: Ask) -> Both:
    """who likes it, and how many that are"""
    return relate(ask, relations.CATEGORY_LIKE)


@MODEL.question(
    17,
    "Watch a category",
    "PutItem CATEGORYWATCH#c / USER#u",
    relations.add,
    differs=f"Watchers are counted, too. {COUNTED}",
)
def watch_category(ask: Ask) -> Both:
    """who watches it, and how many that are"""
    return relate(ask, relations.CATEGORY_WATCH)


def relate(ask: Ask, relation: Relation) -> Both:
    slug = make_brand("Quite Loved").slug if relation.target == "brand" else "fashion-beauty"
    added = [ask(relation, slug, name, now=NOW) for name in (BUYER, "sam", BUYER)]
    counts = brands.get_with_counts(slug) if relation.target == "brand" else categories.get_with_counts(slug)
    assert counts.counts
    found = {item["username"] for item in stored(relation.type, slug=slug)}
    return (added, {BUYER, "sam"}, getattr(counts.counts, relation.counter)), (
        [True, True, False],
        found,
        len(found),
    )


# Messages


@MODEL.question(
    18, "A user's messages", "Query MESSAGES#u, newest first", messages.inbox, differs="25 a page."
)
def inbox(ask: Ask) -> Both:
    """the user's messages, the newest 25"""
    sent = stored("Message", username=BUYER)
    return [one.id for one in ask(BUYER).rows], newest(sent)


@MODEL.question(
    19,
    "A user's unread messages",
    "Query GSI1 MESSAGES#u, sparse",
    messages.inbox,
    differs=f"25 a page. {CARDS}",
)
def unread_messages(ask: Ask) -> Both:
    """the user's messages that were not read, the newest 25"""
    return [one.id for one in ask(BUYER, unread=True).rows], newest(unread_of(BUYER))


@MODEL.question(
    20,
    "Mark a message read",
    "UpdateItem MESSAGES#u / MESSAGE#id, GSI1PK and GSI1SK removed",
    messages.mark_read,
    differs="On the condition that it exists: a late click makes no message of nothing.",
)
def mark_read(ask: Ask) -> Both:
    """the user's unread messages, without this one"""
    username, message_id = SHOPPERS[2], make_id()
    messages.deliver([message_to(username, message_id)])
    before = newest(unread_of(username))
    ask(username, message_id, now=NOW)
    return [one for one in before if one != message_id], newest(unread_of(username))


@MODEL.question(
    21,
    "Send a hot deal to all users",
    "Scan UserIndex; PutItem MESSAGES#u each",
    announcements.send_part,
    requests="1 batch get + 1 scan + 2 batch inserts + 1 update",
    differs=f"{SENT} Who wants none is told by the index's key.",
)
def hot_deal(ask: Ask) -> Both:
    """all users but the one who mutes hot deals"""
    users.mute_hot_deals(SHOPPERS[3], muted=True)
    return send(ask, Audience()), {item["username"] for item in stored("User")} - {SHOPPERS[3]}


@MODEL.question(
    22,
    "Tell the watchers of a brand of a new deal",
    "Query BRANDWATCH#b; PutItem MESSAGES#u each",
    announcements.send_part,
    requests="1 batch get + 1 query + 1 batch insert + 1 update",
    differs=ANNOUNCED,
)
def new_deal_of_brand(ask: Ask) -> Both:
    """all who watch the brand"""
    brand = make_brand("Well Watched")
    for name in SHOPPERS[4:7]:
        relations.add(relations.BRAND_WATCH, brand.slug, name, now=NOW)
    return send(ask, Audience(brand.slug)), {
        item["username"] for item in stored("BrandWatch", slug=brand.slug)
    }


@MODEL.question(
    23,
    "Tell the watchers of a category of a new deal",
    "Query CATEGORYWATCH#c; PutItem MESSAGES#u each",
    announcements.send_part,
    requests="1 batch get + 1 query + 1 batch insert + 1 update",
    differs=ANNOUNCED,
)
def new_deal_of_category(ask: Ask) -> Both:
    """all who watch the category"""
    for name in SHOPPERS[4:7]:
        relations.add(relations.CATEGORY_WATCH, "office-software", name, now=NOW)
    watching = {item["username"] for item in stored("CategoryWatch", slug="office-software")}
    return send(ask, Audience(category="office-software")), watching


def send(ask: Ask, audience: Audience) -> set[str]:
    """Send a message; return who has it."""
    message_id = make_announcement(old_deal().id, make_id(LONG_AGO), audience=audience)
    table.write(Update(key=keys.job(message_id), set={"taken_by": WORKER}))
    announcements.send_message(jobs.get(message_id), NOW)
    (part,) = jobs.parts_of(job := jobs.get(message_id))
    table.write(Update(key=keys.job(part.id), set={"taken_by": WORKER}))
    ask(job, jobs.get(part.id), NOW)
    return {item["username"] for item in stored("Message", id=message_id)}


def message_to(username: str, message_id: str) -> Item:
    return messages.message_item(username, message_id, kind="hot_deal", headline="Hot", deal=make_id())


def unread_of(username: str) -> list[Item]:
    """Return a user's messages that stand in the index: nothing else says that they are unread."""
    return [item for item in stored("Message", username=username) if "GSI1PK" in item]
