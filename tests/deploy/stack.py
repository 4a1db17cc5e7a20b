"""The deployment's template, as CloudFormation reads it, and the table's part of it, which tests/derived.py writes."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from cfnlint.decode import decode_str

from dealsite.data.table import schema

FOLDER = Path(__file__).resolve().parents[2] / "deploy"
PATH = FOLDER / "cloudformation.yml"

Parts = dict[str, Any]


@functools.cache
def template() -> Parts:
    """The template, with `!Ref` and its like as the functions that they stand for."""
    read, problems = decode_str(PATH.read_text("utf-8"))
    assert not problems
    plain: Parts = json.loads(json.dumps(read))
    return plain


def resources(kind: str = "") -> dict[str, Parts]:
    """The resources of a kind, such as `S3::Bucket`, by their names; all without one."""
    found: dict[str, Parts] = template()["Resources"]
    return {
        name: one
        for name, one in found.items()
        if one["Type"] in (f"AWS::{kind}", one["Type"] if not kind else "")
    }


def properties(name: str) -> Parts:
    found: Parts = template()["Resources"][name]["Properties"]
    return found


def containers() -> dict[str, Parts]:
    """What runs in the tasks, by name."""
    tasks = resources("ECS::TaskDefinition").values()
    return {one["Name"]: one for task in tasks for one in task["Properties"]["ContainerDefinitions"]}


def statements(role: str) -> Iterator[Parts]:
    """What a role may do, and may not."""
    for policy in properties(role)["Policies"]:
        yield from policy["PolicyDocument"]["Statement"]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def table_part(name: str) -> list[str]:
    """A part of the template, `resources` for one, as the table's definition has it now."""
    table = json.loads(json.dumps(schema.cloudformation_template("", table_name="dealsite")))  # no aliases
    part = yaml.safe_dump(table[name.capitalize()], sort_keys=False, width=120)
    return [f"  {line}" for line in part.splitlines()]


def environment(container: Parts, **given: str) -> dict[str, str]:
    """What a container is told, where parameters have their defaults or what is given, and resources their names."""
    parameters = {name: str(one.get("Default", "")) for name, one in template()["Parameters"].items()} | given

    def text(value: Any) -> str:
        if isinstance(value, str):
            return value
        if "Ref" in value:
            return parameters.get(value["Ref"], value["Ref"].replace("AWS::Region", "eu-central-1").lower())
        if "Fn::If" in value:
            return text(value["Fn::If"][1])
        return re.sub(r"\$\{([\w:]+)\}", lambda found: text({"Ref": found[1]}), value["Fn::Sub"])

    return {one["Name"]: text(one["Value"]) for one in container["Environment"]}
