"""The page of operations: how the checks of the table went, and what waits for somebody."""

from __future__ import annotations

from html import unescape

import pytest

from dealsite.data import table
from dealsite.data.integrity import check_runs, quarantine
from dealsite.data.integrity.check_runs import CheckRun
from dealsite.data.integrity.problem import Problem
from dealsite.data.jobs import heartbeats
from tests.builders import DAY, NOW, make_id

ADDRESS = "/cms/operations/"


@pytest.fixture
def admin(sign_in):
    return sign_in("admin", username="root")


def page(browser) -> str:
    response = browser.get(ADDRESS)
    assert response.status_code == 200
    return " ".join(unescape(response.content.decode()).split())


def test_before_the_first_check_the_page_says_when_it_will_be(admin, settings):
    html = page(admin)
    assert "The table was not checked yet." in html
    assert "Nothing waits for a decision." in html
    assert 'datetime="2026-11-22T03:00:00' in html
    settings.DEALSITE_NIGHTLY_CHECK = False
    assert "Checks at night are turned off" in page(admin)


def test_the_last_checks_stand_there_newest_first(admin):
    check_runs.save(CheckRun(make_id(NOW - DAY), "whole", "command", 41_000, 12, 3, 2, 1), now=NOW)
    place = {"table": "x", "start": {"PK": "a", "SK": "b"}}
    check_runs.save(CheckRun(make_id(NOW), "sample", "worker", 600_000, 300, 0, position=place), now=NOW)
    html = page(admin)
    for words in ("600,000", "41,000", "Whole table", "Sample", "check_table", "at night"):
        assert words in html
    assert html.index("600,000") < html.index("41,000")


def test_what_waits_in_the_quarantine_is_said(admin, monkeypatch):
    for number in range(3):
        quarantine.keep([Problem((f"GHOST#{number}", "A"), "Missing.")], is_complete=False, now=NOW)
        assert f"{number + 1} wrong item" in page(admin)
    monkeypatch.setattr(quarantine, "PAGE_SIZE", 2)
    assert "More than 2 wrong items wait for a decision." in page(admin)
    assert 'href="/cms/quarantine/"' in page(admin)


def test_a_worker_that_is_missing_is_said(admin):
    assert "No worker has run for a minute" in page(admin)
    heartbeats.write("worker", now=NOW)
    assert "No worker has run for a minute" not in page(admin)


@pytest.mark.parametrize("roles", [(), ("editor",), ("back office",)])
def test_the_page_is_for_admins(sign_in, roles):
    assert sign_in(*roles).get(ADDRESS).status_code == 403


def test_what_the_page_costs(admin):
    with table.metered() as meter:
        page(admin)
    assert sorted(operation for operation, _ in meter.log[1:]) == ["GetItem", "Query", "Query"]
