"""Words are folded the same way where they are indexed and where they are asked for."""

from hypothesis import given

from dealsite.search.documents import closest, fold, is_said, other_spellings, stem, words_of
from dealsite.search.question import MOST_CHARACTERS, MOST_WORDS, Question
from tests.hostile import huge, texts


def test_words_are_folded(subtests):
    for text, words in [
        ("Mechanical Keyboard, RGB!", ["mechanical", "keyboard", "rgb"]),
        ("Crème Brûlée", ["creme", "brulee"]),
        ("Straße ﬁne İstanbul", ["strasse", "fine", "istanbul"]),
        ("e\u0301tude", ["etude"]),
        ("日本 عربى", ["日本", "本", "عربى"]),
        ("Sonyワイヤ 4K", ["sony", "ワイ", "イヤ", "ヤ", "4k"]),
        ("ﾊﾞｯｸﾞ", ["バッ", "ッグ", "グ"]),
        ("หูฟัง", ["หู", "ูฟ", "ฟั", "ัง", "ง"]),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", ["\u0645\u06cc\u062e\u0648\u0627\u0647\u0645"]),
        ("Lap\u00adtop \u845b\U000e0100 \u3164lamp\u202e", ["laptop", "\u845b", "lamp"]),
        ("a\x00b\ud800c", ["a", "b", "c"]),
        ("x" * 46 + " ok", ["x" * 46, "ok"]),
        ("x" * 201 + " ok", ["x" * 200, "ok"]),
        ('"(+-title:[* TO z]"', ["title", "to", "z"]),
        ("", []),
    ]:
        with subtests.test(text=text, words=words):
            assert words_of(text) == words


def test_words_have_other_spellings(subtests):
    for text, more in [
        ("Wi-Fi router", ["wifi"]),
        ("GeForce RTX4070", ["rtx", "4070"]),
        ("don’t", ["dont"]),
        ("16GB", ["16", "gb"]),
        ("หูฟัง", []),
        ("x" * 150 + "-" + "y" * 90, ["x" * 150 + "y" * 50]),
        ("plain words", []),
    ]:
        with subtests.test(text=text, more=more):
            assert other_spellings(text) == more


def test_a_word_is_read_as_the_one_that_it_is_nearly(subtests):
    for word, read in [
        ("keybord", "keyboard"),
        ("lmp", "lmp"),  # too short to tell
        ("4071", "4071"),  # numbers have no typos
        ("ヘッドホ", "ヘッドホ"),
        ("zzzz", "zzzz"),
    ]:
        with subtests.test(word=word):
            assert closest(word, ["keyboard", "lamp", "4070", "ヘッド"]) == read
    assert [is_said(word, ["lamp", "mechanical"]) for word in ("lamps", "mech", "lmp")] == [True, True, False]


def test_endings_do_not_matter():
    assert stem("keyboards") == stem("keyboard")
    assert stem("日本") == "日本"


@given(texts)
def test_no_text_has_words_that_are_not_folded(text):
    for word in words_of(text):
        assert word
        assert words_of(word)[0] == word or fold(word) != word


@given(huge)
def test_a_huge_text_is_cut_before_it_is_taken_apart(text):
    question = Question(text=text)
    assert len(question.units) <= MOST_WORDS
    assert sum(map(len, question.units)) <= MOST_CHARACTERS


def test_small_words_do_not_count_unless_they_are_all_there_is(subtests):
    for text, units in [
        ("a hub for the mac", ["hub", "mac"]),
        ("the", ["the"]),
        ("wi-fi rtx4070", ["wi-fi", "rtx4070"]),
        ("Sonyワイヤレス", ["sony", "ワイヤレス"]),
        ("--- '' ..", []),
        (" ".join("abcdefghijklmnop"), list("bcdefghijkl")),
    ]:
        with subtests.test(text=text, units=units):
            assert Question(text=text).units == units
