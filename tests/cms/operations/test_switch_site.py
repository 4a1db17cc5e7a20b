"""The page and the command that open and close the site."""

from __future__ import annotations

import io
from datetime import timedelta
from html import unescape

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dealsite.data import table
from dealsite.data.editing import audit
from dealsite.data.jobs import site_switch
from dealsite.data.jobs.site_switch import SiteSwitch
from tests.builders import NOW
from tests.cms.conftest import break_table

ADDRESS = "/cms/operations/switch/"


@pytest.fixture
def admin(sign_in):
    return sign_in("admin", username="root")


def page(browser, address: str = ADDRESS) -> str:
    response = browser.get(address)
    assert response.status_code == 200
    return " ".join(unescape(response.content.decode()).split())


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("switch_site", *arguments, stdout=out)
    return out.getvalue()


def test_an_admin_turns_the_switch_and_every_page_of_the_cms_says_so(admin, editor):
    assert 'value="open" checked' in page(admin)
    response = admin.post(ADDRESS, {"state": "read-only", "message": "Until noon."})
    assert (response.status_code, response["Location"]) == (302, ADDRESS)
    assert site_switch.read() == SiteSwitch("read-only", "Until noon.", "root", NOW)
    for address in (ADDRESS, "/cms/operations/", "/cms/deals/"):
        html = page(admin, address)
        assert "The site is read-only for now: nothing can be changed. Until noon." in html
        assert f'href="{ADDRESS}">To the site' in html
    html = page(editor, "/cms/deals/")
    assert "Until noon." in html
    assert ADDRESS not in html
    assert "by root" in page(admin)
    admin.post(ADDRESS, {"state": "maintenance"})
    assert "closed for maintenance: only admins get in" in page(admin, "/cms/deals/")
    assert editor.get("/cms/deals/").status_code == 503
    admin.post(ADDRESS, {"state": "open"})
    assert "nothing can be changed" not in page(editor, "/cms/deals/")
    assert [one.what for one in audit.of_target("site", "-")].count("made read-only") == 1


def test_the_audit_log_shows_it_in_words(admin):
    admin.post(ADDRESS, {"state": "maintenance", "message": "A new disk."})
    html = page(admin, f"/cms/audit/?day={NOW:%Y-%m-%d}")
    assert "closed for maintenance" in html
    assert "A new disk." in html


@pytest.mark.parametrize("sent", [{}, {"state": "ajar"}, {"state": "open", "message": "x" * 301}])
def test_what_makes_no_sense_is_refused_in_its_form(admin, sent):
    assert admin.post(ADDRESS, sent).status_code == 422
    assert site_switch.read() == SiteSwitch()


def test_the_form_needs_the_token_of_its_page(sign_in):
    assert sign_in("admin", csrf=True).post(ADDRESS, {"state": "maintenance"}).status_code == 403
    assert site_switch.read().is_open


@pytest.mark.parametrize("roles", [(), ("editor",), ("back office",)])
def test_the_switch_is_for_admins(sign_in, roles):
    browser = sign_in(*roles)
    assert browser.get(ADDRESS).status_code == 403
    assert browser.post(ADDRESS, {"state": "maintenance"}).status_code == 403
    assert site_switch.read().is_open


def test_the_password_is_asked_for_and_the_form_kept(admin, monkeypatch):
    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(minutes=16))
    response = admin.post(ADDRESS, {"state": "maintenance", "message": "A new disk."})
    assert response.status_code == 401
    assert 'value="A new disk."' in response.content.decode()
    assert site_switch.read().is_open


def test_the_command_says_how_the_switch_stands_and_turns_it(admin):
    assert command() == "The site's switch says open.\n"
    assert (
        command("read-only", "--message", "Until noon.") == "The site's switch says read-only. Until noon.\n"
    )
    assert site_switch.read() == SiteSwitch("read-only", "Until noon.", "-", NOW)
    assert command() == "The site's switch says read-only. Until noon.\n"
    assert "by the command switch_site" in page(admin)
    assert command("copy") == f"The site's switch says copy. {site_switch.COPY_RESTS}\n"
    command("read-only", "--message", "Until noon.")
    with pytest.raises(CommandError, match="300 characters"):
        command("open", "--message", "x" * 301)
    with pytest.raises(CommandError, match="invalid choice"):
        command("ajar")
    assert site_switch.read().state == "read-only"


def test_without_a_table_the_command_says_so(settings):
    before = settings.DYNAMODB_ENDPOINT_URL
    break_table(settings)
    try:
        with pytest.raises(CommandError):
            command("maintenance")
    finally:
        settings.DYNAMODB_ENDPOINT_URL = before
        table.reset()
