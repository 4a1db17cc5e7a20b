"""Every question and entity of the published models: our answer is that of a scan, for so many requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from dealsite.data import keys, table
from dealsite.data.catalogue import buckets
from dealsite.data.integrity import checks
from dealsite.data.people import announcements
from dealsite.data.table import schema
from dealsite.data.table.convert import Item
from tests.faults.unkind import WRITES
from tests.questions import budget
from tests.sampling import is_due
from tests.seeds import Ask, forget, shop, stored
from tests.seeds.models import MODELS
from tests.table_requests import handled

QUESTIONS = [question for model in MODELS for question in model.questions]
ENTITIES = [entity for model in MODELS for entity in model.entities]


@pytest.fixture(scope="module")
def filled(native_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The settings that lead to a table with the demo, an import, orders and payments, made once."""
    folder = tmp_path_factory.mktemp("seeds")
    options: dict[str, Any] = {"DYNAMODB_ENDPOINT_URL": native_engine, "DEALSITE_TABLE": folder.name}
    options |= {"MEDIA_ROOT": folder / "media", "VAR": folder / "var"}
    with override_settings(**options):
        table.reset()
        buckets.forget()
        schema.create_table()
        shop.fill(folder)
    yield options
    with override_settings(**options):
        table.reset()
        found = [str(problem) for problem in checks.find()]
        assert not found, "\n".join(found)


@pytest.fixture
def site(
    filled: dict[str, Any], engine: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """That table, for one test; an announcement does not write more because the machine is busy."""
    for name, value in filled.items():
        setattr(settings, name, value)
    buckets.forget()
    monkeypatch.setattr(announcements, "monotonic", lambda: 0.0)
    with handled(lambda request: forget(), *WRITES):
        yield


@pytest.mark.each_run
def test_a_question_of_the_models_is_answered_as_a_scan_answers_it(site: None, subtests: pytest.Subtests):
    for question in QUESTIONS:
        if not is_due(question.example.__name__, quick=3):
            continue
        with subtests.test(question.example.__name__):
            buckets.forget()
            ask = Ask(question.function)
            answer, expected = question.example(ask)
            assert answer == expected
            assert all(expected), "Nothing to find proves nothing"
            assert ask.sent[0] == budget(question.requests, d=ask.d)


def test_an_example_of_each_entity_of_the_models_is_found_again(site: None, subtests: pytest.Subtests):
    for entity in ENTITIES:
        with subtests.test(entity.example.__name__):
            buckets.forget()
            found, written = entity.example()
            assert found == written


def test_the_entities_of_the_models_are_stored_under_the_keys_of_their_lines(site: None):
    said = [(entity.type, line) for entity in ENTITIES for line in entity.keys.split()]
    assert [
        (type_, line) for type_, line in said if not any(stands(one, line) for one in stored(type_))
    ] == []


def stands(item: Item, line: str) -> bool:
    """Tell whether an item has a key, or a row of an index, of a line of the key chart."""
    entry = keys.CHART[line].entry
    parts = {"": ("PK", "SK"), keys.USER_INDEX: (keys.USER_INDEX,)}
    names = parts.get(entry.index or "", (f"{entry.index}PK", f"{entry.index}SK"))
    return all(
        re.fullmatch(re.sub(r"\{[^}]+\}", "[^#]+", template), str(item.get(attribute, "")))
        for attribute, template in zip(names, (entry.partition, entry.sort), strict=False)
    )


def test_every_question_has_its_line():
    found = {model.name: len({one.number for one in model.questions}) for model in MODELS}
    assert found == {"Deals site": 23, "Retail cart": 6, "Bank payments": 9, "E-commerce store": 6}
    assert sorted({one.number for one in QUESTIONS}) == list(range(1, 45))
    assert [one.number for one in QUESTIONS] == sorted(one.number for one in QUESTIONS)


def test_every_entity_has_its_line():
    found = {model.name: len(model.entities) for model in MODELS}
    assert found == {"Deals site": 12, "Retail cart": 1, "Bank payments": 2, "E-commerce store": 3}
