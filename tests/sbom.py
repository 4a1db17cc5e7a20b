"""python -m tests.sbom: lists in build/sbom.json (CycloneDX) all that set-up installs, with hashes and licences."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

import dealsite

ROOT = Path(__file__).resolve().parent.parent
SBOM = ROOT / "build" / "sbom.json"
# What the site needs to run comes first: a package named again further down stays what it was.
REQUIREMENTS = {
    "requirements.txt": ComponentScope.REQUIRED,
    "requirements-otel.txt": ComponentScope.OPTIONAL,
    "requirements-opensearch.txt": ComponentScope.OPTIONAL,
    "requirements-node.txt": ComponentScope.OPTIONAL,
    "requirements-java.txt": ComponentScope.OPTIONAL,
    "requirements-dev.txt": ComponentScope.EXCLUDED,
    "requirements-mutants.txt": ComponentScope.EXCLUDED,
    "requirements-oscar.txt": ComponentScope.EXCLUDED,
}
PINNED = re.compile(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)(.*?)(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
SHA256 = re.compile(r"--hash=sha256:([0-9a-f]{64})")
LONGEST_LICENCE = 60  # characters; what is longer is the licence's text


def python_packages() -> Iterator[Component]:
    """Yield what the requirements files pin, each version once: Pythons may need different ones."""
    seen: set[tuple[str, str]] = set()
    for file, scope in REQUIREMENTS.items():
        for name, version, rest in PINNED.findall((ROOT / file).read_text("utf-8")):
            if (name, version) not in seen:
                seen.add((name, version))
                hashes = [HashType(alg=HashAlgorithm.SHA_256, content=one) for one in SHA256.findall(rest)]
                yield _component("pypi", name, version, scope, hashes, _python_licence(name))


def npm_packages() -> Iterator[Component]:
    """Yield what package-lock.json pins; a package may be there in several versions."""
    packages: dict[str, Any] = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    for path, package in packages.items():
        if not path:
            continue  # the project itself
        digests = [base64.b64decode(one[7:]).hex() for one in package.get("integrity", "").split()]
        hashes = [HashType(alg=HashAlgorithm.SHA_512, content=one) for one in digests]
        scope = ComponentScope.OPTIONAL if package.get("optional") else ComponentScope.REQUIRED
        name, licence = path.rpartition("node_modules/")[2], package.get("license", "")
        yield _component("npm", name, package["version"], scope, hashes, licence)


def _component(
    kind: str, name: str, version: str, scope: ComponentScope, hashes: list[HashType], licence: str
) -> Component:
    group, _, short = name.rpartition("/")
    purl = PackageURL(kind, group or None, short, version)
    licences = [LicenseFactory().make_from_string(licence)] if licence else []
    return Component(
        name=name,
        version=version,
        scope=scope,
        hashes=hashes,
        licenses=licences,
        purl=purl,
        bom_ref=str(purl),
        type=ComponentType.LIBRARY,
    )


def _python_licence(name: str) -> str:
    """Return what an installed package says of its licence; '' of one that this system does not need."""
    try:
        said = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    text = next((said[field] for field in ("License-Expression", "License") if said[field]), "")
    if text and len(text) <= LONGEST_LICENCE:
        return text
    named = [one for one in said.get_all("Classifier") or [] if one.startswith("License ::")]
    return " or ".join(one.rpartition(" :: ")[2] for one in named)


def sbom() -> str:
    """Return the whole list as CycloneDX 1.6 in JSON."""
    bom = Bom(components={*python_packages(), *npm_packages()})
    bom.metadata.component = Component(
        name="dealsite", version=dealsite.__version__, type=ComponentType.APPLICATION, bom_ref="dealsite"
    )
    bom.register_dependency(bom.metadata.component, bom.components)
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=2)


if __name__ == "__main__":
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(sbom(), "utf-8")
    print(f"Wrote {SBOM.relative_to(ROOT)}.")  # noqa: T201
