"""Every stored key is byte for byte what it has always been: data that is there would be lost otherwise."""

from __future__ import annotations

import json
from datetime import date, datetime
from operator import attrgetter
from pathlib import Path

from dealsite.data import keys

GOLDEN = json.loads((Path(__file__).parent / "keys_golden.json").read_text("utf-8"))


def value(stored):
    """An argument as it is called with: JSON knows neither times nor days."""
    match stored:
        case {"time": text}:
            return datetime.fromisoformat(text)
        case {"day": text}:
            return date.fromisoformat(text)
    return stored


def test_a_stored_key_is_what_it_was():
    for row in GOLDEN:
        found = attrgetter(row["of"])(keys)(*map(value, row["args"]), **row.get("kwargs", {}))
        assert (list(found) if isinstance(found, tuple) else found) == row["is"], row


def test_every_line_of_the_chart_has_been_stored():
    assert set(keys.CHART) - {row["of"] for row in GOLDEN if row["is"]} == set()
