"""The files of several builds are served, whichever build a page is of, until they are old."""

import contextlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import InMemoryStorage, Storage
from django.core.management import CommandError, call_command
from django.http import HttpResponse, HttpResponseBase
from django.test import RequestFactory, override_settings

from dealsite.management.commands import publish_static
from dealsite.web import builds
from tests.builders import DAY

NOW = datetime.now(UTC)  # files have their times of the system


def make_build(folder: Path, *hashes: str) -> Path:
    """Files in the way of collectstatic: a style sheet, with an older one beside it, and a script of all builds."""
    (folder / "js").mkdir(parents=True)
    names = ["js/menus.aaaaaaaaaaaa.js", *(f"site.{one}.css" for one in hashes)]
    for name in [*names, "site.ffffffffffff.css", "site.css"]:
        (folder / name).write_text(f"of {name}")
        (folder / f"{name}.gz").write_text("small")
    paths = {"js/menus.js": names[0], "site.css": names[-1]}
    (folder / "staticfiles.json").write_text(json.dumps({"paths": paths, "hash": hashes[-1]}))
    return folder


class Bucket(InMemoryStorage):
    """Where a file takes the place of another one of its name, as in S3."""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name


@pytest.fixture(params=["folder", "store"])
def place(request, tmp_path) -> Storage:
    return builds.Folder(tmp_path / "kept") if request.param == "folder" else Bucket()


def sheets(place: Storage) -> list[str]:
    return sorted(name for name in place.listdir("")[1] if not name.endswith(".gz"))


def test_two_builds_stand_side_by_side(place, tmp_path):
    for number, name in enumerate(("111111111111", "222222222222", "222222222222")):
        builds.keep(make_build(tmp_path / str(number), name), place, now=NOW)
    assert sheets(place) == ["site.111111111111.css", "site.222222222222.css"]
    assert sorted(place.listdir("builds")[1]) == ["111111111111.json", "222222222222.json"]
    for name, content in (
        ("site.111111111111.css", b"of site.111111111111.css"),
        ("js/menus.aaaaaaaaaaaa.js.gz", b"small"),
    ):
        with place.open(name) as file:
            assert file.read() == content


def test_builds_that_are_neither_recent_nor_among_the_last_five_are_pruned(place, tmp_path):
    for number in range(7):
        builds.keep(make_build(tmp_path / str(number), f"{number}" * 12), place, now=NOW)
    assert len(sheets(place)) == 7
    builds.keep(tmp_path / "0", place, now=NOW)  # went back to: the newest again
    builds.keep(tmp_path / "6", place, now=NOW + 8 * DAY)
    assert sheets(place) == [f"site.{number * 12}.css" for number in "03456"]
    assert place.exists("js/menus.aaaaaaaaaaaa.js")


def test_a_build_whose_keeping_was_cut_short_is_completed(place, tmp_path):
    build = make_build(tmp_path / "build", "111111111111")

    def full(name, content):
        raise OSError("disk full")

    save, place.save = place.save, full
    with pytest.raises(OSError, match="disk full"):
        builds.keep(build, place, now=NOW)
    place.save = save
    builds.keep(build, place, now=NOW)
    assert sheets(place) == ["site.111111111111.css"]


@pytest.fixture
def kept(settings, tmp_path) -> Path:
    settings.DEALSITE_STATIC_FOLDER = tmp_path / "kept"
    build = make_build(tmp_path / "build", "111111111111")
    builds.keep(build, builds.Folder(settings.DEALSITE_STATIC_FOLDER), now=NOW)
    return settings.DEALSITE_STATIC_FOLDER


def asked(name: str, **headers: Any) -> tuple[HttpResponseBase, bytes]:
    """What the middleware answers as on a public site, where it knows its own build's files by heart."""
    with override_settings(WHITENOISE_AUTOREFRESH=False):
        middleware = builds.StaticFilesMiddleware(lambda _: HttpResponse(status=404))
    answer = middleware(RequestFactory().get(f"/static/{name}", **headers))
    with contextlib.closing(answer):
        return answer, b"".join(answer)


def test_what_another_build_made_is_served_for_good(kept):
    answer, content = asked("site.111111111111.css")
    assert (answer.status_code, content) == (200, b"of site.111111111111.css")
    assert answer["Content-Type"] == 'text/css; charset="utf-8"'
    assert answer["Cache-Control"] == "max-age=315360000, public, immutable"
    answer, content = asked("site.111111111111.css", HTTP_ACCEPT_ENCODING="gzip")
    assert (answer["Content-Encoding"], content) == ("gzip", b"small")


def test_nothing_but_files_of_builds_is_served(kept, subtests):
    for name in [
        "site.222222222222.css",
        "builds/111111111111.json",
        "../secret.111111111111.key",
        "site.css.gz",
        "a" * 300 + ".111111111111.css",
    ]:
        with subtests.test(name=name):
            (kept.parent / "secret.111111111111.key").touch()
            assert asked(name)[0].status_code == 404


def test_publish_static_puts_this_build_into_a_bucket(settings, tmp_path, monkeypatch):
    kept, options = builds.Folder(tmp_path / "bucket"), {}
    monkeypatch.setattr(publish_static, "S3Storage", lambda **given: options.update(given) or kept)
    settings.STATIC_ROOT = make_build(tmp_path / "build", "111111111111")
    call_command("publish_static", "s3://files/static")
    assert sheets(kept) == ["site.111111111111.css"]
    assert (options["bucket_name"], options["location"]) == ("files", "static")
    with pytest.raises(CommandError, match="a place like s3://deals/lake"):
        call_command("publish_static", "files/static")
