"""check_table finds each kind of damage, and only that; it repairs what is derived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, deal_changes, deals, featured_plans
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.work import SEND_MESSAGE, place_of
from dealsite.data.integrity import checks
from dealsite.data.integrity.problem import Problem
from dealsite.data.jobs import jobs
from dealsite.data.people import messages, users
from dealsite.data.table import ids
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Delete, Put, Update
from tests.builders import DAY, EDITOR, HOUR, NOW, make_deal, make_id
from tests.every_type import (
    ANN_SHARD,
    BOUGHT,
    BROUGHT,
    BULK,
    DESK,
    DRAFT,
    EMPTYING,
    FOR_LATER,
    GONE,
    GUESTS,
    HEAD,
    IN_CART,
    IN_TRASH,
    JOB,
    LAMP,
    LATER,
    LINE,
    LIVE,
    NORDLICHT,
    ORDER,
    ORDERED,
    OTHER_LINE,
    PLAN,
    PUBLISHED_DRAFT,
    SENT,
    SOFA,
    TOYS,
    copy_every_type,
    everything,
    look_in,
    store_every_type,
)
from tests.payments import seed_payments
from tests.sampling import is_due
from tests.shop import ANN, GUEST

pytestmark = pytest.mark.usefixtures("fresh_table")


@pytest.fixture
def seed(engine_kind: str) -> Callable[[], None]:
    """A function that stores at least one item of every type; with faults it does so anew for each test."""
    return store_every_type if engine_kind == "weak" else copy_every_type


def put_back(before: dict[keys.Key, Item]) -> None:
    """Let the table hold what it held before a damage."""
    now = everything()
    changed = [key for key in before.keys() | now.keys() if now.get(key) != before.get(key)]
    for key in changed:
        table.write(Delete(key=key))
    table.insert([before[key] for key in changed if key in before])


def line_item(line_id: str, status: str, deal: str, **more) -> Item:
    """Return a line of ann's as it is stored."""
    return {
        "type": "CartLine",
        "id": line_id,
        "deal": deal,
        "username": "ann",
        "status": status,
        "at": ids.iso(NOW),
        "counted": False,
        "card": {
            "deal": deal,
            "username": "ann",
            "title": "Lamp",
            "brand": "aurora",
            "brand_name": "Aurora",
            "category": "toys-hobbies",
            "price": 1,
            "quantity": 1,
            **more,
        },
        **keys.carts_with(deal, status, NOW, ANN.username, line_id),
        **(keys.order_lines(more["order"], line_id) if more else {}),
        **more,
    }


def entry(line_id: str, quantity: int = 1) -> Item:
    """Return what a cart's head says of an active line."""
    return {"line": line_id, "status": "ACTIVE", "at": ids.iso(NOW), "quantity": quantity, "token": ""}


def lose_the_log() -> None:
    for key, item in everything().items():
        if item["type"] == "AuditEntry":
            table.write(Delete(key=key))


def overfill() -> None:
    """Put 25 more lines into a cart, past the site's own code."""
    for number in range(25):
        line_id, deal_id = make_id(NOW, 100 + number), make_id(NOW - DAY, 100 + number)
        put(ANN.line("ACTIVE", NOW, line_id), **line_item(line_id, "ACTIVE", deal_id))()
        table.write(Update(key=HEAD, set={("lines", deal_id): entry(line_id), "active": 2 + number}))


def names(problems: list[Problem]) -> list[tuple[str, str]]:
    return sorted(problem.key for problem in problems)


def put(key: keys.Key, **item) -> Callable[[], None]:
    return lambda: table.write(Put(key=key, item=item))


def change(key: keys.Key, **attributes) -> Callable[[], None]:
    return lambda: table.write(Update(key=key, set=attributes))


def change_in(key: keys.Key, path: tuple, value) -> Callable[[], None]:
    return lambda: table.write(Update(key=key, set={path: value}))


def lose(key: keys.Key, *attributes) -> Callable[[], None]:
    return lambda: table.write(Update(key=key, remove=attributes) if attributes else Delete(key=key))


def test_every_type_of_item_is_checked_and_a_sound_table_has_no_problem(wait_for_indexes, seed):
    seed()
    seed_payments(wait_for_indexes)
    look_in()
    assert checks.find() == []
    assert {item["type"] for item in table.scan_all(consistent=True)} == ENTITIES.keys()


# What is planted, the key where it is found, a word of what is said.
DERIVED: dict[str, tuple[Callable[[], None], keys.Key, str]] = {
    "a deal in the wrong day": (
        change(keys.deal(LIVE), GSI1PK="DEALS#2026-11-20"),
        keys.deal(LIVE),
        "GSI1PK",
    ),
    "a deal in the wrong place of its day": (
        change(keys.deal(LIVE), GSI1SK="DEAL#1"),
        keys.deal(LIVE),
        "GSI1SK",
    ),
    "a deal missing from its brand": (lose(keys.deal(LIVE), "GSI2PK", "GSI2SK"), keys.deal(LIVE), "GSI2PK"),
    "a deal in the wrong month": (
        change(keys.deal(LIVE), GSI3PK="CATEGORY#toys-hobbies#2026-10"),
        keys.deal(LIVE),
        "GSI3PK",
    ),
    "a deal among users": (change(keys.deal(LIVE), UserIndex="USER#x"), keys.deal(LIVE), "UserIndex"),
    "an offer that seems never to expire": (
        lose(keys.offer(LIVE), "GSI1PK", "GSI1SK"),
        keys.offer(LIVE),
        "GSI1PK",
    ),
    "an offer that expires at another time in the index": (
        change(keys.offer(LIVE), GSI2SK=f"{ids.iso(NOW)}#{LIVE}"),
        keys.offer(LIVE),
        "GSI2SK",
    ),
    "an offer with another price": (change(keys.offer(LIVE), price=Decimal("1")), keys.offer(LIVE), "price"),
    "an offer of another brand": (change(keys.offer(LATER), brand="nordlicht"), keys.offer(LATER), "brand"),
    "an offer lost": (lose(keys.offer(LATER)), keys.deal(LATER), "offer is missing"),
    "an offer without a deal": (
        put(keys.offer(DRAFT), type="Offer", id=DRAFT, brand="nordlicht", category="toys-hobbies", price=1),
        keys.offer(DRAFT),
        "no deal",
    ),
    "a published draft that is still listed": (
        change(keys.draft(PUBLISHED_DRAFT), GSI1PK="DRAFTS", GSI1SK=f"DRAFT#{PUBLISHED_DRAFT}"),
        keys.draft(PUBLISHED_DRAFT),
        "GSI1PK",
    ),
    "a draft that is not listed": (lose(keys.draft(DRAFT), "GSI1PK", "GSI1SK"), keys.draft(DRAFT), "GSI1PK"),
    "a draft not listed with its brand": (
        lose(keys.draft(DRAFT), "GSI2PK", "GSI2SK"),
        keys.draft(DRAFT),
        "GSI2",
    ),
    "a deleted deal that the trash does not list": (lose(IN_TRASH, "GSI1PK", "GSI1SK"), IN_TRASH, "GSI1PK"),
    "a deleted deal that the trash lists by another title": (
        change_in(IN_TRASH, ("card", "title"), "x"),
        IN_TRASH,
        "not what it keeps",
    ),
    "a trash that nobody empties": (lose(EMPTYING), EMPTYING, "No job empties the trash of 2026-11-21"),
    "a trash whose job was given up": (
        lambda: table.write(Update(key=EMPTYING, set={"state": "failed"}, remove=["GSI3PK", "GSI3SK"])),
        EMPTYING,
        "No job empties",
    ),
    "a bulk change that counts too few": (
        change_in(keys.job(BULK), ("progress", "refused"), 0),
        keys.job(BULK),
        "refused is 0, noted 1",
    ),
    "a job that nobody would find": (lose(keys.job(JOB), "GSI3PK", "GSI3SK"), keys.job(JOB), "GSI3PK"),
    "a job not in its month": (lose(keys.job(JOB), "GSI1PK", "GSI1SK"), keys.job(JOB), "GSI1PK"),
    "an import that no list shows": (
        lose(keys.deal_import(BROUGHT), "GSI2PK", "GSI2SK"),
        keys.deal_import(BROUGHT),
        "GSI2PK",
    ),
    "a brand's counter": (change(NORDLICHT, deals=7), NORDLICHT, "deals is 7, counted 1"),
    "a brand's year": (change(NORDLICHT, deals_2026=0), NORDLICHT, "deals_2026 is 0, counted 1"),
    "a brand's year without deals": (
        change(NORDLICHT, deals_2019=2),
        NORDLICHT,
        "deals_2019 is 2, counted 0",
    ),
    "a category's counter": (change(TOYS, deals=1), TOYS, "deals is 1, counted 2"),
    "a category's month": (lose(TOYS, "deals_2026-11"), TOYS, "deals_2026-11 is None, counted 1"),
    "a brand's counters lost": (lose(NORDLICHT), keys.brand("nordlicht"), "counters are missing"),
    "a category's counters lost": (lose(TOYS), keys.category("toys-hobbies"), "counters are missing"),
    "counters of no brand": (
        put(keys.brand_counts("ghost"), type="BrandCounts", slug="ghost", deals=0),
        keys.brand_counts("ghost"),
        "belong to nothing",
    ),
    "a brand's likes": (change(NORDLICHT, likes=3), NORDLICHT, "likes is 3, counted 1"),
    "a brand's watches": (change(NORDLICHT, watches=0), NORDLICHT, "watches is 0, counted 1"),
    "a category's likes": (change(TOYS, likes=0), TOYS, "likes is 0, counted 1"),
    "a category's watches": (change(TOYS, watches=4), TOYS, "watches is 4, counted 1"),
    "a deal's likes": (
        change(keys.deal_counts(LIVE), likes=2),
        keys.deal_counts(LIVE),
        "likes is 2, counted 1",
    ),
    "a deal's likes lost": (lose(keys.deal_counts(LIVE)), keys.deal_counts(LIVE), "likes are not counted"),
    "a like that its user does not see": (
        lose(keys.brand_like("nordlicht", "ann"), "GSI2PK", "GSI2SK"),
        keys.brand_like("nordlicht", "ann"),
        "GSI2PK",
    ),
    "a watch in another's list": (
        change(keys.category_watch("toys-hobbies", "ann"), GSI2PK="USER#bob"),
        keys.category_watch("toys-hobbies", "ann"),
        "GSI2PK",
    ),
    "an unread message in another's inbox": (
        change(keys.message("ann", JOB), GSI1PK="MESSAGES#bob"),
        keys.message("ann", JOB),
        "GSI1PK",
    ),
    "an unread message half unread": (
        lose(keys.message("ann", JOB), "GSI1SK"),
        keys.message("ann", JOB),
        "GSI1SK",
    ),
    "a day's counter": (
        change(keys.day_count(NOW.date()), deals=5),
        keys.day_count(NOW.date()),
        "deals is 5, counted 1",
    ),
    "a day's counter lost": (lose(keys.day_count(NOW.date())), keys.day_count(NOW.date()), "not counted"),
    "a day's counter without deals": (
        put(keys.day_count((NOW - DAY).date()), type="DayCount", deals=1),
        keys.day_count((NOW - DAY).date()),
        "has no deal",
    ),
    "a day not listed": (
        lambda: table.write(Update(key=keys.days(2026), remove=["day:2026-11-21"])),
        keys.days(2026),
        "2026-11-21 has deals",
    ),
    "a day listed without deals": (
        lambda: table.write(Update(key=keys.days(2026), set={"day:2026-01-01": True})),
        keys.days(2026),
        "2026-01-01 is listed",
    ),
    "a year not listed": (
        lambda: table.write(Update(key=keys.years(), discard={"years": {"2026"}})),
        keys.years(),
        "2026 has a list",
    ),
    "a year listed without days": (
        lambda: table.write(Update(key=keys.years(), add={"years": {"1999"}})),
        keys.years(),
        "1999 is listed",
    ),
    "a brand not listed": (
        lambda: table.write(Delete(key=keys.brand_name("nordlicht"))),
        keys.brand_name("nordlicht"),
        "The name 'nordlicht' finds '', called '': it is 'nordlicht', 'Nordlicht'.",
    ),
    "a brand listed under an old name": (
        change(keys.brand_name("nordlicht"), name="Old"),
        keys.brand_name("nordlicht"),
        "called 'Old'",
    ),
    "a name that finds a brand that does not exist": (
        put(keys.brand_name("ghost"), type="BrandName", slug="ghost", brand="ghost", name="Ghost"),
        keys.brand_name("ghost"),
        "The name 'ghost' finds the brand 'ghost', which does not have it.",
    ),
    "a name that finds no brand": (
        lambda: table.write(Delete(key=keys.brand_name("morning-glow"))),
        keys.brand_name("morning-glow"),
        "The name 'morning-glow' finds '', called '': it is 'aurora', 'Aurora'.",
    ),
    "a name that finds another brand": (
        change(keys.brand_name("morning-glow"), brand="nordlicht", name="Nordlicht"),
        keys.brand_name("morning-glow"),
        "The name 'morning-glow' finds 'nordlicht', called 'Nordlicht': it is 'aurora', 'Aurora'.",
    ),
    "a name that finds a brand that does not have it": (
        put(keys.brand_name("north"), type="BrandName", slug="north", brand="nordlicht", name="Nordlicht"),
        keys.brand_name("north"),
        "The name 'north' finds the brand 'nordlicht', which does not have it.",
    ),
    "an old brand name in a draft": (
        change_in(keys.draft(DRAFT), ("card", "brand_name"), "Old"),
        keys.draft(DRAFT),
        "'Old'",
    ),
    "a featured card of old": (
        change_in(keys.front_page(), ("cards", LIVE, "title"), "Old title"),
        keys.front_page(),
        "is not the deal's",
    ),
    "a featured card lost": (
        lambda: table.write(Update(key=keys.editors_choice_page(), remove=[("cards", LIVE)])),
        keys.editors_choice_page(),
        "is not the deal's",
    ),
    "a featured card of a deal that does not exist": (
        lambda: table.write(
            Update(
                key=keys.front_page(),
                set={("cards", DRAFT): {"id": DRAFT, "title": "Ghost"}, "order": [LIVE, DRAFT, LATER]},
            )
        ),
        keys.front_page(),
        "does not exist",
    ),
    "a featured card that is not listed": (
        change_in(keys.category("toys-hobbies"), ("cards", DRAFT), {"id": DRAFT}),
        keys.category("toys-hobbies"),
        "not listed",
    ),
    "a featured deal listed twice": (
        change(keys.front_page(), order=[LIVE, LATER, LIVE]),
        keys.front_page(),
        "twice",
    ),
    "a deal that does not know where it is featured": (
        lambda: table.write(Update(key=keys.deal(LIVE), discard={"featured_on": {"front"}})),
        keys.deal(LIVE),
        "does not know",
    ),
    "a deal that thinks itself featured": (
        lambda: table.write(Update(key=keys.deal(LIVE), add={"featured_on": {"office-software"}})),
        keys.deal(LIVE),
        "which does not",
    ),
    "a profile lost": (lose(keys.profile("ann")), keys.user("ann"), "no profile"),
    "a profile with another address": (
        change(keys.profile("ann"), email="x@example.org"),
        keys.profile("ann"),
        "email is 'x@example.org'",
    ),
    "a profile of a deleted user": (
        put(keys.profile("bob"), type="Profile", username="bob", email="bob@example.org"),
        keys.profile("bob"),
        "was deleted",
    ),
    "an address that nothing guards": (
        lose(keys.email_guard("ann@example.org")),
        keys.user("ann"),
        "Nothing guards",
    ),
    "a guard that says another case of the address": (
        change(keys.email_guard("ann@example.org"), email="Ann@example.org"),
        keys.email_guard("ann@example.org"),
        "email is 'Ann@example.org', the user's is 'ann@example.org'",
    ),
    "a guard of nobody's address": (
        put(keys.email_guard("x@example.org"), type="EmailGuard", username="zoe", email="x@example.org"),
        keys.email_guard("x@example.org"),
        "does not have it",
    ),
    "a guard of an address that a user had": (
        put(keys.email_guard("old@example.org"), type="EmailGuard", username="ann", email="old@example.org"),
        keys.email_guard("old@example.org"),
        "does not have it",
    ),
    "a guard that a deleted user left": (
        put(keys.email_guard("bob@example.org"), type="EmailGuard", username="bob", email="bob@example.org"),
        keys.email_guard("bob@example.org"),
        "does not have it",
    ),
    "a price that the deal has not": (
        change(keys.price(LIVE, NOW - HOUR, LIVE), price=5),
        keys.price(LIVE, NOW - HOUR, LIVE),
        "price is 5, the deal's is 79.9",
    ),
    "a deal whose prices are lost": (lose(keys.price(LIVE, NOW - HOUR, LIVE)), keys.deal(LIVE), "are lost"),
    "a deal that does not know of its prices": (
        lose(keys.deal(LIVE), "has_prices"),
        keys.deal(LIVE),
        "does not know that its prices",
    ),
    "a price of a deal that is gone": (
        put(keys.price(JOB, NOW, JOB), type="Price", deal=JOB, id=JOB, since=ids.iso(NOW), price=5),
        keys.price(JOB, NOW, JOB),
        "has no deal",
    ),
    "a second factor that its user does not know of": (
        lose(keys.user("ann"), "two_factor"),
        keys.user("ann"),
        "two_factor is None",
    ),
    "a user who names another factor": (
        change(keys.user("ann"), two_factor=JOB),
        keys.user("ann"),
        "two_factor is",
    ),
    "the second factor of a deleted user": (
        put(keys.two_factor("bob"), type="TwoFactor", username="bob", id=JOB),
        keys.two_factor("bob"),
        "nobody's",
    ),
    "passkeys from which nothing leads to their user": (
        lambda: lose(keys.factor_owner(users.get("ann").two_factor))(),
        keys.two_factor("ann"),
        "Nothing leads from these passkeys",
    ),
    "what leads to a user with another factor": (
        put(keys.factor_owner(JOB), type="FactorOwner", id=JOB, username="ann"),
        keys.factor_owner(JOB),
        "a user without this factor",
    ),
    "what leads to a deleted user": (
        put(keys.factor_owner(JOB), type="FactorOwner", id=JOB, username="bob"),
        keys.factor_owner(JOB),
        "a user without this factor",
    ),
    "the number of users": (change(ANN_SHARD, count=9), ANN_SHARD, "count is 9, counted 1"),
    "the number of users lost": (lose(ANN_SHARD), ANN_SHARD, "not counted"),
    "a user in another's place of UserIndex": (
        change(keys.user("ann"), UserIndex="USER#bob"),
        keys.user("ann"),
        "UserIndex",
    ),
    "a deleted user among those who get messages": (
        change(keys.user("bob"), UserIndex="USER#bob"),
        keys.user("bob"),
        "UserIndex",
    ),
    "an announcement missing from their list": (
        lose(keys.job(SENT), "GSI2PK", "GSI2SK"),
        keys.job(SENT),
        "GSI2PK",
    ),
    "an announcement that is done and still open": (
        change(
            keys.job(SENT),
            GSI3PK=keys.open_jobs.partition(place_of(SEND_MESSAGE, SENT)),
            GSI3SK=f"{ids.iso(NOW)}#{SENT}",
        ),
        keys.job(SENT),
        "GSI3PK",
    ),
    "a deal whose announcement is lost": (
        change(keys.deal(LATER), announced=True),
        keys.deal(LATER),
        "no such job",
    ),
    "saved views in an index": (
        change(keys.list_views(EDITOR), GSI2PK="X", GSI2SK="Y"),
        keys.list_views(EDITOR),
        "GSI2PK",
    ),
    "an earlier featured list in an index": (
        change(keys.featured_version("fashion-beauty", 1), GSI1PK="X", GSI1SK="Y"),
        keys.featured_version("fashion-beauty", 1),
        "GSI1PK",
    ),
    "unpublished changes that no list shows": (
        lose(keys.changes(LIVE), "GSI1PK", "GSI1SK"),
        keys.changes(LIVE),
        "GSI1PK",
    ),
    "a planned list in an index": (
        change(keys.featured_plan(PLAN), GSI1PK="X", GSI1SK="Y"),
        keys.featured_plan(PLAN),
        "GSI1PK",
    ),
    "a saved question in an index": (
        change(keys.question(JOB), GSI2PK="X", GSI2SK="Y"),
        keys.question(JOB),
        "GSI2PK",
    ),
    "a line that its deal does not know": (lose(IN_CART, "GSI2PK", "GSI2SK"), IN_CART, "GSI2PK"),
    "a line among another deal's": (change(FOR_LATER, GSI2PK=f"SKU#{LAMP}"), FOR_LATER, "GSI2PK"),
    "a bought line missing from its order": (lose(BOUGHT, "GSI1PK", "GSI1SK"), BOUGHT, "GSI1PK"),
    "a line whose card is another deal's": (
        change_in(IN_CART, ("card", "deal"), DESK),
        IN_CART,
        "card.deal is",
    ),
    "a line whose card is another shopper's": (
        change_in(IN_CART, ("card", "username"), "bob"),
        IN_CART,
        "card.username is",
    ),
    "a visitor's line that never ends": (lose(GUESTS, "ttl"), GUESTS, "ttl is None"),
    "a cart's number of lines": (change(HEAD, active=7), HEAD, "active is 7, counted 1"),
    "a cart's number of saved lines": (change(HEAD, saved=0), HEAD, "saved is 0, counted 1"),
    "a cart's word on how many pieces": (
        change_in(HEAD, ("lines", SOFA, "quantity"), 9),
        HEAD,
        "is not as it says",
    ),
    "a cart that names a line that is not there": (
        change_in(HEAD, ("lines", LAMP), entry(ORDER)),
        HEAD,
        "is not as it says",
    ),
    "a cart that names a line under another deal": (
        change_in(HEAD, ("lines", LAMP), entry(OTHER_LINE, 3)),
        HEAD,
        "is not as it says",
    ),
    "a cart's head lost": (lose(HEAD), HEAD, "head of this cart is missing"),
    "an order missing from those that wait": (lose(ORDERED, "GSI3PK", "GSI3SK"), ORDERED, "GSI3PK"),
    "an order in another shard": (change(ORDERED, GSI3PK="OPENORDERS#9"), ORDERED, "GSI3PK"),
    "an order among those of another status": (change(ORDERED, GSI2SK=f"SHIPPED#{ORDER}"), ORDERED, "GSI2SK"),
    "an order that lists show in another status": (
        change_in(ORDERED, ("card", "status"), "SHIPPED"),
        ORDERED,
        "card.status is",
    ),
    "an offer of what a shop sells that carts take": (
        lambda: table.write(Update(key=keys.offer(LIVE), set={"elsewhere": True})),
        keys.offer(LIVE),
        "elsewhere is True",
    ),
    "a brand in an index": (
        change(keys.brand("aurora"), GSI1PK="X", GSI1SK="Y"),
        keys.brand("aurora"),
        "GSI1PK",
    ),
}


@pytest.mark.parametrize(
    ("into", "words"),
    [
        ("aurora", "The brand 'aurora' was merged in a circle."),
        ("nordlicht", "The name 'aurora' finds the brand 'aurora', which does not have it."),
        ("nordlicht", "The brand 'nordlicht' lacks 'aurora', which was merged into it."),
        ("ghost", "This Brand is of the Brand ghost, which does not exist."),
    ],
)
@pytest.mark.engines("native")
def test_a_merged_brand_leads_to_one_that_is_there_and_is_not_listed(into, words, seed):
    seed()
    change(keys.brand("aurora"), merged_into=into)()
    (problem,) = [problem for problem in checks.find() if problem.what == words]
    assert checks.repair(problem) == bool(problem.repairs)


@pytest.mark.each_run
@pytest.mark.engines("native", "weak")
def test_damage_to_what_is_derived_is_found_alone_and_repaired(engine_kind, seed, subtests):
    seed()
    before = everything()
    for damage, (plant, key, words) in DERIVED.items():
        if not is_due(f"{damage} {engine_kind}", quick=4):
            continue
        with subtests.test(damage):
            plant()
            problems = checks.find()
            assert {problem.key for problem in problems} == {key}
            assert any(words in problem.what and problem.repairs for problem in problems)
            repaired, left = checks.repair_all()
            assert ({problem.key for problem in repaired}, left) == ({key}, [])
            assert set(everything()) == set(before)
        put_back(before)


@pytest.mark.engines("native", "local")
def test_all_damage_at_once_is_repaired_too(seed):
    seed()
    for name in (
        "a deal in the wrong day",
        "an offer with another price",
        "a draft that is not listed",
        "a brand's counter",
        "a category's counters lost",
        "a day's counter lost",
        "a day listed without deals",
        "a year not listed",
        "a brand listed under an old name",
        "a featured card of old",
        "a deal that thinks itself featured",
        "a profile lost",
        "an address that nothing guards",
        "the number of users",
    ):
        DERIVED[name][0]()
    repaired, left = checks.repair_all()
    assert left == []
    assert len(repaired) >= 14


# A change of the deal's card shows in its featured copies as well.
IN_CARDS: dict[str, tuple[Callable[[], None], str]] = {
    "an old brand name": (change_in(keys.deal(LIVE), ("card", "brand_name"), "Old"), "'Old'"),
    "a shop that is not that of the link": (
        change_in(keys.deal(LIVE), ("card", "shop"), "other.example"),
        "shop is 'other.example', not None",
    ),
    "sold out though there is stock": (
        change_in(keys.deal(LIVE), ("card", "sold_out"), True),
        "sold_out=True",
    ),
    "for sale though there is no stock": (
        lambda: table.write(Update(key=keys.deal(LATER), remove=[("card", "sold_out")])),
        "sold_out=False",
    ),
}


@pytest.mark.parametrize("damage", IN_CARDS)
@pytest.mark.engines("native", "weak")
def test_damage_to_a_deals_card_is_repaired_there_and_where_it_is_featured(damage, seed):
    plant, words = IN_CARDS[damage]
    seed()
    before = {key: item.get("card") for key, item in everything().items()}
    plant()
    problems = checks.find()
    assert sum(words in problem.what for problem in problems) == 1
    assert {problem.what.partition(" of ")[0] for problem in problems if words not in problem.what} == {
        "The card"
    }
    _, left = checks.repair_all()
    assert left == []
    assert {key: item.get("card") for key, item in everything().items()} == before
    assert checks.find() == []


UNDERIVED: dict[str, tuple[Callable[[], None], keys.Key, str]] = {
    "two brands of one name": (
        change(keys.brand("nordlicht"), also=["Aurora"]),
        keys.brand("aurora"),
        "The brands 'aurora' and 'nordlicht' have one name.",
    ),
    "an unknown type": (put(("X", "Y"), type="Ghost"), ("X", "Y"), "'Ghost'"),
    "no type": (put(("X", "Y"), x=1), ("X", "Y"), "None"),
    "a type of a wrong kind": (put(("X", "Y"), type=["Deal"]), ("X", "Y"), "Deal"),
    "an item under another's key": (
        put(("BRAND#x", "BRAND#x"), type="Brand", slug="y", name="Y"),
        ("BRAND#x", "BRAND#x"),
        "belongs under BRAND#y / BRAND#y",
    ),
    "an item that lacks its id": (
        put(("DEAL#1", "DEAL#1"), type="Deal"),
        ("DEAL#1", "DEAL#1"),
        "card is missing",
    ),
    "a brand without a name": (
        put(keys.brand("x"), type="Brand", slug="x"),
        keys.brand("x"),
        "name is missing",
    ),
    "an id that is none": (
        put(("DRAFT#x#y", "DRAFT#x#y"), type="Draft", id="x#y", card={}),
        ("DRAFT#x#y", "DRAFT#x#y"),
        "not a ULID",
    ),
    "a chunk of a bulk change that nobody ordered": (
        put(keys.bulk_chunk(DRAFT, 1), type="BulkChunk", job=DRAFT, number=1),
        keys.bulk_chunk(DRAFT, 1),
        "no change of many deals",
    ),
    "a plan whose job is lost": (
        lambda: lose(keys.job(featured_plans.get(PLAN).job))(),
        keys.featured_plan(PLAN),
        "its job is lost",
    ),
    "a plan whose job was cancelled": (
        lambda: table.write(jobs.cancel_write(featured_plans.SET_PLANNED, featured_plans.get(PLAN).job)),
        keys.featured_plan(PLAN),
        "its job is lost",
    ),
    "a second factor lost": (lose(keys.two_factor("ann")), keys.user("ann"), "is lost"),
    "an order's pieces": (change_in(ORDERED, ("card", "pieces"), 1), ORDERED, "pieces is 1, counted 2"),
    "an order's line lost": (lose(BOUGHT), ORDERED, "lines is 1, counted 0"),
    "an order's cancelled line": (
        put(ANN.line("RETURNED", NOW, ORDER), **line_item(ORDER, "RETURNED", LAMP, order=ORDER)),
        ORDERED,
        "A deal stands in it twice. Its lines are not all PURCHASED.",
    ),
    "an order that is not in the log": (lose_the_log, ORDERED, "That it was placed is not in the log"),
    "an order whose timeline begins later": (
        change(ORDERED, timeline=[{"status": "PLACED", "at": ids.iso(NOW + HOUR), "by": "ann"}]),
        ORDERED,
        "does not begin",
    ),
    "an order whose timeline says another thing": (
        change(
            ORDERED,
            timeline=[
                {"status": status, "at": ids.iso(NOW), "by": "ann"} for status in ("PLACED", "SHIPPED")
            ],
        ),
        ORDERED,
        "its timeline is not",
    ),
    "a bought line of no order": (
        put(ANN.line("PURCHASED", NOW, ORDER), **line_item(ORDER, "PURCHASED", LAMP, order=OTHER_LINE)),
        ANN.line("PURCHASED", NOW, ORDER),
        "which does not exist",
    ),
    "a message of an order that does not exist": (
        put(
            keys.message("ann", DRAFT),
            **messages.message_item("ann", DRAFT, kind="order", headline="x", deal="", order=LINE),
        ),
        keys.message("ann", DRAFT),
        "which does not exist",
    ),
    "a cart that holds too much": (overfill, HEAD, "more lines than a cart can"),
    "a profile without a user": (
        put(keys.profile("zoe"), type="Profile", username="zoe", email="z@example.org"),
        keys.profile("zoe"),
        "no user",
    ),
}


@pytest.mark.each_run
@pytest.mark.engines("native", "weak")
def test_what_cannot_be_derived_is_reported_and_left_alone(engine_kind, seed, subtests):
    seed()
    sound = everything()
    for damage, (plant, key, words) in UNDERIVED.items():
        if not is_due(f"{damage} {engine_kind}", quick=4):
            continue
        with subtests.test(damage):
            plant()
            before = everything()
            found = [problem for problem in checks.find() if not problem.repairs]
            assert {problem.key for problem in found} == {key}
            assert any(words in problem.what for problem in found)
            _, left = checks.repair_all()
            assert {problem.key for problem in left} == {key}
            assert everything()[key] == before[key]
        put_back(sound)


# What others name and is lost is made anew; what it said of itself alone is lost.
ROOTS = {
    "a category": keys.category("toys-hobbies"),
    "the front page": keys.front_page(),
    "Editors' Choice": keys.editors_choice_page(),
    "a brand": keys.brand("nordlicht"),
}


@pytest.mark.parametrize("root", ROOTS)
def test_what_others_name_is_made_anew_and_they_are_left_as_they_were(root, seed):
    seed()
    before, key = everything(), ROOTS[root]
    table.write(Delete(key=key))
    assert [(problem.key, bool(problem.repairs)) for problem in checks.find()] == [(key, True)]
    repaired, left = checks.repair_all()
    after = everything()
    lists = ("type", "order", "cards", "name")
    assert ([problem.key for problem in repaired], left) == ([key], [])
    assert {name: after[key].get(name) for name in lists} == {name: before[key].get(name) for name in lists}
    assert {one: item for one, item in after.items() if one != key} == {
        one: item for one, item in before.items() if one != key
    }


def test_a_brand_that_is_not_called_as_its_slug_is_made_anew_with_the_names_that_find_it(seed):
    seed()
    aurora = brands.get("aurora")
    brands.edit(aurora, name="Eos", description="", logo=None, by=EDITOR, now=NOW)
    table.write(Delete(key=keys.brand("aurora")))
    assert checks.repair_all()[1] == []
    assert {one: brands.named(one).name for one in ("aurora", "Eos", "Morning glow")} == {
        "aurora": "Eos", "Eos": "Eos", "Morning glow": "Eos",
    }  # fmt: skip
    assert checks.find() == []


def test_a_category_that_is_lost_with_its_counters_is_made_anew_with_them(seed):
    seed()
    before = everything()
    for key in (keys.category("toys-hobbies"), TOYS):
        table.write(Delete(key=key))
    assert checks.repair_all()[1] == []
    assert everything()[TOYS] == before[TOYS]
    make_deal(deal_id=make_id(NOW - HOUR, 99), category="toys-hobbies")  # and takes deals again
    assert checks.find() == []


def test_what_is_passing_and_not_as_it_should_be_is_taken_away(seed):
    seed()
    key = keys.presence("deal", LIVE, "eve")
    put(key, type="Presence", kind="deal", of=LIVE, username="eve")()
    assert names(checks.find()) == [key]
    assert checks.repair_all()[1] == []
    assert table.get(key) is None


def test_what_a_key_tells_is_given_back_to_its_item(seed):
    seed()
    before = everything()
    for key, name in (
        (NORDLICHT, "slug"),
        (keys.brand_name("nordlicht"), "type"),
        (keys.job(JOB), "id"),
        (HEAD, "type"),
    ):
        table.write(Update(key=key, remove=[name]))
    assert checks.repair_all()[1] == []
    assert everything() == before


def test_an_item_that_says_another_key_than_its_lists_is_believed_less_than_they(seed):
    seed()
    before = everything()
    change(NORDLICHT, slug="aurora")()
    change(keys.message("ann", JOB), id=LINE)()
    assert checks.repair_all()[1] == []
    assert everything() == before


def test_what_is_left_of_a_lost_deal_or_user_is_reported_and_kept(seed):
    seed()
    before = everything()
    lost = {keys.deal(LATER), keys.user("ann")}
    for key in lost:
        table.write(Delete(key=key))
    _, left = checks.repair_all()
    assert {keys.offer(LATER), keys.two_factor("ann"), keys.email_guard("ann@example.org")} <= {
        problem.key for problem in left
    }
    gone = before.keys() - everything().keys() - lost
    assert {before[key]["type"] for key in gone} <= {"DayCount"}


def test_nothing_is_counted_while_one_of_the_counted_cannot_be_read(seed):
    seed()
    before = everything()
    change_in(keys.deal(LIVE), ("card", "brand"), 5)()
    change_in(keys.deal(LATER), ("card", "category"), {"a": 1})()
    _, left = checks.repair_all()
    assert keys.deal(LIVE) in {problem.key for problem in left}
    after = everything()
    assert {key: after[key] for key in (NORDLICHT, TOYS)} == {key: before[key] for key in (NORDLICHT, TOYS)}
    assert before.keys() == after.keys()


def test_several_copies_of_one_card_are_repaired_at_once(seed):
    seed()
    before = everything()
    for name in ("id", "username", "name", "status", "placed_at"):
        change_in(ORDERED, ("card", name), before[ORDERED]["id"] if name == "username" else "x")()
    (problem,) = (one for one in checks.find() if one.repairs)
    assert checks.repair(problem)
    assert everything()[ORDERED]["card"] == before[ORDERED]["card"]


def test_a_payment_cannot_make_the_totals_wrong(wait_for_indexes):
    seed_payments(wait_for_indexes)
    payment = next(item for item in everything().values() if item["type"] == "Payment")
    before = {key: item for key, item in everything().items() if item["type"] == "PaymentTotals"}
    key = (payment["PK"], payment["SK"])
    table.write(Update(key=key, set={"amount": Decimal("-1"), ("card", "amount"): Decimal("-1")}))
    _, left = checks.repair_all()
    assert key in {problem.key for problem in left}
    assert {key: item for key, item in everything().items() if item["type"] == "PaymentTotals"} == before


@pytest.mark.parametrize("where", ["amount", "card"])
def test_of_two_amounts_of_a_payment_the_totals_tell_the_right_one(wait_for_indexes, where):
    seed_payments(wait_for_indexes)
    before = everything()
    payment = next(item for item in before.values() if item["type"] == "Payment")
    path = ("card", "amount") if where == "card" else "amount"
    table.write(Update(key=(payment["PK"], payment["SK"]), set={path: payment["amount"] + 1}))
    assert checks.repair_all()[1] == []
    assert everything() == before


def test_a_like_of_nobody_is_reported_and_not_counted(seed):
    seed()
    before = everything()
    likes = {"type": "BrandLike", "slug": "nordlicht", "username": "zoe", "created_at": ids.iso(NOW)}
    put(
        keys.brand_like("nordlicht", "zoe"),
        **likes,
        **keys.relations_of_user("zoe", "LIKE", "BRAND", "nordlicht"),
    )()
    _, left = checks.repair_all()
    assert [(problem.key, problem.what) for problem in left] == [
        (keys.brand_like("nordlicht", "zoe"), "This BrandLike is of the User zoe, which does not exist.")
    ]
    assert everything()[NORDLICHT] == before[NORDLICHT]


@pytest.mark.parametrize("version", [9, 0])
def test_a_deals_version_is_the_one_after_the_last_that_is_kept(version, seed):
    seed()
    change(keys.deal(LIVE), version=version)()
    assert checks.repair_all()[1] == []
    assert deals.get(LIVE).version == 1


def test_what_a_newer_build_wrote_is_not_judged_and_nothing_is_repaired_beside_it(seed):
    seed()
    change(keys.deal(LIVE), schema=99, title=5)()
    change(TOYS, deals=99)()
    found = checks.find()
    assert keys.deal(LIVE) not in {problem.key for problem in found}
    assert found
    assert not any(problem.repairs for problem in found)


def test_a_brand_that_is_being_renamed_is_no_problem(seed):
    seed()
    brand = brands.get("nordlicht")
    brands.edit(brand, name="Aurora Borealis", description="", logo=None, by=EDITOR, now=NOW)
    assert checks.find() == []
    job = jobs.take_next(now=NOW + DAY)
    while job is not None:
        jobs.finish(job)
        job = jobs.take_next(now=NOW + DAY)


def test_what_changes_between_two_looks_is_no_problem(monkeypatch, seed):
    seed()
    scans = iter([{"deals": 7}, {"deals": 8}])
    real = table.scan_all

    def scan(**options):
        table.write(Update(key=NORDLICHT, set=next(scans)))
        yield from real(**options)

    monkeypatch.setattr(table, "scan_all", scan)
    assert checks.find() == []


def test_a_repair_of_what_changed_meanwhile_changes_nothing(seed):
    seed()
    change(NORDLICHT, deals=7)()
    (problem,) = checks.find()
    change(NORDLICHT, deals=2)()
    assert checks.repair(problem) is False
    assert brands.get_with_counts("nordlicht").deals == 2


def test_the_command_reports_and_ends_with_an_error_until_all_is_well(seed):
    seed()
    out = StringIO()
    call_command("check_table", stdout=out)
    assert f"The table {table.name()} is whole." in out.getvalue()
    change(NORDLICHT, deals=7)()
    out = StringIO()
    with pytest.raises(CommandError, match=r"has 1 problem\. Run it with --repair\.") as failed:
        call_command("check_table", stdout=out)
    assert failed.value.returncode == 1
    assert "BRAND#nordlicht / COUNTS: deals is 7, counted 1." in out.getvalue()
    out = StringIO()
    call_command("check_table", repair=True, stdout=out)
    assert "Repaired: BRAND#nordlicht / COUNTS: deals is 7, counted 1." in out.getvalue()
    assert "is whole, 1 problem repaired." in out.getvalue()
    assert brands.get_with_counts("nordlicht").deals == 1


def test_the_command_shows_no_control_characters():
    put(("\x1b[2J", "\u202eX"), type="Ghost")()
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("check_table", repair=True, stdout=out)
    assert (
        r"\x1b[2J / \u202eX: Its type, 'Ghost', is not known. (nothing to derive it from)" in out.getvalue()
    )


def test_an_empty_table_is_whole():
    assert checks.find() == []


def test_a_line_that_its_cart_does_not_know_is_taken_away(seed):
    seed()
    stray = ANN.line("ACTIVE", NOW, ORDER)
    put(stray, **line_item(ORDER, "ACTIVE", LAMP))()
    (problem,) = checks.find()
    assert (problem.key, problem.what) == (stray, "The cart does not know this line.")
    change(HEAD, version=99)()
    assert checks.repair(problem) is False  # somebody was there meanwhile
    assert checks.repair_all()[1] == []
    assert table.get(stray) is None


def test_what_is_left_of_a_visitors_cart_is_no_problem(seed):
    seed()
    lose(GUEST.head)()
    assert checks.find() == []


def test_a_visitors_cart_that_expires_is_no_problem(seed):
    seed()
    change(GUEST.head, ttl=ids.epoch_seconds(NOW - 40 * DAY))()
    lose(GUESTS)()
    assert checks.find() == []
    change(GUEST.head, ttl=ids.epoch_seconds(datetime.now(UTC) + DAY))()
    assert names(checks.find()) == [GUEST.head]


def test_a_mark_that_a_job_will_make_is_no_problem(wait_for_indexes, seed):
    seed()
    change(keys.offer(LAMP), stock=0)()
    assert names(checks.find()) == [keys.deal(LAMP)]
    table.write(deals.mark_sold_out_later([LAMP], now=NOW))
    assert checks.find() == []
    wait_for_indexes()
    while job := jobs.take_next(now=NOW + DAY):
        jobs.finish(job)
    assert keys.deal(LAMP) in names(checks.find())


def test_an_order_that_comes_to_more_than_its_lines_is_reported(seed):
    seed()
    change_in(ORDERED, ("card", "total"), Decimal("159.81"))()
    assert {"total is 159.81, counted 159.80."} <= {problem.what for problem in checks.find()}
    assert not any(problem.repairs for problem in checks.find())


def test_a_price_that_was_lost_is_kept_again_from_the_edit_on_that_set_it():
    deal = make_deal(deal_id=LIVE)
    cheaper = replace(deal.content, price=Decimal("9.90"))
    brand = brands.get("nordlicht")
    deal_changes.edit(deal, cheaper, version=1, brand=brand, by=EDITOR, now=NOW)
    there = deals.prices_of(LIVE)
    (lost,) = [
        key for key in everything() if key[0] == keys.price.partition(LIVE) and not key[1].endswith(LIVE)
    ]
    table.write(Delete(key=lost))
    assert [problem.key for problem in checks.find()] == [keys.price(LIVE, NOW - HOUR, LIVE)]
    assert checks.repair_all()[1] == []
    assert deals.prices_of(LIVE) == there
    assert lost in everything()


def test_a_card_that_compares_its_price_with_another_than_its_prices_give_is_put_right():
    deal = make_deal(deal_id=LIVE, live_at=ids.time_of(LIVE))
    dearer = replace(deal.content, price=Decimal("99.90"))
    right = deal_changes.edit(
        deal, dearer, version=1, brand=brands.get("nordlicht"), by=EDITOR, now=NOW + 31 * DAY
    )
    assert (right.card.low, right.card.raised_from) == (Decimal("79.90"), Decimal("79.90"))
    assert checks.find() == []
    table.write(Update(key=keys.deal(LIVE), set={("card", "low"): 119}, remove=[("card", "raised_from")]))
    (problem,) = checks.find()
    words = "compared with: low is 119, its prices give 79.90; raised_from is None, its prices give 79.90."
    assert (problem.key, problem.what.endswith(words)) == (keys.deal(LIVE), True)
    assert checks.repair_all()[1] == []
    assert deals.get(LIVE).card == right.card


def test_prices_and_versions_of_a_deal_that_is_in_no_trash_are_taken_away(seed):
    seed()
    table.write(Delete(key=IN_TRASH))
    price = keys.price(GONE, ids.time_of(GONE), GONE)
    found = {problem.key: problem.what for problem in checks.find()}
    assert found == {
        price: "This price has no deal.",
        keys.version(GONE, 1): "This version has no deal or draft.",
    }
    assert checks.repair_all()[1] == []
    assert table.get(price) is None
