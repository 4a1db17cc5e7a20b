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


@pytest.fixture
def reads(monkeypatch, clock):
    """Notes when brands are read."""
    found, read = [], brands.get_many

    def noted(slugs):
        found.append((clock[0], sorted(slugs := [*slugs])))
        return read(slugs)

    monkeypatch.setattr(brands, "get_many", noted)
    return found


@pytest.fixture
def away(monkeypatch):
    def away(*_):
        raise errors.Unavailable

    return lambda: monkeypatch.setattr(brands, "get_many", away)


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_a_brands_name_is_read_once_a_minute_and_charged_to_no_page(clock, reads):
    make_brand("Nordlicht")
    make_brand("Vela")
    with table.metered() as meter:
        for _ in range(3):
            assert brand_names.names(["nordlicht"]) == {"nordlicht": "Nordlicht"}
        clock[0] += 59.9
        brand_names.names(["nordlicht", "vela"])
        clock[0] += 0.1
        brand_names.names(["nordlicht", "vela"])
    assert reads == [(1000.0, ["nordlicht"]), (1059.9, ["vela"]), (1060.0, ["nordlicht"])]
    assert meter.calls == 0


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_a_new_brand_is_looked_for_every_five_seconds_and_stands_for_itself_until_then(clock):
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "nordlicht"}
    make_brand("Nordlicht")
    clock[0] += 4.9
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "nordlicht"}
    clock[0] += 0.1
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "Nordlicht"}


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_a_brand_is_found_by_each_of_its_names_and_looked_up_once_a_minute(clock, reads):
    assert (brand_names.find("Polarlicht"), brand_names.find("!")) == ("", "")
    make_brand("Nordlicht", also=["Polarlicht"])
    del reads[:]
    for typed in ("Polarlicht", "POLARLICHT!", "polarlicht"):
        assert brand_names.find(typed) == display_names.brand_slug(typed) == "nordlicht"
    assert len(reads) == 2  # by its slug, and by its name
    clock[0] += 60
    brand_names.find("Polarlicht")
    assert len(reads) == 4
    assert display_names.brand_slug("Aurora Borealis") == "aurora-borealis"


@pytest.mark.engines("native")
def test_no_brand_needs_no_names_and_what_is_no_slug_is_not_asked_for(reads):
    assert brand_names.names([]) == {}
    assert reads == []


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_only_so_many_names_are_kept(monkeypatch, reads):
    monkeypatch.setattr(display_names, "MOST_KEPT", 2)
    for name in ("Nordlicht", "Vela", "Aurora"):
        brand_names.names([make_brand(name).slug])
    brand_names.names(["aurora"])
    assert len(reads) == 3
    assert brand_names.names(["nordlicht", "vela", "aurora"]).keys() == {"nordlicht", "vela", "aurora"}


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table")
def test_without_a_table_brands_names_of_before_are_shown(clock, away):
    make_brand("Nordlicht")
    brand_names.names(["nordlicht"])
    away()
    clock[0] += 60
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "Nordlicht"}
    with pytest.raises(errors.Unavailable):
        brand_names.names(["nordlicht", "aurora"])
