"""Every page of the site, for everyone who may see it: axe finds nothing, and nothing sticks out on a phone.

The pages are those of the URLconf: one that is not named here fails a test.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import override_settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from playwright.sync_api import Page

from cms.sharing import token_of
from dealsite import bulk as many
from dealsite.accounts import reset_tokens
from dealsite.ask import ready, runs
from dealsite.ask.lake import lake_in
from dealsite.data import (
    brands,
    bulk,
    carts,
    categories,
    checks,
    deals,
    errors,
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
    schema,
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
from tests.browser.deal_form import field, picture_bytes
from tests.browser.looking import DESK, PHONE, flaws
from tests.builders import EDITOR, make_brand, make_content, make_draft
from tests.searching import index_table

DAY = timedelta(days=1)
LONG = "Donaudampfschifffahrtsgesellschaft" * 4

VISITOR, SHOPPER, ADMIN = "", "ada", "root"
NO_PAGES = {
    # What machines read
    *("healthz", "readyz", "media", "robots", "sitemap", "sitemap_pages", "sitemap_brands", "sitemap_day"),
    *("front_page_feed", "brand_feed", "category_feed"),
    # What answers to POST alone, and parts of pages
    *(
        "sign_out",
        "session",
        "cms_restore_deal_version",
        "cms_restore_draft_version",
        "sign_in_here",
        "end_session",
        "end_other_sessions",
        "cms_give_role",
        "cms_take_role",
        "cms_reset_two_factor",
    ),
    *("cms_autosave_setting", "cms_autosave_draft", "cms_autosave_changes"),
    *("cms_discard_changes", "cms_bring_back_changes"),
    *("cms_preview_deal", "cms_preview_frame", "cms_brand_names", "cms_upload_picture", "unread_badge"),
    *("cms_presence", "cms_leave"),
    *("like_brand", "unlike_brand", "watch_brand", "unwatch_brand"),
    *("like_category", "unlike_category", "watch_category", "unwatch_category"),
    *("mark_read", "mark_all_read", "delete_message", "mute_watch", "mute_hot_deals", "mute_all"),
    *("add_to_cart", "cart_badge", "change_quantity", "remove_from_cart", "undo_removal"),
    *("save_for_later", "move_to_cart", "accept_changes", "merge_cart"),
    *("cancel_order", "order_again", "pay", "begin_card", "forget_card"),
    *("cms_order_news", "cms_download_export", "cms_export_list", "cms_import_file"),
    *("cms_start_bulk", "cms_undo_bulk", "cms_bulk_report"),
    *("cms_pause_job", "cms_resume_job", "cms_cancel_job", "cms_retry_job"),
    *("cms_change_end", "cms_describe_deal", "cms_check_link", "cms_accept_link", "cms_publish_ready"),
    *("cms_describe_draft", "cms_unfeature", "cms_feature_again", "cms_daily_numbers"),
    *("cms_cancel_answer", "cms_save_question", "cms_answer_csv"),
    *("cms_choose_columns", "cms_save_view", "cms_rename_view", "cms_move_view", "cms_delete_view"),
    *(
        "cms_expire_deal",
        "cms_undo_expiry",
        "cms_delete_deal",
        "cms_delete_draft",
        "cms_restore",
        "cms_purge",
    ),
    *("cms_duplicate_deal", "cms_duplicate_draft", "cms_cancel_plan", "cms_restore_featured"),
}


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


def cms(path: str) -> tuple[str, Callable[[Content], list[str]]]:
    return EDITOR, lambda _: [f"/cms/{path}"]


def cms_deal(state: str, action: str = "") -> tuple[str, Callable[[Content], list[str]]]:
    return EDITOR, lambda content: [f"/cms/deals/{content.id(state)}/{action}"]


def office(*paths: str) -> tuple[str, Callable[[Content], list[str]]]:
    return ADMIN, lambda _: [f"/cms/{path}" for path in paths]


def office_order(path: str) -> tuple[str, Callable[[Content], list[str]]]:
    return ADMIN, lambda content: [f"/cms/{path}?order={SHOPPER}/{content.order}"]


def office_payment(path: str) -> tuple[str, Callable[[Content], list[str]]]:
    def address(content: Content) -> list[str]:
        payment = orders.get(SHOPPER, content.order).payments[-1]
        where = urlencode({"account": SHOPPER, "due": payment["due_at"]})
        return [f"/cms/payments/{payment['id']}/{path}?{where}"]

    return ADMIN, address


def account(path: str) -> tuple[str, Callable[[Content], list[str]]]:
    return SHOPPER, lambda _: [f"/account/{path}"]


def public(*paths: str) -> tuple[str, Callable[[Content], list[str]]]:
    return VISITOR, lambda _: list(paths)


def reset_link(content: Content) -> list[str]:
    token = reset_tokens.make(content.users[SHOPPER], now=timezone.now())
    return [f"/account/password-reset/{SHOPPER}/{token}/"]


# URL name -> who looks, and at which addresses
PAGES: dict[str, tuple[str, Callable[[Content], list[str]]]] = {
    "front_page": (VISITOR, lambda content: ["/", f"/?after={content.id('live')}"]),
    "search": public(
        "/search/", "/search/?q=deal+number&page=2", "/search/?q=keybord", "/search/?q=zzzz&price_from=x"
    ),
    "editors_choice": public("/editors-choice/"),
    "brands": public("/brands/"),
    "brand": public("/brands/nordlicht/", "/brands/nobody/"),
    "category": public("/categories/peripherals-networking/", "/categories/toys-hobbies/"),
    "deal": (
        VISITOR,
        lambda content: [content.deal(state) for state in content.deals if state != "scheduled"],
    ),
    "sign_up": public("/account/sign-up/"),
    "sign_in": public("/account/sign-in/"),
    "reset_password": public("/account/password-reset/"),
    "reset_password_sent": public("/account/password-reset/sent/"),
    "new_password": public("/account/password-reset/new/"),
    "follow_reset_link": (VISITOR, reset_link),
    "sign_in_code": public("/account/sign-in/code/"),
    "account": account(""),
    "two_factor": (ADMIN, lambda _: ["/account/two-factor/"]),
    "set_up_two_factor": account("two-factor/set-up/"),
    "renew_recovery_codes": (ADMIN, lambda _: ["/account/two-factor/recovery-codes/"]),
    "turn_off_two_factor": (ADMIN, lambda _: ["/account/two-factor/off/"]),
    "edit_profile": account("profile/"),
    "change_password": account("password/"),
    "sessions": account("sessions/"),
    "delete_account": account("delete/"),
    "inbox": (SHOPPER, lambda _: ["/account/messages/", "/account/messages/?show=unread"]),
    "open_message": (SHOPPER, lambda content: [f"/account/messages/{content.message}/"]),
    "likes": account("likes/"),
    "watching": account("watching/"),
    "message_settings": account("messages/settings/"),
    "cart": (SHOPPER, lambda _: ["/cart/"]),
    "checkout": (SHOPPER, lambda _: ["/checkout/"]),
    "checkout_done": (SHOPPER, lambda content: [f"/checkout/{content.order}/done/"]),
    "orders": (SHOPPER, lambda _: ["/account/orders/", "/account/orders/?status=SHIPPED"]),
    "order": (SHOPPER, lambda content: [f"/account/orders/{content.order}/"]),
    "payments": account("payments/"),
    "card": account("card/"),
    "finish_card": account("card/finish/"),
    "cms_home": cms(""),
    "cms_attention": (
        EDITOR,
        lambda _: (
            [f"/cms/attention/{name}/" for name in ("drafts", "ending", "featured", "links", "sold-out")]
            + [f"/cms/attention/{name}/" for name in ("today", "alt-texts", "pictures")]
        ),
    ),
    "cms_deals": (
        EDITOR,
        lambda _: [
            "/cms/deals/",
            "/cms/deals/?state=draft",
            "/cms/deals/?brand=nobody",
            "/cms/deals/?q=deal",
            "/cms/deals/?columns=picture,brand,category,price,was_price,discount,state,live,expires,voucher,id",
        ],
    ),
    "cms_views": cms("deals/views/"),
    "cms_deal_terms": cms_deal("live", "terms/"),
    "cms_draft_terms": (EDITOR, lambda content: [f"/cms/drafts/{content.draft.id}/terms/"]),
    "cms_palette": cms("go/?q=keyboard"),
    "cms_help": cms("help/"),
    "cms_settings": cms("settings/"),
    "cms_find_deal": cms("deals/find/?q=nothing"),
    "cms_new_draft": cms("deals/new/"),
    "cms_deal": cms_deal("live"),
    "cms_reschedule_deal": cms_deal("scheduled", "reschedule/"),
    "cms_shared": (
        EDITOR,
        lambda content: [
            f"/cms/shared/{token_of('draft', content.draft.id, timezone.now())}/",
            f"/cms/shared/{token_of('deal', content.id('scheduled'), timezone.now())}/",
            f"/cms/shared/{token_of('draft', content.draft.id, timezone.now() - 8 * DAY)}/",
            "/cms/shared/x/",
        ],
    ),
    "cms_draft": (EDITOR, lambda content: [f"/cms/drafts/{content.draft.id}/"]),
    "cms_trash": cms("trash/"),
    "cms_brands": cms("brands/"),
    "cms_new_brand": cms("brands/new/"),
    "cms_brand": cms("brands/nordlicht/"),
    "cms_categories": cms("categories/"),
    "cms_category": cms("categories/peripherals-networking/"),
    "cms_featured": cms("featured/"),
    "cms_featured_page": cms("featured/front/"),
    "cms_featured_history": cms("featured/front/history/"),
    "cms_preview_featured": (
        EDITOR,
        lambda _: [f"/cms/featured/front/preview/?plan={plan.id}" for plan in featured_plans.newest()],
    ),
    "cms_messages": cms("messages/"),
    "cms_new_message": (
        EDITOR,
        lambda content: ["/cms/messages/new/", f"/cms/messages/new/?deal={content.id('live')}"],
    ),
    "cms_imports": cms("imports/"),
    "cms_paste_rows": cms("imports/paste/"),
    "cms_import": (EDITOR, lambda content: [f"/cms/imports/{one}/" for one in content.imports]),
    "cms_mend_import": (EDITOR, lambda content: [f"/cms/imports/{content.imports[1]}/mend/"]),
    "cms_bulk": (
        EDITOR,
        lambda content: [
            f"/cms/deals/bulk/?{one}"
            for one in (
                "all=1&action=expiry",
                "all=1&action=expiry&to_expiry=2020-01-01T09:00",
                "all=1&action=category&to_category=toys-hobbies",
                "all=1&state=draft&action=publish",
                f"deal={content.id('live')}&action=",
            )
        ],
    ),
    "cms_bulk_job": (EDITOR, lambda content: [f"/cms/deals/bulk/{one}/" for one in content.bulk]),
    "cms_jobs": cms("jobs/"),
    "cms_numbers": cms("numbers/"),
    "cms_ask": (ADMIN, lambda _: ["/cms/ask/", "/cms/ask/?ready=price-history-of-a-deal"]),
    "cms_answer": (ADMIN, lambda content: [f"/cms/ask/answers/{run_id}/" for run_id in content.answers]),
    "cms_saved_question": (ADMIN, lambda content: [f"/cms/ask/questions/{content.question}/"]),
    "cms_delete_question": (ADMIN, lambda content: [f"/cms/ask/questions/{content.question}/delete/"]),
    "cms_orders": office("orders/", "orders/?list=shipped"),
    "cms_find_order": office("orders/find/?q=nothing"),
    "cms_shopper_orders": office(f"orders/of/{SHOPPER}/", "orders/of/nobody/"),
    "cms_order": (ADMIN, lambda content: [f"/cms/orders/{SHOPPER}/{content.order}/"]),
    "cms_ship_orders": office_order("orders/ship/"),
    "cms_deliver_orders": office_order("orders/deliver/"),
    "cms_cancel_orders": office_order("orders/cancel/"),
    "cms_packing_slips": office_order("orders/slips/"),
    "cms_holders": (
        ADMIN,
        lambda content: [
            f"/cms/deals/{content.id('live')}/holders/",
            f"/cms/deals/{content.id('live')}/holders/?list=bought&day=x",
        ],
    ),
    "cms_payments": office(
        "payments/", "payments/?list=processed", "payments/?list=scheduled&first=2026-11-21&last=x"
    ),
    "cms_overdue_payments": office("payments/overdue/"),
    "cms_find_payment": office("payments/find/?q=nothing"),
    "cms_account_payments": office(f"payments/account/?account={SHOPPER}", "payments/account/?account=x"),
    "cms_payment": office_payment(""),
    "cms_retry_payment": office_payment("retry/"),
    "cms_cancel_payment": office_payment("cancel/"),
    "cms_refund_payment": office_payment("refund/"),
    "cms_export_payments": office("payments/export/"),
    "cms_export_orders": office("orders/export/"),
    "cms_exports": office("exports/", "exports/?list=editors", "exports/?list=admins"),
    "cms_deal_history": cms_deal("live", "history/"),
    "cms_compare_deal": cms_deal("live", "history/compare/?a=1&b=2"),
    "cms_visibility": (
        EDITOR,
        lambda content: [
            f"/cms/deals/{content.id(name)}/visibility/" for name in ("live", "expired", "scheduled")
        ],
    ),
    "cms_draft_visibility": (EDITOR, lambda content: [f"/cms/drafts/{content.draft.id}/visibility/"]),
    "cms_draft_history": (EDITOR, lambda content: [f"/cms/drafts/{content.draft.id}/history/"]),
    "cms_compare_draft": (
        EDITOR,
        lambda content: [f"/cms/drafts/{content.draft.id}/history/compare/?a=1&b=1"],
    ),
    "cms_audit": (
        ADMIN,
        lambda content: [
            "/cms/audit/",
            "/cms/audit/?by=eve",
            f"/cms/audit/?kind=deal&subject={content.id('live')}",
            "/cms/audit/?kind=deal",
            "/cms/audit/?day=2020-01-01",
        ],
    ),
    "cms_users": (ADMIN, lambda _: ["/cms/users/", "/cms/users/?find=nobody"]),
    "cms_user": (ADMIN, lambda _: ["/cms/users/ada/"]),
}


def url_names(patterns: list[URLPattern | URLResolver] | None = None) -> set[str | None]:
    """Return the name of every address of the site."""
    found: set[str | None] = set()
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            found |= url_names(pattern.url_patterns)
        else:
            found.add(pattern.name)
    return found


def test_every_address_is_looked_at_or_is_no_page():
    assert url_names() == PAGES.keys() | NO_PAGES


@pytest.fixture(scope="module")
def content(native_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Content]:
    """A site with content of every kind, made once: these tests look, and change nothing."""
    media, table_name = tmp_path_factory.mktemp("media"), f"looked-at-{os.getpid()}"
    search = tmp_path_factory.mktemp("search")
    settings: dict[str, Any] = {"DYNAMODB_ENDPOINT_URL": native_engine, "DEALSITE_TABLE": table_name}
    var = tmp_path_factory.mktemp("var")
    settings |= {"MEDIA_ROOT": media, "SEARCH_ROOT": search, "VAR": var, "DEALSITE_LAKE": ""}
    with override_settings(**settings):
        table.reset()
        schema.create_table()
        made = furnish(table_name, media, search, var)
        index_table()
        table.reset()
    yield made
    with override_settings(**settings):
        table.reset()
        assert [str(problem) for problem in checks.find()] == []
        table.reset()


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


@pytest.fixture
def look(content: Content, engine: str, address: str, settings: Any, window: Callable[..., Page]) -> Any:
    """A function that opens a window of a user of the furnished site."""
    settings.DEALSITE_TABLE, settings.MEDIA_ROOT = content.table_name, content.media
    settings.SEARCH_ROOT, settings.VAR = content.search, content.var
    return lambda who, **options: window(content.users.get(who), **options)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_axe_finds_nothing_and_nothing_sticks_out(look, content, name):
    who, addresses = PAGES[name]
    page: Page = look(who)
    found = []
    for path in addresses(content):
        page.goto(path)
        found += flaws(page)
    assert found == []


@pytest.mark.parametrize("who", [VISITOR, SHOPPER, EDITOR, ADMIN])
def test_every_menu_is_as_good_open(look, who):
    page: Page = look(who)
    page.goto("/editors-choice/")
    found = []
    for view in (PHONE, DESK):
        page.set_viewport_size({"width": view[0], "height": 844})
        for menu in page.locator("header summary:visible").all():
            menu.click()
            found += flaws(page, [view])
    assert found == []


@pytest.mark.parametrize(
    ("path", "button"),
    [
        ("/account/sign-in/", "Sign in"),
        ("/account/sign-up/", "Make my account"),
        ("/cms/deals/new/", "Publish now"),
        ("/cms/brands/new/", "Create the brand"),
    ],
)
def test_a_form_with_errors_is_as_good(look, path, button):
    page: Page = look(EDITOR)
    page.goto(path)
    page.get_by_role("main").get_by_role("button", name=button).click()
    page.get_by_role("alert").filter(has_text="Please check the form").wait_for()
    assert flaws(page) == []


def test_results_under_the_search_box_are_as_good(look):
    page: Page = look(VISITOR)
    found = []
    for view in (PHONE, DESK):
        page.set_viewport_size({"width": view[0], "height": 844})
        page.goto("/brands/")
        page.locator("[data-search-box] input:visible").press_sequentially("deal numbr")
        page.get_by_role("link", name="Show all").wait_for()
        found += flaws(page, [view])
    assert found == []


def test_a_conflict_about_a_deal_is_as_good(look, content):
    page: Page = look(EDITOR)
    page.goto(f"/cms/deals/{content.id('live')}/")
    for label, text in {"Title": "Another", "Price": "5", "Description": "Other *words*"}.items():
        field(page, label).fill(text)
    page.locator("[name=version]").evaluate("input => { input.value = 99; }")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("alert").filter(has_text="changed this deal").wait_for()
    assert flaws(page) == []


def test_a_conflict_about_a_featured_list_is_as_good(look, content):
    page: Page = look(EDITOR)
    page.goto("/cms/featured/front/")
    page.get_by_role("button", name="Move Soon up").click()
    page.locator("[name=version]").evaluate("input => { input.value = 99; }")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("alert").filter(has_text="saved this list").wait_for()
    assert flaws(page) == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, errors.BadCursor("This is no page of the list.")),
        (403, errors.Forbidden("Not for you.")),
        (404, errors.NotFound("There is no such deal.")),
        (409, errors.VersionConflict()),
        (429, errors.TooManyRequests()),
        (500, ZeroDivisionError()),
        (503, errors.Unavailable()),
    ],
)
def test_an_error_page_is_as_good(look, content, troubles, monkeypatch, status, error):
    def refuse(*_: object, **__: object) -> None:
        raise error

    troubles.allowed.add(status)
    monkeypatch.setattr(deals, "get_visible", refuse)
    page: Page = look(SHOPPER)
    assert page.goto(content.deal("live")).status == status
    assert flaws(page) == []


def test_a_question_that_is_worked_on_is_as_good(look, content):
    page: Page = look(ADMIN)
    page.goto("/cms/ask/")
    page.get_by_role("textbox", name="Question").fill(
        "SELECT sum(a.range * b.range) FROM range(9999999) a, range(9999999) b"
    )
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("progressbar").wait_for()
    assert flaws(page) == []
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("This question was cancelled.").wait_for()
    assert flaws(page) == []


def test_the_numbers_are_as_good_with_their_tables_open(look, content):
    page: Page = look(EDITOR)
    page.goto("/cms/numbers/")
    page.locator("#numbers [data-drawn]").nth(3).wait_for()
    page.locator("#numbers summary").first.click()
    assert flaws(page) == []


def test_the_tables_of_the_lake_are_as_good_open(look, content):
    page: Page = look(ADMIN)
    page.goto("/cms/ask/")
    page.locator("summary", has_text="cart_lines").click()
    page.locator("summary", has_text="Save this question").click()
    assert flaws(page) == []
