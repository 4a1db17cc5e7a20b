"""The table's definition: created as written, drift noticed, and the same for CloudFormation."""

import contextlib
import copy
import io
import json
from functools import partial

import pytest
from django.core.management import call_command

from dealsite.data import table
from dealsite.data.table import client, errors, schema
from dealsite.data.table.schema import Throughput, drift
from tests.races import at_once


@pytest.fixture
def no_table(engine, settings):
    settings.DEALSITE_TABLE = "not-there-yet"
    yield
    with contextlib.suppress(errors.NotFound):
        table.call("UpdateTable", TableName="not-there-yet", DeletionProtectionEnabled=False)
        table.call("DeleteTable", TableName="not-there-yet")


@pytest.mark.parametrize("engine_kind", ["native", "local"])
def test_the_table_is_created_once_and_as_defined(no_table):
    assert schema.create_table() is True
    assert schema.create_table() is False
    assert drift() == []
    schema.answer()


def test_a_missing_table_is_not_ready(no_table):
    with pytest.raises(errors.Misconfigured):
        schema.answer()


def test_a_table_that_another_process_makes_meanwhile_is_no_error(no_table, monkeypatch):
    really = client.call

    def late(operation, **parameters):
        if operation == "CreateTable":
            really(operation, **parameters)
        return really(operation, **parameters)

    monkeypatch.setattr(client, "call", late)
    assert schema.create_table()  # or a first try whose answer was lost: it is still to be switched on
    assert schema._has_ttl(table.name())


def test_create_table_waits_for_every_index(no_table, monkeypatch):
    states = iter(["CREATING", "CREATING", "ACTIVE"])
    really = client.call
    waited: list[float] = []

    def slow(operation, **parameters):
        answer = really(operation, **parameters)
        if operation == "DescribeTable" and "Table" in answer:
            answer["Table"]["GlobalSecondaryIndexes"][1]["IndexStatus"] = next(states, "ACTIVE")
        return answer

    monkeypatch.setattr(client, "call", slow)
    schema.create_table(sleep=waited.append)
    assert waited == [0.2, 0.2]


def test_create_table_gives_up_on_a_table_that_never_gets_active(no_table, monkeypatch):
    moments = iter([0.0, 1.0, 11.0])
    monkeypatch.setattr(schema, "_active", lambda name: False)
    with pytest.raises(errors.Unavailable, match="not active after 10 seconds"):
        schema.create_table(wait=10, clock=lambda: next(moments), sleep=lambda seconds: None)


def changed(change) -> dict:
    definition = copy.deepcopy(schema.definition())
    change(definition)
    return definition


DRIFTS = {
    "The index GSI2 is missing.": lambda one: (
        one["GlobalSecondaryIndexes"].pop(1),
        one.update(
            AttributeDefinitions=[
                a for a in one["AttributeDefinitions"] if not a["AttributeName"].startswith("GSI2")
            ]
        ),
    ),
    "The index Extra is not in the definition.": lambda one: one["GlobalSecondaryIndexes"].append(
        one["GlobalSecondaryIndexes"][0] | {"IndexName": "Extra"}
    ),
    "The key of the index GSI1 is GSI2PK (HASH), GSI1SK (RANGE), and should be GSI1PK (HASH), GSI1SK (RANGE).": (
        lambda one: (
            one["GlobalSecondaryIndexes"][0]["KeySchema"][0].update(AttributeName="GSI2PK"),
            one.update(
                AttributeDefinitions=[
                    a for a in one["AttributeDefinitions"] if a["AttributeName"] != "GSI1PK"
                ]
            ),
        )
    ),
    "The projection of the index GSI3 is ALL, and should be INCLUDE card type.": lambda one: one[
        "GlobalSecondaryIndexes"
    ][2].update(Projection={"ProjectionType": "ALL"}),
    "The stream is NEW_IMAGE, and should be NEW_AND_OLD_IMAGES.": lambda one: one[
        "StreamSpecification"
    ].update(StreamViewType="NEW_IMAGE"),
    "The stream is off, and should be NEW_AND_OLD_IMAGES.": lambda one: one.pop("StreamSpecification"),
    "The key attribute GSI1SK is N, and should be S.": lambda one: one["AttributeDefinitions"][1].update(
        AttributeType="N"
    ),
    "The table's key is PK (HASH), GSI1SK (RANGE), and should be PK (HASH), SK (RANGE).": lambda one: (
        one["KeySchema"][1].update(AttributeName="GSI1SK"),
        one.update(
            AttributeDefinitions=[a for a in one["AttributeDefinitions"] if a["AttributeName"] != "SK"]
        ),
    ),
}


@pytest.mark.parametrize("sentence", DRIFTS)
def test_each_kind_of_drift_is_reported(no_table, sentence):
    table.call("CreateTable", TableName=table.name(), **changed(DRIFTS[sentence]))
    ttl = {"Enabled": True, "AttributeName": "ttl"}
    table.call("UpdateTimeToLive", TableName=table.name(), TimeToLiveSpecification=ttl)
    assert sentence in drift()


def test_a_table_without_ttl_is_reported(no_table):
    table.call("CreateTable", TableName=table.name(), **schema.definition())
    assert drift() == ["The TTL attribute is off, and should be ttl."]


def protections() -> list[str]:
    """What the table lacks of protection, in the words of its drift."""
    return drift(protected=True, warm=WARM)


WARM = Throughput(13_000, 5_000)


@pytest.mark.parametrize(
    "engine_kind", ["moto"]
)  # of the stand-ins it alone knows recovery and warm throughput
def test_a_protected_table_can_be_restored_and_not_deleted_and_takes_the_first_rush(no_table):
    schema.create_table(protected=True, warm=WARM)
    assert protections() == []
    assert drift(warm=Throughput(13_001, 5_000))[0] == (
        "The table takes 13000 reads and 5000 writes a second from the start, and should take 13001 and 5000."
    )
    schema.switch_on(table.name(), protected=True)  # harmless
    assert protections() == []


STREAM_OFF = "The stream is off, and should be NEW_AND_OLD_IMAGES."


def refused(code: str) -> errors.DataError:
    return client.as_error(errors.Refused(code, "Backups are being enabled.", []))


@pytest.mark.parametrize("engine_kind", ["moto"])
def test_recovery_of_a_new_table_is_waited_for(no_table, monkeypatch):
    really, answers = client.call, iter([refused("ContinuousBackupsUnavailableException")] * 2)
    waited: list[float] = []

    def call(operation, **parameters):
        if operation == "UpdateContinuousBackups" and (error := next(answers, None)):
            raise error
        return really(operation, **parameters)

    monkeypatch.setattr(client, "call", call)
    schema.create_table(protected=True, sleep=waited.append)
    assert waited == [0.5, 0.5]
    assert drift(protected=True) == []


@pytest.mark.parametrize(
    ("code", "calls"), [("ContinuousBackupsUnavailableException", 3), ("AccessDeniedException", 1)]
)
def test_a_switch_that_stays_refused_is_an_error(no_table, monkeypatch, code, calls):
    schema.create_table()
    asked: list[str] = []

    def call(operation, **parameters):
        asked.append(operation)
        raise refused(code)

    monkeypatch.setattr(schema, "_has_ttl", lambda name: False)
    monkeypatch.setattr(client, "call", call)
    with pytest.raises(errors.Unavailable):
        schema.switch_on(
            table.name(), protected=False, clock=lambda: 40.0 * len(asked), sleep=lambda seconds: None
        )
    assert asked == ["UpdateTimeToLive"] * calls


def test_two_that_turn_on_at_once_both_succeed(no_table):
    table.call("CreateTable", TableName=table.name(), **changed(DRIFTS[STREAM_OFF]))
    one = partial(schema.switch_on, table.name(), protected=True)
    assert at_once(one, one, one) == [None] * 3
    assert drift(protected=True) == []


@pytest.mark.parametrize("engine_kind", ["moto"])
def test_what_is_off_is_named_and_turned_on(no_table):
    table.call("CreateTable", TableName=table.name(), **changed(DRIFTS[STREAM_OFF]))
    assert drift(protected=True) == [
        STREAM_OFF,
        "The TTL attribute is off, and should be ttl.",
        "The protection against deletion is off, and should be on.",
        "The point-in-time recovery is off, and should be on.",
    ]
    schema.switch_on(table.name(), protected=True)
    assert drift(protected=True) == []


@pytest.mark.parametrize("engine_kind", ["native", "local"])
def test_an_engine_without_recovery_is_asked_no_more_of(no_table, caplog):
    schema.create_table(protected=True, warm=WARM)
    assert protections() == []
    assert caplog.messages == []


def test_a_table_without_an_index_says_so(no_table):
    table.call("CreateTable", TableName=table.name(), **changed(DRIFTS["The index GSI2 is missing."]))
    with pytest.raises(errors.Incomplete) as missing:
        schema.answer()
    assert missing.value.reason == "The index GSI2 is missing."


def printed_template() -> str:
    output = io.StringIO()
    call_command("table_template", stdout=output)
    return output.getvalue()


def test_cfn_lint_finds_nothing_in_the_template():
    from cfnlint.api import ManualArgs, lint  # takes a second, which not every process has to spend

    assert [
        str(match) for match in lint(printed_template(), config=ManualArgs(regions=["eu-central-1"]))
    ] == []


def test_the_template_describes_the_table_that_setup_site_makes():
    properties = json.loads(printed_template())["Resources"]["Table"]["Properties"]
    for index in properties["GlobalSecondaryIndexes"]:
        assert index.pop("WarmThroughput") == properties["WarmThroughput"]
    for name in ("KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "BillingMode"):
        assert properties[name] == schema.definition()[name]
    assert properties["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
