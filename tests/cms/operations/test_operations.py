"""The page of operations: how machines, jobs and nightly work are doing, and what to do about each problem."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from html import unescape

import pytest

from dealsite.data import keys, table
from dealsite.data.jobs import command_runs, jobs, processes, site_switch
from dealsite.data.jobs.command_runs import CheckResult
from dealsite.data.jobs.processes import DiskSpace, JobAtWork, PartRestarts, Process, ProjectionState
from dealsite.data.table.writes import Update
from dealsite.worker.schedule import SCHEDULE
from tests.builders import DAY, HOUR, NOW, make_announcement, make_deal, make_id

ADDRESS = "/cms/operations/"
MINUTE = timedelta(minutes=1)
ROOM = DiskSpace(5 * 10**9, 40, "enough")
FOLLOWING = ProjectionState("following", 0, 1)


@pytest.fixture
def admin(sign_in):
    return sign_in("admin", username="root")


@pytest.fixture(autouse=True)
def of_amazon(settings):
    """A table of which Amazon keeps copies: no backup is missing."""
    settings.DEALSITE_EMBEDDED = False


def page(browser, **headers) -> str:
    response = browser.get(ADDRESS, **headers)
    assert response.status_code == 200
    return words(response)


def words(response) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", response.content.decode())).split())


def runs(part: str = "worker", machine: str = "one", **changes) -> Process:
    """Store a process that lives, and return it."""
    process = Process(make_id(), part, machine, 4711, "1.2", NOW, disks={"data": ROOM})
    process = replace(process, **changes)
    processes.save(process)
    return process


# Problems


def test_a_site_on_which_all_is_well_says_so(admin):
    runs(projections={"search": FOLLOWING})
    html = page(admin)
    assert "Everything runs as it should." in html
    assert "No job waits, rests or failed." in html


def test_a_new_site_says_what_it_lacks(admin):
    html = page(admin)
    assert "No worker has run for a minute: jobs, mails and checks wait. Start one: manage.py worker." in html
    assert "No process has said yet that it runs." in html


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"disks": {"data": replace(ROOM, state="little")}}, "A disk of machine one will soon be full."),
        ({"disks": {"data": replace(ROOM, state="too_little")}}, "A disk of machine one is full, or nearly"),
        (
            {"projections": {"search": replace(FOLLOWING, state="none")}},
            "Nobody feeds the search index of machine one",
        ),
        (
            {"projections": {"search": replace(FOLLOWING, state="building", lag=None)}},
            "The search index of machine one is being built.",
        ),
        (
            {"projections": {"search": replace(FOLLOWING, lag=61)}},
            "Nobody feeds the search index of machine one",
        ),
        (
            {"projections": {"search": replace(FOLLOWING, skipped=1)}},
            "The search index of machine one skipped changes",
        ),
        ({"version": "1.3"}, "Several versions run: 1.2, 1.3."),
    ],
)
def test_each_problem_is_a_sentence(admin, changes, sentence):
    runs()
    assert sentence not in page(admin)
    runs(**changes)
    html = page(admin)
    assert sentence in html
    assert "Everything runs as it should." not in html


def test_a_process_that_died_is_shown_for_a_day_and_a_silent_machine_is_said(admin):
    runs()
    runs(at=NOW - 2 * MINUTE, jobs=(JobAtWork("send_message", NOW - HOUR),))
    runs("web", "two", at=NOW - HOUR)
    runs("web", "three", at=NOW - DAY)
    html = page(admin)
    assert "1 process of machine one died within a day." in html
    assert "Nothing was heard of machine two since 21 Nov 2026, 11:00 UTC ." in html
    assert html.count("Died") == 2
    assert "three" not in html


def test_a_job_that_waits_for_long_is_said_and_all_that_wait_are_counted(admin):
    runs()
    deal = make_deal()
    make_announcement(deal.id, make_id(NOW - 5 * MINUTE), now=NOW - 5 * MINUTE)
    assert "Message 1 21 Nov 2026, 11:55 UTC" in page(admin)
    assert "A job has waited" not in page(admin)
    make_announcement(deal.id, make_id(NOW - 11 * MINUTE), now=NOW - 11 * MINUTE)
    html = page(admin)
    assert "A job has waited since 21 Nov 2026, 11:49 UTC ." in html
    assert "Message 2 21 Nov 2026, 11:49 UTC" in html


def checked(*, ok: bool = True, by: str = "worker", ago: timedelta = HOUR, **found) -> None:
    """Note a check of the table and what it found."""
    check = CheckResult("whole", 700, **found)
    command_runs.note(
        "check_table", by=by, began=NOW - ago, now=NOW - ago, ok=ok, said="That is it.", check=check
    )


def test_what_the_last_check_left_is_said(admin):
    for number in (2, 1):
        checked(problems=number + 3, repaired=3, ago=number * HOUR)
        assert f"The last check of the table left {number} problem" in page(admin)
    assert "manage.py check_table shows what is wrong" in page(admin)
    checked(problems=3, repaired=3, by="command", ago=0 * HOUR)
    assert "The last check of the table left" not in page(admin)


def test_what_a_check_by_hand_left_is_one_problem(admin):
    checked(problems=2, ok=False, by="command")
    html = page(admin)
    assert "The last check of the table left 2 problems." in html
    assert "Check of the table failed" not in html
    assert "Failed That is it." in html


def test_a_check_that_fails_leaves_what_the_last_one_found(admin):
    checked(problems=0, unreadable=2)
    command_runs.note("check_table", by="worker", began=NOW, now=NOW, ok=False, said="No table.")
    html = page(admin)
    assert "Check of the table failed at 21 Nov 2026, 12:00 UTC : No table." in html
    assert "2 users cannot sign in with their apps" in html


def test_without_copies_of_its_own_a_site_asks_for_backups(admin, settings):
    settings.DEALSITE_EMBEDDED = True
    runs()
    assert "There was no backup within a week." in page(admin)
    command_runs.note("backup", by="command", began=NOW - DAY, now=NOW - DAY, ok=True, said="It is written.")
    html = page(admin)
    assert "There was no backup" not in html
    assert "It is written." in html


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("kind", [command.kind for command in SCHEDULE])
def test_a_command_that_failed_says_whether_it_is_tried_again(admin, settings, kind, is_on):
    runs()
    command_runs.note(kind, by="worker", began=NOW - HOUR, now=NOW, ok=False, said="No room.")
    for command in SCHEDULE:
        setattr(settings, command.setting, is_on)
    html = page(admin)
    assert "failed at 21 Nov 2026, 12:00 UTC : No room." in html
    assert ("It is tried again by itself at night" in html) == is_on
    assert ("Nobody tries it again by itself" in html) == (not is_on)


def test_a_job_that_failed_leads_to_itself_in_the_list(admin):
    runs()
    message, failed = (
        make_announcement(make_deal().id, make_id(NOW)),
        [make_id(NOW - 2 * HOUR), make_id(NOW - HOUR)],
    )
    state = {"state": "failed", ("card", "state"): "failed"}
    for job_id in failed:
        table.transact([jobs.job_write("rename_brand", {}, job_id=job_id, due=NOW)])
        table.write(Update(key=keys.job(job_id), set=state, remove=("GSI3PK", "GSI3SK")))
    assert "2 jobs failed for good: New name of a brand." in page(admin)
    assert "New name of a brand 0 – 0 0 2" in page(admin)
    links = re.findall(r'href="(/cms/jobs/\?[^"]*)"', admin.get(ADDRESS).content.decode())
    assert links == links[:1] * 2  # in the problem, and in the table
    shown = admin.get(unescape(links[0])).content.decode()
    assert [job_id in shown for job_id in (*failed, message)] == [True, True, False]


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("maintenance", "The site is closed for maintenance: only admins get in."),
        ("read-only", "The site is read-only for now: nothing can be changed."),
        ("copy", "This is a copy of the site: it runs no jobs, sends no mails, charges no cards."),
    ],
)
def test_the_switch_says_how_it_stands_and_is_a_problem_unless_open(admin, state, sentence):
    runs()
    assert "The site’s switch Open To the site’s switch" in page(admin)
    site_switch.switch_site(state, message="Until <noon>.", by="root", now=NOW)
    html = page(admin)
    advice = "If it is to be the site, open it" if state == "copy" else "Open it"
    assert f"{sentence} {advice} at the site’s switch" in html
    assert "As it is now since 21 Nov 2026, 12:00 UTC , by root. Until <noon>." in html
    site_switch.switch_site("open", message="Until noon.", by="-", now=NOW)
    html = page(admin)
    assert "Everything runs as it should." in html
    assert "by the command switch_site. To the site’s switch" in html


# What else it shows


def test_the_processes_of_each_machine_stand_there(admin):
    parts = {"engine": PartRestarts(2, "SIGKILL"), "web process 1": PartRestarts(0)}
    runs(jobs=(JobAtWork("close_day", NOW),), parts=parts)
    runs("web", parts=parts)
    html = page(admin)
    for said in ("Worker 4711 Runs Closing of the day", "Web process 4711 Runs", "4.7 GB free (40 %)"):
        assert said in html
    assert "Engine: 2 times (SIGKILL)" in html


def test_a_projection_says_what_it_does(admin):
    runs(projections={"search": ProjectionState("following", 1, 700)})
    assert "Search index 700 s behind, 1 change skipped" in page(admin)


def test_the_schedule_says_what_ran_and_what_comes(admin, settings):
    runs()
    settings.DEALSITE_CLOSE_DAY = False
    command_runs.note(
        "check_table", by="worker", began=NOW - 9 * HOUR, now=NOW, ok=False, said="It is <odd>."
    )
    html = page(admin)
    assert "Closing of the day turned off: DEALSITE_CLOSE_DAY not in the last 90 days" in html
    assert "Check of the table 22 Nov 2026, 03:00 UTC 21 Nov 2026, 03:00 UTC Failed It is <odd>." in html
    assert "Check of the table failed at 21 Nov 2026, 12:00 UTC : It is <odd>." in html
    assert b"<odd>" not in admin.get(ADDRESS).content


def test_second_factors_whose_key_is_gone_are_counted_as_of_the_last_check(admin):
    checked(problems=0, unreadable=2, ago=DAY)
    assert "2 users cannot sign in with their apps" in page(admin)
    checked(problems=0)
    assert "with their app" not in page(admin)


# News, while it is open


def test_only_what_changed_is_sent_again(admin):
    runs()
    whole = admin.get(ADDRESS).content.decode()
    marks = re.findall('name="have" type="hidden" value="([^"]*)"', whole)
    assert len(marks) == 5
    again = {"headers": {"HX-Request": "true"}}
    assert admin.get(ADDRESS, {"have": marks}, **again).status_code == 204
    command_runs.note(
        "close_day", by="command", began=NOW, now=NOW, ok=True, said="3 payments moved to the history."
    )
    part = admin.get(ADDRESS, {"have": marks}, **again)
    html = part.content.decode()
    assert re.findall(r'<section[^>]*id="([^"]*)"', html) == ["operations-commands"]
    assert 'hx-swap-oob="true"' in html
    assert part["Vary"].count("HX-Request") == 1
    assert len(re.findall("<section", admin.get(ADDRESS, **again).content.decode())) == 5


@pytest.mark.parametrize("roles", [(), ("editor",), ("back office",)])
def test_the_page_is_for_admins(sign_in, roles):
    assert sign_in(*roles).get(ADDRESS).status_code == 403


def test_what_the_page_costs(admin):
    with table.metered() as meter:
        page(admin)
    assert Counter(operation for operation, _ in meter.log[1:]) == {"Query": 11 + len(SCHEDULE), "GetItem": 1}
