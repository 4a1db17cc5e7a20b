"""Numbers that come as text."""

import pytest

from dealsite.text.digits import number_in


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("7", 7), ("007", 7), ("999", 999)])
def test_digits_are_a_number(text, number):
    assert number_in(text, most=3) == number


@pytest.mark.parametrize(
    "text", ["", " 7", "+7", "-7", "1.5", "1_0", "1e1", "٣", "²", "x", "1000", "9" * 5000]
)
def test_whatever_else_stands_there_is_none(text):
    assert number_in(text, most=3) is None
