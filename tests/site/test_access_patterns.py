"""docs/access-patterns.md is true: functions exist, every address has its row, nothing costs more than it says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from cms.sharing import token_of
from dealsite import page_cache
from dealsite.accounts import cookies
from dealsite.data import (
    announcements,
    attention,
    audit_log,
    brands,
    categories,
    category_names,
    changes,
    deal_lists,
    deals,
    drafts,
    exports,
    fan_out,
    featured,
    feeds,
    job_lists,
    jobs,
    keys,
    likes,
    links,
    mails,
    messages,
    orders,
    preferences,
    presence,
    prices,
    profiles,
    questions,
    relations,
    renditions,
    sessions,
    table,
    throttles,
    trash,
    two_factor,
    users,
    versions,
    watches,
)
from dealsite.data.announcements import Audience
from dealsite.data.content import DealContent
from dealsite.data.writes import Update
from tests.builders import (
    EDITOR,
    HOUR,
    NOW,
    make_announcement,
    make_brand,
    make_category,
    make_content,
    make_deal,
    make_draft,
    make_id,
)
from tests.orders import make_order
from tests.people import make_user
from tests.site import bulk_questions, import_questions, list_questions, payment_questions, shop_questions

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "access-patterns.md"
OPERATIONS = {
    "batch get": "BatchGetItem",
    "get": "GetItem",
    "query": "Query",
    "scan": "Scan",
    "put": "PutItem",
    "update": "UpdateItem",
    "delete": "DeleteItem",
    "batch insert": "BatchExecuteStatement",
    "transaction": "TransactWriteItems",
}
# What these tests ask for of these is not there.
NOT_THERE = (
    "media",
    "cms_answer",
    "cms_answer_csv",
    "cms_download_export",
    "cms_mend_import",
    "cms_import_file",
)
BUCKETS = 2  # that the deals of these tests touch: d


def rows(heading: str) -> list[list[str]]:
    """The rows of the table under a heading, without the header."""
    section = PAGE.read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


QUESTIONS = {row[3].strip("`"): row[4] for row in rows("Questions")}
PAGES = {row[0].strip("`"): row[1] for row in rows("Pages")}


def budget(text: str) -> Counter[str]:
    """What a cell such as `1 batch get + d queries` allows, by operation."""
    allowed: Counter[str] = Counter()
    if text == "none":
        return allowed
    for term in text.split(" + "):
        number, _, operation = term.partition(" ")
        singular = re.sub(r"ies$", "y", operation).removesuffix("s")
        allowed[OPERATIONS[singular]] += BUCKETS if number == "d" else int(number)
    return allowed


def addresses(resolver: URLResolver | None = None) -> Iterator[URLPattern]:
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern)
        else:
            yield pattern


def test_every_function_of_the_page_exists():
    for name in QUESTIONS:
        module, _, function = name.rpartition(".")
        assert callable(getattr(import_module(f"dealsite.data.{module}"), function)), name


def test_every_address_has_a_row_and_every_row_an_address():
    assert {pattern.name for pattern in addresses()} == set(PAGES)


def test_every_question_is_measured():
    assert set(MEASURED) == set(QUESTIONS)


def test_a_budget_is_read_as_it_is_written():
    assert budget("1 batch get + d queries") == Counter(BatchGetItem=1, Query=2)
    assert budget("1 scan + 2 batch gets") == Counter(Scan=1, BatchGetItem=2)
    assert budget("none") == Counter()


def edit(deal: deals.Deal) -> None:
    content = make_content(brand="aurora", category="toys-hobbies")
    deals.edit(
        deal, content, version=deal.version, brand=brands.Brand("aurora", "Aurora"), by=EDITOR, now=NOW
    )


def publish_many(brand: brands.Brand) -> None:
    deals.publish_many([(make_id(), make_content(), brand) for _ in range(10)], by=EDITOR, now=NOW)


def feature(loaded: tuple[featured.FeaturedPage, dict[str, deals.Deal]]) -> None:
    page, found = loaded
    featured.set_featured(page, list(found.values()), version=page.version, by=EDITOR, now=NOW)


def rename(brand: brands.Brand) -> brands.Brand:
    return brands.edit(brand, name="New name", description="", logo=None, by=EDITOR, now=NOW)


def suspected() -> links.Linked:
    """Return a link behind which nothing was found once."""
    deal = make_deal()
    links.fails(links.get(deal.id), "404", now=NOW)
    return links.get(deal.id)


def edit_category(category: categories.Category) -> None:
    categories.edit(category, name="Toys", description="", logo=None, by=EDITOR, now=NOW)


def scheduled() -> deals.Deal:
    deal = make_deal(live_at=NOW + HOUR)
    feature(featured.load("front", [deal.id]))
    return deals.get(deal.id)


def reschedule(deal: deals.Deal) -> None:
    deals.reschedule(deal, NOW + 2 * HOUR, new_id=make_id(NOW + 2 * HOUR), by=EDITOR, now=NOW)


def edited() -> deals.Deal:
    """Return a deal that was changed once."""
    deal = make_deal()
    edit(deal)
    return deals.get(deal.id)


def deleted(thing: deals.Deal | drafts.Draft) -> str:
    """Delete a deal or draft; return its id."""
    if isinstance(thing, deals.Deal):
        deals.delete(thing, by=EDITOR, now=NOW)
    else:
        drafts.delete(thing, by=EDITOR, now=NOW)
    return thing.id


def start_session(user: users.User) -> sessions.Session:
    return sessions.start(user, key="secret", user_agent="", address="", now=NOW)


def move_address(ann: tuple[profiles.Profile, users.User]) -> None:
    profile, user = ann
    profiles.change_email(profile, user=user, name="Ann", timezone="", email="new@example.org", now=NOW)


def see_again(session: sessions.Session) -> None:
    sessions.see(session, user_agent="", address="", now=NOW + 2 * HOUR)


def publish_draft(prepared: tuple[brands.Brand, drafts.Draft]) -> None:
    brand, draft = prepared
    deals.publish(make_content(), deal_id=make_id(), brand=brand, by=EDITOR, now=NOW, draft=draft)


def sign_up(_: Any) -> None:
    make_user("zoe")


def new_message(number: int = 0, username: str = "ann") -> dict[str, Any]:
    return messages.message_item(
        username, make_id(number=number), kind="hot_deal", headline="Hot", deal=make_id()
    )


def send_message(username: str = "ann") -> str:
    item = new_message(username=username)
    messages.deliver([item])
    return str(item["id"])


def watch() -> None:
    watches.watch_brand("aurora", username="ann", now=NOW)


def order(deal: deals.Deal | None = None) -> str:
    """Order a message to all users; return its id."""
    return make_announcement((deal or make_deal()).id, make_id(NOW))


def paused(job_id: str) -> str:
    jobs.pause(job_id, by=EDITOR, now=NOW)
    return job_id


def failed(job_id: str) -> str:
    table.write(Update(key=keys.job(job_id), set={"state": "failed"}, remove=("GSI3PK", "GSI3SK")))
    return job_id


def ask_for_file(job_id: str = "") -> str:
    job_id = job_id or make_id(NOW)
    wanted = exports.Wanted("orders", "", NOW - HOUR, NOW, "UTC", "ann")
    exports.request(wanted, job_id=job_id, now=NOW)
    return job_id


def taken() -> jobs.Job:
    order()
    job = jobs.take_next(now=NOW)
    assert job is not None
    return job


def turn_on_two_factor() -> tuple[users.User, two_factor.TwoFactor]:
    """Give Ann a second factor; return her with it."""
    start_session(users.get("ann"))
    made = two_factor.turn_on(
        users.get("ann"), secret="sealed", recovery=["a hash"], step=1, key="secret", now=NOW
    )
    return users.get("ann"), made


def save_question() -> questions.SavedQuestion:
    return questions.create(question_id=make_id(), title="x", sql="SELECT 1", by=EDITOR, now=NOW)


def keep_changes(deal: deals.Deal) -> changes.Changes:
    """Begin to change a deal, unseen by shoppers."""
    content = make_content(title="Better")
    kept: dict[str, Any] = {"brand_name": "Nordlicht", "base": 1, "seen": "", "before": None}
    return changes.keep(deal, content, **kept, by=EDITOR, now=NOW)


def discard_changes() -> changes.Changes:
    deal = make_deal()
    changes.discard(keep_changes(deal), by=EDITOR, now=NOW)
    found = changes.find(deal)
    assert found is not None
    return found


NOTHING: Callable[[], None] = lambda: None  # noqa: E731
# Each question: what is prepared at no charge, and what is asked of it.
MEASURED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "deals.publish": (lambda: (make_brand(), make_draft(title="x")), publish_draft),
    "deals.publish_many": (make_brand, publish_many),
    "deals.get": (make_deal, lambda deal: deals.get(deal.id)),
    "deals.get_many": (make_deal, lambda deal: deals.get_many([deal.id, make_id()])),
    "deals.get_visible": (make_deal, lambda deal: deals.get_visible(deal.id, now=NOW)),
    "deals.edit": (make_deal, edit),
    "deals.expire_now": (make_deal, lambda deal: deals.expire_now(deal, by=EDITOR, now=NOW)),
    "deals.reschedule": (scheduled, reschedule),
    "deals.delete": (make_deal, lambda deal: deals.delete(deal, by=EDITOR, now=NOW)),
    "deals.restore": (
        lambda: deleted(make_deal()),
        lambda deal_id: deals.restore(deal_id, by=EDITOR, now=NOW),
    ),
    "drafts.restore": (
        lambda: deleted(make_draft(title="x")),
        lambda draft_id: drafts.restore(draft_id, by=EDITOR, now=NOW),
    ),
    "versions.newest": (edited, lambda deal: versions.newest(deal.id)),
    "versions.get": (edited, lambda deal: versions.get(deal.id, 1)),
    "versions.get_many": (edited, lambda deal: versions.get_many(deal.id, [1, 2])),
    "deals.revert": (
        lambda: (deal := edited(), versions.get(deal.id, 1)),
        lambda both: deals.revert(both[0], both[1], version=2, stock=False, end=True, by=EDITOR, now=NOW),
    ),
    "changes.find": (make_deal, lambda deal: changes.find(deal)),
    "changes.keep": (make_deal, keep_changes),
    "changes.discard": (
        lambda: keep_changes(make_deal()),
        lambda kept: changes.discard(kept, by=EDITOR, now=NOW),
    ),
    "changes.bring_back": (
        discard_changes,
        lambda discarded: changes.bring_back(discarded, by=EDITOR, now=NOW),
    ),
    "changes.newest": (lambda: keep_changes(make_deal()), lambda _: changes.newest()),
    "changes.cards": (lambda: keep_changes(make_deal()), lambda _: changes.cards()),
    "trash.newest": (lambda: deleted(make_deal()), lambda _: trash.newest()),
    "trash.find": (lambda: deleted(make_deal()), lambda deal_id: trash.find("deal", deal_id)),
    "trash.restore": (
        lambda: deleted(make_deal()),
        lambda deal_id: trash.restore("deal", deal_id, by=EDITOR, now=NOW),
    ),
    "trash.purge": (
        lambda: deleted(make_deal()),
        lambda deal_id: trash.purge("deal", deal_id, by=EDITOR, now=NOW),
    ),
    "attention.look": (make_deal, lambda deal: attention.look([deal.id], [make_id()], pages=True)),
    "links.get": (make_deal, lambda deal: links.get(deal.id)),
    "links.page": (make_deal, lambda _: links.page(after="", now=NOW)),
    "links.works": (suspected, links.works),
    "links.fails": (lambda: links.get(make_deal().id), lambda link: links.fails(link, "404", now=NOW)),
    "links.check_again": (make_deal, lambda deal: links.check_again(deal.id, now=NOW)),
    "links.accept": (
        make_deal,
        lambda deal: links.accept(deal.id, link=deal.content.link, by=EDITOR, now=NOW),
    ),
    "links.take_back": (make_deal, lambda deal: links.take_back(deal.id, by=EDITOR, now=NOW)),
    "links.begin_round": (NOTHING, lambda _: links.begin_round(now=NOW)),
    "prices.of_deal": (make_deal, lambda deal: prices.of_deal(deal.id)),
    "drafts.create": (NOTHING, lambda _: make_draft(title="x")),
    "drafts.get": (lambda: make_draft(title="x"), lambda draft: drafts.get(draft.id)),
    "drafts.save": (
        lambda: make_draft(title="x"),
        lambda draft: drafts.save(draft, DealContent(title="y"), version=1, by=EDITOR, now=NOW),
    ),
    "drafts.delete": (
        lambda: make_draft(title="x"),
        lambda draft: drafts.delete(draft, by=EDITOR, now=NOW),
    ),
    "brands.create": (NOTHING, lambda _: make_brand("Quite new")),
    "brands.get": (NOTHING, lambda _: brands.get("aurora")),
    "brands.get_with_counts": (NOTHING, lambda _: brands.get_with_counts("aurora")),
    "brands.edit": (make_brand, rename),
    "brands.all_brands": (NOTHING, lambda _: brands.all_brands()),
    "categories.create": (NOTHING, lambda _: make_category("fashion-beauty")),
    "categories.get": (NOTHING, lambda _: categories.get("toys-hobbies")),
    "categories.get_with_counts": (NOTHING, lambda _: categories.get_with_counts("toys-hobbies")),
    "categories.all_categories": (NOTHING, lambda _: categories.all_categories()),
    "categories.edit": (lambda: categories.get("toys-hobbies"), edit_category),
    "featured.get": (NOTHING, lambda _: featured.get("front")),
    "featured.load": (make_deal, lambda deal: featured.load("front", [deal.id])),
    "featured.set_featured": (lambda: featured.load("front", [make_deal().id]), feature),
    "feeds.front_page": (NOTHING, lambda _: feeds.front_page(now=NOW)),
    "feeds.category_page": (NOTHING, lambda _: feeds.category_page("peripherals-networking", now=NOW)),
    "feeds.brand_page": (NOTHING, lambda _: feeds.brand_page("nordlicht", now=NOW)),
    "feeds.editors_choice": (NOTHING, lambda _: feeds.editors_choice(now=NOW)),
    "feeds.past_days": (NOTHING, lambda _: feeds.past_days(now=NOW)),
    "feeds.deals_of_day": (NOTHING, lambda _: list(feeds.deals_of_day(NOW.date(), now=NOW))),
    "deal_lists.cms_list": (NOTHING, lambda _: deal_lists.cms_list(state="all", now=NOW)),
    "users.create": (NOTHING, sign_up),
    "users.get": (NOTHING, lambda _: users.get("ann")),
    "users.count": (NOTHING, lambda _: users.count()),
    "users.page": (NOTHING, lambda _: users.page()),
    "users.delete": (lambda: users.get("ann"), lambda user: users.delete(user, job_id=make_id(), now=NOW)),
    "users.give_role": (NOTHING, lambda _: users.give_role("ann", "editor", by="root", now=NOW)),
    "users.take_role": (
        lambda: users.give_role("ann", "editor", by="root", now=NOW),
        lambda _: users.take_role("ann", "editor", by="root", now=NOW),
    ),
    "profiles.get": (NOTHING, lambda _: profiles.get("ann")),
    "sessions.start": (lambda: users.get("ann"), start_session),
    "sessions.read": (
        lambda: start_session(users.get("ann")),
        lambda _: sessions.read("ann", "secret", now=NOW),
    ),
    "sessions.of_user": (lambda: start_session(users.get("ann")), lambda _: sessions.of_user("ann", now=NOW)),
    "sessions.end": (
        lambda: start_session(users.get("ann")),
        lambda session: sessions.end("ann", session.key_hash),
    ),
    "sessions.prove": (
        lambda: start_session(users.get("ann")),
        lambda session: sessions.prove(session, now=NOW),
    ),
    "audit_log.page": (make_deal, lambda deal: audit_log.page(kind="deal", subject=deal.id)),
    "two_factor.get": (turn_on_two_factor, lambda _: two_factor.get("ann")),
    "two_factor.turn_on": (
        lambda: users.get("ann"),
        lambda ann: two_factor.turn_on(ann, secret="x", recovery=["y"], step=1, key="", now=NOW),
    ),
    "two_factor.turn_off": (
        turn_on_two_factor,
        lambda on: two_factor.turn_off(on[0], by="ann", key="secret", now=NOW),
    ),
    "two_factor.use_code": (turn_on_two_factor, lambda on: two_factor.use_code(on[1], 2)),
    "two_factor.use_recovery_code": (
        turn_on_two_factor,
        lambda on: two_factor.use_recovery_code(on[0], on[1], "a hash", now=NOW),
    ),
    "two_factor.renew_recovery_codes": (
        turn_on_two_factor,
        lambda on: two_factor.renew_recovery_codes(on[0], recovery=["b"], now=NOW),
    ),
    "sessions.see": (lambda: start_session(users.get("ann")), see_again),
    "users.find": (NOTHING, lambda _: users.find("ann@example.org")),
    "profiles.edit": (
        lambda: profiles.get("ann"),
        lambda profile: profiles.edit(profile, name="A", timezone=""),
    ),
    "profiles.change_email": (lambda: (profiles.get("ann"), users.get("ann")), move_address),
    "throttles.count": (
        NOTHING,
        lambda _: throttles.count(throttles.Limit("test", 5, timedelta(hours=1)), "ann", now=NOW),
    ),
    "mails.request_password_reset": (
        NOTHING,
        lambda _: mails.request_password_reset("a@example.org", now=NOW),
    ),
    "sessions.read_standing": (
        lambda: start_session(users.get("ann")),
        lambda _: sessions.read_standing("ann", "secret", target="brand", slug="aurora", now=NOW),
    ),
    "preferences.save": (NOTHING, lambda _: preferences.save("ann", language="de")),
    "users.mute_hot_deals": (NOTHING, lambda _: users.mute_hot_deals("ann", muted=True)),
    "likes.like_brand": (NOTHING, lambda _: likes.like_brand("aurora", username="ann", now=NOW)),
    "likes.unlike_brand": (NOTHING, lambda _: likes.unlike_brand("aurora", username="ann")),
    "likes.like_category": (NOTHING, lambda _: likes.like_category("toys-hobbies", username="ann", now=NOW)),
    "likes.unlike_category": (NOTHING, lambda _: likes.unlike_category("toys-hobbies", username="ann")),
    "watches.watch_brand": (NOTHING, lambda _: watches.watch_brand("aurora", username="ann", now=NOW)),
    "watches.unwatch_brand": (NOTHING, lambda _: watches.unwatch_brand("aurora", username="ann")),
    "watches.watch_category": (
        NOTHING,
        lambda _: watches.watch_category("toys-hobbies", username="ann", now=NOW),
    ),
    "watches.unwatch_category": (NOTHING, lambda _: watches.unwatch_category("toys-hobbies", username="ann")),
    "likes.likes_of": (NOTHING, lambda _: likes.likes_of("ann")),
    "watches.watched_by": (watch, lambda _: watches.watched_by("ann")),
    "watches.mute_watch": (
        watch,
        lambda _: watches.mute_watch(relations.BRAND_WATCH, "aurora", username="ann", muted=True),
    ),
    "watches.mute_all": (watch, lambda _: watches.mute_all("ann", muted=True, limit=100)),
    "watches.mute_all_later": (NOTHING, lambda _: watches.mute_all_later("ann", muted=True, now=NOW)),
    "messages.inbox": (send_message, lambda _: messages.inbox("ann")),
    "messages.count_unread": (send_message, lambda _: messages.count_unread("ann")),
    "messages.get": (send_message, lambda message_id: messages.get("ann", message_id)),
    "messages.mark_read": (send_message, lambda message_id: messages.mark_read("ann", message_id)),
    "messages.mark_all_read": (
        send_message,
        lambda message_id: messages.mark_all_read("ann", until=message_id, limit=100),
    ),
    "messages.mark_all_read_later": (
        NOTHING,
        lambda _: messages.mark_all_read_later("ann", until=make_id(), now=NOW),
    ),
    "messages.delete": (send_message, lambda message_id: messages.delete("ann", message_id)),
    "messages.deliver": (lambda: [new_message(number) for number in range(25)], messages.deliver),
    "jobs.take_next": (lambda: rename(make_brand()), lambda _: jobs.take_next(now=NOW)),
    "jobs.pause": (order, lambda job_id: jobs.pause(job_id, by=EDITOR, now=NOW)),
    "jobs.cancel": (order, lambda job_id: jobs.cancel(job_id, by=EDITOR, now=NOW)),
    "jobs.resume": (lambda: paused(order()), lambda job_id: jobs.resume(job_id, by=EDITOR, now=NOW)),
    "jobs.retry": (lambda: failed(order()), lambda job_id: jobs.retry(job_id, by=EDITOR, now=NOW)),
    "job_lists.of_month": (order, lambda _: job_lists.of_month("2026-11")),
    "announcements.count_recipients": (
        NOTHING,
        lambda _: announcements.count_recipients(Audience("aurora", "toys-hobbies")),
    ),
    "announcements.send": (make_deal, lambda deal: order(deal)),
    "announcements.newest": (order, lambda _: announcements.newest()),
    "fan_out.send_message": (taken, lambda job: fan_out.send_message(job, NOW)),
    "questions.create": (NOTHING, lambda _: save_question()),
    "questions.get": (save_question, lambda question: questions.get(question.id)),
    "questions.newest": (save_question, lambda _: questions.newest()),
    "questions.edit": (
        save_question,
        lambda question: questions.edit(question, title="y", sql="SELECT 2", by=EDITOR, now=NOW),
    ),
    "questions.delete": (save_question, questions.delete),
    "orders.get_many": (make_order, lambda order: orders.get_many([(order.username, order.id)])),
    "presence.beat": (
        make_deal,
        lambda deal: presence.beat("deal", deal.id, username="eve", name="Eve", now=NOW),
    ),
    "presence.leave": (make_deal, lambda deal: presence.leave("deal", deal.id, username="eve")),
    "renditions.request": (NOTHING, lambda _: renditions.request(["pictures/ab/x"], now=NOW)),
    "exports.request": (NOTHING, lambda _: ask_for_file()),
    "exports.newest": (ask_for_file, lambda _: exports.newest()),
    "exports.get": (ask_for_file, lambda job_id: exports.get(job_id, now=NOW)),
    **import_questions.MEASURED,
    "jobs.get": (lambda: rename(make_brand()), lambda brand: jobs.get(brand.last_edit)),
    **list_questions.MEASURED,
    **bulk_questions.MEASURED,
    **payment_questions.MEASURED,
    **shop_questions.MEASURED,
}


@pytest.fixture
def shop(fresh_table: None, monkeypatch: pytest.MonkeyPatch) -> deals.Deal:
    """Thirty deals over two days, one brand and one category; returns one of them."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    page_cache.forget()
    for slug in ("toys-hobbies", "peripherals-networking"):
        make_category(slug)
    make_brand("Aurora")
    make_user("ann")
    category_names.names()
    brand = make_brand()
    new = [(make_id(NOW - n * HOUR), make_content(), brand) for n in range(30)]
    deals.publish_many(new, by=EDITOR, now=NOW)
    return deals.get(new[-1][0])


def too_much(log: list[tuple[str, str | None]], allowed: Counter[str]) -> Counter[str]:
    return Counter(operation for operation, _ in log) - allowed


@pytest.mark.parametrize("function", MEASURED)
@pytest.mark.usefixtures("shop")
def test_a_question_costs_no_more_than_its_row(function: str):
    prepare, ask = MEASURED[function]
    prepared = prepare()
    sent: list[tuple[str, str | None]] = []

    def note(event_name: str, **_: Any) -> None:
        sent.append((event_name.rpartition(".")[2], None))

    # Counted where requests leave the client, not by the meter whose count is under test elsewhere.
    table.events().register("before-send.dynamodb", note)
    try:
        ask(prepared)
    finally:
        table.events().unregister("before-send.dynamodb", note)
    assert sent
    assert too_much(sent, budget(QUESTIONS[function])) == Counter()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_costs_no_more_than_its_row(page: str, shop: deals.Deal):
    draft = make_draft(title="x")
    user = make_user("adam", roles=["editor", "back office", "admin"])
    key = cookies.new_key()
    sessions.start(user, key=key, user_agent="", address="", now=NOW)
    visitor = Client()
    if page not in ("healthz", "readyz"):
        visitor.cookies[site_settings.SESSION_COOKIE_NAME] = f"adam:{key}"
    bought = make_order("adam", shop)
    parts = {
        "deal_id": shop.id,
        "order_id": bought.id,
        "payment_id": bought.payments[0]["id"],
        "job_id": ask_for_file()
        if page == "cms_download_export"
        else bulk_questions.order()
        if "bulk" in page
        else "x",
        "draft_id": draft.id,
        "token": token_of("draft", draft.id, NOW),
        "day": "2026-11-20",
        "username": "adam",
        "page_id": "front",
        "slug": "peripherals-networking" if "category" in page else "nordlicht",
        "name": "x.webp",
        "message_id": send_message("adam"),
        "question_id": save_question().id,
        "import_id": import_questions.bring().id if "import" in page else "x",
        "kind": "deal",
        "thing_id": shop.id,
        "number": 1,
        "topic": "pictures",
        "plan_id": list_questions.plan().id,
        "view_id": list_questions.save_view().id,
    }
    for pattern in addresses():
        if pattern.name != page:
            continue
        given = {name: parts.get(name, "x") for name in pattern.pattern.converters}
        if page == "deal" and "slug" in given:
            given["slug"] = shop.card.slug
        named = {"account": "adam", "due": bought.payments[0]["due_at"]} if "payment_id" in given else {}
        with table.metered() as meter:
            response = visitor.get(reverse(page, kwargs=given), named)
        assert response.status_code in (200, 204, 302, 404 if page in NOT_THERE else 200, 405, 410)
        allowed = budget(PAGES[page]) + Counter(BatchGetItem=1)  # who is signed in
        assert too_much(meter.log, allowed) == Counter()
