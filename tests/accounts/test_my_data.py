"""My data: the file of all that is stored about oneself, for who gives their password, and for nobody else."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from dealsite.accounts.my_data import STAYS
from dealsite.data import keys, table
from dealsite.data.catalogue import relations
from dealsite.data.editing import audit
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.jobs import job_actions, jobs
from dealsite.data.people import my_data, security_events, users
from dealsite.data.people.users import User
from dealsite.data.table.writes import Update
from dealsite.worker import exports, loop
from tests.accounts.conftest import PASSWORD, sign_in
from tests.builders import NOW, make_brand
from tests.people import make_user

PAGE, FILE = "/account/my-data/", "/account/my-data/file/"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that moves the time on and returns it."""
    times = [timezone.now()]
    monkeypatch.setattr(timezone, "now", lambda: times[-1])

    def move(**by: float) -> datetime:
        times.append(times[-1] + timedelta(**by))
        return times[-1]

    return move


@pytest.fixture(autouse=True)
def _private_files(settings: Any, tmp_path: Path) -> None:
    private = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": tmp_path / "private", "allow_overwrite": True},
    }
    settings.STORAGES = settings.STORAGES | {"private": private}


def work() -> None:
    while loop.run_next(now=timezone.now()):
        pass


def opened(content: bytes) -> tuple[dict[str, Any], dict[str, list[list[str]]]]:
    """Return the JSON of a file, and the rows of its tables by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        tables = {
            name: list(csv.reader(io.StringIO(archive.read(name).decode("utf-8-sig"))))
            for name in archive.namelist()
            if name.endswith(".csv")
        }
        return json.loads(archive.read("my-data.json")), tables


def test_the_file_is_written_kept_for_a_day_and_deleted(
    browser: Client, ada: User, clock: Any, mailoutbox: Any, tmp_path: Path
):
    make_brand("=Evil")
    relations.add(relations.BRAND_LIKE, "evil", username="ada", now=timezone.now())
    sign_in(browser)
    assert browser.post(PAGE)["Location"] == PAGE
    assert "being written" in browser.get(PAGE).content.decode()
    work()
    page = browser.get(PAGE).content.decode()
    assert "Your file is ready" in page
    work()
    (mail,) = [one for one in mailoutbox if "Your data are ready" in one.subject]
    assert (mail.to, PAGE in mail.body) == ([ada.email], True)
    answer = browser.post(FILE)
    assert answer["Content-Disposition"].startswith('attachment; filename="my-data-')
    said, tables = opened(answer.getvalue())
    assert said["username"] == "ada"
    assert {"User", "Profile", "EmailGuard", "BrandLike", "Session", "AuditEntry"} <= said["types"].keys()
    header, row = tables["BrandLike.csv"]
    assert dict(zip(header, row, strict=True))["slug"] == "evil"
    assert users.get("ada").password not in json.dumps([said, tables])
    assert "password" not in {name for item in said["items"] for name in item}
    details = [one.detail for one in security_events.page(username="ada").events]
    assert sorted(one for one in details if "my data" in one) == ["my data", "my data, downloaded"]
    clock(hours=24)
    sign_in(browser)
    assert browser.post(FILE).status_code == 404
    assert "Write the file" in browser.get(PAGE).content.decode()
    work()
    assert not [path for path in (tmp_path / "private").rglob("*") if path.is_file()]


def test_it_asks_for_the_password(browser: Client, ada: User, clock: Any):
    sign_in(browser)
    clock(minutes=16)
    assert browser.post(PAGE).status_code == 401
    assert my_data.newest("ada", now=timezone.now()).job is None
    assert browser.post(PAGE, {"proof-password": PASSWORD}).status_code == 302
    work()
    clock(minutes=16)
    assert browser.post(FILE).status_code == 401
    assert browser.get(FILE).status_code == 405


def test_nobody_gets_another_ones_file(browser: Client, ada: User):
    make_user("bob", password=users.get("ada").password)
    sign_in(browser)
    browser.post(PAGE)
    work()
    other = Client()
    assert other.post(FILE).status_code in (302, 401, 403)
    sign_in(other, "bob")
    assert other.post(FILE).status_code == 404


def test_it_is_asked_for_three_times_a_day_and_once_at_a_time(browser: Client, ada: User):
    sign_in(browser)
    assert browser.post(PAGE).status_code == 302
    assert browser.post(PAGE).status_code == 409
    work()
    assert browser.post(PAGE).status_code == 302
    work()
    assert browser.post(PAGE).status_code == 429


def test_a_user_who_is_gone_meanwhile_gets_no_file(browser: Client, ada: User, tmp_path: Path):
    sign_in(browser)
    browser.post(PAGE)
    browser.post("/account/delete/", {"old_password": PASSWORD})
    work()
    assert not [path for path in (tmp_path / "private").rglob("*") if path.is_file()]


def test_a_file_whose_time_is_over_is_not_written_any_more(
    browser: Client, ada: User, clock: Any, mailoutbox: Any, tmp_path: Path
):
    sign_in(browser)
    browser.post(PAGE)
    job = my_data.newest("ada", now=timezone.now()).job
    assert job
    failed = {"state": "failed", ("card", "state"): "failed"}
    table.write(Update(key=keys.job(job.id), set=failed, remove=("GSI3PK", "GSI3SK")))
    clock(hours=24)
    work()
    job_actions.retry(job.id, by="eve", now=timezone.now())
    work()
    assert jobs.get(job.id).state == "cancelled"
    assert not [path for path in (tmp_path / "private").rglob("*") if path.is_file()]
    assert not [one for one in mailoutbox if "Your data are ready" in one.subject]


@pytest.mark.parametrize("times", [[0, 60], [60]])
def test_of_a_file_whose_time_ends_while_it_is_written_nothing_is_left(tmp_path: Path, times: list[int]):
    clock = iter(NOW + timedelta(minutes=one) for one in times).__next__
    with pytest.raises(jobs.Cancelled):
        exports.save("a/file", io.BytesIO(b"what is ada's"), until=NOW + timedelta(hours=1), clock=clock)
    assert not [path for path in (tmp_path / "private").rglob("*") if path.is_file()]


def test_before_deleting_it_is_said_what_stays_as_the_chart_has_it(browser: Client, ada: User):
    assert {one.stays_for for one in ENTITIES.values()} - {""} == STAYS.keys()
    sign_in(browser)
    for address in (PAGE, "/account/delete/"):
        page = browser.get(address).content.decode()
        assert "orders and payments" in page
        assert "If you worked for this site: your user name on what you made or changed" in page


# The command


def test_the_command_writes_the_same_and_notes_it(ada: User, whole_table: None, tmp_path: Path, capsys: Any):
    path = tmp_path / "ada.zip"
    call_command("export_user", "ada", "--out", str(path), "--everywhere")
    said, tables = opened(path.read_bytes())
    assert said["types"].keys() == {"User", "Profile", "EmailGuard"}
    assert tables.keys() == {"User.csv", "Profile.csv", "EmailGuard.csv"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert "1 EmailGuard" in capsys.readouterr().out
    (entry,) = audit.page(kind="user", subject="ada").entries
    assert (entry.by, entry.what) == ("-", "wrote a file of all that is stored about them")
    with pytest.raises(CommandError, match="is there already"):
        call_command("export_user", "ada", "--out", str(path))


@pytest.mark.parametrize("name", ["nobody", "a#b"])
def test_the_command_leaves_no_file_about_nobody(whole_table: None, tmp_path: Path, name: str):
    path = tmp_path / "file.zip"
    with pytest.raises(CommandError):
        call_command("export_user", name, "--out", str(path))
    assert not path.exists()
