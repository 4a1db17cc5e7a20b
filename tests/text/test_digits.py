"""Numbers that come as text."""

import pytest

from dealsite.text.writing import number_in


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("7", 7), ("007", 7), ("999", 999)])
def test_digits_are_a_number(text, number):
    assert number_in(text, most=3) == number


def test_whatever_else_stands_there_is_none(subtests):
    for text in ["", " 7", "+7", "-7", "1.5", "1_0", "1e1", "٣", "²", "x", "1000", "9" * 5000]:
        with subtests.test(text=text):
            assert number_in(text, most=3) is None
