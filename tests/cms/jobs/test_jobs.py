import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from dealsite.data import keys, table
from dealsite.data.catalogue import brands
from dealsite.data.jobs import jobs, processes
from dealsite.data.jobs.jobs import job_write
from dealsite.data.people import announcements, mails
from dealsite.data.table.ids import new_ulid
from dealsite.data.table.writes import Update
from tests.builders import DAY, EDITOR, HOUR, NOW, WORKER, make_announcement, make_brand, make_deal, make_id
from tests.cms.conftest import HTMX
from tests.jobs import run_all, run_next
from tests.people import make_user

ADDRESS = "/cms/jobs/"
JOB, TICK = new_ulid(NOW, 7), timedelta(milliseconds=1)


@pytest.fixture
def deal():
    return make_deal(deal_id=make_id(NOW - HOUR, 1))


def send(deal, message_id=JOB, headline="Look"):
    make_announcement(deal.id, message_id, headline=headline)


def page(response):
    return " ".join(response.content.decode().split())


def act(browser, what, job_id=JOB, **data):
    return browser.post(reverse(f"cms_{what}_job", args=[job_id]), data)


def test_jobs_of_all_kinds_are_listed(editor, deal):
    send(deal)
    brands.edit(make_brand(), name="Nord", description="", logo=None, by=EDITOR, now=NOW)
    table.write(
        job_write(mails.NOTICE, {"to": "ann@example.org", "name": "Ann"}, job_id=new_ulid(NOW, 8), due=NOW)
    )
    text = page(editor.get(ADDRESS))
    for words in ("Message", "Look", "New name of a brand", "Mail", "November 2026"):
        assert words in text
    assert "ann@example.org" not in text


def test_what_a_mail_server_says_of_an_address_is_not_shown(editor):
    job_id = new_ulid(NOW, 8)
    table.write(job_write(mails.NOTICE, {"to": "ann@example.org"}, job_id=job_id, due=NOW))
    table.write(Update(key=keys.job(job_id), set={"error": "Refused: ann@example.org"}))
    text = page(editor.get(ADDRESS))
    assert "The mail could not be sent." in text
    assert "ann@example.org" not in text


def test_progress_rate_and_errors_are_shown(editor, deal):
    send(deal)
    progress = {"total": 2000, "sent": 1500, "skipped": 100, "milliseconds": 3000}
    changes = {"progress": progress, "error": "Throttled.", "taken_by": WORKER}
    table.write(Update(key=keys.job(JOB), set=changes))
    text = page(editor.get(ADDRESS))
    for words in (
        'value="80"',
        "1,500 sent",
        "of up to 2,000",
        "100 muted",
        "500 a second",
        "Running",
        "Failed, and is tried again: Throttled.",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("changes", "is_said"),
    [
        ({"GSI3SK": keys.open_jobs.position(NOW + jobs.LEASE - jobs.SILENT_AFTER, JOB)}, False),
        ({"GSI3SK": keys.open_jobs.position(NOW + jobs.LEASE - jobs.SILENT_AFTER - TICK, JOB)}, True),
        ({"error": jobs.SILENT}, True),  # the worker of a part is
        ({"error": "Throttled.", "GSI3SK": keys.open_jobs.position(NOW, JOB)}, False),
    ],
)
def test_a_job_whose_worker_is_silent_says_that_another_one_goes_on(editor, deal, changes, is_said):
    send(deal)
    table.write(Update(key=keys.job(JOB), set={"taken_by": WORKER, **changes}))
    text = page(editor.get(ADDRESS))
    assert (f"> {jobs.SILENT}<" in text) == is_said
    assert ("Failed, and is tried again:" in text) == (changes.get("error") == "Throttled.")


def test_a_job_is_paused_resumed_and_cancelled(editor, deal):
    send(deal)
    assert act(editor, "pause").status_code == 302
    assert jobs.get(JOB).state == "paused"
    assert not run_next(now=NOW)
    text = page(editor.get(ADDRESS))
    assert "Resume" in text
    assert f'id="pause-{JOB}"' not in text
    act(editor, "resume")
    assert jobs.get(JOB).state == "open"
    act(editor, "cancel")
    assert jobs.get(JOB).state == "cancelled"
    assert f"/jobs/{JOB}/" not in page(editor.get(ADDRESS))


def test_a_failed_job_is_tried_again(editor, deal, monkeypatch):
    send(deal)
    with monkeypatch.context() as patch:
        patch.setattr(announcements, "reach", lambda audience: 1 / 0)
        now = NOW
        while jobs.get(JOB).state == "open":
            run_next(now=now)
            now += timedelta(minutes=5)
    assert "Try again" in page(editor.get(ADDRESS))
    act(editor, "retry")
    make_user("ann")
    run_all(now=NOW)
    assert jobs.get(JOB).state == "done"


def test_a_job_that_waits_for_its_next_try_says_when_that_is_and_is_tried_at_once(editor):
    now, job_id = timezone.now(), new_ulid(NOW, 8)
    table.write(job_write(mails.NOTICE, {"to": "ann@example.org"}, job_id=job_id, due=NOW))
    for tries in range(1, 8):
        jobs.fail(jobs.take_next(now=now + tries * DAY), "No answer.", now=now)
    text = page(editor.get(ADDRESS))
    assert re.search(r"Failed, and is tried again <time [^>]*>in 4 h 3\d<", text)
    assert f'id="retry-{job_id}"' in text
    assert "The job is tried again." in page(
        editor.post(reverse("cms_retry_job", args=[job_id]), follow=True)
    )
    assert jobs.take_next(now=timezone.now()).id == job_id


def test_what_went_on_meanwhile_is_said_and_is_no_error(editor, deal):
    send(deal)
    run_all(now=NOW)
    response = editor.post(reverse("cms_pause_job", args=[JOB]), follow=True)
    assert response.status_code == 200
    assert "This job is done already." in page(response)


def test_jobs_that_others_depend_on_cannot_be_cancelled(editor):
    brand = brands.edit(make_brand(), name="Nord", description="", logo=None, by=EDITOR, now=NOW)
    for what in ("pause", "cancel"):
        response = editor.post(reverse(f"cms_{what}_job", args=[brand.last_edit]), follow=True)
        assert "cannot be paused or cancelled" in page(response)
    assert jobs.get(brand.last_edit).state == "open"


@pytest.mark.parametrize("job_id", ["x", new_ulid(NOW, 99), "a#b"])
def test_a_job_that_does_not_exist_is_not_found(editor, job_id):
    for what in ("pause", "resume", "cancel", "retry"):
        assert act(editor, what, job_id).status_code == 404


@pytest.mark.parametrize(
    ("back", "leads_to"),
    [
        ("/cms/messages/?after=x", "/cms/messages/?after=x"),
        ("/cms/jobs/?month=2026-10", "/cms/jobs/?month=2026-10"),
        ("", ADDRESS),
        ("https://evil.example/cms/jobs/", ADDRESS),
        ("//evil.example", ADDRESS),
        ("/account/", ADDRESS),
        ("javascript:alert(1)", ADDRESS),
    ],
)
def test_a_button_leads_back_to_its_list_and_nowhere_else(editor, deal, back, leads_to):
    send(deal)
    assert act(editor, "pause", next=back)["Location"] == leads_to


def test_the_list_is_a_part_of_its_own_for_htmx(editor, deal):
    send(deal)
    response = editor.get(ADDRESS, headers=HTMX)
    assert response.content.decode().lstrip().startswith('<div class="list" id="jobs">')
    assert "HX-Request" in response["Vary"]
    whole = page(editor.get(ADDRESS))
    assert 'hx-trigger="click, every 2s, seen-again"' in whole
    assert f'href="{ADDRESS}?month=2026-11"' in whole


def test_months_and_pages(editor, deal):
    for number in range(27):
        send(deal, new_ulid(NOW, 100 + number), f"No. {number}.")
    assert "There are no jobs in October 2026." in page(editor.get(ADDRESS, {"month": "2026-10"}))
    first = page(editor.get(ADDRESS))
    assert "No. 2." in first
    assert "No. 1." not in first
    second = page(editor.get(ADDRESS, {"month": "2026-11", "after": new_ulid(NOW, 102)}))
    assert "No. 1." in second
    assert "No. 2." not in second
    back = page(editor.get(ADDRESS, {"month": "2026-11", "before": new_ulid(NOW, 101)}))
    assert "No. 2." in back
    assert "No. 1." not in back
    january = page(editor.get(ADDRESS, {"month": "2027-01"}))
    assert "?month=2026-12" in january
    for month in ("2026-13", "x", "26-1"):
        assert editor.get(ADDRESS, {"month": month}).status_code == 404
    assert editor.get(ADDRESS, {"after": "x"}).status_code == 400


NO_WORKER = "Nothing works on these jobs just now"


def test_the_page_says_that_jobs_wait_for_a_worker(editor, deal):
    send(deal)
    for headers in ({}, HTMX):
        assert NO_WORKER in page(editor.get(ADDRESS, headers=headers))
    processes.write_heartbeat("worker", now=timezone.now() - timedelta(minutes=2))
    assert NO_WORKER in page(editor.get(ADDRESS))
    processes.write_heartbeat("worker", now=timezone.now())
    assert NO_WORKER not in page(editor.get(ADDRESS))


def test_where_no_job_waits_nobody_misses_a_worker_and_nothing_is_asked(editor, deal):
    send(deal)
    act(editor, "cancel")
    with table.metered() as meter:
        assert NO_WORKER not in page(editor.get(ADDRESS))
    assert "GetItem" not in [operation for operation, _ in meter.log]
