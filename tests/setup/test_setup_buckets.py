"""What setup_site finds of buckets: on an S3 of moto's, each is written to, read and looked at from outside."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.files.storage import storages
from moto.server import ThreadedMotoServer

from dealsite import buckets, site_setup
from dealsite.data.jobs.exports import DELETE_EXPORT, DeletionPayload
from dealsite.data.jobs.jobs import Job
from dealsite.data.jobs.payloads import payload_to_item
from dealsite.data.table.ids import new_ulid
from dealsite.worker import exports
from tests.buckets import empty_bucket
from tests.builders import NOW


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of an S3 with the buckets media, which everybody can read, private, and questions for snapshots."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    address = f"http://127.0.0.1:{port}"
    for name in ("media", "private", "questions"):
        empty_bucket(address, name)  # all servers of a process have the same buckets
    yield address
    server.stop()


@pytest.fixture
def site(s3: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A site with buckets for pictures and files."""
    options = {"region_name": "us-east-1", "endpoint_url": s3, "access_key": "x", "secret_key": "x"}

    def of(name: str, **more: Any) -> dict[str, Any]:
        return {"BACKEND": "dealsite.buckets.bucket", "OPTIONS": options | {"bucket_name": name, **more}}

    media = of("media", querystring_auth=False, default_acl="public-read")
    lake = of("questions", location="lake")
    settings.STORAGES = settings.STORAGES | {"default": media, "private": of("private"), "lake": lake}
    settings.DEALSITE_MEDIA_BUCKET, settings.DEALSITE_PRIVATE_BUCKET = "media", "private"
    return settings


def test_buckets_that_work_are_left_as_they_were(site: Any, s3: str):
    media, private = site_setup.buckets(NOW)
    assert (media.text, media.todo) == ("media takes, returns and deletes files.", "")
    assert (private.text, private.todo) == ("private takes, returns and deletes files.", "")
    assert_nothing_is_left()


def assert_nothing_is_left() -> None:
    for name in ("default", "private", "lake"):
        for folder in ("", "pictures"):
            assert storages[name].listdir(folder) == ([], [])


def test_it_asks_for_a_picture_where_the_cdn_shows_pictures_alone(site: Any, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    monkeypatch.setattr(site_setup, "_can_be_seen", asked.append)
    list(site_setup.buckets(NOW))
    media, private = (urlsplit(address).path for address in asked)
    assert media.startswith("/media/pictures/setup-")
    assert private.startswith("/private/setup-")


@pytest.mark.parametrize("alias", ["default", "private", "lake"])
def test_a_bucket_that_does_not_answer_is_given_up_well_within_the_lease_of_a_job(site: Any, alias: str):
    of_site: Any = storages[alias]
    config = of_site.connection.meta.client.meta.config
    assert (config.connect_timeout, config.read_timeout) == (10.0, 10.0)
    assert config.retries["total_max_attempts"] == 2


def test_what_is_to_be_deleted_waits_for_no_bucket_that_never_answers(
    site: Any, monkeypatch: pytest.MonkeyPatch
):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options = site.STORAGES["private"]["OPTIONS"] | {"endpoint_url": address}
        monkeypatch.setattr(buckets, "ANSWER_SECONDS", 0.1)
        site.STORAGES = site.STORAGES | {"private": site.STORAGES["private"] | {"OPTIONS": options}}
        payload = payload_to_item(DeletionPayload(new_ulid(NOW)))
        began = time.monotonic()
        with pytest.raises(Exception, match="Read timeout"):
            exports.delete_export(Job(new_ulid(NOW), DELETE_EXPORT, payload), NOW)
    assert time.monotonic() - began < 10


def test_pictures_that_nobody_can_see_are_named_and_private_files_that_all_can(site: Any):
    site.STORAGES = site.STORAGES | {"default": site.STORAGES["private"], "private": site.STORAGES["default"]}
    media, private = site_setup.buckets(NOW)
    assert (media.text, media.is_needed) == ("media: visitors cannot see its pictures.", False)
    assert (private.text, private.is_needed) == ("private: everybody can read it.", True)
    assert_nothing_is_left()


def test_a_bucket_that_is_not_there_is_missing(site: Any):
    wrong = site.STORAGES["private"] | {
        "OPTIONS": site.STORAGES["private"]["OPTIONS"] | {"bucket_name": "nowhere"}
    }
    site.STORAGES = site.STORAGES | {"private": wrong}
    found = [*site_setup.buckets(NOW)][1]
    assert "DEALSITE_PRIVATE_BUCKET: private cannot be used: " in found.text
    assert "NoSuchBucket" in found.text
    assert found.is_needed


def test_a_site_without_buckets_on_several_machines_is_warned(settings: Any):
    settings.DEALSITE_EMBEDDED = True
    assert [*site_setup.buckets(NOW)] == []
    settings.DEALSITE_EMBEDDED = False
    (found,) = site_setup.buckets(NOW)
    assert (found.text, found.is_needed) == ("Pictures and files are on this machine's disk.", False)


def test_the_bucket_for_snapshots_is_tried(site: Any):
    site.DEALSITE_LAKE = "s3://questions/lake"
    *_, found = site_setup.buckets(NOW)
    assert (found.text, found.todo) == ("s3://questions/lake takes, returns and deletes files.", "")
    assert_nothing_is_left()
