"""Names: they are safe parts of keys, and the same however often they are normalised."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import HealthCheck, given, reject, settings, strategies as st

from dealsite.data import keys, names
from dealsite.data.table.errors import Invalid
from tests.hostile import huge, texts


@given(texts)
def test_normalising_twice_changes_nothing_more(text):
    once = names.normalise(text)
    assert names.normalise(once) == once
    assert once == once.strip()
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in once)


FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
joined = st.text(
    "aB ۱\u200c\u200d\u0301\ufe0f\u06cc\u062e\u0627\u0631\u0915\u094d\u0937\u093e\u09b0\u09cd\u0dca\U00017000"
    "\U0001f469\U0001f3fd\u2764\U0001f525\u200b\u1100\u1161",
    max_size=12,
)


@given(joined)
@settings(max_examples=500)
def test_joiners_are_settled_at_once_and_make_no_other_name(text):
    once = names.normalise(text)
    assert names.normalise(once) == once
    assert not re.search("^[\u200c\u200d]|[\u200c\u200d]{2}", once)
    assert names.slugify(text) == names.slugify(re.sub("[\u200c\u200d]", "", once))


@pytest.mark.parametrize(
    "text",
    [
        FAMILY,
        "\U0001f3f3\ufe0f\u200d\U0001f308",
        "\U0001f469\U0001f3fd\u200d\U0001f680",
        "\u2764\ufe0f\u200d\U0001f525",
        "\U0001f9d1\U0001f3fb\u200d\u2764\ufe0f\u200d\U0001f9d1\U0001f3ff",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "\u0915\u094d\u200c\u0937",
        "\u0dc1\u0dca\u200d\u0dbb\u0dd3",
        "\u09b0\u200d\u09cd\u09af\u09be\u09ae",
        "\u0d28\u0d4d\u200d",
    ],
    ids=[
        *("family", "rainbow flag", "skin colour", "heart on fire", "couple"),
        *("Persian", "half form", "two letters", "Sinhala", "ya-phalaa", "chillu"),
    ],
)
def test_joiners_that_can_be_seen_stay(text):
    assert names.normalise(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Nord\u200dlicht", "Nordlicht"),
        ("Nord\u200clicht", "Nordlicht"),
        ("\u200dNord \u200c licht\u200c", "Nord licht"),
        ("e\u200d\u0301", "é"),
        ("\u0627\u200c\u0628", "\u0627\u0628"),
        ("\u0645\u06cc\u200d\u200c\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("\u0645\u06cc\u200c a", "\u0645\u06cc a"),
        ("\u0645\u06cc\u200d\u062e", "\u0645\u06cc\u062e"),
        ("\u0915\u094d\u200d\u093f", "\u0915\u094d\u093f"),
        ("\U0001f469\u200da", "\U0001f469a"),
        ("a\u200d\U0001f469", "a\U0001f469"),
        ("\U0001f469\u200c\U0001f469", "\U0001f469\U0001f469"),
        ("\U0001f469\u200d\U0001f3fd", "\U0001f469\U0001f3fd"),
        ("\U00017000\u200c\u0628", "\U00017000\u0628"),
        ("12\u200d34", "1234"),
    ],
)
def test_joiners_that_nobody_sees_are_left_out(text, shown):
    assert names.normalise(text) == shown


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("\u200b", ""),
        (" \u3164\u2800\u0301\n", ""),
        ("Lap\u00adtop", "Laptop"),
        ("\u202epot\u2066pal\u061c\u200f", "potpal"),
        ("lamp\ufe0f \ufeffA\U000e0041\U000e007f", "lamp A"),
        ("la\u034fm\u2060p\u115f", "lamp"),
        ("one\u2800two", "one two"),
        ("\U0001d159 \ufffc\U00013441\U00013442", ""),
        ("m² ½ ™\r\n\tﬁne ", "m² ½ ™\r\n\tﬁne "),
        ("\u2764\ufe0f 1\ufe0f\u20e3 \u2122\ufe0e", "\u2764\ufe0f 1\ufe0f\u20e3 \u2122\ufe0e"),
        ("\u2764\u200b\ufe0f\ufe0f", "\u2764"),
        ("\u845b\U000e0100\U000e0101\u57ce", "\u845b\U000e0100\u57ce"),
        ("\u182d\u180b\u1820\u180e\u1820", "\u182d\u180b\u1820\u180e\u1820"),
        (SCOTLAND, SCOTLAND),
        (SCOTLAND[:-1] + "\U000e0041\U000e007f", "\U0001f3f4"),
        (f"{FAMILY} \u200d", f"{FAMILY} "),
        ("\u06dd\u0664", "\u06dd\u0664"),
    ],
)
def test_a_text_loses_what_nobody_sees(text, cleaned):
    assert names.clean_text(text) == cleaned
    assert names.clean_text(cleaned) == cleaned


def test_what_is_not_seen_makes_no_other_address():
    for unseen in ("\u00ad", "\u034f", "\ufe0f", "\u1160"):
        with pytest.raises(Invalid):
            names.normalise_email(f"an{unseen}n@example.org")


def test_a_joiner_makes_no_other_slug_or_name_to_sign_in_with():
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert names.slugify(persian) == persian.replace("\u200c", "")
    assert names.slugify(f"Lamps {FAMILY}") == "lamps"
    assert names.normalise_sign_in_name(persian) == persian.replace("\u200c", "")
    with pytest.raises(Invalid):
        names.normalise_username("an\u200dna")


@given(st.one_of(texts, huge))
def test_a_slug_is_a_safe_key_part_and_a_slug_of_itself(text):
    slug = names.slugify(text)
    assert names.slugify(slug) == slug
    assert len(slug) <= names.SLUG_CHARACTERS
    assert "#" not in slug
    assert "/" not in slug
    assert not any(c.isspace() or ord(c) < 32 for c in slug)
    assert slug == slug.strip("-")
    slug.encode()


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Lian Li", "lian-li"),
        ("  LIAN\u00a0 li ", "lian-li"),
        ("Café Olé!", "cafe-ole"),
        ("Cafe\u0301", "cafe"),
        ("Black & Decker", "black-decker"),
        ("A\uff03B\ufe5fC", "a-b-c"),
        ("日本", "日本"),
        ("Straße", "strasse"),
        ("\x00", ""),
        ("!?", ""),
    ],
)
def test_slugs(name, slug):
    assert names.slugify(name) == slug


def taken_or_refused(normalise, text: str, field: str) -> str:  # noqa: RET503 - reject() ends the example
    """Return what becomes of a text that is taken; end the example where it is refused for the right reason."""
    try:
        taken = normalise(text)
    except Invalid as error:
        fields = list(error.fields)
    else:
        assert normalise(taken) == taken
        return taken
    assert fields == [field]
    reject()


FEW_OR_THE_OTHERS = pytest.mark.parametrize("examples", [20, pytest.param(80, marks=pytest.mark.thorough)])


@FEW_OR_THE_OTHERS
def test_a_user_name_is_taken_whole_or_refused(examples):
    @given(st.one_of(texts, st.text("aB1_.-#é ", min_size=3, max_size=31)))
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.filter_too_much])
    def take(text):
        username = taken_or_refused(names.normalise_username, text, "username")
        assert names.USERNAME_PATTERN.fullmatch(username)

    take()


@pytest.mark.parametrize(
    "text", ["", "ab", "a" * 31, "an#n", "an\uff03n", "a n", "_ann", "änn", "ann\n#", "a\x00nn"]
)
def test_these_are_no_user_names(text):
    with pytest.raises(Invalid):
        names.normalise_username(text)


def test_user_names_differ_in_letter_case_only_when_shown():
    assert names.normalise_username(" ANN.Example ") == "ann.example"


@FEW_OR_THE_OTHERS
def test_an_email_address_is_taken_whole_or_refused(examples):
    @given(st.one_of(texts, st.text("aB.+#é ", min_size=1)), st.one_of(texts, st.just("Example.org")))
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.filter_too_much])
    def take(local, domain):
        email = taken_or_refused(names.normalise_email, f"{local}@{domain}", "email")
        assert "#" not in email

    take()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ann",
        "ann@",
        "@example.org",
        "a#b@example.org",
        "a\uff03b@example.org",
        "a b@example.org",
        "ann@example.org\nBcc: x@example.org",
        "ann@example",
        "a" * 250 + "@example.org",
    ],
)
def test_these_are_no_email_addresses(text):
    with pytest.raises(Invalid):
        names.normalise_email(text)


@pytest.mark.parametrize(
    "text",
    [
        "Kapazität 10³ l",
        "Nintendo Switch™ OLED",
        "½ Preis",
        "12½ High Street",
        "C/ Mayor 5, 3º 2ª",
        "Ｂｏｓｃｈ",
        "№ 5",
    ],
)
def test_what_is_kept_is_kept_as_typed_and_compared_folded(text):
    assert names.as_typed(f"  {text}\n") == text
    assert names.as_typed(names.as_typed(text)) == text
    assert names.slugify(text) == names.slugify(names.normalise(text))


def test_letters_and_their_marks_are_put_together_where_they_are_kept():
    assert names.as_typed("Cafe\u0301\u200b  x\x00") == "Caf\u00e9 x"


@pytest.mark.parametrize(
    ("typed", "kept", "shown", "compared"),
    [
        (
            "Anna@Bücher.example",
            "Anna@xn--bcher-kva.example",
            "Anna@bücher.example",
            "anna@xn--bcher-kva.example",
        ),
        ("anna@XN--bcher-kva.example", "anna@xn--bcher-kva.example", "anna@bücher.example", ""),
        ("anna@straße.example", "anna@xn--strae-oqa.example", "anna@straße.example", ""),
        ("Straße@example.org", "Straße@example.org", "Straße@example.org", "strasse@example.org"),
        (
            " Anna.Maria@Example.ORG ",
            "Anna.Maria@example.org",
            "Anna.Maria@example.org",
            "anna.maria@example.org",
        ),
        ("Cafe\u0301@example.org", "Café@example.org", "Café@example.org", "café@example.org"),
        ("ａｎｎ＠ｅｘａｍｐｌｅ．ｏｒｇ", "ａｎｎ@example.org", "ａｎｎ@example.org", "ann@example.org"),
        ("ann²@example.org", "ann²@example.org", "ann²@example.org", "ann2@example.org"),
        ("ann@xn--0.example", "ann@xn--0.example", "ann@xn--0.example", ""),  # which no letters stand for
    ],
)
def test_an_address_is_kept_as_typed_its_domain_as_the_network_knows_it(typed, kept, shown, compared):
    assert names.email_as_typed(typed) == names.email_as_typed(kept) == kept
    assert names.email_as_typed(shown) == kept
    assert names.shown_email(kept) == shown
    assert names.normalise_email(typed) == names.normalise_sign_in_name(typed) == (compared or kept)
    assert keys.email_guard(kept) == keys.email_guard(compared or kept)


@pytest.mark.parametrize(
    "domain", ["bü cher.example", "\uff03.example", "ü_x.example", "ü" * 70 + ".example"]
)
def test_no_other_domain_is_one(domain):
    with pytest.raises(Invalid):
        names.normalise_email(f"ann@{domain}")
