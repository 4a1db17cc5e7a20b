import pytest

from dealsite.data import table
from dealsite.data.catalogue import categories, category_names, name_cache
from dealsite.data.table import errors
from tests.builders import NOW


@pytest.fixture(autouse=True)
def fresh_names(monkeypatch):
    monkeypatch.setattr(category_names.cache, "names", dict(categories.CATEGORIES))
    category_names.forget()
    yield
    category_names.forget()


@pytest.fixture
def clock(monkeypatch):
    times = [1000.0]
    monkeypatch.setattr(name_cache, "clock", lambda: times[0])
    return times


def rename(slug, name):
    categories.edit(categories.get(slug), name=name, description="", logo=None, by="eve", now=NOW)


@pytest.mark.budget
@pytest.mark.usefixtures("fresh_table")
def test_names_are_read_once_a_minute_and_charged_to_no_page(clock):
    categories.create_all()
    assert category_names.names()["toys-hobbies"] == "Toys & Hobbies"
    rename("toys-hobbies", "Play")
    clock[0] += 59.9
    with table.metered() as meter:
        assert category_names.names()["toys-hobbies"] == "Toys & Hobbies"
        clock[0] += 0.1
        assert category_names.names()["toys-hobbies"] == "Play"
    assert meter.calls == 0


@pytest.mark.budget
@pytest.mark.usefixtures("fresh_table")
def test_a_new_name_shows_at_once_where_it_was_given(clock):
    categories.create_all()
    category_names.names()
    rename("toys-hobbies", "Play")
    category_names.forget()
    assert category_names.names()["toys-hobbies"] == "Play"


@pytest.mark.engines("native")
def test_without_a_table_the_names_of_before_are_shown_and_asked_for_again_after_five_seconds(
    engine_kind, clock, monkeypatch
):
    asked = []

    def unavailable():
        asked.append(clock[0])
        raise errors.Unavailable

    monkeypatch.setattr(category_names, "all_categories", unavailable)
    assert category_names.names() == categories.CATEGORIES
    clock[0] += 4.9
    category_names.names()
    clock[0] += 0.1
    category_names.names()
    assert asked == [1000.0, 1005.0]
