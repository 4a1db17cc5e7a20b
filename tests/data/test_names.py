"""Names: they are safe parts of keys, and the same however often they are normalised."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from dealsite.data import names
from dealsite.data.table.errors import Invalid
from tests.hostile import huge, texts


@given(texts)
def test_normalising_twice_changes_nothing_more(text):
    once = names.normalise(text)
    assert names.normalise(once) == once
    assert once == once.strip()
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in once)


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
