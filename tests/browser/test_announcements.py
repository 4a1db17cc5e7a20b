"""Editors tell shoppers of a deal, and see how far their messages have come."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dealsite.data import keys, table
from dealsite.data.catalogue import relations
from dealsite.data.catalogue.display_names import brand_names
from dealsite.data.jobs import job_actions, jobs
from dealsite.data.people import announcements
from dealsite.data.people.announcements import Audience
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Update
from dealsite.worker import loop
from tests.browser.conftest import make_user
from tests.browser.content import now_deal
from tests.browser.deal_form import CATEGORY, fill_in, said
from tests.browser.flaws import flaws
from tests.builders import EDITOR, WORKER, make_brand


@pytest.fixture(autouse=True)
def ada(site: str):
    """A shopper who watches a brand."""
    brand_names.forget()
    make_brand("Ochsenkopf")
    user = make_user("ada")
    relations.add(relations.BRAND_WATCH, "ochsenkopf", username="ada", now=timezone.now())
    return user


def work() -> None:
    """Let the worker do what is due."""
    while loop.run_next(now=timezone.now()):
        pass


@pytest.mark.sample(quick=0, whole=3)
def test_an_editor_sends_a_message_and_a_shopper_reads_it(editor_window, window, ada):
    deal = now_deal(title="Cordless drill", brand="Ochsenkopf")
    page: Page = editor_window()
    page.goto(f"/cms/deals/{deal.id}/")
    page.get_by_role("link", name="Send a message").click()
    expect(page.get_by_label("Headline")).to_have_value("Cordless drill")
    expect(page.get_by_label("Send at")).to_have_accessible_description(
        "Time zone: UTC. Leave it empty to send now."
    )
    page.get_by_label("Those who watch Ochsenkopf", exact=True).check()
    page.get_by_label("Headline").fill("A drill for little money")
    page.get_by_label("Text").fill("Only while there are some.")
    page.get_by_role("button", name="Preview").click()

    preview = page.get_by_role("region", name="As a shopper sees it")
    expect(preview).to_contain_text("A drill for little money")
    expect(preview).to_contain_text("Only while there are some.")
    expect(page.get_by_role("main")).to_contain_text("Those who watch Ochsenkopf")
    page.get_by_role("button", name="Change it").click()
    page.get_by_label("Headline").fill("A good drill for little money")
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Send it now").click()
    sure = page.get_by_label("I have read it once more")
    expect(sure).to_be_focused()
    expect(sure).to_have_accessible_description("Tick this before you send the message.")
    sure.check()
    page.get_by_role("button", name="Send it now").click()
    expect(said(page, "The message is on its way.")).to_be_visible()

    work()
    page.get_by_role("link", name="Jobs").click()
    expect(page.locator("#jobs")).to_contain_text("Done")
    expect(page.locator("#jobs")).to_contain_text("1 sent")

    shopper: Page = window(ada)
    shopper.goto("/account/messages/")
    shopper.get_by_role("link", name="A good drill for little money").click()
    expect(shopper.get_by_role("main")).to_contain_text("Only while there are some.")
    shopper.get_by_role("link", name="See the deal").click()
    expect(shopper.get_by_role("heading", name="Cordless drill")).to_be_visible()


@pytest.mark.sample(quick=0, whole=3)
def test_a_planned_message_is_paused_resumed_and_cancelled(editor_window):
    deal = now_deal(title="Cordless drill", brand="Ochsenkopf")
    page: Page = editor_window()
    page.goto("/cms/messages/")
    page.get_by_role("link", name="New message").click()
    page.get_by_label("Id or link of a deal").fill(f"see {deal.id}, please")
    page.get_by_role("button", name="Go on").click()
    page.get_by_label("All users").check()
    at = timezone.now() + timedelta(days=1)
    page.get_by_label("Send at").fill(at.strftime("%Y-%m-%dT%H:%M"))
    page.get_by_role("button", name="Preview").click()
    page.get_by_label("I have read it once more").check()
    page.get_by_role("button", name="Send it then").click()
    expect(said(page, "The message is planned.")).to_be_visible()
    main = page.get_by_role("main")
    for button, state in (("Pause", "Paused"), ("Resume", "Planned"), ("Cancel", "Cancelled")):
        page.get_by_role("button", name=f"{button} : Cordless drill").click()
        expect(main.locator(".state-badge")).to_have_text(state)
    expect(main.get_by_role("button", name="Cordless drill")).to_have_count(0)


@pytest.mark.sample(quick=0, whole=3)
def test_a_deal_is_announced_as_it_is_published(editor_window, window, ada):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    fill_in(page, brand="Ochsenkopf", category=CATEGORY)
    page.get_by_label("Tell those who watch its brand or category").check()
    page.get_by_role("button", name="Publish now").click()
    expect(page.get_by_role("main")).to_contain_text("Those who watch its brand or category are told")
    work()
    shopper: Page = window(ada)
    shopper.goto("/account/messages/")
    expect(shopper.get_by_role("main")).to_contain_text("New deal")


def order(headline: str) -> str:
    """Order a message to all users; return its id."""
    deal = now_deal(title="Cordless drill", brand="Ochsenkopf")
    message_id = new_ulid(timezone.now())
    announcements.send(
        deal.id,
        message_id=message_id,
        headline=headline,
        text="",
        audience=Audience(),
        by=EDITOR,
        now=timezone.now(),
    )
    return message_id


def note(message_id: str, sent: int) -> None:
    progress = {"total": 200_000, "sent": sent, "skipped": 1200, "milliseconds": 60_000}
    table.write(Update(key=keys.job(message_id), set={"progress": progress, "taken_by": WORKER}))


@pytest.mark.sample(quick=0, whole=3)
def test_the_page_of_jobs_renews_itself_and_keeps_the_focus(editor_window):
    job_id = order("Look at this")
    page: Page = editor_window()
    page.goto("/cms/jobs/")
    expect(page.locator("#jobs")).to_contain_text("Waiting")
    page.locator(f"#pause-{job_id}").focus()
    note(job_id, 50_000)
    expect(page.locator("#jobs")).to_contain_text("50,000 sent of up to 200,000")
    expect(page.locator(f"#pause-{job_id}")).to_be_focused()
    note(job_id, 100_000)
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "50")
    finish = Update(key=keys.job(job_id), set={"state": "open"}, remove=("progress", "taken_by"))
    table.write(finish)


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_the_page_of_jobs_has_a_link_to_reload(editor_window):
    job_id = order("Look at this")
    page: Page = editor_window(script=False)
    page.goto("/cms/jobs/")
    note(job_id, 50_000)
    page.get_by_role("link", name="Reload").click()
    expect(page.locator("#jobs")).to_contain_text("833 a second")


@pytest.mark.sample(quick=0, whole=3)
def test_messages_and_jobs_are_for_everybody_on_every_screen(editor_window):
    deal = now_deal(title="Cordless drill", brand="Ochsenkopf")
    running, failed, paused = (
        order(f"{word} message about a drill") for word in ("One", "Another", "A third")
    )
    note(running, 120_000)
    job_actions.pause(paused, by=EDITOR, now=timezone.now())
    table.write(
        Update(
            key=keys.job(failed),
            set={"state": "failed", ("card", "state"): "failed", "error": "The site is very busy just now."},
            remove=("GSI3PK", "GSI3SK"),
        )
    )
    page: Page = editor_window()
    for path in ("/cms/messages/", "/cms/jobs/", "/cms/messages/new/", f"/cms/messages/new/?deal={deal.id}"):
        page.goto(path)
        assert flaws(page) == []
    page.get_by_label("Text").fill("Only while there are some.\n\nSecond paragraph.")
    page.get_by_role("button", name="Preview").click()
    assert flaws(page) == []
    page.get_by_role("button", name="Send it now").click()
    assert flaws(page) == []
    assert jobs.get(running).state == "open"
