"""What an address must say and how it is written, country by country; nobody is refused for living elsewhere."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from django.utils.translation import override

from benchmarks.placing import somewhere
from dealsite.data.commerce.addresses import Address, clean_address
from dealsite.data.commerce.countries import choices, country_name, country_of, example_phone, rules_of
from dealsite.data.table.errors import Invalid

COUNTRIES = [code for code, _name in choices()]
BERLIN = Address("Ada Ash", "1 High Street", postcode="10115", city="Berlin", country="DE")


def wrong(address: Address) -> dict[str, str]:
    """What is wrong with an address, by its parts."""
    with pytest.raises(Invalid) as refused:
        clean_address(address)
    return dict(refused.value.fields)


def in_country(country: str) -> Address:
    """Return an address of a country with all that it may have."""
    return replace(
        somewhere(country, "Ada Ash"),
        street="1 High Street",
        extra="Flat 2",
        city="Newtown",
        phone=example_phone(country),
    )


def test_all_countries_have_a_name_in_each_language_and_stand_in_the_order_of_names():
    assert len(COUNTRIES) > 240
    assert {"DE", "US", "HK", "XK", "CU", "TW"} <= set(COUNTRIES)
    assert "ZZ" not in COUNTRIES
    assert country_name("DE") == "Germany"
    with override("de"):
        names = [name for _code, name in choices()]
        assert names.index("Dänemark") < names.index("Deutschland") < names.index("Dschibuti")
        assert names.index("Oman") < names.index("Österreich") < names.index("Pakistan")
        assert country_name("HK") == "Hongkong"
    assert country_name("Land") == "Land"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *[("DE", "DE"), ("de", "DE"), ("Germany", "DE"), (" deutschland ", "DE"), ("ＤＥ", "DE")],
        *[("USA", "US"), ("UK", "GB"), ("United Kingdom", "GB"), ("Hong Kong", "HK"), ("HONGKONG", "HK")],
        *[
            ("Österreich", "AT"),
            ("Türkiye", "TR"),
            ("Côte d’Ivoire", "CI"),
            ("", ""),
            ("Land", ""),
            ("ZZ", ""),
        ],
        *[("../../etc", ""), ("D", ""), ("zz.json", "")],
    ],
)
def test_a_country_is_known_by_code_and_name(text, code):
    assert country_of(text) == code


def test_an_address_of_each_country_is_taken_and_stands_on_the_parcel_whole():
    for country in COUNTRIES:
        cleaned = clean_address(in_country(country))
        assert clean_address(cleaned) == cleaned
        text = "\n".join(cleaned.lines)
        for part in (cleaned.name, cleaned.street, cleaned.extra, cleaned.postcode, cleaned.city):
            assert part in text, country
        assert cleaned.lines[-1] == country_name(country)
        assert not [line for line in cleaned.lines if not line.strip(" ,-")], country


def test_what_a_country_needs_is_asked_for_and_nothing_else():
    for country in COUNTRIES:
        needs, whole = rules_of(country).needs, asdict(in_country(country))
        assert set(wrong(Address(country=country))) == needs, country
        only = Address(**{name: whole[name] for name in needs}, country=country)
        assert clean_address(only).country == country


@pytest.mark.parametrize(
    ("country", "typed", "kept"),
    [
        *[("DE", "D-10115", "10115"), ("DE", "１０１１５", "10115"), ("DE", " 10 115 ", "10115")],
        *[("PL", "00950", "00-950"), ("PT", "1000 001", "1000-001"), ("US", "100011234", "10001-1234")],
        *[("GB", "sw1a 1aa", "SW1A 1AA"), ("NL", "1234ab", "1234AB"), ("IE", "d02 x285", "D02 X285")],
        *[("LU", "L-1234", "1234"), ("HK", "999077", "999077"), ("HK", "-", ""), ("DE", "1011", None)],
        *[("DE", "ABCDE", None), ("US", "1234", None), ("CA", "12345", None), ("IE", "12345", None)],
    ],
)
def test_a_postcode_is_written_as_its_country_does(country, typed, kept):
    where = replace(BERLIN, country=country, postcode=typed)
    if states := rules_of(country).states:
        where = replace(
            where, state=next(one for one in states if one in ("NY", "QC", "Co. Cork", "Kowloon"))
        )
    if kept is None:
        assert set(wrong(where)) == {"postcode"}
        assert wrong(where)["postcode"].startswith("Write it as in ")
    else:
        assert clean_address(where).postcode == kept


def test_a_state_is_one_of_its_country_whose_postcode_it_is():
    boston = Address("Ada", "1 Street", postcode="02101", city="Boston", country="US")
    assert wrong(boston) == {"state": "Enter the state or province."}
    assert wrong(replace(boston, state="Bavaria")) == {"state": "Choose one from the list."}
    assert wrong(replace(boston, state="CA")) == {"postcode": "This is not a postcode of California."}
    for typed in ("MA", "ma", "Massachusetts", "MASSACHUSETTS"):
        assert clean_address(replace(boston, state=typed)).state == "MA"
    assert clean_address(replace(BERLIN, state="MA")) == BERLIN


def test_where_the_town_is_the_state_either_is_enough():
    dubai = Address("Ada", "1 Road", city="Dubai", country="AE")
    assert clean_address(dubai).lines == ["Ada", "1 Road", "Dubai", "United Arab Emirates"]
    assert clean_address(dubai) == clean_address(replace(dubai, city="", state="Dubai"))
    assert clean_address(dubai).place == clean_address(dubai).state
    assert set(wrong(replace(dubai, city=""))) == {"state"}
    assert set(wrong(replace(dubai, city="Atlantis"))) == {"state"}


@pytest.mark.parametrize(
    ("address", "lines"),
    [
        (BERLIN, ["Ada Ash", "1 High Street", "10115 Berlin", "Germany"]),
        (
            Address("Ada", "1 Main St", "Apt 2", "94043", "Mountain View", "US", "CA"),
            ["Ada", "Apt 2", "1 Main St", "Mountain View, CA 94043", "United States"],
        ),
        (
            Address("Ada", "1 High St", "", "SW1A 1AA", "London", "GB"),
            ["Ada", "1 High St", "London", "SW1A 1AA", "United Kingdom"],
        ),
        (
            Address("Ada", "88 Des Voeux Road", "", "", "Central", "HK"),
            ["Ada", "88 Des Voeux Road", "Central", "Hong Kong"],
        ),
        (
            Address("山田花子", "千代田区1-1", "", "1000001", "", "JP", "東京都"),
            ["〒1000001", "東京都", "千代田区1-1", "山田花子", "Japan"],
        ),
        (
            Address("Hanako Yamada", "1-1 Chiyoda", "", "100-0001", "", "JP", "Tokyo"),
            ["Hanako Yamada", "1-1 Chiyoda, Tokyo", "100-0001", "Japan"],
        ),
        (
            Address("Ada", "1 Orchard Road", "", "238801", "Singapore", "SG"),
            ["Ada", "1 Orchard Road", "SINGAPORE 238801", "Singapore"],
        ),
    ],
)
def test_an_address_is_written_as_the_post_of_its_country_reads_it(address, lines):
    assert clean_address(address).lines == lines


@pytest.mark.parametrize(
    ("typed", "country", "kept"),
    [
        *[("030 1234567", "DE", "+49 30 1234567"), ("+1 (212) 555-0100", "DE", "+1 212-555-0100")],
        *[("0041 44 668 18 00", "DE", "+41 44 668 18 00"), ("０３０１２３４５６７", "DE", "+49 30 1234567")],
        *[("1", "DE", None), ("call me", "DE", None), ("+999 123 456", "DE", None), ("9" * 40, "US", None)],
    ],
)
def test_a_telephone_number_is_kept_as_it_is_dialled_from_abroad(typed, country, kept):
    where = replace(in_country(country), phone=typed)
    if kept is None:
        assert set(wrong(where)) == {"phone"}
        assert wrong(where)["phone"].startswith("Write it as in +")
    else:
        assert clean_address(where).phone == kept


def test_an_address_of_an_earlier_release_is_read_as_it_was_typed():
    assert Address("Ada", "1 Street", city="Berlin", country="Germany").lines[-1] == "Germany"
    assert Address("Ada", "1 Street", city="Town", country="Land").lines == [
        "Ada",
        "1 Street",
        "Town",
        "Land",
    ]
    assert Address("Ada", "1 Street", postcode="-", city="-", country="-").lines == ["Ada", "1 Street"]
    assert Address().lines == []


def test_every_country_has_names_for_its_states_and_each_finds_it():
    for country in COUNTRIES:
        rules = rules_of(country)
        found = {(state, name) for state, names in rules.states.items() for name in [state, *names]}
        assert not [(country, state, name) for state, name in found if rules.state_of(name) != state]
