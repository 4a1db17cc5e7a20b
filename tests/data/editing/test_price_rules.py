"""By what rule a price comes from another: what it says, and to the cent what comes of it."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from dealsite.data.editing.verbs.prices import PriceRule, SetPrice, SetWasPrice
from dealsite.data.entities.deals import MAX_PRICE
from tests.builders import STATED, make_content

HOWS = st.one_of(st.just(("=", "")), st.tuples(st.sampled_from("+-"), st.sampled_from(["", "%"])))
ENDINGS = st.sampled_from(["", " .99", " was", " .99 was"])
NUMBERS = st.one_of(st.integers(0, 10**8 - 1), st.decimals(0, 10**8 - 1, places=2)).map(str)
RULES = st.tuples(HOWS, NUMBERS, ENDINGS).map(lambda it: f"{it[0][0]}{it[1]}{it[0][1]}{it[2]}")
PRICES = st.decimals("0.01", MAX_PRICE, places=2)


@pytest.mark.parametrize(
    ("price", "rule", "after"),
    [
        ("20.00", "=19.99", "19.99"),
        ("20.00", "-10%", "18.00"),
        ("20.00", "-10% .99", "17.99"),
        ("20.00", "+5.00", "25.00"),
        ("20.00", "-5", "15.00"),
        ("20.00", "+12.5%", "22.50"),
        ("20.00", "-100%", "0.00"),
        ("20.00", "-25", "-5.00"),
        ("18.60", "+0 .99", "17.99"),
        ("17.99", "+0 .99", "17.99"),
        ("18.00", "-0% .99", "17.99"),
        ("0.98", "+0 .99", "-0.01"),
        ("0.15", "-10%", "0.14"),  # halves go up
        ("9.99", "-33%", "6.69"),
    ],
)
def test_what_comes_of_a_price(price, rule, after):
    assert str(PriceRule.parse(rule).applied_to(Decimal(price))) == after


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "=",
        "=5%",
        "-5.",
        "-5.123",
        "- 5",
        "-5 %",
        "*2",
        "=5 was .99",
        "=5  was",
        "-٥",
        "=123456789",
        "=5\n",
    ],
)
def test_what_is_no_rule_is_refused(text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        PriceRule.parse(text)


@settings(max_examples=50)
@given(RULES)
def test_a_rule_is_read_as_it_is_written(text):
    assert str(PriceRule.parse(text)) == text


@settings(max_examples=50)
@given(RULES, PRICES)
def test_an_amount_has_cents_and_ends_in_99_where_it_should_and_never_above_what_it_was(text, price):
    rule = PriceRule.parse(text)
    plain = PriceRule(rule.how, rule.number, rule.is_percent).applied_to(price)
    amount = rule.applied_to(price)
    assert amount.as_tuple().exponent == -2
    if rule.ends_in_99:
        assert (amount % 1, amount <= plain < amount + 1) in [
            (Decimal("0.99"), True),
            (Decimal("-0.01"), True),
        ]
    else:
        assert amount == plain


@pytest.mark.parametrize(
    ("rule", "price", "was_price", "is_stated"),
    [
        ("-10%", "18.00", "30.00", True),
        ("-10% was", "18.00", "20.00", False),
        ("+0 was", "20.00", "30.00", True),
        ("=20.00 was", "20.00", "30.00", True),
    ],
)
def test_a_price_leaves_the_one_before_as_what_it_is_compared_with(rule, price, was_price, is_stated):
    content = make_content(price=Decimal("20.00"), was_price=Decimal("30.00"), **STATED)
    after = SetPrice().content_after(rule, content)
    assert (after.price, after.was_price) == (Decimal(price), Decimal(was_price))
    assert (after.low_seen_at, after.low_seen_on) == (
        (content.low_seen_at, content.low_seen_on) if is_stated else ("", None)
    )


def test_what_has_no_price_gets_one_and_none_that_would_come_from_it():
    nothing = make_content(price=None, was_price=None)
    assert SetPrice().content_after("=9.99", nothing).price == Decimal("9.99")
    assert SetPrice().content_after("-10%", nothing) == nothing


@pytest.mark.parametrize(
    ("rule", "was_price"), [("=25.00", "25.00"), ("+25%", "25.00"), ("+5 .99", "24.99"), ("", None)]
)
def test_what_a_price_is_compared_with_comes_from_the_price(rule, was_price):
    content = make_content(price=Decimal("20.00"), was_price=Decimal("30.00"), **STATED)
    after = SetWasPrice().content_after(rule, content)
    assert after.was_price == (None if was_price is None else Decimal(was_price))
    assert (after.price, after.low_seen_at, after.low_seen_on) == (Decimal("20.00"), "", None)


def test_the_amount_that_it_was_compared_with_already_stays_as_stated():
    content = make_content(price=Decimal("20.00"), was_price=Decimal("30.00"), **STATED)
    assert SetWasPrice().content_after("=30.00", content) == content
