"""Items come back as they were written."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from dealsite.data import table
from dealsite.data.table.convert import from_attributes, to_attribute, to_attributes
from dealsite.data.table.errors import Invalid
from dealsite.data.table.writes import Put

storable_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.one_of(
    st.integers(-(10**37), 10**37),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**9), max_value=10**9),
)
scalars = st.one_of(storable_text, numbers, st.booleans(), st.binary(max_size=20))
values = st.recursive(
    st.one_of(scalars, st.sets(storable_text, min_size=1, max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(storable_text.filter(bool), inner, max_size=4)
    ),
    max_leaves=10,
)


def from_attribute(attribute: dict[str, Any]) -> Any:
    return from_attributes({"x": attribute})["x"]


@given(values)
def test_a_value_comes_back_as_it_was(value):
    assert from_attribute(to_attribute(value)) == value


@pytest.mark.parametrize(
    ("value", "attribute"),
    [
        ("é", {"S": "é"}),
        ("", {"S": ""}),
        (True, {"BOOL": True}),
        (1, {"N": "1"}),
        (-7, {"N": "-7"}),
        (Decimal("19.90"), {"N": "19.90"}),
        (Decimal("1E+3"), {"N": "1000"}),
        (Decimal("0.001"), {"N": "0.001"}),
        (None, {"NULL": True}),
        ({"b", "a"}, {"SS": ["a", "b"]}),
        (b"\x00", {"B": "AA=="}),
        ([1, "a"], {"L": [{"N": "1"}, {"S": "a"}]}),
        ({"a": {"b": 1}}, {"M": {"a": {"M": {"b": {"N": "1"}}}}}),
        (datetime(2026, 11, 21, tzinfo=UTC), {"S": "2026-11-21T00:00:00.000Z"}),
    ],
)
def test_attributes(value, attribute):
    assert to_attribute(value) == attribute


@pytest.mark.parametrize("value", [1.5, float("nan"), Decimal("NaN"), Decimal("Infinity"), object(), 1j])
def test_what_has_no_exact_form_is_never_stored(value):
    with pytest.raises(TypeError):
        to_attribute(value)


def test_a_time_without_a_zone_is_never_stored():
    with pytest.raises(ValueError, match="without a zone"):
        to_attribute(datetime(2026, 11, 21))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "value"),
    [("12.50", Decimal("12.50")), ("-0.5", Decimal("-0.5")), ("7", 7), ("-7", -7), (".5", Decimal("0.5"))],
)
def test_numbers_are_whole_or_exact(text, value):
    read = from_attribute({"N": text})
    assert (read, type(read)) == (value, type(value))


def test_an_attribute_of_a_kind_that_is_not_used_is_an_error():
    with pytest.raises(msgspec.ValidationError, match="BS"):
        from_attribute({"BS": ["AA=="]})


def test_none_and_empty_sets_are_absent():
    assert to_attributes({"a": None, "b": set(), "c": frozenset(), "d": ""}) == {"d": {"S": ""}}


@pytest.mark.engines_differ
def test_an_item_survives_the_engine(fresh_table):
    item = {
        "type": "thing",
        "text": "'; DROP TABLE deals; -- \u202e é 👩‍👩‍👧 \x00",
        "price": Decimal("19.99"),
        "count": 10**30,
        "yes": True,
        "set": {"b", "a"},
        "list": [1, [Decimal("0.01")], {"x": "y"}],
        "bytes": bytes(range(256)),
    }
    table.write(Put(key=("A", "B"), item=item))
    assert table.get(("A", "B")) == item | {"PK": "A", "SK": "B"}


def test_text_that_utf8_cannot_hold_is_refused_before_it_is_sent(fresh_table):
    with pytest.raises(Invalid):
        table.write(Put(key=("A", "B"), item={"text": "\ud800"}))
    assert table.get(("A", "B")) is None


@given(st.dictionaries(storable_text.filter(bool), scalars, max_size=5))
def test_an_item_of_attributes_comes_back(item):
    assert from_attributes(to_attributes(item)) == item
