"""Changes of a live deal that wait to be published: by keyboard alone, and of another editor."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from dealsite.data.catalogue import deals
from dealsite.data.editing import pending_edits
from tests.browser.content import now_deal
from tests.browser.deal_form import field, said
from tests.browser.flaws import flaws
from tests.browser.test_autosave import note


@pytest.mark.sample(quick=0, whole=3)
def test_by_keyboard_alone_a_live_deal_is_changed_unseen_and_published(editor_window):
    deal = now_deal(title="Desk lamp")
    page: Page = editor_window()
    page.goto(f"/cms/deals/{deal.id}/")
    field(page, "Title").focus()
    page.keyboard.press("End")
    page.keyboard.type(", dimmable")
    expect(note(page)).to_have_text(re.compile(r"Changes saved \d\d:\d\d, not published"))
    assert deals.get(deal.id) == deal
    page.reload()
    expect(field(page, "Title")).to_have_value("Desk lamp")
    page.get_by_role("link", name="Open the changes").press("Enter")
    expect(field(page, "Title")).to_have_value("Desk lamp, dimmable")
    page.get_by_role("button", name="Publish changes").press("Enter")
    expect(said(page, "The deal is saved.")).to_be_visible()
    assert deals.get(deal.id).content.title == "Desk lamp, dimmable"


@pytest.mark.sample(quick=0, whole=3)
def test_another_editor_is_told_of_unpublished_changes_and_is_not_saved_by_itself(editor_window):
    deal = now_deal(title="Desk lamp")
    eve: Page = editor_window("eve")
    eve.goto(f"/cms/deals/{deal.id}/")
    field(eve, "Title").fill("Better lamp")
    eve.keyboard.press("Tab")
    expect(note(eve)).to_contain_text("not published")
    oscar: Page = editor_window("oscar")
    oscar.goto(f"/cms/deals/{deal.id}/")
    expect(oscar.get_by_role("region", name="Unpublished changes")).to_contain_text("by eve")
    expect(note(oscar)).to_contain_text("It is not saved automatically")
    field(oscar, "Title").fill("Best lamp")
    field(oscar, "Description").fill("Bends.")
    oscar.get_by_role("button", name="Save draft").click()
    expect(oscar.get_by_role("alert").filter(has_text="eve changed this deal")).to_be_focused()
    assert flaws(oscar) == []
    oscar.get_by_role("button", name="Save draft").click()
    expect(said(oscar, "The changes are kept.")).to_be_visible()
    kept = pending_edits.find(deal).content
    assert (kept.title, kept.description) == ("Best lamp", "Bends.")
