"""A site with content of every kind, for the tests that look at its pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.test import override_settings
from django.utils import timezone

from dealsite.accounts import passwords
from dealsite.ask import runs
from dealsite.ask.lake import lake_in
from dealsite.data import keys, table
from dealsite.data.catalogue import (
    brands,
    categories,
    deal_changes,
    deals,
    featured,
    featured_plans,
    relations,
)
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.catalogue.relations import CATEGORY_WATCH
from dealsite.data.commerce import (
    addresses,
    cart_changes,
    carts,
    order_changes,
    order_notes,
    order_record,
    orders,
)
from dealsite.data.commerce.addresses import Address
from dealsite.data.commerce.cart_changes import CartAddition
from dealsite.data.commerce.order_changes import Purchase
from dealsite.data.commerce.order_record import PaymentCard, save_card
from dealsite.data.editing import bulk, links, questions
from dealsite.data.entities.commerce import SAVED
from dealsite.data.integrity import checks
from dealsite.data.jobs import command_runs, exports, jobs, processes, site_switch
from dealsite.data.jobs.command_runs import CheckResult
from dealsite.data.jobs.processes import DiskSpace, JobAtWork, Process
from dealsite.data.people import messages, two_factor, users
from dealsite.data.people.users import User
from dealsite.data.table import schema
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Update
from dealsite.pictures.uploads import file_name, store_picture
from dealsite.worker import bulk as many
from dealsite.worker.exports import write_export
from tests import import_files
from tests.ask import lakes
from tests.browser.conftest import make_user
from tests.browser.content import MINUTE, feature, now_deal
from tests.browser.deal_form import picture_bytes
from tests.builders import EDITOR, WORKER, make_brand, make_content, make_draft
from tests.searching import index_table

DAY = timedelta(days=1)
LONG = "Donaudampfschifffahrtsgesellschaft" * 4
VISITOR, SHOPPER, BACK_OFFICE, ADMIN = "", "ada", "bob", "root"


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
    plan: str
    export: str
    snapshot_job: str

    @property
    def settings(self) -> dict[str, Any]:
        """What leads a site to it."""
        folders = {"MEDIA_ROOT": self.media, "SEARCH_ROOT": self.search, "VAR": self.var}
        return {"DEALSITE_TABLE": self.table_name} | folders

    def use(self, settings: Any) -> None:
        """Let a test's settings lead to it."""
        for name, value in self.settings.items():
            setattr(settings, name, value)

    def examples(self, page: str) -> dict[str, Any]:
        """Return what stands for the names in an address: `{live.id}` in a declaration, `<str:deal_id>` in a route."""
        now = timezone.now()
        payment = orders.get(SHOPPER, self.order).payments[-1]
        reset = passwords.make_reset_token(self.users[SHOPPER], now=now)
        states = {state.replace(" ", "_"): deal for state, deal in self.deals.items()}
        return states | {
            "shopper": SHOPPER,
            "order": self.order,
            "due": payment["due_at"],
            "plan": self.plan,
            "imports": self.imports,
            "bulk": self.bulk,
            "answers": self.answers,
            "snapshot_job": self.snapshot_job,
            # In routes
            "deal_id": self.id("live"),
            "draft_id": self.draft.id,
            "slug": self.deals["live"].card.slug if page == "deal" else _slug(page),
            "order_id": self.order,
            "payment_id": payment["id"],
            "message_id": self.message,
            "question_id": self.question,
            "run_id": self.answers[0],
            "import_id": self.imports[1],
            "plan_id": self.plan,
            "job_id": self.export if page == "cms_download_export" else self.bulk[1],
            "view_id": "x",
            "token": reset,
            "username": SHOPPER,
            "page_id": "front",
            "action": "expire",
            "topic": "pictures",
            "kind": "deals",
            "entry_id": self.id("live"),
            "number": 1,
            "part": "report.csv",
            "what": "deals",
            "day": f"{now - 2 * DAY:%Y-%m-%d}",
            "key": order_record.buyer(SHOPPER).addresses[0].key,
            "name": file_name(self.deals["live"].content.picture.name, 480),
        }

    def deal(self, state: str) -> str:
        return f"/deals/{self.deals[state].id}/{self.deals[state].card.slug}/"

    def id(self, state: str) -> str:
        return self.deals[state].id


def _slug(page: str) -> str:
    return "peripherals-networking" if "category" in page else "nordlicht"


@contextmanager
def seeded_site(endpoint_url: str, folder: Path) -> Iterator[Content]:
    """Make such a site, once for many tests, which look and change nothing that matters; it ends whole."""
    media, search, var = (folder / name for name in ("media", "search", "var"))
    table_name = f"seeded-{folder.name}"
    options: dict[str, Any] = {"DYNAMODB_ENDPOINT_URL": endpoint_url, "DEALSITE_TABLE": table_name}
    options |= {"MEDIA_ROOT": media, "SEARCH_ROOT": search, "VAR": var, "DEALSITE_LAKE": ""}
    with override_settings(**options):
        table.reset()
        schema.create_table()
        made = seed(table_name, media, search, var)
        index_table()
        table.reset()
    yield made
    with override_settings(**options):
        table.reset()
        found = [str(problem) for problem in checks.find()]
        assert not found, "\n".join(found)
        table.reset()


def seed(table_name: str, media: Path, search: Path, var: Path) -> Content:
    """Make users, and deals in every state."""
    site_switch.of_process.keep(site_switch.SiteSwitch())  # a test before may have closed its site
    now = timezone.now()
    categories.create_all()
    picture = store_picture(picture_bytes(), "A teal square")
    brand = make_brand("Nordlicht", logo=picture, description="Warm things.")
    make_brand(LONG[:80])
    assert brands.get(brand.slug).logo
    described = "## Why\n\nIt *is*.\n\n- one\n- two\n\n> quoted, `code`, [a link](https://a.example)"
    made = {
        "live": now_deal(
            age=2 * MINUTE,
            voucher_code="SAVE",
            picture=picture,
            expires_at=now + 9 * DAY,
            is_ad=True,
            description=described,
        ),
        "ending": now_deal(age=3 * MINUTE, expires_at=now + DAY / 5, title=LONG, stock=30),
        "expired": now_deal(age=2 * DAY, expires_at=now - DAY, picture=picture),
        "sold out": now_deal(age=4 * MINUTE, stock=0, was_price=None),
        "scheduled": now_deal(age=-DAY, title="Soon"),
    }
    cheaper = replace(made["live"].content, price=Decimal("9.90"))
    made["live"] = deal_changes.edit(
        deals.get(made["live"].id), cheaper, version=1, brand=brand, by=EDITOR, now=now
    )
    deal_changes.delete(now_deal(age=5 * MINUTE, title=LONG, picture=picture), by=EDITOR, now=now)
    for number in range(26):
        now_deal(age=DAY / 2, title=f"Deal number {number}", brand="Others", category="office-software")
    for page in ("front", "editors-choice", "peripherals-networking"):
        feature(page, list(made.values()))
    for days in (2, 1):
        links.fails(links.get(made["live"].id), "404", now=now - days * DAY)
    make_draft(title="A picture without words", picture=replace(picture, alt=""), now=now)
    make_draft(**lacks_nothing(picture), now=now)
    listed = featured.versions_of([made["live"].card])
    front = featured.get("front")
    plan = new_ulid(now)
    featured_plans.create(front, listed, at=now + DAY, plan_id=plan, by=EDITOR, now=now)
    people = {
        SHOPPER: make_user(SHOPPER),
        EDITOR: make_user(EDITOR, roles=["editor"]),
        BACK_OFFICE: make_user(BACK_OFFICE, roles=["back office"]),
        ADMIN: make_user(ADMIN, roles=["editor", "back office", "admin"]),
    }
    people[ADMIN] = with_two_factor(people[ADMIN])
    state_of_site(now)
    wanted = CartAddition(made["ending"].id, 1, new_ulid(now))
    cart_changes.add(carts.user_cart(ADMIN), wanted, now=now)
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
        plan,
        exported_orders(now),
        command_runs.plan(command_runs.SNAPSHOT, due=now + DAY),
    )


def lacks_nothing(picture: Picture) -> dict[str, Any]:
    """Return what a draft holds that lacks nothing."""
    content = make_content(title="Lacks nothing", picture=picture)
    wanted = ("title", "category", "price", "was_price", "sold", "description", "picture")
    return {name: getattr(content, name) for name in wanted} | {"brand": "Nordlicht"}


def changed_in_bulk(deal: Deal, now: datetime) -> list[str]:
    """Order two changes of many deals: one that waits, one that is done and left a deal alone."""
    waits, done = (new_ulid(now, number) for number in (11, 12))
    chosen = [bulk.BulkTarget(deal.id, LONG, "toys-hobbies"), bulk.BulkTarget(new_ulid(now, 13), "Gone")]
    for job_id in (done, waits):
        change = bulk.BulkChange("deal", "category", "toys-hobbies")
        bulk.start(change, job_id=job_id, by=EDITOR, asked_at=now, now=now, targets=chosen)
        if job_id == done:
            table.write(Update(key=keys.job(done), set={"taken_by": WORKER}))
            many.change_many(jobs.get(done), now)
            jobs.finish(jobs.get(done))
    return [waits, done]


def imported_files(now: datetime) -> list[str]:
    """Bring three files: one whose columns are to be chosen, one that is checked, one that is imported."""
    made = [import_files.upload_file(new_ulid(now, number)) for number in range(3)]
    import_files.check(made[1:], now=now)
    import_files.run(made[2:], now=now)
    return made


def exported_orders(now: datetime) -> str:
    """Write a file of orders that the admin asked for."""
    job_id = new_ulid(now, 14)
    asked = exports.ExportPayload("/cms/orders/?list=placed", ADMIN)
    exports.request(asked, name="orders", job_id=job_id, now=now)
    table.write(Update(key=keys.job(job_id), set={"taken_by": WORKER}))
    write_export(jobs.get(job_id), now)
    jobs.finish(jobs.get(job_id))
    return job_id


def state_of_site(now: datetime) -> None:
    """Note what a check found, how processes are doing and how a command went."""
    found = CheckResult("whole", 700, 3)
    command_runs.note(
        "check_table", by="worker", began=now, now=now, ok=True, said="3 problems.", check=found
    )
    living = Process(new_ulid(now - DAY, 1), "worker", LONG[:60], 4711, "1.2.3", now)
    living = replace(living, jobs=(JobAtWork("send_message", now),))
    living = replace(living, disks={"data": DiskSpace(10**9, 3, "little")})
    processes.save(living)
    processes.save(replace(living, id=new_ulid(now - DAY, 2), at=now - DAY / 2))
    command_runs.note("close_day", by="worker", began=now - DAY, now=now, ok=False, said=LONG)


def with_two_factor(user: User) -> User:
    """Give a user a second factor; return the user with it."""
    now = timezone.now()
    factor = two_factor.turn_on(user, secret="sealed", recovery=["one", "two"], step=1, key="", now=now)
    passkey = two_factor.Passkey(new_ulid(now), LONG[:50], "credential", "public-key")
    user = users.get(user.username)
    two_factor.add_passkey(user, factor, passkey, challenge="asked", key="", now=now)
    return user


def ask(var: Path, now: datetime) -> tuple[str, list[str]]:
    """Save a question of the admin's; have some answered as lines, bars or a table alone, and some not at all."""
    lake = lake_in(lakes.write(var / "lake", lakes.shop()), {"admin"})
    asked = [runs.ready_questions()[slug].sql for slug in ("revenue-by-day", "best-selling-deals")]
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
    some = [now_deal(age=6 * MINUTE, title=title, stock=9) for title in ("A lamp", LONG, "Saved")]
    card = PaymentCard("test", "test:approve", "Visa ending in 4242")
    save_card(username, card, job_id=new_ulid(now), now=now)
    order = None
    for _ in range(2):
        for deal in some:
            cart_changes.add(owner, CartAddition(deal.id, 2, new_ulid(now)), now=now)
        if order is None:
            head, lines = carts.read_active(owner, now=now)
            address = Address(
                name="Ada", street="1 High Street", postcode="10115", city=LONG[:80], country="DE"
            )
            addresses.keep(username, address)
            order = order_changes.place(
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
    cart_changes.move(owner, lines[-1].ref, SAVED, now=now)
    assert order
    for tag in ("VIP", LONG[:30]):
        order_notes.tag_order(username, order.id, tag, by=EDITOR, now=now)
    order_notes.note_order(username, order.id, LONG, token=new_ulid(now), by=EDITOR, now=now)
    return order.id


def interest(username: str, deal: Deal) -> str:
    """Have a shopper like and watch something and get messages; returns the id of one, which is read."""
    now = timezone.now()
    relations.add(relations.BRAND_LIKE, "nordlicht", username=username, now=now)
    relations.add(relations.BRAND_WATCH, "nordlicht", username=username, now=now)
    relations.add(relations.CATEGORY_WATCH, "toys-hobbies", username=username, now=now)
    relations.mute_watch(CATEGORY_WATCH, "toys-hobbies", username=username, muted=True)
    ids = [new_ulid(now - DAY, number) for number in range(120)]
    made = {"kind": "hot_deal", "headline": LONG, "deal": deal.id, "text": "Only today.\n\nReally."}
    messages.deliver([messages.message_item(username, message_id, **made) for message_id in ids])
    messages.mark_read(username, ids[-1], now=now)
    return ids[-1]
