"""Each role of the deployment may do what its processes can ask for, and nothing else."""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import boto3
import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.module_loading import import_string
from moto.server import ThreadedMotoServer
from storages.backends.s3 import S3Storage

from dealsite.data.table import meters
from dealsite.front_door import process
from dealsite.lake import exports
from dealsite.management import commands
from dealsite.management.commands import backup, snapshot, web, worker
from dealsite.search import site_index
from dealsite.search.published import SharedIndex
from dealsite.web.pages import page_of
from dealsite.worker import loop
from tests.deploy import calls
from tests.deploy.stack import as_list, containers, environment, resources, statements
from tests.questions import budget

# What commands can do and no machine of the deployment may: the stack makes and changes its table.
BY_THE_STACK = {"CreateTable", "UpdateTable", "UpdateTimeToLive", "UpdateContinuousBackups"}
# The rights that a method of a storage needs. Without ListBucket, what is missing is refused.
READ, WRITTEN = {"GetObject", "ListBucket"}, {"PutObject", "AbortMultipartUpload"}
STORAGE_RIGHTS = {
    ("media", "exists"): READ,
    ("media", "open"): READ,
    ("media", "size"): READ,
    ("media", "save"): READ | WRITTEN,  # looks for a name that is free
    ("media", "delete"): {"DeleteObject"},
    ("media", "listdir"): {"ListBucket"},
    ("media", "url"): set(),
    ("private", "exists"): READ,
    ("private", "open"): READ,
    ("private", "size"): READ,
    ("private", "get_modified_time"): READ,
    ("private", "listdir"): {"ListBucket"},
    ("private", "url"): set(),
    ("private", "save"): WRITTEN,
    ("private", "delete"): {"DeleteObject"},
    ("lake", "open"): READ,
    ("lake", "listdir"): {"ListBucket"},
    ("lake", "save"): WRITTEN,
    ("lake", "delete"): {"DeleteObject"},
}
EXPORTED = WRITTEN | {"PutObjectAcl"}  # what Amazon asks of whoever has it export a table
BUCKETS = {"media": "MediaBucket", "private": "PrivateBucket", "lake": "LakeBucket"}


def views(patterns: list[URLPattern | URLResolver]) -> Iterator[Any]:
    for one in patterns:
        yield from views(one.url_patterns) if isinstance(one, URLResolver) else [one.callback]


@functools.cache
def reached(role: str) -> frozenset[Any]:
    """What the processes of a role can reach."""
    middleware = [import_string(name) for name in settings.MIDDLEWARE if name.startswith("dealsite.")]
    site = import_module("dealsite.context").site
    roots: dict[str, list[object]] = {
        "WebRole": [
            *(*views(get_resolver().url_patterns), *middleware, site, process.serve, web.Command),
            site_index.follow,
        ],
        "WorkerRole": [worker.Command, loop.HANDLERS, loop.feeding, backup.Command, snapshot.Command],
        "ManageRole": [
            import_module(f"{commands.__name__}.{found.name}").Command
            for found in pkgutil.iter_modules(commands.__path__)
        ],
    }
    others = published_by_workers() if role == "WebRole" else frozenset()
    return frozenset(calls.reached(roots[role], but=others))


def published_by_workers() -> frozenset[Any]:
    """What of the search index no web process calls: it only follows."""
    return frozenset(calls.functions_of(SharedIndex)) - calls.called_within(SharedIndex, "__init__", "follow")


ROLES = ("WebRole", "WorkerRole", "ManageRole")


def test_a_web_process_reads_the_search_index_in_the_bucket_and_a_worker_writes_it():
    reading = {("private", "open")}
    feeding = {("private", one) for one in ("save", "delete", "listdir", "get_modified_time")} | reading
    of_index = frozenset(calls.functions_of(SharedIndex))
    assert calls.storage_calls(reached("WebRole") & of_index) == reading
    assert calls.storage_calls(reached("WorkerRole") & of_index) == feeding


def allowed(role: str, service: str, effect: str = "Allow") -> dict[str, set[str]]:
    """The rights of a role, without those of other services, by the resource's name as the template writes it."""
    found: dict[str, set[str]] = {}
    for one in statements(role):
        for resource in as_list(one["Resource"]):
            get, sub = resource.get("Fn::GetAtt"), resource.get("Fn::Sub", "")
            written = get[0] if get else sub.strip("${").split(".")[0]
            names = {
                right.partition(":")[2] for right in as_list(one["Action"]) if right.startswith(f"{service}:")
            }
            if one["Effect"] == effect and names:
                found.setdefault(written, set()).update(names)
    return found


@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_ask_the_table_what_its_code_asks_and_no_more(role):
    assert sorted(allowed(role, "dynamodb")["Table"]) == sorted(calls.rights(reached(role)) - BY_THE_STACK)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_use_the_buckets_as_its_code_does_and_no_more(role):
    needed: dict[str, set[str]] = {}
    for storage, method in calls.storage_calls(reached(role)):
        needed.setdefault(BUCKETS[storage], set()).update(STORAGE_RIGHTS[storage, method])
    if exports.items in reached(role):
        needed["LakeBucket"] |= EXPORTED
    assert allowed(role, "s3") == needed


def test_who_exports_the_table_may_follow_that_and_write_to_the_folder_of_exports_alone():
    folder = environment(containers()["worker"])["DEALSITE_LAKE"].replace(
        "s3://lakebucket", "${LakeBucket.Arn}"
    )
    for role in ("WorkerRole", "ManageRole"):
        of = {right: one["Resource"] for one in statements(role) for right in as_list(one["Action"])}
        assert of["dynamodb:DescribeExport"] == {"Fn::Sub": "${Table.Arn}/export/*"}
        assert of["s3:PutObjectAcl"] == {"Fn::Sub": f"{folder}/{exports.FOLDER}/*"}


def test_a_role_can_answer_each_request_that_pages_and_questions_declare():
    """What was found by reading is held against what each page and question says, and tests measure."""
    named = {"TransactWriteItems": {"ConditionCheckItem", "DeleteItem", "PutItem", "UpdateItem"}}
    named["BatchExecuteStatement"] = {"PartiQLInsert"}
    pages = [page for view in views(get_resolver().url_patterns) if (page := page_of(view))]
    for requests in {requests for page in pages for requests in page.requests.split(" or ")}:
        for operation in budget(requests):
            assert named.get(operation, {operation}) <= allowed("WebRole", "dynamodb")["Table"], requests
    for pattern in meters.ACCESS_PATTERNS.values():
        for operation in budget(pattern.requests):
            assert named.get(operation, {operation}) <= allowed("ManageRole", "dynamodb")["Table"], pattern


@pytest.mark.parametrize("role", ROLES)
def test_no_role_that_writes_can_change_what_the_logs_hold(role):
    writes = {"DeleteItem", "UpdateItem"} & allowed(role, "dynamodb")["Table"]
    denied = [one for one in statements(role) if one["Effect"] == "Deny"]
    assert bool(denied) == bool(writes)
    for one in denied:
        keys = {"dynamodb:LeadingKeys": ["AUDIT#*", "SECURITY#*"]}
        assert one["Condition"] == {"ForAnyValue:StringLike": keys}
        assert {"dynamodb:DeleteItem", "dynamodb:UpdateItem"} <= set(one["Action"])


def test_every_task_runs_with_the_role_of_its_name():
    tasks = resources("ECS::TaskDefinition")
    assert {name: one["Properties"]["TaskRoleArn"]["Fn::GetAtt"][0] for name, one in tasks.items()} == {
        f"{role.removesuffix('Role')}Task": role for role in ROLES
    }


@pytest.fixture(scope="module")
def s3():
    """Where an S3 stand-in is, and which rights it was asked for."""
    from moto.s3.responses import S3Response

    patch, asked = pytest.MonkeyPatch(), []
    set_action = S3Response._set_action

    def note(self, kind, method, query):
        set_action(self, kind, method, query)
        asked.append(self.data["Action"])

    patch.setattr(S3Response, "_set_action", note)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "a", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys).create_bucket(Bucket="deals")
    yield f"{host}:{port}", asked
    server.stop()
    patch.undo()


def read(place: S3Storage) -> bytes:
    with place.open("file") as file:
        return bytes(file.read())


@pytest.mark.thorough
@pytest.mark.parametrize("storage", ["media", "private", "lake"])
def test_storages_ask_for_the_rights_that_are_declared(s3, storage):
    address, asked = s3
    place = S3Storage(
        bucket_name="deals",
        region_name="us-east-1",
        access_key="a",
        secret_key="a",
        endpoint_url=f"http://{address}",
        file_overwrite=storage != "media",
    )
    large = ContentFile(b"0" * 9_000_000)  # goes up in parts
    steps = {
        "save": lambda: place.save("file", large),
        "exists": lambda: place.exists("file"),
        "open": lambda: read(place),
        "size": lambda: place.size("file"),
        "listdir": lambda: place.listdir(""),
        "delete": lambda: place.delete("file"),
    }
    for method, step in steps.items():
        asked.clear()
        step()
        if (storage, method) in STORAGE_RIGHTS:
            assert set(asked) <= STORAGE_RIGHTS[storage, method], method
            assert STORAGE_RIGHTS[storage, method] - set(asked) <= {"AbortMultipartUpload", "ListBucket"}, (
                method
            )
