"""Words are folded the same way where they are indexed and where they are asked for."""

import pytest
from hypothesis import given

from dealsite.search.question import MOST_CHARACTERS, MOST_WORDS, Question
from dealsite.search.words import fold, other_spellings, stem, words_of
from tests.hostile import huge, texts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Mechanical Keyboard, RGB!", ["mechanical", "keyboard", "rgb"]),
        ("Crème Brûlée", ["creme", "brulee"]),
        ("Straße ﬁne İstanbul", ["strasse", "fine", "istanbul"]),
        ("e\u0301tude", ["etude"]),
        ("日本 عربى", ["日本", "عربى"]),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", ["\u0645\u06cc\u062e\u0648\u0627\u0647\u0645"]),
        ("a\x00b\ud800c", ["a", "b", "c"]),
        ("x" * 41 + " ok", ["ok"]),
        ('"(+-title:[* TO z]"', ["title", "to", "z"]),
        ("", []),
    ],
)
def test_words_are_folded(text, words):
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("Wi-Fi router", ["wifi"]),
        ("GeForce RTX4070", ["rtx", "4070"]),
        ("don’t", ["dont"]),
        ("16GB", ["16", "gb"]),
        ("plain words", []),
    ],
)
def test_words_have_other_spellings(text, more):
    assert other_spellings(text) == more


def test_endings_do_not_matter():
    assert stem("keyboards") == stem("keyboard")
    assert stem("日本") == "日本"


@given(texts)
def test_no_text_has_words_that_are_not_folded(text):
    for word in words_of(text):
        assert word
        assert words_of(word) == [word] or fold(word) != word


@given(huge)
def test_a_huge_text_is_cut_before_it_is_taken_apart(text):
    question = Question(text=text)
    assert len(question.units) <= MOST_WORDS
    assert sum(map(len, question.units)) <= MOST_CHARACTERS


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("a hub for the mac", ["hub", "mac"]),
        ("the", ["the"]),
        ("wi-fi rtx4070", ["wi-fi", "rtx4070"]),
        ("--- '' ..", []),
        (" ".join("abcdefghijklmnop"), list("bcdefghijkl")),
    ],
)
def test_small_words_do_not_count_unless_they_are_all_there_is(text, units):
    assert Question(text=text).units == units
