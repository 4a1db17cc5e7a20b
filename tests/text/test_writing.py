"""Cells that a spreadsheet would work out, however they are disguised, and that they come back as they were."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from dealsite.text.writing import safe_cell, unmarked

SIGNS = "=+-@\u2212\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u207a\u207b\u207c\u208a\u208b\u208c"
# Spaces, breaks, controls, and what is not seen at all.
BEFORE = ["", "\n", "\r", "\t", "\r\n", " ", "  ", "\u00a0", "\u3000", "\u2028", "\x00", "\x1f", "\x85"]
BEFORE += ["\u200b", "\u200d", "\u2060", "\ufeff", "\u202e", "\u00ad", "\ufe0f", "\u034f", " \ufeff\n "]
texts = st.lists(st.one_of(st.sampled_from([*SIGNS, *BEFORE, "'", "1"]), st.text(max_size=3)), max_size=6)


def test_no_formula_hides_behind_what_is_not_seen(subtests):
    for before in BEFORE:
        with subtests.test(before=before):
            for sign in SIGNS:
                assert safe_cell(f"{before}{sign}1+1") == f"'{before}{sign}1+1", ascii(sign)


def test_what_is_no_formula_stays_as_it_is(subtests):
    for text in ["", "1-2", "a=b", " Lamp", "\u200bLamp", "Ada", "'quoted'", "„=1“", "#1", "5 @ 3"]:
        with subtests.test(text=text):
            assert safe_cell(text) == text
            assert unmarked(text) == text


@pytest.mark.parametrize("text", ["\nLamp", "\tLamp", "\rLamp"])
def test_a_cell_that_begins_with_a_break_is_marked_whatever_follows(text):
    assert safe_cell(text) == f"'{text}"


def test_nothing_is_an_empty_cell_and_a_number_a_text():
    assert (safe_cell(None), safe_cell(0), safe_cell(12)) == ("", "0", "12")


@given(texts.map("".join))
def test_a_cell_is_never_a_formula_and_comes_back_as_it_was(text):
    cell = safe_cell(text)
    assert unmarked(cell) == text
    seen = [c for c in unicodedata.normalize("NFKC", cell) if unicodedata.category(c)[0] not in "CZM"]
    assert not seen or seen[0] not in "=+-@\u2212"
    assert cell[:1] not in ("\t", "\r", "\n")


def test_an_apostrophe_of_its_own_before_a_formula_is_kept(subtests):
    for text in ["'=1", "''=1", "' =1", "'\tLamp", "'\u200b\uff1d1"]:
        with subtests.test(text=text):
            assert safe_cell(text) == f"'{text}"
            assert unmarked(safe_cell(text)) == text
