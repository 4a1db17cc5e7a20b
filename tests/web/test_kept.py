"""A kept part is rendered once for the same values, language and time zone, and for no others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.utils import timezone, translation
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from dealsite.accounts.locales import UserZone
from dealsite.templatetags import kept
from dealsite.templatetags.kept import KeptNode, KeptParts
from tests import kept_parts

EIGHT = datetime(2026, 3, 1, 8, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    title: str
    price: Decimal | None = None


def note(made: list[str], text: str) -> str:
    made.append(text)
    return text


def count(parts: KeptParts, *given: dict[str, Any]) -> int:
    """Return how many parts are made of some values, each asked for twice."""
    made: list[str] = []
    for values in given:
        for _ in range(2):
            parts.get("owner", values, partial(note, made, "a part"))
    return len(made)


def test_the_same_values_are_rendered_once():
    row = {
        "row": Row("A title", Decimal("1.00")),
        "at": EIGHT,
        "words": gettext_lazy("Deals"),
        "roles": frozenset({"editor"}),
    }
    assert count(KeptParts(), row, dict(row), {**row, "row": Row("A title", Decimal("1.00"))}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<b>", SafeString("<b>")),
        (1, True),
        (0, ""),
        (None, ""),
        (1, 1.0),
        (Decimal("1.0"), Decimal("1.00")),
        (Row("A"), Row("B")),
        (Row("A"), Row(SafeString("A"))),
        (Row("A"), Row("A", Decimal(1))),
        ([Row("A"), Row("B")], [Row("B"), Row("A")]),
        (("a", "b"), ("ab",)),
        ({"a": 1}, {"a": 2}),
        (EIGHT, EIGHT.replace(microsecond=1)),
        (gettext_lazy("Deals"), gettext_lazy("Brands")),
    ],
)
def test_what_is_not_the_same_is_another_part(one: Any, other: Any):
    assert count(KeptParts(), {"value": one}, {"value": other}) == 2


def test_names_owners_languages_and_time_zones_have_parts_of_their_own():
    parts = KeptParts()
    assert count(parts, {"a": 1}, {"b": 1}) == 2
    parts.get("another owner", {"a": 1}, lambda: "another")
    assert parts.get("owner", {"a": 1}, lambda: "") == "a part"
    with translation.override("de"):
        assert count(parts, {"a": 1}) == 1
    seen = set()
    for zone in (ZoneInfo("UTC"), ZoneInfo("Europe/Berlin"), UserZone(lambda: ""), UserZone(lambda: "UTC")):
        with timezone.override(
            zone
        ):  # whoever chose the site's own zone keeps it, whatever their browser has
            seen.add(parts.get("clock", {"at": EIGHT}, partial(repr, zone)))
    assert len(seen) == 3


def test_a_value_that_could_change_unseen_is_refused():
    with pytest.raises(TypeError, match="object is no plain data"):
        KeptParts().get("owner", {"value": object()}, str)


def test_what_was_not_asked_for_longest_goes(monkeypatch):
    monkeypatch.setattr(kept, "MAX_CHARACTERS", 350)
    parts, made = KeptParts(), list[str]()

    def ask(name: str) -> str:
        return parts.get("owner", {"name": name}, lambda: 100 * note(made, name))

    for name in "abacabd":
        ask(name)
    assert made == ["a", "b", "c", "d"]
    assert ask("b") == 100 * "b"
    assert made == ["a", "b", "c", "d"]
    ask("c")
    assert made == ["a", "b", "c", "d", "c"]
    assert ask("e" * 9) == 900 * "e"  # larger than all room
    assert parts._size == 0
    assert not parts._parts


def rendered(source: str, **values: Any) -> str:
    return Template("{% load kept %}" + source).render(Context(values))


def test_inside_a_template_sees_what_it_is_given_and_nothing_else(monkeypatch):
    monkeypatch.setattr(KeptNode, "render", kept_parts.RENDER)
    source = "{% kept name=row.title number %}{{ name }} {{ number }}{{ row.title }}{{ other }}{% endkept %}{{ other }}"
    assert rendered(source, row=Row("<i>"), number=3, other="x") == "&lt;i&gt; 3x"


def test_the_tests_refuse_a_part_that_is_not_given_what_it_shows():
    with pytest.raises(AssertionError, match="not given other"):
        rendered("{% kept number %}{{ other }}{% endkept %}", number=1, other="x")
    with pytest.raises(AssertionError, match="depends on more than number"):
        Template("{% load kept %}{% kept number %}{% now 'u' %}{% endkept %}").render(Context({"number": 1}))


@pytest.mark.parametrize("wrong", ["row.title", "a b=", "=b"])
def test_what_is_no_name_is_refused(wrong: str):
    with pytest.raises(TemplateSyntaxError):
        Template(f"{{% load kept %}}{{% kept {wrong} %}}{{% endkept %}}")
