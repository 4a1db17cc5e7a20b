"""Every type of item is in the lake or left out for a reason; and what must not be in it is not."""

from decimal import Decimal

import pyarrow.parquet as pq
import pytest

from dealsite.data.entities.attributes import Bytes, Map, Money, Text, Time
from dealsite.data.entities.chart import ENTITIES as STORED
from dealsite.lake import snapshots
from dealsite.lake.columns import Column, attribute, hash_of_email
from dealsite.lake.entities import BY_TYPE, ENTITIES, columns
from tests.lake.items import SECRET, item

WORDS_OF_SQL = {"order", "of", "at", "by", "number", "user", "group", "table", "select", "from", "end"}
# What is in the table but not in the lake, and why.
LEFT_OUT = {
    "Session": "its key is as good as a password",
    "TwoFactor": "it holds what signing in is checked with",
    "FactorOwner": "it leads from a passkey to its user",
    "UsedChallenge": "it says that a passkey's answer was used",
    "Presence": "who has a form open just now is gone a minute later",
    "Migration": "it says how far a migration has come",
    "Heartbeat": "it says that a process lives",
    "Process": "it says how a process is doing",
    "Lease": "it says which process does something just now",
    "CommandRun": "it says how a command went",
    "SiteSwitch": "it says whether the site is open; the audit log, who turned it",
    "SitePage": "its texts are no data; the audit log says who changed them",
    "TaskCounts": "it counts what there is to do",
    "FailureCount": "it counts security events for the alarm",
    "Throttle": "who tried to sign in is nobody's question",
    "EmailGuard": "it is an e-mail address",
    "Profile": "it repeats the user, with name and address",
    "UserCount": "it counts users",
    "BrandName": "it lists brands",
    "Clicks": "it counts visitors, many times a day",
    "HotDeals": "it is computed from what else there is, many times a day",
    "DealCounts": "it counts likes",
    "DealBy": "it finds deals by their links",
    "Days": "it lists days with deals",
    "DayCount": "it counts deals",
    "Years": "it lists years with deals",
    "BulkChunk": "it says what a job is to change",
    "BulkRow": "it repeats the audit log for as long as the change can be undone",
    "PaymentTotals": "it adds up payments",
    "PaymentLoad": "it says how far a file of payments was read",
    "PaymentLoadSegment": "it says so of a part of the file",
    "TransactionGuard": "it repeats a payment's transaction",
    "ReturnRequest": "it lists an order, whose timeline says the same",
    "TestCharge": "it is what the gateway for trials remembers",
    "Version": "it repeats what a deal or draft was, whose changes are there",
    "DealChanges": "nobody is offered it before it is published",
    "Trash": "it repeats a deal or draft whose deletion is a change like others",
    "Import": "it says what became of a file; whose deals they are stands in the audit log",
    "ImportLayout": "it says how files are read",
    "SavedQuestion": "questions about the data are no data",
    "FeaturedVersion": "the audit log says what a list was before",
    "FeaturedPlan": "the audit log says what was planned",
    "ListViews": "how an editor looks at deals is their own business",
}


def test_every_type_of_item_is_in_the_lake_or_left_out_for_a_reason():
    assert set(STORED) - BY_TYPE.keys() - LEFT_OUT.keys() == set()
    assert BY_TYPE.keys() & LEFT_OUT.keys() == set()


def test_each_entity_has_one_type_and_one_table():
    assert len(BY_TYPE) == len(ENTITIES) == len({entity.table for entity in ENTITIES})


def test_columns_have_names_that_need_no_quotes(subtests):
    for entity in ENTITIES:
        with subtests.test(entity=entity):
            names = [column.name for column in entity.columns]
            assert len(set(names)) == len(names)
            assert not WORDS_OF_SQL & set(names)


def test_no_secret_and_no_address_gets_into_a_snapshot(tmp_path, subtests):
    made = [item(entity.type, number, number) for entity in ENTITIES for number in range(4)]
    assert snapshots.write(made, tmp_path / "snapshot") == 4 * len(ENTITIES)
    for entity in ENTITIES:
        with subtests.test(entity=entity.table):
            rows = pq.read_table(tmp_path / "snapshot" / entity.table)
            assert rows.num_rows == 4
            for kept_out in (SECRET, "@shop.example", "3CD"):
                assert kept_out not in str(rows.to_pydict())


def test_a_filled_item_fills_every_column_that_it_has_a_value_for():
    order = BY_TYPE["Order"]
    made = item("Order", 1, 1)
    values = {column.name: column.value(made) for column in order.columns}
    assert values["country"] == "PT"
    assert values["postcode_area"] == "AB"
    assert values["total"] == Decimal("10.00")
    assert values["status_note"] == "step 1"
    assert values["email_hash"] == hash_of_email("user1@shop.example")
    assert len(values["email_hash"]) == 64


def test_equal_addresses_have_equal_hashes_which_depend_on_the_sites_key(settings):
    before = hash_of_email("a@shop.example")
    assert hash_of_email("a@shop.example") == before
    assert hash_of_email("b@shop.example") != before
    settings.SECRET_KEY = "another"
    assert hash_of_email("a@shop.example") != before


def test_what_a_column_cannot_hold_is_null_and_stops_nothing(subtests):
    for kind, value, is_stored_as in [
        ("text", 3, "3"),
        ("text", {"a": 1}, None),
        ("integer", 7, 7),
        ("integer", Decimal("7.5"), None),
        ("integer", 2**63, None),
        ("integer", True, None),
        ("integer", "7", None),
        ("money", 3, Decimal("3.00")),
        ("money", Decimal("3.005"), Decimal("3.00")),
        ("money", Decimal("1e30"), None),
        ("money", Decimal("10000000000"), None),
        ("money", "3", None),
        ("time", "yesterday", None),
        ("time", 3, None),
        ("date", "2026-02-30", None),
        ("flag", 1, None),
        ("flag", False, False),
        ("json", {"b": {2, 1}, "a": Decimal("1.50")}, '{"a":1.5,"b":[1,2]}'),
        ("json", b"x", None),
    ]:
        with subtests.test(kind=kind, value=value, is_stored_as=is_stored_as):
            column = Column("x", kind, attribute("x"))
            assert column.value({"x": value}) == is_stored_as
            assert column.value({}) is None
            assert column.value({"card": 3}) is None


def test_an_item_that_lacks_everything_stops_nothing(tmp_path):
    made = [{"type": entity.type} for entity in ENTITIES]
    assert snapshots.write(made, tmp_path / "snapshot") == len(ENTITIES)


def test_a_column_is_of_its_attributes_kind_and_a_secret_is_none():
    shape = {"a": Money(), "card": Map({"b": Time(), "c": Text(secret=True)}), "d": Bytes(secret=True)}
    kinds = {one.name: one.kind for one in columns(shape, "a b e f:flag", e="b", f=lambda item: True)}
    assert kinds == {"a": "money", "b": "time", "e": "time", "f": "flag"}
    for text in ("c", "d"):
        with pytest.raises(ValueError, match="is secret"):
            columns(shape, text)
    with pytest.raises(ValueError, match="is secret"):
        columns(shape, "x", x="c")


def test_what_is_personal_is_for_admins_unless_a_table_is_for_those_who_work_with_people():
    shape = {"a": Text(), "b": Text(personal=True)}
    assert [one.is_for_admins for one in columns(shape, "a b")] == [False, True]
    assert [one.is_for_admins for one in columns(shape, "a b", with_people=True)] == [False, False]


def test_a_source_must_have_its_column():
    with pytest.raises(ValueError, match="No column is named c"):
        columns({"a": Text()}, "a", c=lambda item: 1)
