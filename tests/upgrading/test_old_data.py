"""A site goes on with what release 0.2.0 and a build of 100 commits ago have written."""

from __future__ import annotations

import io
import re
from collections import deque
from copy import deepcopy
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.core.management import call_command
from django.test import Client
from django.urls import Resolver404, resolve
from django.utils import timezone

from dealsite import site_setup
from dealsite.accounts import requests
from dealsite.data import SCHEMAS, table
from dealsite.data.catalogue import brands, deal_changes, deals
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.editing import trash, versions
from dealsite.data.entities.chart import ENTITIES, RETIRED
from dealsite.data.integrity import checks
from dealsite.data.people import sessions, users
from dealsite.web import page_cache
from tests.builders import all_brands
from tests.upgrading.old_data import EXPORTS, items_of, load

SHOP, CMS = ("/", "/account/", "/cart/"), ("/cms/",)
FILES = {"cms_import_file", "cms_download_export"}  # they are not in the table
LINK = re.compile(r'href="(/[^"#]*)"')
LATER = {  # than 0.2.0
    *("FactorOwner", "UsedChallenge", "SecurityEvent", "FailureCount", "Heartbeat", "Migration"),
    *("Process", "CommandRun", "SiteSwitch", "ListViews", "TaskCounts", "DealBy", "Clicks"),
    *("DealLike", "DealCounts", "HotDeals", "SitePage", "BrandName", "ReturnRequest", "Lease"),
}
NOT_ADDED_UP = "What it says of its payments is not what they come to "
PEOPLE = {
    "release-0.2.0": {"root": CMS, "ada": SHOP},
    "build-c1e76c2": {"ada": CMS, "jonas": CMS, "sam": SHOP},
}


@pytest.fixture(params=EXPORTS)
def export(request: pytest.FixtureRequest, fresh_table: None, settings: Any, tmp_path: Any) -> str:
    """An older build's table."""
    settings.MEDIA_ROOT, settings.VAR, settings.SEARCH_ROOT = tmp_path, tmp_path, tmp_path / "search"
    for names in (brand_names, category_names):
        names.forget()
    page_cache.forget()
    load(request.param)
    site_setup.prepare()
    return str(request.param)


def browser_of(username: str) -> Client:
    browser = Client()
    if username:
        key = requests.new_key()
        user = users.get(username)
        sessions.start(user, key=key, user_agent="", address="127.0.0.1", now=timezone.now())
        browser.cookies[site_settings.SESSION_COOKIE_NAME] = f"{username}:{key}"
    return browser


def failing(username: str, starts: tuple[str, ...]) -> dict[str, int]:
    """Follow links to an address of every page; return those that cannot be shown."""
    browser, opened, failed = browser_of(username), set[str](), dict[str, int]()
    left = deque(starts)
    while left:
        address = left.popleft()
        try:
            page = resolve(address.partition("?")[0]).view_name
        except Resolver404:
            continue  # a picture, or a static file
        if page in opened or page in FILES:
            continue
        opened.add(page)
        answer = browser.get(address)
        if answer.status_code >= 400:
            failed[address] = answer.status_code
        if answer.status_code == 200 and "html" in answer["Content-Type"]:
            left += [unescape(one) for one in LINK.findall(answer.text)]
        answer.close()
    assert len(opened) > 10
    return failed


def test_brands_are_listed_and_found_by_their_names_once_the_site_has_started(export):
    stored = {item["slug"]: item["name"] for item in items_of(export) if item["type"] == "Brand"}
    assert {brand.slug: brand.name for brand in all_brands()} == stored
    assert {brand_names.find(name) for name in stored.values()} == stored.keys()
    assert brands.list_names_anew() == 0
    assert not [item for item in table.scan_all() if item["type"] == "BrandLetter"]


def test_an_export_holds_every_type_of_its_time():
    kinds = {item["type"] for item in items_of("release-0.2.0")}
    assert ENTITIES.keys() - kinds == LATER
    assert not any("schema" in item for name in EXPORTS for item in items_of(name))


@pytest.mark.parametrize("name", EXPORTS)
def test_an_upgrade_is_pure_and_changes_nothing_the_second_time_or_of_a_row(name):
    for item in items_of(name):
        before = deepcopy(item)
        upgraded = SCHEMAS.current(item)
        assert item == before
        again = {
            key: value for key, value in upgraded.items() if key != "schema"
        }  # as a row of an index comes
        assert SCHEMAS.current(again) in (upgraded, again)
        row = {key: value for key, value in item.items() if key in ("PK", "SK", "type", "card")}
        assert {**SCHEMAS.current(row), "schema": 1} == {**row, "schema": 1}


@pytest.mark.sample(quick=2)
def test_every_page_shows_what_an_older_build_wrote(export):
    assert {problem.kind.partition("(")[0] for problem in checks.find()} == {NOT_ADDED_UP}
    assert {name: failing(name, starts) for name, starts in PEOPLE[export].items()} == {
        name: {} for name in PEOPLE[export]
    }


@pytest.mark.sample(quick=2)
def test_what_an_older_build_wrote_is_changed_migrated_and_whole(export):
    now = timezone.now()
    live = next(item for item in items_of(export) if item["type"] == "Deal")
    deal = deals.get(live["id"])
    brand = brands.get(deal.content.brand)
    changed = replace(deal.content, title="Changed", description="By a newer build.")
    deal = deal_changes.edit(deal, changed, version=deal.version, brand=brand, by="eve", now=now)
    assert versions.newest(deal.id).versions[0].number == deal.version - 1
    deal_changes.delete(deal, by="eve", now=now)
    for entry in trash.newest().rows:
        trash.restore(entry.kind, entry.id, by="eve", now=now)
    before = {(item["PK"], item["SK"]) for item in table.scan_all(consistent=True)}
    out = io.StringIO()
    call_command("migrate_items", "--rate", "1000000", stdout=out, stderr=io.StringIO())
    assert "current." in out.getvalue()
    after = {(item["PK"], item["SK"]): item for item in table.scan_all(consistent=True)}
    assert after.keys() - before == {("MIGRATION#all", "MIGRATION#all")}
    current = [item for item in after.values() if item["type"] not in RETIRED]
    assert {item["schema"] - SCHEMAS[item["type"]].version for item in current} == {0}
    assert checks.repair_all()[1] == []
    assert failing(*next(iter(PEOPLE[export].items()))) == {}
