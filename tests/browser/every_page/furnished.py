"""A site with content of every kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.utils import timezone

from dealsite import bulk as many
from dealsite.ask import ready, runs
from dealsite.ask.lake import lake_in
from dealsite.data import (
    brands,
    bulk,
    carts,
    categories,
    deals,
    featured,
    featured_plans,
    featured_versions,
    jobs,
    keys,
    likes,
    links,
    messages,
    orders,
    questions,
    table,
    two_factor,
    users,
    watches,
)
from dealsite.data.cards import Picture
from dealsite.data.carts import Wanted
from dealsite.data.deals import Deal
from dealsite.data.drafts import Draft
from dealsite.data.ids import new_ulid
from dealsite.data.orders import Address, Purchase
from dealsite.data.orders.buyers import PaymentCard, save_card
from dealsite.data.relations import CATEGORY_WATCH
from dealsite.data.users import User
from dealsite.data.writes import Update
from dealsite.pictures import store_picture
from tests import import_files
from tests.ask import lakes
from tests.browser.conftest import make_user
from tests.browser.content import feature, now_deal
from tests.browser.deal_form import picture_bytes
from tests.builders import EDITOR, make_brand, make_content, make_draft

DAY = timedelta(days=1)
LONG = "Donaudampfschifffahrtsgesellschaft" * 4
VISITOR, SHOPPER, ADMIN = "", "ada", "root"


@dataclass(frozen=True)
class Content:
    """What stands on the site that the tests look at."""

    table_name: str
    media: Path
    search: Path
    users: dict[str, User]
    deals: dict[str, Deal]
    draft: Draft
    message: str
    var: Path
    question: str
    answers: list[str]
    order: str
    imports: list[str]
    bulk: list[str]

    def deal(self, state: str) -> str:
        return f"/deals/{self.deals[state].id}/{self.deals[state].card.slug}/"

    def id(self, state: str) -> str:
        return self.deals[state].id


def furnish(table_name: str, media: Path, search: Path, var: Path) -> Content:
    """Make users, and deals in every state."""
    now = timezone.now()
    categories.create_all()
    picture = store_picture(picture_bytes(), "A teal square")
    brand = make_brand("Nordlicht", logo=picture, description="Warm things.")
    make_brand(LONG[:80])
    assert brands.get(brand.slug).logo
    described = "## Why\n\nIt *is*.\n\n- one\n- two\n\n> quoted, `code`, [a link](https://a.example)"
    made = {
        "live": now_deal(
            voucher_code="SAVE", picture=picture, expires_at=now + 9 * DAY, stock=3, description=described
        ),
        "ending": now_deal(expires_at=now + DAY / 5, title=LONG, voucher_code="A" * 20),
        "expired": now_deal(age=2 * DAY, expires_at=now - DAY, picture=picture),
        "sold out": now_deal(stock=0, was_price=None),
        "scheduled": now_deal(age=-DAY, title="Soon"),
    }
    cheaper = replace(made["live"].content, price=Decimal("9.90"))
    made["live"] = deals.edit(deals.get(made["live"].id), cheaper, version=1, brand=brand, by=EDITOR, now=now)
    deals.delete(now_deal(title=LONG, picture=picture), by=EDITOR, now=now)
    for number in range(26):
        now_deal(age=DAY / 2, title=f"Deal number {number}", brand="Others", category="office-software")
    for page in ("front", "editors-choice", "peripherals-networking"):
        feature(page, list(made.values()))
    for days in (2, 1):
        links.fails(links.get(made["live"].id), "404", now=now - days * DAY)
    make_draft(title="A picture without words", picture=replace(picture, alt=""), now=now)
    make_draft(**lacks_nothing(picture), now=now)
    listed = featured_versions.listed_of([made["live"].card])
    front = featured.get("front")
    featured_plans.create(front, listed, at=now + DAY, plan_id=new_ulid(now), by=EDITOR, now=now)
    people = {
        SHOPPER: make_user(SHOPPER),
        EDITOR: make_user(EDITOR, roles=["editor"]),
        ADMIN: make_user(ADMIN, roles=["editor", "back office", "admin"]),
    }
    people[ADMIN] = with_two_factor(people[ADMIN])
    return Content(
        table_name,
        media,
        search,
        people,
        made,
        make_draft(title="Half a deal", now=now),
        interest(SHOPPER, made["live"]),
        var,
        *ask(var, now),
        purchase(SHOPPER),
        imported_files(now),
        changed_in_bulk(made["live"], now),
    )


def lacks_nothing(picture: Picture) -> dict[str, Any]:
    """Return what a draft holds that lacks nothing."""
    content = make_content(title="Lacks nothing", picture=picture)
    wanted = ("title", "category", "price", "was_price", "link", "description", "picture")
    return {name: getattr(content, name) for name in wanted} | {"brand": "Nordlicht"}


def changed_in_bulk(deal: Deal, now: datetime) -> list[str]:
    """Order two changes of many deals: one that waits, one that is done and left a deal alone."""
    waits, done = (new_ulid(now, number) for number in (11, 12))
    chosen = [bulk.Subject(deal.id, LONG, "toys-hobbies"), bulk.Subject(new_ulid(now, 13), "Gone")]
    for job_id in (done, waits):
        change = bulk.Change("deal", bulk.CATEGORY, "toys-hobbies")
        bulk.start(change, job_id=job_id, by=EDITOR, asked_at=now, now=now, subjects=chosen)
        if job_id == done:
            table.write(Update(key=keys.job(done), set={"taken_by": "a worker"}))
            many.change_many(jobs.get(done), now)
            jobs.finish(jobs.get(done))
    return [waits, done]


def imported_files(now: datetime) -> list[str]:
    """Bring three files: one whose columns are to be chosen, one that is checked, one that is imported."""
    made = [import_files.bring(new_ulid(now, number)) for number in range(3)]
    import_files.check(made[1:], now=now)
    import_files.run(made[2:], now=now)
    return made


def with_two_factor(user: User) -> User:
    """Give a user a second factor; returns him as he is then."""
    two_factor.turn_on(user, secret="sealed", recovery=["one", "two"], step=1, key="", now=timezone.now())
    return users.get(user.username)


def ask(var: Path, now: datetime) -> tuple[str, list[str]]:
    """Save a question of the admin's; have some answered as lines, bars or a table alone, and some not at all."""
    lakes.write(var / "lake", lakes.shop().changes)
    lake = lake_in(var / "lake")
    asked = [ready.questions()[slug].sql for slug in ("revenue-by-day", "best-selling-deals")]
    asked += ["SELECT range, repeat('long', 50) FROM range(120)", "SELECT 1 WHERE false", "SELECT oops"]
    made = [new_ulid(now, number) for number in range(len(asked))]
    for run_id, sql in zip(made, asked, strict=True):
        runs.start(sql, run_id=run_id, by=ADMIN, lake=lake, title="A question", patience=60)
    saved = questions.create(question_id=new_ulid(now), title=LONG[:120], sql=asked[0], by=ADMIN, now=now)
    return saved.id, made


def purchase(username: str) -> str:
    """Have a shopper order something in instalments and fill a cart again; returns the order's id."""
    now = timezone.now()
    owner = carts.user_cart(username)
    some = [now_deal(title=title, stock=9) for title in ("A lamp", LONG, "Saved")]
    card = PaymentCard("test", "test:approve", "Visa ending in 4242")
    save_card(username, card, job_id=new_ulid(now), now=now)
    order = None
    for _ in range(2):
        for deal in some:
            carts.add(owner, Wanted(deal.id, 2, new_ulid(now)), now=now)
        if order is None:
            head, lines = carts.read_active(owner, now=now)
            address = Address(
                name="Ada", street="1 High Street", postcode="10115", city=LONG[:80], country="Germany"
            )
            order = orders.place(
                Purchase(
                    order_id=new_ulid(now),
                    username=username,
                    name="Ada",
                    email=f"{username}@example.org",
                    version=head.version,
                    total=sum((line.total for line in lines), Decimal("0.00")),
                    address=address,
                    plan=3,
                    method=card.token,
                ),
                now=now,
            )
    _, lines = carts.read_active(owner, now=now)
    carts.move(owner, lines[-1].ref, carts.SAVED, now=now)
    assert order
    return order.id


def interest(username: str, deal: Deal) -> str:
    """Have a shopper like and watch something and get messages; returns the id of one, which is read."""
    now = timezone.now()
    likes.like_brand("nordlicht", username=username, now=now)
    watches.watch_brand("nordlicht", username=username, now=now)
    watches.watch_category("toys-hobbies", username=username, now=now)
    watches.mute_watch(CATEGORY_WATCH, "toys-hobbies", username=username, muted=True)
    ids = [new_ulid(now - DAY, number) for number in range(120)]
    made = {"kind": "hot_deal", "headline": LONG, "deal": deal.id, "text": "Only today.\n\nReally."}
    messages.deliver([messages.message_item(username, message_id, **made) for message_id in ids])
    messages.mark_read(username, ids[-1])
    return ids[-1]
