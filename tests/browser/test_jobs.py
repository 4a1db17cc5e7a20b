"""The page of jobs shows how far a message to all users has come."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dealsite.data import keys, table
from dealsite.data.jobs import jobs
from dealsite.data.people import announcements
from dealsite.data.people.announcements import Audience
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Update
from tests.browser.content import now_deal
from tests.browser.flaws import flaws
from tests.builders import EDITOR, WORKER


def order(headline: str) -> str:
    """Order a message to all users; return its id."""
    now = timezone.now()
    message_id = new_ulid(now)
    message = {"headline": headline, "text": ""}
    announcements.send(
        now_deal().id, message_id=message_id, audience=Audience(), by=EDITOR, now=now, **message
    )
    return message_id


def note(message_id: str, sent: int) -> None:
    progress = {"total": 200_000, "sent": sent, "skipped": 1200, "milliseconds": 60_000}
    table.write(Update(key=keys.job(message_id), set={"progress": progress, "taken_by": WORKER}))


def test_the_list_of_jobs_is_dense_and_its_cursor_outlives_the_renewal(editor_window):
    for _ in range(20):
        now = timezone.now()
        table.write(jobs.job_write("rename_brand", {}, job_id=new_ulid(now), due=now, state="done"))
    page: Page = editor_window(width=1280)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("/cms/jobs/")
    page.wait_for_load_state("networkidle")
    top, whole = page.evaluate(
        """() => {
          const rows = [...document.querySelectorAll("[data-rows] tbody tr")].map((row) => row.getBoundingClientRect());
          const foot = document.querySelector(".page-foot").getBoundingClientRect().top;
          return [rows[0].top, rows.filter((row) => row.bottom <= foot).length];
        }"""
    )
    assert top <= 168
    assert whole >= 15
    page.keyboard.press("j")
    page.keyboard.press("j")
    row = page.locator("[data-rows] tbody tr").nth(1)
    expect(row).to_be_focused()
    with page.expect_response("**/cms/jobs/**"):
        page.get_by_role("link", name="Reload").dispatch_event("click")
    expect(page.locator(".htmx-request, .htmx-settling")).to_have_count(0)
    expect(row).to_be_focused()
    expect(row).to_have_attribute("data-cursor", "")
    assert flaws(page) == []


@pytest.mark.sample(quick=0, whole=3)
def test_the_page_of_jobs_renews_itself_and_keeps_the_focus(editor_window):
    job_id = order("Look at this")
    page: Page = editor_window()
    page.goto("/cms/jobs/")
    expect(page.locator("#jobs")).to_contain_text("Waiting")
    row = page.locator(f"#row-{job_id}")
    row.focus()
    note(job_id, 20_000)
    expect(row).to_contain_text("20,000 sent of up to 200,000")
    expect(row).to_be_focused()
    expect(row).to_have_attribute("data-cursor", "")
    page.locator(f"#pause-{job_id}").focus()
    note(job_id, 50_000)
    expect(page.locator("#jobs")).to_contain_text("50,000 sent of up to 200,000")
    expect(page.locator(f"#pause-{job_id}")).to_be_focused()
    note(job_id, 100_000)
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "50")
    finish = Update(key=keys.job(job_id), set={"state": "open"}, remove=("progress", "taken_by"))
    table.write(finish)
