"""Two builds at once on one table: what each acknowledges stays, and the table is whole."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from dealsite.data import table
from dealsite.data.catalogue import deals
from dealsite.data.integrity import checks
from dealsite.data.table.convert import Item
from dealsite.settings import BASE_DIR
from tests.builders import LINK, make_brand, make_deal
from tests.people import NOW

RELEASE = "b063b9868d24"  # 0.2.0, which noted no schema
ROUNDS = 8
EDITS = Path(__file__).with_name("edits.py")
PORT = "import sys; from dealsite.engine import server\n"
PORT += "server.serve_port(sys.argv[1], lambda url: print(url, flush=True))"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of release 0.2.0."""
    folder = tmp_path_factory.mktemp("release")
    archive = ["git", "-C", str(BASE_DIR), "archive", RELEASE, "dealsite", "cms", "shopping"]
    git = subprocess.run(archive, capture_output=True, check=False)
    if git.returncode:
        pytest.skip(f"This clone does not have the release's commit {RELEASE}: it is shallow, or no clone.")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=git.stdout, check=True)
    return folder


@pytest.fixture
def port(engine: str, settings: Any) -> Iterator[str]:
    """An address of the engine for a build that cannot reach it by its socket."""
    command = [sys.executable, "-c", PORT, settings.DYNAMODB_ENDPOINT_URL]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=BASE_DIR)
    assert process.stdout
    yield process.stdout.readline().strip()
    process.kill()
    process.wait()
    process.stdout.close()


def start(build: Path, name: str, shared: list[str], port: str, table_name: str, var: Path) -> Any:
    """Let people use a build, in a process of its own."""
    named = {"DYNAMODB_ENDPOINT_URL": port, "DEALSITE_TABLE": table_name, "DEALSITE_VAR": str(var)}
    named |= {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
    }  # older builds ask for some at such an address
    kept = {one: os.environ[one] for one in ("HOME", "PATH") if one in os.environ}
    command = [sys.executable, "-W", "ignore", str(EDITS), name, str(ROUNDS), *shared]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=build, env=kept | named, **pipes)


@pytest.fixture
def shared(fresh_table: None) -> list[str]:
    """Deals that both builds edit."""
    make_brand()
    return [make_deal(now=NOW, link=LINK, stock=100).id for _ in range(3)]


def items() -> list[Item]:
    return list(table.scan_all(consistent=True))


@pytest.mark.thorough
def test_two_builds_edit_one_table_at_once(
    release: Path, shared: list[str], port: str, settings: Any, tmp_path: Path
):
    builds = {"older": release, "newer": BASE_DIR}
    processes = [
        start(folder, name, shared, port, settings.DEALSITE_TABLE, tmp_path / name)
        for name, folder in builds.items()
    ]
    call_command("migrate_items", stdout=io.StringIO(), stderr=io.StringIO())  # beside them
    said = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    older, newer = (json.loads(output) for output, _ in said)

    edits = [tuple(edit) for done in (older, newer) for edit in done["edited"]]
    assert older["refused"] == newer["refused"] == []
    assert len(set(edits)) == len(edits) == 2 * ROUNDS * len(shared)  # each made a version of its own
    assert {deal_id: deals.get(deal_id).version for deal_id in shared} == {
        deal_id: 1 + number for deal_id, number in Counter(deal_id for deal_id, _ in edits).items()
    }
    for done in (older, newer):
        there = deals.get_many(done["published"])
        assert set(done["published"]) - there.keys() == set(done["deleted"])
    assert [str(problem) for problem in checks.find()] == []
    assert {item["schema"] for item in items() if "schema" in item} == {1}
    assert any("schema" not in item for item in items())

    call_command("migrate_items", stdout=io.StringIO(), stderr=io.StringIO())
    assert {item.get("schema") for item in items()} == {1}
    assert [str(problem) for problem in checks.find()] == []
