"""The first page of the CMS: what needs an editor, and putting it right with one click."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from cms.lists.attention import TOPICS, show
from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes, deals, drafts, featured, featured_plans
from dealsite.data.commerce import charging, order_changes, order_returns, orders, payments
from dealsite.data.commerce.order_record import Order
from dealsite.data.commerce.payment_record import payment_item
from dealsite.data.editing import audit, links, pending_edits
from dealsite.data.jobs import jobs, task_counts
from dealsite.data.jobs.task_counts import TaskCounts
from dealsite.data.table import errors
from dealsite.data.table.ids import iso
from dealsite.data.table.writes import Update
from dealsite.search.finding import find
from dealsite.search.lists import holds
from dealsite.worker.schedule import SCHEDULE
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    LINK,
    NOW,
    PICTURE,
    make_brand,
    make_content,
    make_deal,
    make_draft,
    make_id,
)
from tests.cms.conftest import do, inputs, said, way_back
from tests.gateways.ledger import Ledger
from tests.orders import make_order
from tests.payments import owe, pay, work

HOME = reverse("cms_home")
SILENT = replace(PICTURE, alt="")


def topic(name: str) -> str:
    return reverse("cms_attention", args=[name])


def feature(page_id: str, *made: deals.Deal) -> None:
    page, found = featured.load(page_id, [deal.id for deal in made])
    featured.set_featured(page, [found[deal.id] for deal in made], version=page.version, by=EDITOR, now=NOW)


TASK = re.compile(
    r'<li class="task" id="([a-z-]+)">.*?class="task-number">(\d+)<.*?class="task-note[^>]*>([^<]*)<', re.S
)


def shown(html: str) -> dict[str, list[str]]:
    """Return the titles of each task that the overview shows, as its line names them."""
    return {name: unescape(note).strip().split(", ") for name, _number, note in TASK.findall(html)}


def rows(html: str) -> list[str]:
    return [unescape(title) for title in re.findall(r'dir="auto"\s+href="[^"]*">([^<]+)</a>', html)]


def task_of(html: str, name: str) -> str:
    """Return a task with its rows and its button."""
    return re.findall(rf'<li class="task" id="{name}">.*?(?=<li class="task"|</section>)', html, re.S)[0]


def leads(html: str) -> list[str]:
    """Return where the links of a part of a page lead."""
    return [unescape(address) for address in re.findall(r'<a\s[^>]*href="([^"]*)"', html)]


def figures(html: str) -> dict[str, tuple[str, str, str]]:
    """Return the address, value and note of each figure, by its title."""
    words = r"\s*<span[^>]*>([^<]*)</span>"
    found = re.findall(rf'class="figure" href="([^"]*)">{words}{words}\s*<span[^>]*>([^<]*)<', html)
    return {title: (unescape(address), value, note.strip()) for address, title, value, note in found}


def sent_back(order: Order) -> Order:
    """Have a shopper ask to return all of an order that was shipped."""
    pay(order)
    pieces = {line.id: line.quantity for line in orders.lines_of(order)}
    order_changes.ship(order.username, order.id, by="root", now=NOW)
    return order_returns.ask_return(
        order.username, order.id, pieces=pieces, by=order.username, reason="Too loud", now=NOW + DAY
    )


def ready_draft(**more) -> drafts.Draft:
    content = make_content(**more)
    return make_draft(
        **{
            name: getattr(content, name)
            for name in ("title", "category", "price", "was_price", "sold", "description", "picture")
        },
        brand="Nordlicht",
    )


def damage_alt(deal: deals.Deal) -> deals.Deal:
    """Take the alt text of a live deal away, as an import of earlier times may have left it."""
    card = replace(deal.card, picture=SILENT)
    table.write(Update(key=keys.deal(deal.id), set={"card": card.as_item()}))
    return deals.get(deal.id)


def break_link(deal: deals.Deal, reason: str = "404") -> None:
    """Have two checks in a row find nothing behind a deal's link."""
    for hours in (48, 24):
        links.fails(links.get(deal.id), reason, now=NOW - hours * HOUR)


@pytest.fixture
def troubles(search_index):
    """A site with something of every topic."""
    made: dict[str, Any] = {
        "today": make_deal(title="Goes live", live_at=NOW + HOUR, picture=PICTURE),
        "ending": make_deal(title="Ends", expires_at=NOW + HOUR, picture=PICTURE),
        "sold-out": make_deal(title="Sold", stock=0, picture=PICTURE),
        "low-stock": make_deal(title="Nearly sold", stock=5, picture=PICTURE),
        "alt-texts": damage_alt(make_deal(title="Silent", picture=PICTURE)),
        "pictures": make_deal(title="Bare"),
        "links-aside": make_deal(title="Aside", stock=6, link=LINK, picture=PICTURE),
        "links": make_deal(title="Broken", picture=PICTURE, link=LINK),
        "featured": make_deal(title="Over", expires_at=NOW - HOUR / 2, picture=PICTURE),
        "fine": make_deal(title="Fine", picture=PICTURE),
        "gone": make_deal(title="Gone", expires_at=NOW - HOUR / 2, stock=0),
        "tomorrow": make_deal(title="Not today", live_at=NOW + DAY, picture=PICTURE),
        "drafts": ready_draft(title="Ready draft", picture=PICTURE),
    }
    break_link(made["links"])
    feature("front", made["featured"], made["sold-out"], made["fine"])
    search_index()
    task_counts.of_process.keep(TaskCounts(featured=2))
    task_counts.of_process._read_at = float("inf")
    return made


@pytest.mark.usefixtures("troubles")
def test_everything_that_needs_somebody_is_shown_once_for_each_reason(editor):
    html = editor.get(HOME).content.decode()
    assert shown(html) == {
        "drafts": ["Ready draft"],
        "today": ["Goes live"],
        "featured": [""],  # of these there is a number; which they are is read when it is opened
        "links": ["Broken"],
        "links-aside": ["Aside"],
        "sold-out": ["Sold"],
        "low-stock": ["Nearly sold"],
        "alt-texts": ["Silent"],
        "pictures": ["Bare"],
    }
    assert re.search(r'aria-labelledby="ending".*?dir="auto"[^>]*title="Ends"', html, re.S)


@pytest.mark.usefixtures("troubles")
@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("drafts", ["Ready draft"]),
        ("today", ["Goes live"]),
        ("ending", ["Ends"]),
        ("featured", ["Over", "Sold"]),
        ("links", ["Broken"]),
        ("links-aside", ["Aside"]),
        ("sold-out", ["Sold"]),
        ("low-stock", ["Nearly sold"]),
        ("alt-texts", ["Silent"]),
        ("pictures", ["Bare"]),
    ],
)
def test_each_topic_has_a_page_of_its_own_for_one_request(editor, calls, name, listed):
    assert rows(editor.get(topic(name)).content.decode()) == listed
    assert calls(lambda: editor.get(topic(name))) == ["BatchGetItem"]


@pytest.mark.usefixtures("troubles")
@pytest.mark.parametrize("name", ["drafts", "featured", "links", "sold-out", "alt-texts", "pictures"])
def test_the_rows_of_a_task_that_is_opened_can_be_put_right_where_they_stand(editor, name):
    part = editor.get(topic(name), headers={"HX-Request": "true"}).content.decode()
    opened = editor.get(HOME, {"open": name}).content.decode()
    assert rows(part)
    for html in (part, opened):
        here = f"{HOME}?view=deals&amp;open={name}"
        assert f'name="next" value="{here}"' in " ".join(html.split()) or name == "pictures"
    assert re.search(rf'id="{name}">\s*<details open>', opened)


def test_a_form_of_the_overview_leads_back_to_where_it_stood(editor, troubles):
    response = do(editor, "expire", troubles["sold-out"], next=f"{HOME}?view=deals&open=sold-out")
    assert response["Location"] == f"{HOME}?view=deals&open=sold-out"
    assert "sold-out" not in shown(editor.get(response["Location"]).content.decode())


@pytest.mark.budget
@pytest.mark.usefixtures("troubles")
@pytest.mark.parametrize(
    ("view", "queries", "units"), [("deals", 4, 12), ("office", 11, 18), ("site", 13 + len(SCHEDULE), 16)]
)
def test_the_overview_reads_few_units(sign_in, view, queries, units):
    browser = sign_in("admin", username="root")
    browser.get(HOME)
    with table.metered() as signing:
        browser.get("/cms/help/")
    with table.metered() as meter:
        browser.get(HOME, {"view": view})
    assert [operation for operation, _index in meter.log].count("Query") == queries
    assert meter.read_units - signing.read_units < units


def test_unpublished_changes_are_listed_as_long_as_their_deal_is_there(editor, search_index):
    deal, gone = make_deal(title="Lamp"), make_deal(title="Gone")
    for one in (deal, gone):
        kept = replace(one.content, title=f"Better {one.content.title}")
        pending_edits.keep(
            one, kept, brand_name="Nordlicht", base=1, seen="{}", before=None, by=EDITOR, now=NOW
        )
    deal_changes.delete(gone, by=EDITOR, now=NOW)
    search_index()
    html = editor.get(HOME).content.decode()
    assert shown(html)["unpublished"] == ["Better Lamp"]
    assert f'href="{reverse("cms_deal", args=[deal.id])}?changes=1"' in html
    found = pending_edits.find(deal)
    assert found
    pending_edits.discard(found, by=EDITOR, now=NOW)
    assert "unpublished" not in shown(editor.get(HOME).content.decode())


def test_planned_lists_that_were_skipped_are_listed_until_somebody_settles_them(editor, search_index):
    page, found = featured.load("front", [make_deal().id])
    listed = [featured.FeaturedEntry(deal.id, deal.content.title) for deal in found.values()]
    plans = [
        featured_plans.create(page, listed, plan_id=make_id(NOW), at=NOW + DAY, by=EDITOR, now=NOW)
        for _number in range(2)
    ]
    table.write(Update(key=keys.featured_plan(plans[0].id), set={"state": "put aside", "why": "hand"}))
    search_index()
    address = f'href="{reverse("cms_featured_page", args=["front"])}?plan='
    html = editor.get(HOME).content.decode()
    assert set(re.findall(address.replace("?", r"\?") + "([0-9A-Z]+)", html)) == {plans[0].id}
    featured_plans.cancel(featured_plans.get(plans[0].id), by=EDITOR, now=NOW)
    assert address not in editor.get(HOME).content.decode()


def test_a_long_topic_says_how_many_there_are_and_leads_to_all_of_them(editor, search_index):
    for number in range(30):
        make_deal(title=f"Bare {number:02d}", live_at=NOW - (number + 1) * HOUR)
    search_index()
    html = editor.get(HOME).content.decode()
    assert shown(html)["pictures"][:3] == ["Bare 00", "Bare 01", "Bare 02"]
    assert re.search(rf'href="{topic("pictures")}"[^>]*>\s*See all 30', html)
    first = editor.get(topic("pictures")).content.decode()
    second = editor.get(topic("pictures"), {"page": "2"}).content.decode()
    assert len(rows(first)) == 25
    assert len(set(rows(first) + rows(second))) == 30
    assert 'rel="prev"' in second


def test_more_featured_deals_that_are_over_than_a_page_shows_are_on_the_next(editor):
    made = [make_deal(title=f"Over {n:02d}", expires_at=NOW - HOUR / 2) for n in range(15)]
    for page in ("front", "editors-choice"):
        feature(page, *made)
    first, second = (editor.get(topic("featured"), {"page": page}).content.decode() for page in "12")
    assert (len(rows(first)), len(rows(second))) == (25, 5)
    assert 'rel="next"' in first
    assert 'rel="next"' not in second


@pytest.mark.parametrize("page", ["0", "x", "-1", "\x00", "9" * 40])
def test_a_damaged_page_is_400(editor, page):
    assert editor.get(topic("pictures"), {"page": page}).status_code == 400


@pytest.mark.parametrize("name", ["nothing", "0", "featured%00", "a b"])
def test_no_other_topic_is_there(editor, name):
    assert editor.get(f"/cms/attention/{name}/").status_code == 404


def test_an_empty_site_teaches_what_to_do(editor, search_index):
    search_index()
    html = editor.get(HOME).content.decode()
    assert shown(html) == {}
    assert "Nothing needs you just now." in html
    assert reverse("cms_new_draft") in html
    assert "Every deal has a picture." in unescape(html)


def test_without_an_index_the_page_says_so_and_leads_to_the_lists(editor, search_index):
    deal = make_deal(title="Over", expires_at=NOW - HOUR / 2)
    feature("front", deal)
    html = editor.get(HOME).content.decode()
    assert "search, which is being set up" in html
    assert shown(html) == {}
    assert "Nothing needs you" not in html
    assert "search, which is being set up" in editor.get(topic("pictures")).content.decode()


def test_today_ends_at_midnight_of_the_editors_zone(sign_in, search_index):
    make_deal(title="At 22 UTC", live_at=NOW + 10 * HOUR)
    search_index()
    here, tokyo = sign_in("editor", zone="UTC"), sign_in("editor", zone="Asia/Tokyo")
    assert rows(here.get(topic("today")).content.decode()) == ["At 22 UTC"]
    assert rows(tokyo.get(topic("today")).content.decode()) == []


def test_a_draft_says_what_it_still_lacks(editor, search_index):
    make_draft(title="Half")
    search_index()
    html = " ".join(editor.get(topic("drafts")).content.decode().split())
    assert "Still lacks: Brand, Category, Link to the shop, Price" in html
    assert "Publish<span" not in html


def test_what_was_put_right_is_gone_although_the_index_lags(editor, troubles):
    deal_changes.delete(troubles["pictures"], by=EDITOR, now=NOW)
    deal = deals.get(troubles["ending"].id)
    longer = replace(deal.content, expires_at=NOW + 9 * DAY)
    deal_changes.edit(deal, longer, version=1, brand=make_brand(), by=EDITOR, now=NOW)
    assert "pictures" not in shown(editor.get(HOME, {"open": "pictures"}).content.decode())
    assert rows(editor.get(topic("ending")).content.decode()) == []


@pytest.mark.parametrize(
    "topic", [topic for topic in TOPICS.values() if topic.asks], ids=lambda one: one.name
)
def test_the_table_and_the_index_agree_on_what_belongs_to_a_topic(troubles, topic):
    question = topic.question(NOW)
    found = {hit.card.id for hit in find(question, now=NOW, size=100).hits}
    known = drafts.attention_data({one.id: one.kind for one in troubles.values()})
    held = {id_ for id_, entry in known.entries.items() if holds(question, entry, now=NOW)}
    assert held == found != set()


def test_titles_are_shown_as_text(editor, search_index):
    make_deal(title="<b>Bold</b> & bare")
    search_index()
    html = editor.get(HOME).content.decode()
    assert "<b>Bold" not in html
    assert "&lt;b&gt;Bold&lt;/b&gt; &amp; bare" in html
    assert "&amp;amp;" not in html


@pytest.mark.usefixtures("troubles")
def test_the_back_office_sees_its_orders_and_of_the_topics_those_of_stock(office):
    refs = [order.id for order in (make_order("zoe"), make_order("zoe"))]
    html = office.get(HOME, {"view": "deals"}).content.decode()
    assert shown(html).keys() == {"to-ship", "sold-out", "low-stock"}
    for order_id in refs:
        assert html.count(f"/cms/orders/zoe/{order_id}/") == 2  # as a task, and among the latest
    assert f"order=zoe%2F{refs[0]}" in html
    assert office.get(topic("pictures")).status_code == 403


def test_returns_that_shoppers_asked_for_lead_to_their_orders_until_they_are_answered(office):
    order = sent_back(make_order("zoe"))
    html = office.get(HOME).content.decode()
    assert shown(html) == {"returns": ["Ada Lovelace"]}
    task = task_of(html, "returns")
    assert leads(task) == [f"/cms/orders/zoe/{order.id}/", reverse("cms_returns")]
    order_returns.decline_return("zoe", order.id, by="root", reason="Too late", now=NOW + 3 * DAY)
    assert shown(office.get(HOME).content.decode()) == {}


def test_more_returns_than_a_page_has_are_said_to_be_more(office):
    for _number in range(26):
        sent_back(make_order("zoe"))
    task = task_of(office.get(HOME).content.decode(), "returns")
    assert 'class="task-number">25+<' in task
    assert task.count("/cms/orders/zoe/") == 7


@pytest.mark.parametrize(
    ("counts", "numbers"),
    [
        (TaskCounts(), {}),
        (TaskCounts(payments=3), {"failed": "3"}),
        (TaskCounts(payments=3, overdue=5), {"failed": "3", "overdue": "5"}),
        (TaskCounts(overdue=task_counts.MOST), {"overdue": "99+"}),
    ],
)
def test_failed_and_overdue_payments_lead_to_their_lists(office, counts, numbers):
    task_counts.of_process.keep(counts)
    task_counts.of_process._read_at = float("inf")
    html = office.get(HOME).content.decode()
    assert (
        dict(re.findall(r'<li class="task" id="([a-z-]+)">.*?class="task-number">(.*?)<', html, re.S))
        == numbers
    )
    if counts.overdue:
        task = task_of(html, "overdue")
        assert f'href="{reverse("cms_overdue_payments")}"' in task
        assert ("failed ones among them" in task) == bool(counts.payments)


@pytest.mark.parametrize("name", ["sold-out", "low-stock"])
@pytest.mark.parametrize("is_editor", [False, True])
def test_what_lacks_stock_leads_an_editor_to_its_list_and_others_to_who_wants_it(
    sign_in, troubles, is_editor, name
):
    browser = sign_in("back office", *["editor"] * is_editor)
    task = task_of(browser.get(HOME, {"view": "office"}).content.decode(), name)
    assert 'class="task-number">1<' in task
    of_deal = reverse("cms_buyers", args=[troubles[name].id])
    assert {*leads(task)} == {topic(name) if is_editor else of_deal}
    assert [browser.get(lead).status_code for lead in {*leads(task)}] == [200]


def test_without_an_index_the_back_office_hears_that_sold_out_deals_are_not_known(office, search_index):
    assert "search, which is being set up" in office.get(HOME).content.decode()
    search_index()
    assert "search, which is being set up" not in office.get(HOME).content.decode()


def test_what_was_paid_of_todays_payments_leads_to_them(office):
    def paid_today() -> tuple[str, str, str]:
        return figures(office.get(HOME).content.decode())["Paid today"]

    address = f"{reverse('cms_payments')}?list=processed&first=2026-11-21&last=2026-11-21"
    assert paid_today() == (address, "€0.00", "of €0.00 due today")
    owe(3, "90.00", order_number=1)
    owe(1, "8.00", order_number=2, first=NOW - DAY)
    first, second = (owe(1, amount, order_number=number)[0] for number, amount in ((3, "60.00"), (4, "5.00")))
    gateway = Ledger()
    for one in (first, second):
        charging.run_one(payment_item(one), gateway, currency="EUR", clock=lambda: NOW)
    assert paid_today() == (address, "€65.00", "of €95.00 due today")
    payments.refund(second.account, second.due_at, second.id, reason="x", by="root", now=NOW)
    work(NOW, gateway)
    assert paid_today() == (address, "€60.00", "of €95.00 due today, €5.00 refunded")


@pytest.mark.parametrize(
    ("roles", "views", "first"),
    [
        (["editor"], [], "ending"),
        (["back office"], [], "latest"),
        (["editor", "back office"], ["deals", "office"], "latest"),
        (["admin"], ["deals", "office", "site"], "running"),
    ],
)
def test_who_has_several_roles_chooses_what_to_look_at(sign_in, roles, views, first):
    html = sign_in(*roles).get(HOME).content.decode()
    assert re.findall(r'<a href="\?view=([a-z]+)"', html) == views
    assert f'aria-labelledby="{first}"' in html


def test_what_was_done_last_is_told_with_its_title(editor, search_index):
    deal = make_deal(title="Lamp")
    deal_changes.edit(
        deal, replace(deal.content, title="Better lamp"), version=1, brand=make_brand(), by=EDITOR, now=NOW
    )
    search_index()
    html = " ".join(editor.get(HOME).content.decode().split())
    assert re.search(
        rf'Deal <a[^>]*href="{reverse("cms_deal", args=[deal.id])}">Better lamp</a>: changed', html
    )


def test_when_the_table_is_away_the_page_says_so(editor, troubles, monkeypatch):
    def away(*_, **__):
        raise errors.Unavailable

    monkeypatch.setattr(drafts, "attention_data", away)
    assert editor.get(HOME).status_code == 503


# Ends


def test_an_ending_deal_gets_another_week_and_its_old_end_back(editor, troubles):
    deal = troubles["ending"]
    html = editor.get(topic("ending")).content.decode()
    later = iso(NOW + HOUR + 7 * DAY)
    assert f'name="to_expiry" value="{later}"' in html
    assert f'name="next" value="{topic("ending")}"' in " ".join(html.split())
    response = do(editor, "expiry", deal, to_expiry=later, next=topic("ending"))
    assert response.headers["Location"] == topic("ending")
    assert said(response) == "The end of “Ends” is now: 28 November 2026, 13:00 UTC."
    assert deals.get(deal.id).content.expires_at == NOW + HOUR + 7 * DAY
    back = way_back(response)
    assert editor.post(back.address, back.fields).headers["Location"] == topic("ending")
    assert deals.get(deal.id).content.expires_at == NOW + HOUR
    assert [entry.what for entry in audit.of_target("deal", deal.id)].count("changed") == 2


def test_a_day_more_is_one_by_the_clock_where_clocks_are_changed(search_index):
    ends = datetime(2026, 10, 24, 21, 59, tzinfo=UTC)
    make_deal(live_at=ends - 9 * DAY, expires_at=ends)
    search_index()
    with timezone.override("Europe/Berlin"):
        (row,) = show(TOPICS["ending"], ends - DAY, page=1).rows
    assert [at for at, _words in row.ends] == ["2026-10-25T22:59:00.000Z", "2026-10-31T22:59:00.000Z"]


def test_a_second_click_changes_nothing(editor, troubles):
    deal = troubles["ending"]
    first, second = (do(editor, "expiry", deal, to_expiry=iso(NOW + 2 * DAY)) for _ in range(2))
    assert said(second) == said(first)
    assert deals.get(deal.id).version == 2


def test_a_deal_whose_end_somebody_changed_keeps_it(editor, troubles, monkeypatch):
    deal = troubles["ending"]
    longer = replace(deal.content, expires_at=NOW + DAY, price=Decimal("80"))
    deal_changes.edit(deal, longer, version=1, brand=make_brand(), by="oscar", now=NOW + HOUR / 4)
    monkeypatch.setattr(timezone, "now", lambda: NOW + HOUR / 2)
    response = do(editor, "expiry", deal, to_expiry=iso(NOW + 2 * DAY), asked_at=iso(NOW))
    assert said(response) == (
        "oscar changed it meanwhile. Its value is now: 22 November 2026, 12:00 UTC. "
        "You asked for: 23 November 2026, 12:00 UTC."
    )
    assert deals.get(deal.id).content.expires_at == NOW + DAY


def test_a_sold_out_deal_is_ended_and_comes_back(editor, troubles):
    deal = troubles["sold-out"]
    response = do(editor, "expire", deal, next="nonsense")
    assert response.headers["Location"] == HOME
    assert deals.get(deal.id).card.state(NOW) == "expired"
    back = way_back(response)
    editor.post(back.address, back.fields)
    assert deals.get(deal.id).content.expires_at is None


def test_a_scheduled_deal_cannot_be_ended(editor, troubles):
    deal = troubles["today"]
    response = do(editor, "expire", deal)
    assert said(response) == "It is not published yet; delete it, or move its time."
    assert deals.get(deal.id) == deal


@pytest.mark.parametrize(
    "ends_at",
    [
        "",
        "x",
        "2026-13-01T00:00:00.000Z",
        "\x00",
        "٢026-11-25T00:00:00.000Z",
        "9999-12-31T23:59:59.999Z",  # cannot be shown in every zone
        "2102-01-01T00:00:00.000Z",
    ],
)
def test_an_end_that_is_none_is_asked_for_again(editor, troubles, ends_at):
    deal = troubles["ending"]
    page = do(editor, "expiry", deal, to_expiry=ends_at, given="1")
    assert page.status_code == 422
    assert 'name="to_expiry"' in page.content.decode()
    assert deals.get(deal.id) == deal


def test_an_end_that_has_passed_is_refused(editor, troubles):
    deal = troubles["ending"]
    page = do(editor, "expiry", deal, to_expiry=iso(NOW - HOUR), follow=True)
    assert "This time has passed. Choose a later one." in page.content.decode()
    assert deals.get(deal.id) == deal


# Drafts


def test_a_ready_draft_is_published_once(editor, troubles):
    draft = troubles["drafts"]
    first, second = (do(editor, "publish", draft, state="draft") for _ in range(2))
    assert said(first) == said(second) == "“Ready draft” is published."
    deal = deals.get(drafts.get(draft.id).published_as)
    assert (deal.content.title, deal.live_at) == ("Ready draft", NOW)


def test_a_draft_that_another_editor_published_is_not_published_again(editor, other_editor, troubles):
    draft = troubles["drafts"]
    do(other_editor, "publish", draft, state="draft")
    published_as = drafts.get(draft.id).published_as
    assert said(do(editor, "publish", draft, state="draft")) == "It was published already."
    assert drafts.get(draft.id).published_as == published_as


def test_a_draft_that_lacks_something_or_changed_is_not_published(editor, monkeypatch):
    half, changed = make_draft(title="Half"), ready_draft()
    else_ = make_content(title="Else")
    drafts.save(changed, else_, version=1, by="oscar", now=NOW + HOUR, brand=make_brand())
    monkeypatch.setattr(timezone, "now", lambda: NOW + 2 * HOUR)
    for draft, words in ((half, "Choose a brand"), (changed, "oscar changed it meanwhile.")):
        response = do(editor, "publish", draft, state="draft", asked_at=iso(NOW))
        assert words in said(response)
        assert not drafts.get(draft.id).published_as


# Alt texts


def test_the_words_of_a_picture_are_written_right_there_and_taken_back(editor, troubles):
    deal, draft = troubles["alt-texts"], make_draft(title="Silent draft", picture=SILENT)
    for thing, state, read in ((deal, "", deals.get), (draft, "draft", drafts.get)):
        sent = {"to_alt": "  A lamp\non a desk ", "version": "1", "given": "1", "state": state or "all"}
        response = do(editor, "alt-text", thing, **sent)
        assert said(response) == f"The alt text of “{thing.content.title}” is saved."
        assert read(thing.id).content.picture == replace(PICTURE, alt="A lamp on a desk")
        response = do(editor, "alt-text", thing, **sent | {"to_alt": "A desk", "version": "2"})
        editor.post(way_back(response).address, way_back(response).fields)
        assert read(thing.id).content.picture == replace(PICTURE, alt="A lamp on a desk")


@pytest.mark.parametrize(
    ("alt", "words"),
    [
        ("", "Describe the picture"),
        (" \n ", "Describe the picture"),
        ("a\x00b", "Null characters are not allowed."),
        ("x" * 501, "at most 500 characters"),
    ],
)
def test_no_words_and_too_many_are_refused(editor, troubles, alt, words):
    deal = troubles["alt-texts"]
    page = do(editor, "alt-text", deal, to_alt=alt, version="1", given="1")
    assert page.status_code == 422
    assert words in page.content.decode()
    assert page.context["form"]["to_alt"].value() == alt
    assert PICTURE.name in page.content.decode()
    assert deals.get(deal.id) == deal


def test_a_picture_that_was_taken_away_meanwhile_gets_no_words(editor):
    page = do(editor, "alt-text", make_deal(), to_alt="x", given="1")
    assert "It has no picture any more." in page.content.decode()


def test_words_for_what_was_changed_meanwhile_come_back_to_be_saved_again(editor, monkeypatch):
    deal = make_deal(picture=PICTURE, now=NOW - HOUR)
    described = replace(deal.content, picture=replace(PICTURE, alt="A desk"))
    deal_changes.edit(deal, described, version=1, brand=make_brand(), by="oscar", now=NOW)
    page = do(editor, "alt-text", deal, to_alt="A lamp", version="1", given="1", next=topic("alt-texts"))
    both = "oscar changed it meanwhile. Its value is now: A desk. You asked for: A lamp."
    assert both in page.content.decode()
    again = inputs(page)
    assert (again["to_alt"], again["version"], again["next"]) == ("A lamp", "2", topic("alt-texts"))
    monkeypatch.setattr(timezone, "now", lambda: NOW + HOUR)
    assert editor.post("/cms/deals/do/alt-text/", again)["Location"] == topic("alt-texts")
    assert deals.get(deal.id).content.picture.alt == "A lamp"


def test_words_are_kept_while_the_table_is_away(editor, monkeypatch):
    deal = damage_alt(make_deal(picture=PICTURE))
    monkeypatch.setattr("dealsite.worker.bulk.drafts.get_entries", _raising(errors.Unavailable()))
    page = do(editor, "alt-text", deal, to_alt="A lamp", version="1", given="1")
    assert page.status_code == 503
    assert ("to_alt", "A lamp") in page.context["kept"]


def _raising(error):
    def fail(*arguments, **options):
        raise error

    return fail


# Featured lists


def test_an_expired_deal_is_taken_off_its_list_and_put_back_in_its_place(editor, troubles):
    over, front = troubles["featured"], {"to_page": "front", "next": topic("featured")}
    before = featured.get("front").ids
    html = editor.get(topic("featured")).content.decode()
    assert 'name="to_page" value="front"' in html
    response = do(editor, "unfeature", over, **front)
    assert response.headers["Location"] == topic("featured")
    assert featured.get("front").ids == before[1:]
    assert said(response) == "“Over” is off the list “Front page”."
    assert said(do(editor, "unfeature", over, **front)) == said(response)
    back = way_back(response)
    assert editor.post(back.address, back.fields).headers["Location"] == topic("featured")
    assert featured.get("front").ids == before
    assert said(editor.post(back.address, back.fields)) == "This was undone already."
    assert featured.get("front").ids == before


def test_a_list_that_is_set_meanwhile_is_not_overwritten(editor, troubles, monkeypatch):
    load = featured.load

    def after_another(page_id, ids):
        monkeypatch.setattr(featured, "load", load)
        feature("front", troubles["fine"])
        return load(page_id, ids)

    monkeypatch.setattr(featured, "load", after_another)
    response = do(editor, "unfeature", troubles["featured"], to_page="front")
    assert said(response) == "It is not on this page."
    assert featured.get("front").ids == [troubles["fine"].id]


def test_a_page_that_there_is_not_has_no_list_to_take_a_deal_off(editor, troubles):
    page = do(editor, "unfeature", troubles["featured"], to_page="nowhere", follow=True)
    assert page.status_code == 422
    assert "Select a valid choice." in page.content.decode()


# Links


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("404", "the shop answers 404"),
        ("name", "there is no site of this name"),
        ("<b>", "answers &lt;b&gt;"),
    ],
)
def test_a_broken_link_says_since_when_and_why(editor, search_index, reason, words):
    deal = make_deal(link=LINK)
    break_link(deal, reason)
    search_index()
    html = " ".join(editor.get(topic("links")).content.decode().split())
    assert "Since <time" in html
    assert words in html
    assert f'href="{deal.content.link}"' in html


def test_a_link_that_an_editor_finds_fine_is_left_alone_until_he_takes_that_back(
    editor, troubles, search_index
):
    deal = troubles["links"]
    response = do(editor, "accept-link", deal, to_link=deal.content.link, next=topic("links"))
    assert said(response) == f"The link of “{deal.content.title}” counts as fine for 30 days."
    assert rows(editor.get(topic("links")).content.decode()) == []
    check = links.get(deal.id).check
    assert check is not None
    assert check.accepted_until == NOW + 30 * DAY
    assert response["Location"] == topic("links")
    back = way_back(response)
    assert editor.post(back.address, back.fields)["Location"] == topic("links")
    assert links.get(deal.id).check is None


def test_a_link_that_was_changed_meanwhile_is_not_called_fine(editor, troubles):
    deal = troubles["links"]
    response = do(editor, "accept-link", deal, to_link="https://a.example/")
    assert said(response) == "This deal has another link by now."
    assert links.get(deal.id).check.is_broken


def test_where_links_are_not_checked_that_is_said(editor, troubles, settings):
    settings.DEALSITE_CHECK_LINKS = False
    response = editor.post(reverse("cms_check_link", args=[troubles["links"].id]), {})
    assert said(response) == "Links are not checked here: the setting DEALSITE_CHECK_LINKS is off."
    assert "DEALSITE_CHECK_LINKS is off" in editor.get(topic("links")).content.decode()
    settings.DEALSITE_CHECK_LINKS = True
    browser = editor.get(topic("links"))
    assert 'class="alert alert-soft alert-info"' not in browser.content.decode()


def test_a_link_is_checked_again_by_the_worker(editor, troubles, settings):
    settings.DEALSITE_CHECK_LINKS = True
    deal = troubles["links"]
    editor.post(reverse("cms_check_link", args=[deal.id]), {})
    kinds = set()
    while job := jobs.take_next(now=NOW):
        kinds.add((job.kind, job.payload["deal"]))
        jobs.finish(job)
    assert (links.CHECK_LINK, deal.id) in kinds


def test_a_deal_that_is_not_there_is_404(editor):
    for deal_id in ("x", "0" * 26):
        assert editor.post(reverse("cms_check_link", args=[deal_id])).status_code == 404
