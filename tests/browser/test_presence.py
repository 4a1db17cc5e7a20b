"""Two editors who have one deal open: each sees the other, and hears of a newer version without losing anything."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from dealsite.data.catalogue import deals
from dealsite.data.catalogue.deals import Deal
from dealsite.data.editing import pending_edits
from dealsite.data.editing.pending_edits import KEPT, OpenForm
from tests.browser.content import now_deal
from tests.browser.deal_form import field, said
from tests.browser.flaws import flaws

NEWS = "saved a newer version"


@pytest.fixture(autouse=True)
def lamp(site: str) -> Deal:
    """The deal that both have open."""
    return now_deal(title="Desk lamp", description="Bends.", voucher_code="LAMP")


def status(page: Page) -> Locator:
    return page.get_by_role("status", name="Who else works on this")


def send_heartbeat(page: Page) -> None:
    """Let the form say that it is open now, not only in 20 seconds."""
    with page.expect_response(re.compile("/presence/")):
        page.evaluate("htmx.trigger(document.querySelector('[data-presence]'), 'seen-again')")


def open_deal(page: Page, deal: Deal) -> None:
    with page.expect_response(re.compile("/presence/")):
        page.goto(f"/cms/deals/{deal.id}/")


def test_each_editor_sees_the_other_until_he_leaves(editor_window, lamp):
    eve, oscar = editor_window("eve"), editor_window("oscar")
    open_deal(eve, lamp)
    expect(status(eve)).to_be_attached()
    assert status(eve).inner_text().strip() == ""
    open_deal(oscar, lamp)
    expect(status(oscar)).to_contain_text(re.compile(r"eve is editing this, too, since \d\d:\d\d"))
    send_heartbeat(eve)
    expect(status(eve)).to_contain_text("oscar is editing this, too")

    oscar.goto("/cms/")
    for _ in range(100):
        if [one.username for one in present(lamp)] == ["eve"]:
            break
        eve.wait_for_timeout(100)
    send_heartbeat(eve)
    expect(status(eve)).not_to_contain_text("oscar")


def present(deal: Deal) -> list[OpenForm]:
    """Return who has a deal's form open, as somebody is told who is none of them."""
    return pending_edits.heartbeat(
        "deal", deal.id, username="nobody", name="Nobody", now=timezone.now() - KEPT
    ).others


@pytest.mark.sample(quick=0, whole=3)
def test_saving_is_not_leaving(editor_window, lamp):
    eve = editor_window("eve")
    open_deal(eve, lamp)
    (before,) = present(lamp)
    field(eve, "Title").fill("Desk lamp, dimmable")
    with eve.expect_response(re.compile("/presence/")):
        eve.get_by_role("button", name="Publish changes").click()
    expect(said(eve, "The deal is saved.")).to_be_visible()
    assert present(lamp) == [before]


@pytest.mark.sample(quick=0, whole=3)
def test_the_second_hears_of_a_newer_version_and_merges_field_by_field_by_keyboard_alone(editor_window, lamp):
    eve, oscar = editor_window("eve"), editor_window("oscar")
    open_deal(eve, lamp)
    open_deal(oscar, lamp)
    field(oscar, "Title").fill("Desk lamp, bendable")
    field(oscar, "Description").fill("Bends and bends.")
    field(eve, "Title").fill("Desk lamp, dimmable")
    field(eve, "Price").fill("70.00")
    eve.get_by_role("button", name="Publish changes").click()
    expect(said(eve, "The deal is saved.")).to_be_visible()

    send_heartbeat(oscar)
    expect(status(oscar)).to_contain_text(f"eve {NEWS}")
    expect(field(oscar, "Title")).to_have_value("Desk lamp, bendable")
    oscar.get_by_role("button", name="See what changed").focus()
    oscar.keyboard.press("Enter")
    expect(oscar.get_by_role("alert").filter(has_text="eve changed this deal")).to_be_focused()
    assert oscar.locator("[data-difference] > legend").all_inner_texts() == ["Title"]
    expect(oscar.get_by_role("list", name="taken over")).to_contain_text("70.00")
    assert deals.get(lamp.id).content.title == "Desk lamp, dimmable"  # nothing was saved

    title = oscar.get_by_role("group", name="Title", exact=True)
    expect(title.get_by_label("Title: Result")).to_have_value("Desk lamp, bendable")
    expect(title).to_contain_text("Desk lamp, dimmable")
    tab_to(oscar, title.get_by_label("Mine", exact=True))
    oscar.keyboard.press("ArrowUp")  # chooses the other of the two
    expect(title.get_by_label("Theirs")).to_be_checked()
    tab_to(oscar, oscar.get_by_role("button", name="Publish changes"))
    oscar.keyboard.press("Enter")
    expect(said(oscar, "The deal is saved.")).to_be_visible()
    content = deals.get(lamp.id).content
    assert (content.title, str(content.price), content.description) == (
        "Desk lamp, dimmable",
        "70.00",
        "Bends and bends.",
    )


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until something has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError("It cannot be reached by Tab.")


@pytest.mark.sample(quick=0, whole=3)
def test_what_was_said_is_not_said_again_every_20_seconds(editor_window, lamp):
    eve, oscar = editor_window("eve"), editor_window("oscar")
    open_deal(eve, lamp)
    open_deal(oscar, lamp)
    expect(status(oscar)).to_contain_text("eve is editing this, too")
    with oscar.expect_response(re.compile("/presence/")) as answer:
        oscar.evaluate("htmx.trigger(document.querySelector('[data-presence]'), 'seen-again')")
    assert answer.value.status == 204
    expect(status(oscar)).to_contain_text("eve is editing this, too")


@pytest.mark.sample(quick=0, whole=3)
def test_a_form_with_two_editors_is_flawless(editor_window, lamp):
    eve, oscar = editor_window("eve"), editor_window("oscar")
    open_deal(eve, lamp)
    open_deal(oscar, lamp)
    expect(status(oscar)).to_contain_text("eve is editing this, too")
    field(eve, "Title").fill("Desk lamp, dimmable")
    eve.get_by_role("button", name="Publish changes").click()
    expect(said(eve, "The deal is saved.")).to_be_visible()
    send_heartbeat(oscar)
    expect(status(oscar)).to_contain_text(NEWS)
    assert flaws(oscar) == []
