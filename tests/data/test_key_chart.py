"""What follows from the key chart itself: no two of its lines ever meet."""

from __future__ import annotations

import re
from datetime import date
from functools import cache

import pytest
from hypothesis import assume, given, settings, strategies as st

from dealsite.data import keys
from dealsite.data.entities import commerce
from dealsite.data.entities.commerce import ACTIVE, ORDER_STATUSES, PURCHASED, RETURNED, SAVED
from dealsite.data.entities.imports import CHANGED, REFUSED
from dealsite.data.table import ids
from dealsite.data.table.key_templates import GIVEN, TEXT, Part, Template, key
from tests.hostile import moments, texts

# Lists that stand in one partition of an index on purpose: one query reads both, or each has a range of its own.
TOGETHER = [{"order_head", "order_lines"}, {"relations_of_user", "orders_of_user"}]

ULIDS = st.builds(ids.new_ulid, moments, st.integers(0, 2**80 - 1))
STATUSES = [
    ACTIVE,
    SAVED,
    PURCHASED,
    RETURNED,
    *ORDER_STATUSES,
    *commerce.STATUSES,
    commerce.GIVEN_UP,
    CHANGED,
    REFUSED,
]
WORDS = st.sampled_from([*STATUSES, "deal", "draft"])
ANYTHING = st.one_of(
    WORDS,
    ULIDS,
    texts.filter(lambda text: text and not re.search(f"[#\x00-\x1f\ud800-\udfff{keys.TOP}]", text)),
)
VALUES = {
    "ulid": ULIDS,
    "time": moments,
    "seconds": moments,
    "day": st.dates(date(1000, 1, 1)),
    "year": st.integers(1000, 9999),
    "shard": st.integers(0, 99),
    "word": WORDS,
}
PATTERNS = {
    "ulid": "[0-7][0-9A-HJKMNP-TV-Z]{25}",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    "seconds": r"-?\d+",
    "day": r"\d{4}-\d\d-\d\d",
    "year": r"\d{4}",
    "shard": r"\d+",
}


def values(part: Part) -> st.SearchStrategy:
    """What a part is called with."""
    if "|" in part.type:
        return st.sampled_from(part.type.split("|"))
    if re.fullmatch("number|0?[0-9]*d", part.type):
        return st.integers(0, 99_999)
    return VALUES.get(part.type, ANYTHING)


@cache
def pattern(*pieces: str | Part) -> re.Pattern[str]:
    """What all texts of a template look like, and no others; what stands there twice is the same twice."""
    text = ""
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
        elif f"<{piece.name}>" in text:
            text += f"(?P={piece.name})"
        else:
            number = r"\d+" if re.fullmatch("number|0?[0-9]*d", piece.type) else "[^#]+"
            words = piece.type.upper() if "|" in piece.type else PATTERNS.get(piece.type, number)
            text += f"(?P<{piece.name}>{words})"
    return re.compile(text, re.DOTALL)


def parts_of(pieces) -> list[Part]:
    return list(dict.fromkeys(piece for piece in pieces if isinstance(piece, Part)))


def draw_stored(
    data, line: Template, parts: dict[str, object] | None = None
) -> tuple[str, str, dict[str, object]]:
    """A partition and sort key of a line of the chart, and the parts that they are made of."""
    entry = line.entry
    parts = dict(parts or {})
    for part in parts_of(entry.partition_pieces + entry.sort_pieces):
        if part.name not in parts:
            parts[part.name] = data.draw(values(part), label=part.name)
    partition = line.partition(*(parts[part.name] for part in parts_of(entry.partition_pieces)))
    position = line.position(*(parts[part.name] for part in parts_of(entry.sort_pieces)))
    return partition, position, parts


def neighbours(line: Template, partition: str) -> set[str]:
    """The lines of the chart of which a partition of the table, or of an index, may hold items."""
    return {
        name
        for name, other in keys.CHART.items()
        if other.entry.index == line.entry.index
        and pattern(*other.entry.partition_pieces).fullmatch(partition)
    }


any_line = st.sampled_from(list(keys.CHART))


# No two lines meet


@given(name=any_line, data=st.data())
@settings(max_examples=800)
def test_what_is_stored_says_which_line_of_the_chart_it_is_and_of_what_it_is_made(name, data):
    line = keys.CHART[name]
    partition, position, parts = draw_stored(data, line)
    found = {
        other: pattern(*entry.partition_pieces, "\n", *entry.sort_pieces).fullmatch(
            f"{partition}\n{position}"
        )
        for other in neighbours(line, partition)
        if (entry := keys.CHART[other].entry)
    }
    matches = {other: match for other, match in found.items() if match}
    assert set(matches) == {name}
    said = matches[name].groupdict()
    for part, value in parts.items():
        if isinstance(value, str):
            assert said[part].lower() == value.lower()


@given(name=st.sampled_from([name for name, line in keys.CHART.items() if line.entry.index]), data=st.data())
@settings(max_examples=200)
def test_only_lists_that_belong_together_share_a_partition_of_an_index(name, data):
    partition, _, _ = draw_stored(data, keys.CHART[name])
    together = next((names for names in TOGETHER if name in names), {name})
    assert neighbours(keys.CHART[name], partition) == together


@given(name=any_line, data=st.data())
@settings(max_examples=500)
def test_a_range_holds_its_own_items_and_nobody_elses(name, data):
    line = keys.CHART[name]
    partition, position, parts = draw_stored(data, line)
    named = parts_of(line.entry.sort_pieces)
    own = [piece for piece in line.entry.sort_pieces[:1] if isinstance(piece, str)]
    for count in range(0 if own else 1, len(named) + 1):
        leading = [parts[part.name] for part in named[:count]]
        low, high = line.between(*leading)
        assert low <= position <= high
        for other in neighbours(line, partition) - {name}:
            _, stranger, _ = draw_stored(data, keys.CHART[other])
            assert not low <= stranger <= high, other
        if leading:
            low, high = line.until(*leading)
            assert low <= position <= high


# No text gets into a key that is not meant for it


@given(name=any_line, data=st.data(), text=texts)
@settings(max_examples=400)
def test_no_part_takes_a_separator_a_control_character_or_what_is_not_of_its_type(name, data, text):
    line = keys.CHART[name]
    _, _, parts = draw_stored(data, line)
    for ask, pieces in (
        (line.partition, line.entry.partition_pieces),
        (line.position, line.entry.sort_pieces),
        (line.given, line.entry.partition_pieces + line.entry.sort_pieces),
    ):
        arguments = parts_of(pieces)
        for number, part in enumerate(arguments):
            called = [parts[one.name] for one in arguments]
            for hostile in (
                text + "#",
                "#" + text,
                text + "\x00",
                "\n" + text,
                text + "\ud800",
                "",
                "x" * 513,
            ):
                called[number] = hostile
                with pytest.raises((ValueError, TypeError, AttributeError)) as refused:
                    ask(*called)
                if GIVEN.get(part.type) == TEXT or "|" in part.type or part.type == "ulid":
                    assert refused.type is ValueError


@given(texts)
def test_a_choice_is_one_of_its_words(text):
    assume(text not in ("deal", "draft"))
    with pytest.raises(ValueError, match="cannot be part of a key"):
        keys.trash(text, ids.new_ulid(ids.EPOCH, 1))


@pytest.mark.parametrize(
    "template",
    [
        "SONG#{song:nothing}",
        "song#{song:ulid}",
        "SONG#{song}",
        "SONG#{song:}",
        "{age of song}",
        "SONG#{song:ulid}#{song:slug}",
    ],
)
def test_a_template_that_is_not_well_written_is_refused_at_once(template):
    with pytest.raises(ValueError, match=r"part of a key|between its parts"):
        key(template, "SONG")
