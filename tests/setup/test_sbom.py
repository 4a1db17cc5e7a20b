"""make sbom lists every package that set-up installs, in a form that tools can read."""

import json
import re
from pathlib import Path

import pytest

from tests.sbom import sbom

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def text() -> str:
    return sbom()


def components(text: str, kind: str) -> dict[str, dict]:
    found = [one for one in json.loads(text)["components"] if one["purl"].startswith(f"pkg:{kind}/")]
    assert len({one["purl"] for one in found}) == len(found)
    return {f"{one['name']}@{one['version']}": one for one in found}


@pytest.mark.thorough
def test_it_is_valid(text):
    from cyclonedx.schema import SchemaVersion  # takes three seconds, which not every process has to spend
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None


def test_every_pinned_python_package_is_in_it_with_the_hashes_of_its_files(text, subtests):
    for file in sorted(path.name for path in ROOT.glob("requirements*.txt")):
        with subtests.test(file=file):
            found = components(text, "pypi")
            pinned: dict[str, set[str]] = {}
            for line in (ROOT / file).read_text("utf-8").splitlines():
                if package := re.match(r"([\w.-]+)(?:\[.*?\])?==([^\s;]+)", line):
                    hashes = pinned.setdefault("@".join(package.groups()), set())
                elif digest := re.search(r"--hash=sha256:(\w+)", line):
                    hashes.add(digest[1])
            assert pinned
            for name, hashes in pinned.items():
                assert {one["content"] for one in found[name]["hashes"]} == hashes, name


def test_every_package_of_npm_is_in_it(text):
    lock = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    pinned = {f"{path.rpartition('node_modules/')[2]}@{one['version']}" for path, one in lock.items() if path}
    assert components(text, "npm").keys() == pinned
    assert components(text, "npm")["echarts@6.1.0"]["hashes"][0]["alg"] == "SHA-512"


def test_what_the_site_runs_on_names_its_licence(text):
    found = [*components(text, "pypi").values(), *components(text, "npm").values()]
    silent = [one["name"] for one in found if one["scope"] == "required" and not one.get("licenses")]
    assert silent == []


# "Dual License" is python-dateutil's: Apache 2.0 or BSD.
GO_WITH_OURS = re.compile(
    r"MIT|BSD|3-Clause BSD|0BSD|ISC|Apache|MPL-2\.0|PSF|OFL-1\.1|BlueOak-1\.0|Dual License"
)


def test_what_the_site_runs_on_goes_with_its_own_licence(text):
    assert (ROOT / "LICENSE").read_text("utf-8").split()[:4] == ["Apache", "License", "Version", "2.0,"]
    assert json.loads((ROOT / "package.json").read_text("utf-8"))["license"] == "Apache-2.0"
    others = {}
    for one in [*components(text, "pypi").values(), *components(text, "npm").values()]:
        for said in one.get("licenses", []) if one["scope"] != "excluded" else []:
            name = said.get("expression") or said["license"].get("id") or said["license"]["name"]
            if not all(GO_WITH_OURS.match(part.strip("() ")) for part in re.split("OR|AND", name)):
                others[one["name"]] = name
    assert others == {}
