"""A form that saves itself says when, waits while the site does not answer, and stops where a person has to decide."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from threading import Event
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Dialog, Locator, Page, expect

from dealsite.data.catalogue import drafts
from dealsite.data.people import profiles, sessions
from tests.browser.deal_form import CATEGORY, choose_category, field, said
from tests.browser.flaws import flaws
from tests.browser.test_engine_down import break_table  # noqa: F401 - a fixture
from tests.browser.troubles import Troubles
from tests.builders import NOW, make_draft

SAVED = re.compile(r"Draft saved \d\d:\d\d")
KEPT = re.compile(r"Offline: kept in this browser \d\d:\d\d")


def note(page: Page) -> Locator:
    """Return the place where the page says whether it saved."""
    return page.locator("[data-autosave-status]")


def offer(page: Page) -> Locator:
    """Return the note that offers what this browser kept."""
    return page.get_by_role("region", name="Kept in this browser")


def copies(page: Page) -> list[str]:
    """Return the keys under which this browser keeps what was typed."""
    return page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('kept:'))")


def refuse_saving(page: Page, troubles: Troubles) -> Callable[[], None]:
    """Answer a page's saving by itself as a site that is away; return what ends that."""
    troubles.allowed = {503}
    page.route("**/autosave/", lambda route: route.fulfill(status=503))
    return page.unroute_all


def opened(page: Page, draft: drafts.Draft) -> Page:
    page.goto(f"/cms/drafts/{draft.id}/")
    return page


def test_a_draft_is_saved_a_moment_after_typing_and_when_a_field_is_left(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    field(page, "Title").press_sequentially("Cordless drill")
    expect(note(page)).to_have_text(SAVED)  # while the cursor is still there
    expect(page).to_have_url(re.compile(r"/cms/drafts/[0-9A-Z]{26}/$"))
    draft_id = page.url.rstrip("/").rpartition("/")[2]
    field(page, "Link to the shop").fill("https://shop.example/")
    with page.expect_response(re.compile("/autosave/")):
        page.keyboard.press("Tab")
    assert drafts.get(draft_id).content.link == "https://shop.example/"
    page.get_by_role("button", name="Save draft").click()
    expect(said(page, "The draft is saved.")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_by_keyboard_alone_saving_by_itself_is_turned_off_and_leaving_warns(editor_window):
    draft = make_draft(title="Idea")
    page = opened(editor_window(alone=True), draft)
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    expect(note(page)).to_have_text("Autosave is on")
    switch = page.get_by_role("switch", name="Autosave")
    place = page.locator("summary", has=note(page))
    place.press("Enter")
    page.keyboard.press("Tab")
    expect(switch).to_be_focused()
    with page.expect_response(re.compile("/autosave/")):
        page.keyboard.press("Space")
    expect(note(page)).to_have_text("Autosave is off")
    expect(switch).not_to_be_checked()
    field(page, "Title").focus()
    page.keyboard.type("Better ")
    page.goto("/cms/")
    assert asked == ["beforeunload"]
    assert drafts.get(draft.id) == draft
    expect(note(opened(page, draft))).to_have_text("Autosave is off")
    place.click()
    expect(switch).not_to_be_checked()
    assert flaws(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_leaving_at_once_still_saves(editor_window, monkeypatch):
    draft = make_draft(title="Idea")
    page = opened(editor_window(), draft)
    field(page, "Title").fill("Idea of mine")
    stored, save = Event(), drafts.save

    def note_saving(*arguments: Any, **options: Any) -> Any:
        try:
            return save(*arguments, **options)
        finally:
            stored.set()

    monkeypatch.setattr(drafts, "save", note_saving)
    page.goto("/cms/")
    assert stored.wait(10)
    assert drafts.get(draft.id).content.title == "Idea of mine"


@pytest.mark.sample(quick=0, whole=3)
def test_leaving_warns_where_the_text_is_too_long_to_be_sent_on_leaving(editor_window):
    draft = make_draft(title="Idea")
    page = opened(editor_window(alone=True), draft)
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", answer)
    field(page, "Description").press("a")  # a browser asks only where somebody did something
    field(page, "Description").fill("ж" * 15_000)
    page.evaluate("location.assign('/cms/')")
    expect(note(page)).to_have_text(SAVED)  # stays, and saves itself
    assert asked == ["beforeunload"]
    assert drafts.get(draft.id).content.description == "ж" * 15_000


@pytest.mark.sample(quick=0, whole=3)
def test_what_is_not_right_is_said_and_saved_once_it_is(editor_window):
    draft = make_draft(title="Idea")
    page = opened(editor_window(), draft)
    field(page, "Title").fill("Better idea")
    field(page, "Price").fill("12,50")
    page.keyboard.press("Tab")
    expect(note(page)).to_contain_text("Not saved: Price: Write the amount with digits and a point")
    assert drafts.get(draft.id).content.title == "Better idea"
    field(page, "Price").fill("12.50")
    page.keyboard.press("Tab")
    expect(note(page)).to_have_text(SAVED)


@pytest.mark.sample(quick=0, whole=3)
def test_when_the_session_has_ended_it_stops_and_nothing_typed_is_lost(editor_window):
    draft = make_draft(title="Idea")
    page: Page = editor_window()
    # The page asks who else is there before it is left alone.
    with page.expect_response(re.compile("/presence/")):
        opened(page, draft)
    sessions.end_all("eve")
    field(page, "Title").fill("Typed for an hour")
    page.keyboard.press("Tab")
    expect(note(page)).to_contain_text("Not saved: your session has ended.")
    expect(page.locator(".notice h1")).to_be_visible()
    expect(page.locator(".notice .error-art")).to_be_hidden()
    expect(field(page, "Title")).to_have_value("Typed for an hour")
    assert drafts.get(draft.id) == draft
    assert copies(page) == [f"kept:eve:draft:{draft.id}"]


@pytest.mark.sample(quick=0, whole=3)
def test_what_is_refused_is_kept_in_this_browser(editor_window):
    draft = make_draft(title="Idea")
    page = opened(editor_window(alone=True), draft)
    page.context.clear_cookies(name=settings.CSRF_COOKIE_NAME)  # as signing in does in another tab
    field(page, "Title").fill("Typed for an hour")
    page.keyboard.press("Tab")
    expect(note(page)).to_have_text("Not saved: it was refused. Press Save to see why.")
    field(page, "Title").fill("Typed for two hours")
    opened(page, draft)
    offer(page).get_by_role("button", name="Put it back").click()
    expect(field(page, "Title")).to_have_value("Typed for two hours")
    expect(note(page)).to_have_text(SAVED)
    assert drafts.get(draft.id).content.title == "Typed for two hours"


@pytest.mark.sample(quick=0, whole=3)
def test_while_the_table_is_away_it_tries_again_until_it_is_back(editor_window, break_table):  # noqa: F811
    draft = make_draft(title="Idea")
    page = opened(editor_window(), draft)
    repair = break_table()
    field(page, "Title").fill("Better idea")
    page.keyboard.press("Tab")
    expect(note(page)).to_have_text(KEPT)
    assert copies(page) == [f"kept:eve:draft:{draft.id}"]
    repair()
    expect(note(page)).to_have_text(SAVED)
    assert drafts.get(draft.id).content.title == "Better idea"
    assert copies(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_what_was_typed_while_the_site_was_away_is_put_back_and_merged_as_ever(editor_window, troubles):
    draft = make_draft(title="Idea", sold="shop", is_ad=True)
    page = opened(editor_window(alone=True), draft)
    page.on("dialog", lambda dialog: pytest.fail(dialog.type))  # nothing is lost: leaving asks nothing
    repair = refuse_saving(page, troubles)
    field(page, "Description").fill("First line\n\nthird <line>")
    page.get_by_label("Ad link").uncheck()
    page.get_by_label("At a shop, with a code").check()
    choose_category(page, CATEGORY)
    expect(note(page)).to_have_text(KEPT)
    field(page, "Title").fill("Better idea")  # goes into the copy at once
    repair()
    drafts.save(draft, replace(draft.content, voucher_code="X"), version=1, by="oscar", now=NOW)
    opened(page, draft)
    expect(offer(page)).to_contain_text(
        re.compile(r"kept what you typed on \d+ \w+, \d\d:\d\d, when .* The draft was saved since\.")
    )
    offer(page).get_by_role("button", name="Put it back").click()
    expect(note(page)).to_contain_text("Not saved: oscar changed this meanwhile.")
    expect(offer(page)).to_be_hidden()
    page.get_by_role("button", name="Save draft").click()
    expect(said(page, "What oscar changed meanwhile stays: Voucher code.")).to_be_visible()
    content = drafts.get(draft.id).content
    assert (content.title, content.description) == ("Better idea", "First line\n\nthird <line>")
    assert (content.category, content.sold, content.is_ad, content.voucher_code) == (
        "home-furniture",
        "code",
        False,
        "X",
    )
    assert copies(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_a_new_draft_that_was_never_saved_is_offered_on_the_next_form(editor_window, troubles):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    repair = refuse_saving(page, troubles)
    field(page, "Title").fill("Cordless drill")
    page.keyboard.press("Tab")
    expect(note(page)).to_have_text(KEPT)
    repair()
    page.goto("/cms/deals/new/")
    expect(offer(page)).to_contain_text("kept what you typed")
    assert flaws(page) == []
    offer(page).get_by_role("button", name="Put it back").click()
    expect(note(page)).to_have_text(SAVED)
    assert drafts.get(page.url.rstrip("/").rpartition("/")[2]).content.title == "Cordless drill"
    assert copies(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_a_copy_is_thrown_away_by_its_user_by_signing_out_by_another_user_and_after_a_month(editor_window):
    draft = make_draft(title="Idea")
    page: Page = opened(editor_window(), draft)
    mine = f"kept:eve:draft:{draft.id}"

    def keep(key: str = mine, at: datetime | None = None) -> None:
        copy = {
            "at": (at or timezone.now()).isoformat(),
            "base": {"version": "1", "changes": "0", "seen": "", "autosaves": ""},
            "fields": {"title": "Kept"},
        }
        page.evaluate("([key, copy]) => localStorage.setItem(key, JSON.stringify(copy))", [key, copy])

    keep()
    page.reload()
    offer(page).get_by_role("button", name="Throw it away").click()
    assert copies(page) == []
    expect(field(page, "Title")).to_have_value("Idea")
    keep()
    keep("kept:oscar:draft:1")
    keep("kept:eve:draft:2", timezone.now() - timedelta(days=31))
    page.goto("/cms/")
    assert copies(page) == [mine]
    page.locator("[data-sign-out]").evaluate("(form) => form.requestSubmit()")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    assert copies(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_a_conflict_stops_it_and_the_button_shows_both_versions(editor_window):
    draft = make_draft(title="Sofa")
    eve, oscar = opened(editor_window("eve"), draft), opened(editor_window("oscar"), draft)
    field(eve, "Title").fill("Sofa bed")
    eve.keyboard.press("Tab")
    expect(note(eve)).to_have_text(SAVED)
    field(oscar, "Title").fill("Corner sofa")
    oscar.keyboard.press("Tab")
    expect(note(oscar)).to_contain_text("Not saved: eve changed this meanwhile.")
    oscar.get_by_role("button", name="Save draft").click()
    expect(oscar.get_by_role("alert").filter(has_text="eve changed this draft")).to_be_focused()
    assert drafts.get(draft.id).content.title == "Sofa bed"
    oscar.get_by_role("button", name="Save draft").click()
    expect(said(oscar, "The draft is saved.")).to_be_visible()
    assert drafts.get(draft.id).content.title == "Corner sofa"


@pytest.mark.sample(quick=0, whole=3)
def test_who_turned_it_off_is_not_saved_for(editor_window):
    draft = make_draft(title="Idea")
    page: Page = editor_window()
    profiles.save_preferences("eve", autosave=False)
    opened(page, draft)
    field(page, "Title").fill("Better idea")
    page.keyboard.press("Tab")
    page.wait_for_timeout(1000)
    assert drafts.get(draft.id) == draft
