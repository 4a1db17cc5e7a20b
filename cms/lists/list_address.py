"""The address of the list of deals as text: filters, columns and page; what a form leads back to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.http import QueryDict
from django.utils.http import urlencode

FILTERS = ("state", "brand", "category", "q", "lacks")
PLACES = ("after", "before", "page")  # of the page shown
NAMES = (*FILTERS, "columns", *PLACES)
LONGEST = 2_000  # characters of a value


def list_query(text: str, *, without: Iterable[str] = ()) -> str:
    """Return the query string of the list that a text holds, its own names only; '' or starting with `?`."""
    try:
        given = QueryDict(text.removeprefix("?")[:10_000])
    except ValueError:
        return ""
    return query_of(given, without=without)


def query_of(given: Mapping[str, str], *, without: Iterable[str] = ()) -> str:
    """Return the query string of what is given of the list's filters, columns and page."""
    left_out = set(without)
    values = {name: given.get(name, "")[:LONGEST] for name in NAMES if name not in left_out}
    text = urlencode({name: value for name, value in values.items() if value})
    return f"?{text}" if text else ""
