"""My data: all that is stored about oneself, for who gives their password."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from dealsite.accounts.account import STAYS
from dealsite.data.catalogue import relations
from dealsite.data.editing import audit
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.people import security_events, users
from dealsite.data.people.users import User
from tests.accounts.conftest import PASSWORD, sign_in
from tests.builders import make_brand, make_deal

PAGE = "/account/my-data/"


def test_who_is_signed_in_gets_all_that_is_theirs_at_once(browser: Client, ada: User):
    make_brand("=Evil")
    relations.add(relations.BRAND_LIKE, "evil", username="ada", now=timezone.now())
    relations.add(relations.DEAL_LIKE, make_deal().id, username="ada", now=timezone.now())
    sign_in(browser)
    answer = browser.post(PAGE)
    assert answer["Content-Disposition"].startswith('attachment; filename="my-data-')
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/json", "nosniff")
    assert "no-store" in answer["Cache-Control"]
    said = answer.json()
    assert said["username"] == "ada"
    assert {"User", "Profile", "EmailGuard", "BrandLike", "DealLike", "Session"} <= said["types"].keys()
    assert [item["slug"] for item in said["items"] if item["type"] == "BrandLike"] == ["evil"]
    assert users.get("ada").password not in answer.content.decode()
    assert not {"password", "registration"} & {name for item in said["items"] for name in item}
    assert "my data" in [one.detail for one in security_events.page(username="ada").rows]


def test_it_asks_for_the_password(browser: Client, ada: User, clock: Any):
    sign_in(browser)
    clock(minutes=16)
    assert browser.post(PAGE).status_code == 401
    assert browser.post(PAGE, {"proof-old_password": PASSWORD}).json()["username"] == "ada"


def test_it_is_given_three_times_a_day(browser: Client, ada: User):
    sign_in(browser)
    assert [browser.post(PAGE).status_code for _ in range(4)] == [200, 200, 200, 429]


def test_before_deleting_it_is_said_what_stays_as_the_chart_has_it(browser: Client, ada: User):
    assert {one.stays_for for one in ENTITIES.values()} - {""} == STAYS.keys()
    sign_in(browser)
    for address in (PAGE, "/account/delete/"):
        page = browser.get(address).content.decode()
        assert "orders and payments" in page
        assert "If you worked for this site: your user name on what you made or changed" in page


# The command


def test_the_command_writes_the_same_and_notes_it(ada: User, whole_table: None, tmp_path: Path, capsys: Any):
    path = tmp_path / "ada.json"
    call_command("export_user", "ada", "--out", str(path), "--everywhere")
    assert json.loads(path.read_text())["types"].keys() == {"User", "Profile", "EmailGuard"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert "1 EmailGuard" in capsys.readouterr().out
    (entry,) = audit.page(kind="user", subject="ada").rows
    assert (entry.by, entry.what) == ("-", "wrote a file of all that is stored about them")
    with pytest.raises(CommandError, match="is there already"):
        call_command("export_user", "ada", "--out", str(path))


@pytest.mark.parametrize("name", ["nobody", "a#b"])
def test_the_command_leaves_no_file_about_nobody(whole_table: None, tmp_path: Path, name: str):
    path = tmp_path / "file.json"
    with pytest.raises(CommandError):
        call_command("export_user", name, "--out", str(path))
    assert not path.exists()
