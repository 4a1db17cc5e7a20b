"""Display names are read once a minute by each process, and outlive a table that does not answer."""

import pytest

from dealsite.data import table
from dealsite.data.catalogue import brands, categories, display_names
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.table import errors
from tests.builders import NOW, make_brand


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    times = [1000.0]
    monkeypatch.setattr(display_names, "clock", lambda: times[0])
    monkeypatch.setattr(brand_names, "known", {})
    monkeypatch.setattr(category_names, "known", dict(categories.CATEGORIES))
    brand_names.forget()
    category_names.forget()
    yield times
    brand_names.forget()
    category_names.forget()


def rename(slug, name):
    categories.edit(categories.get(slug), name=name, description="", logo=None, by="eve", now=NOW)


@pytest.mark.budget
@pytest.mark.usefixtures("fresh_table")
def test_categories_names_are_read_once_a_minute_and_charged_to_no_page(clock):
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
def test_a_categorys_new_name_shows_at_once_where_it_was_given(clock):
    categories.create_all()
    category_names.names()
    rename("toys-hobbies", "Play")
    category_names.forget()
    assert category_names.names()["toys-hobbies"] == "Play"


@pytest.mark.engines("native")
def test_without_a_table_categories_names_of_before_are_shown_and_asked_for_again_after_five_seconds(
    engine_kind, clock, monkeypatch
):
    asked = []

    def unavailable():
        asked.append(clock[0])
        raise errors.Unavailable

    monkeypatch.setattr(display_names, "all_categories", unavailable)
    assert category_names.names() == categories.CATEGORIES
    clock[0] += 4.9
    category_names.names()
    clock[0] += 0.1
    category_names.names()
    assert asked == [1000.0, 1005.0]


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_brands_names_are_read_once_a_minute_and_charged_to_no_page(clock, monkeypatch):
    make_brand("Nordlicht")
    reads = []

    def read():
        reads.append(clock[0])
        return brands.all_brands()

    monkeypatch.setattr(display_names, "all_brands", read)
    with table.metered() as meter:
        for _ in range(3):
            assert brand_names.names(["nordlicht"]) == {"nordlicht": "Nordlicht"}
        clock[0] += 59.9
        brand_names.names(["nordlicht"])
        clock[0] += 0.1
        brand_names.names(["nordlicht"])
    assert (reads, meter.calls) == ([1000.0, 1060.0], 0)


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_a_new_brand_is_looked_for_every_five_seconds_and_stands_for_itself_until_then(clock, monkeypatch):
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "nordlicht"}
    make_brand("Nordlicht")
    clock[0] += 4.9
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "nordlicht"}
    clock[0] += 0.1
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "Nordlicht"}


@pytest.mark.engines("native")
def test_no_brand_needs_no_names(monkeypatch):
    monkeypatch.setattr(display_names, "all_brands", lambda: pytest.fail("Nobody asked."))
    assert brand_names.names([]) == {}


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_without_a_table_brands_names_of_before_are_shown(clock, monkeypatch):
    make_brand("Nordlicht")
    brand_names.names(["nordlicht"])

    def unavailable():
        raise errors.Unavailable

    monkeypatch.setattr(display_names, "all_brands", unavailable)
    clock[0] += 60
    assert brand_names.names(["nordlicht", "aurora"]) == {"nordlicht": "Nordlicht", "aurora": "aurora"}


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_a_table_that_never_answered_has_no_brands_names_and_a_slug_is_none(clock, monkeypatch):
    def unavailable():
        raise errors.Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(display_names, "all_brands", unavailable)
        for _ in range(2):  # the second does not even ask
            with pytest.raises(errors.Unavailable):
                brand_names.names(["nordlicht"])
    make_brand("Nordlicht")
    clock[0] += 5
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "Nordlicht"}
