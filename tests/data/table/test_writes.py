"""Writes become requests of placeholders only, and those of one item become one."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dealsite.data.table.errors import AlreadyExists, NotFound, TooLarge
from dealsite.data.table.writes import (
    Check,
    Delete,
    Put,
    Update,
    above,
    absent,
    at_least,
    at_version,
    below,
    contains,
    either,
    equals,
    exists,
    merge,
    missing,
)
from tests.hostile import texts

A, B = ("A", "A"), ("B", "B")


def test_a_put_names_its_condition_by_placeholder():
    kind, request = Put(key=A, item={"x": 1}, when=(absent(),)).request()
    assert (kind, request) == (
        "Put",
        {
            "Item": {"x": {"N": "1"}, "PK": {"S": "A"}, "SK": {"S": "A"}},
            "ConditionExpression": "attribute_not_exists(#n0)",
            "ExpressionAttributeNames": {"#n0": "PK"},
        },
    )


def test_an_update_may_set_add_discard_and_remove_at_once():
    kind, request = Update(
        key=A,
        set={"version": 2, ("card", "title"): "x"},
        add={"n": 1},
        discard={"pages": {"front"}},
        remove=["old", ("cards", 3)],
        when=(exists(), equals("version", 1)),
    ).request()
    assert kind == "Update"
    assert request["UpdateExpression"] == (
        "SET #n0 = :v0, #n1.#n2 = :v1 ADD #n3 :v2 DELETE #n4 :v3 REMOVE #n5, #n6[3]"
    )
    assert request["ConditionExpression"] == "attribute_exists(#n7) AND #n0 = :v4"
    assert request["ExpressionAttributeNames"] == {
        "#n0": "version", "#n1": "card", "#n2": "title", "#n3": "n", "#n4": "pages", "#n5": "old", "#n6": "cards",
        "#n7": "PK",
    }  # fmt: skip


@given(texts, texts, texts)
def test_no_name_or_value_ever_stands_in_an_expression(name, value, member):
    update = Update(
        key=A,
        set={name: value},
        when=(equals((name, "x"), value), contains(name, member), either(missing(name), below(name, value))),
    )
    _, request = update.request()
    for expression in ("UpdateExpression", "ConditionExpression"):
        assert set(request[expression]) <= set("abcdefghijklmnopqrstuvwxyzSETADELRMOVN_#:()=<,. 0123456789")


def test_either_condition_keeps_its_own_placeholders():
    _, request = Check(key=A, when=(either(missing("until"), below("until", 5)),)).request()
    assert request["ConditionExpression"] == "(attribute_not_exists(#n0) OR #n0 < :v0)"
    assert request["ExpressionAttributeValues"] == {":v0": {"N": "5"}}


def test_version_zero_means_not_there_yet():
    assert at_version(0) == (missing("version"),)
    assert at_version(3) == (equals("version", 3),)


def test_updates_of_one_item_add_up():
    merged = merge(
        [
            Update(key=A, add={"n": 1, "tags": {"a"}}, set={"x": 1}, when=(exists(),)),
            Update(key=B, add={"n": 1}),
            Update(
                key=A,
                add={"n": -3, "tags": {"b"}},
                set={"y": 2},
                when=(exists(), at_least("n", 2)),
                remove=["z"],
            ),
        ]
    )
    assert merged == [
        Update(
            key=A,
            add={"n": -2, "tags": {"a", "b"}},
            set={"x": 1, "y": 2},
            remove=["z"],
            when=(exists(), at_least("n", 2)),
        ),
        Update(key=B, add={"n": 1}),
    ]


@pytest.mark.parametrize("check_first", [True, False])
def test_a_check_joins_what_else_is_done_to_its_item(check_first):
    check = Check(key=A, when=(equals("open", True),), otherwise=NotFound())
    delete = Delete(key=A, when=(exists(),))
    merged = merge([check, delete] if check_first else [delete, check])
    assert len(merged) == 1
    assert isinstance(merged[0], Delete)
    assert set(merged[0].when) == {exists(), equals("open", True)}
    assert merged[0].otherwise is check.otherwise


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Put(key=A, item={}), Put(key=A, item={})),
        (Put(key=A, item={}), Update(key=A, set={"x": 1})),
        (Delete(key=A), Update(key=A, set={"x": 1})),
        (Update(key=A, set={"x": 1}), Update(key=A, set={"x": 2})),
    ],
)
def test_writes_that_contradict_each_other_are_refused(one, other):
    with pytest.raises(ValueError, match=r"cannot be merged|two values"):
        merge([one, other])


def test_more_than_a_hundred_actions_are_refused_and_a_hundred_are_not():
    hundred = [Put(key=(f"A{n}", "A"), item={}) for n in range(100)]
    assert len(merge(hundred)) == 100
    with pytest.raises(TooLarge):
        merge([*hundred, Put(key=B, item={})])


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(-3, 3)), max_size=20))
def test_merged_counters_end_where_single_ones_would(steps):
    merged = merge([Update(key=(name, name), add={"n": n}) for name, n in steps])
    assert {write.key[0]: write.add["n"] for write in merged if isinstance(write, Update)} == {
        name: sum(n for other, n in steps if other == name) for name in {name for name, _ in steps}
    }


def test_an_error_is_a_conflict_unless_the_write_says_what_it_means():
    assert Put(key=A, item={}).error().status == 409
    taken = AlreadyExists("Taken.")
    assert Put(key=A, item={}, otherwise=taken).error() is taken


def test_above_and_at_least_are_told_apart():
    for condition, expression in ((above("stock", 3), "#n0 > :v0"), (at_least("stock", 3), "#n0 >= :v0")):
        _, request = Update(key=A, set={"x": 1}, when=(condition,)).request()
        assert request["ConditionExpression"].endswith(expression.replace("#n0", "#n1").replace(":v0", ":v1"))
