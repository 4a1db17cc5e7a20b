"""Liking, watching, and reading what comes of it, by keyboard, too."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dealsite.data.catalogue import relations
from dealsite.data.catalogue.display_names import brand_names
from dealsite.data.people import messages
from dealsite.data.table.ids import new_ulid
from tests.browser.conftest import make_user, sign_in_by_form
from tests.browser.content import now_deal
from tests.builders import make_brand

pytestmark = pytest.mark.usefixtures("site")
BRAND = "/brands/nordlicht/"


@pytest.fixture(autouse=True)
def _nordlicht(site: str) -> None:
    brand_names.forget()
    make_brand("Nordlicht")


def send(count: int, username: str = "ada", **overrides: Any) -> list[str]:
    """Deliver messages of the last minutes; returns their ids, newest first."""
    start = timezone.now() - timedelta(minutes=10)
    made = []
    for number in range(count):
        message_id = new_ulid(start + timedelta(seconds=number), number)
        fields = {"kind": "hot_deal", "headline": f"Hot deal number {number}", "deal": message_id} | overrides
        made.append(messages.message_item(username, message_id, **fields))
    messages.deliver(made)
    return [item["id"] for item in reversed(made)]


def button(page: Page, name: str) -> Any:
    return page.locator(f"#{name}-button")


def test_a_brand_is_liked_and_watched_and_both_are_taken_back(window):
    page: Page = window(make_user("ada"))
    page.goto(BRAND)
    for name, said in (("like", "You like Nordlicht now."), ("watch", "You watch Nordlicht now.")):
        expect(button(page, name)).to_have_attribute("aria-pressed", "false")
        button(page, name).click()
        expect(button(page, name)).to_have_attribute("aria-pressed", "true")
        expect(button(page, name)).to_contain_text("1")
        expect(page.locator("#announce")).to_have_text(said)
    page.reload()
    for name in ("like", "watch"):
        expect(button(page, name)).to_have_attribute("aria-pressed", "true")
        button(page, name).click()
        expect(button(page, name)).to_have_attribute("aria-pressed", "false")
        expect(button(page, name)).to_contain_text("0")
    assert relations.relation_state_of("ada", "brand", "nordlicht") == relations.RelationState(
        "brand", "nordlicht"
    )


@pytest.mark.sample(quick=0, whole=3)
def test_a_button_changes_in_place_and_keeps_the_focus(window):
    page: Page = window(make_user("ada"))
    page.goto(BRAND)
    page.evaluate("window.stayed = true")
    for _ in range(2):
        for pressed, said in (
            ("true", "You watch Nordlicht now."),
            ("false", "You no longer watch Nordlicht."),
        ):
            button(page, "watch").focus()
            page.keyboard.press("Enter")
            expect(button(page, "watch")).to_have_attribute("aria-pressed", pressed)
            expect(button(page, "watch")).to_be_focused()
            expect(page.locator("#announce")).to_have_text(said)
    assert page.evaluate("window.stayed") is True


@pytest.mark.sample(quick=0, whole=3)
def test_an_impatient_double_click_counts_once(window):
    page: Page = window(make_user("ada"))
    page.goto(BRAND)
    button(page, "like").evaluate("button => { button.click(); button.click(); button.click(); }")
    expect(button(page, "like")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(button(page, "like")).to_contain_text("1")
    assert relations.relation_state_of("ada", "brand", "nordlicht").likes == 1


@pytest.mark.sample(quick=0, whole=3)
@pytest.mark.parametrize("verb", ["like", "watch"])
def test_a_visitor_signs_in_on_the_way_and_it_is_done(window, verb):
    make_user("ada")
    page: Page = window()
    page.goto(BRAND)
    button(page, verb).click()
    expect(page.get_by_role("main")).to_contain_text(f"You want to {verb} Nordlicht.")
    assert relations.likes_of("ada") == relations.watched_by("ada") == []
    sign_in_by_form(page, "ada", "a wrong password")
    sign_in_by_form(page, "ada")
    expect(page).to_have_url(re.compile(f"{BRAND}$"))
    expect(page.locator("#messages")).to_contain_text(f"You {verb} Nordlicht now.")
    expect(button(page, verb)).to_have_attribute("aria-pressed", "true")


@pytest.mark.sample(quick=0, whole=3)
def test_whose_session_has_ended_is_led_to_sign_in_by_the_button_too(window):
    page: Page = window(make_user("ada"))
    page.goto(BRAND)
    page.context.clear_cookies(name=re.compile("session"))
    button(page, "like").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    sign_in_by_form(page, "ada")
    expect(button(page, "like")).to_have_attribute("aria-pressed", "true")


def test_messages_are_opened_marked_and_deleted(window):
    deal = now_deal(title="A warm lamp")
    ada = make_user("ada")
    send(30)
    send(1, deal=deal.id, headline="A lamp for you", text="Only today.", kind="new_deal")
    page: Page = window(ada)
    page.goto("/account/")
    badge = page.locator("header .unread-badge")
    expect(badge).to_have_text("31")
    page.locator("header").get_by_role("link", name="Messages").first.click()
    headlines = page.locator(".message-headline")
    expect(headlines).to_have_count(25)
    page.get_by_role("link", name="Next").click()
    expect(headlines).to_have_count(6)
    page.get_by_role("link", name="A lamp for you").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A lamp for you")
    expect(page.get_by_role("main")).to_contain_text("Only today.")
    page.get_by_role("link", name="See the deal").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A warm lamp")
    expect(badge).to_have_text("30")

    page.goto("/account/messages/")
    page.get_by_role("button", name="Mark read: Hot deal number 29").click()
    expect(page.locator(".message-row[data-unread]")).to_have_count(24)
    page.get_by_role("button", name="Delete Hot deal number 28").click()
    expect(page.locator("#messages")).to_contain_text("The message is deleted.")
    expect(page.get_by_text("Hot deal number 28")).to_have_count(0)
    page.get_by_role("link", name="Unread", exact=True).click()
    expect(headlines.first).to_contain_text("Hot deal number 27")
    page.get_by_role("button", name="Mark all read").click()
    expect(page.locator("#messages")).to_contain_text("All your messages are marked read.")
    expect(page.locator(".message-row[data-unread]")).to_have_count(0)
    page.get_by_role("link", name="Unread", exact=True).click()
    expect(page.get_by_role("main")).to_contain_text("You have read all your messages.")
    expect(badge).to_have_count(0)


@pytest.mark.sample(quick=0, whole=3)
def test_a_badge_that_cannot_be_had_is_left_out_without_a_word(window, troubles):
    page: Page = window(make_user("ada"))
    page.route("**/account/messages/badge/", lambda route: route.fulfill(status=204))
    with page.expect_response("**/account/messages/badge/"):
        page.goto("/")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("header .unread-badge")).to_have_count(0)
