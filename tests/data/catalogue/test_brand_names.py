import pytest

from dealsite.data import table
from dealsite.data.catalogue import brand_names, brands, name_cache
from dealsite.data.table import errors
from tests.builders import make_brand

pytestmark = pytest.mark.engines("native")


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    times = [1000.0]
    monkeypatch.setattr(name_cache, "clock", lambda: times[0])
    monkeypatch.setattr(brand_names.cache, "names", {})
    brand_names.forget()
    yield times
    brand_names.forget()


@pytest.mark.usefixtures("fresh_table")
def test_names_are_read_once_a_minute_and_charged_to_no_page(clock, monkeypatch):
    make_brand("Nordlicht")
    reads = []

    def read():
        reads.append(clock[0])
        return brands.all_brands()

    monkeypatch.setattr(brand_names, "all_brands", read)
    with table.metered() as meter:
        for _ in range(3):
            assert brand_names.names(["nordlicht"]) == {"nordlicht": "Nordlicht"}
        clock[0] += 59.9
        brand_names.names(["nordlicht"])
        clock[0] += 0.1
        brand_names.names(["nordlicht"])
    assert (reads, meter.calls) == ([1000.0, 1060.0], 0)


@pytest.mark.usefixtures("fresh_table")
def test_a_new_brand_is_looked_for_every_five_seconds_and_stands_for_itself_until_then(clock, monkeypatch):
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "nordlicht"}
    make_brand("Nordlicht")
    clock[0] += 4.9
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "nordlicht"}
    clock[0] += 0.1
    assert brand_names.names(["nordlicht"]) == {"nordlicht": "Nordlicht"}


def test_no_brand_needs_no_names(monkeypatch):
    monkeypatch.setattr(brand_names, "all_brands", lambda: pytest.fail("Nobody asked."))
    assert brand_names.names([]) == {}


@pytest.mark.usefixtures("fresh_table")
def test_without_a_table_the_names_of_before_are_shown(clock, monkeypatch):
    make_brand("Nordlicht")
    brand_names.names(["nordlicht"])

    def unavailable():
        raise errors.Unavailable

    monkeypatch.setattr(brand_names, "all_brands", unavailable)
    clock[0] += 60
    assert brand_names.names(["nordlicht", "aurora"]) == {"nordlicht": "Nordlicht", "aurora": "aurora"}
