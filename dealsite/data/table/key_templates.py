"""A small language for the keys of one DynamoDB table: each template becomes a plain function, once, at import.

    song = key("SONG#{song:ulid}", "SONG#{song}")                                   song(id) is (PK, SK)
    songs_of_day = index("GSI1", "SONGS#{day of song}", "SONG#{song:ulid}", "songs of a day")

A part is {argument:type}, or {argument} where it stands again or is named as its type. {day of song} is computed from
another argument: of a ULID, from its time. A `?` after a type says that an item without it is not in the index, and
`status="OPEN"` that all but open ones are not. `#` separates the parts and stands in none.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NoReturn, Protocol, TypeVar, cast

from .convert import Key as Key
from .ids import epoch_seconds, folded, hash_of, is_ulid, iso, shard, time_of

Row = dict[str, str]
Range = tuple[str, str]
Made = TypeVar("Made", Key, Row, covariant=True)

TOP = "\U0010ffff"  # sorts after every character: the end of a prefix range
LONGEST = 512
unfit = re.compile("[#\x00-\x1f\ud800-\udfff]").search
LITERAL = re.compile(r"[A-Z#]*")
NUMBER = re.compile(r"0?\d*d")
PART = re.compile(r"(?P<name>\w+)(:(?P<type>[\w|]+))?(?P<optional>\?)?")
COMPUTED_PART = re.compile(r"(?P<name>[a-z]+)(/(?P<shards>\d+))? of (?P<source>\w+)")


def part(text: str) -> str:
    """Return a key part unchanged, or raise ValueError: empty, too long, a `#` or control character in it."""
    if not text or len(text) > LONGEST or unfit(text):
        refuse(text)
    return text


def ulid(text: str) -> str:
    """Return a ULID unchanged, or raise ValueError."""
    if not is_ulid(text):
        raise ValueError(f"{text[:80]!r} is not a ULID.")
    return text


def prefix(text: str) -> Range:
    """Return the lowest and highest sort key that start with a prefix, for BETWEEN."""
    return text, text + TOP


def refuse(text: str) -> NoReturn:
    raise ValueError(f"{text[:80]!r} cannot be part of a key.")


# How Python says what stands in a key for an argument `x`: checked in place, since each card on a page makes keys.
TEXT = "x if x and len(x) <= LONGEST and not unfit(x) else part(x)"
GIVEN = {
    **dict.fromkeys(("text", "word", "slug", "username", "folded", "hash", "month"), TEXT),
    "ulid": "x if is_ulid(x) else ulid(x)",
    "time": "iso(x)",
    "day": "x.isoformat()",
    "seconds": "str(epoch_seconds(x))",
    "year": 'f"{x:04d}"',
    "shard": 'f"{x:d}"',
    "number": 'f"{x:d}"',  # or with a width: 08d
}
OF_TIME = {"day": "x.date().isoformat()", "month": "x.date().isoformat()[:7]", "year": 'f"{x.year:04d}"'}
COMPUTED = {**OF_TIME, "folded": "part(folded(x))", "hash": "hash_of(x)", "shard": "shard(x, shards)"}
NAMES: dict[str, object] = {"TOP": TOP, "LONGEST": LONGEST, "unfit": unfit} | {
    one.__name__: one
    for one in (epoch_seconds, folded, hash_of, is_ulid, iso, part, refuse, shard, time_of, ulid)
}


@dataclass(frozen=True, slots=True)
class Part:
    """What stands between two `#`: an argument of a type, or what is computed of the argument `source`."""

    name: str
    type: str
    optional: bool = False
    source: str = ""
    shards: int = 0


Pieces = tuple[str | Part, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the chart: a key, or a row of an index with the question that it answers."""

    index: str
    partition: str
    sort: str
    about: str
    condition: str  # of being in the index, as Python says it
    partition_pieces: Pieces
    sort_pieces: Pieces


class Template(Protocol[Made]):
    """What a line of the chart can be asked for: it is called for all of a key or row, by name for less of it.

    `between(*leading)` is the lowest and highest sort key that begin with some parts; `until(*leading)` those that
    begin with all but the last of them, up to that one. What a call computes is given to all others.
    """

    entry: Entry
    partition: Callable[..., str]
    position: Callable[..., str]
    between: Callable[..., Range]
    until: Callable[..., Range]
    given: Callable[..., Key]

    def __call__(self, *arguments: Any, **named: Any) -> Made: ...


def key(partition: str, sort: str, about: str = "") -> Template[Key]:
    """Declare the key of an item."""
    entry = _entry("", partition, sort, about, {})
    return cast(Template[Key], _with_less(_pair(entry, given=False), entry))


def index(name: str, partition: str, sort: str, question: str, **when: str | bool) -> Template[Row]:
    """Declare a row of an index; one without a sort key is the one attribute that has the index's name."""
    entry = _entry(name, partition, sort, question, when)
    arguments = _arguments(entry.partition_pieces + entry.sort_pieces, given=False)
    signature = ", ".join(dict.fromkeys([*arguments, *when]))
    return cast(Template[Row], _with_less(_rows(signature, [entry]), entry))


def rows(signature: str, *templates: Template[Row]) -> Callable[..., Row]:
    """Declare all index rows of an item: a function with this signature that returns their attributes."""
    return _rows(signature, [template.entry for template in templates])


def chart(names: Mapping[str, object]) -> dict[str, Template]:
    """Return the templates of a module by their names."""
    return {name: cast(Template, value) for name, value in names.items() if hasattr(value, "entry")}


# Reading templates


def _entry(index: str, partition: str, sort: str, about: str, when: Mapping[str, str | bool]) -> Entry:
    known: dict[str, Part] = {}
    pieces = _pieces(partition, known), _pieces(sort, known)
    needed = [one.name for one in known.values() if one.optional]
    for name, value in when.items():
        needed.append(f"{name} == {value!r}" if isinstance(value, str) else name if value else f"not {name}")
    return Entry(index, partition, sort, about, " and ".join(needed), *pieces)


def _pieces(template: str, known: dict[str, Part]) -> Pieces:
    """Return the literals and parts of a template; ValueError where it is not well written."""
    texts = re.split("[{}]", template)
    if not all(LITERAL.fullmatch(text) for text in texts[::2]):
        raise ValueError(f"{template!r} has more than capitals and # between its parts.")
    pieces = [_part(text, known) if number % 2 else text for number, text in enumerate(texts)]
    return tuple(piece for piece in pieces if piece)


def _part(text: str, known: dict[str, Part]) -> Part:
    if text in known:
        return known[text]
    if found := COMPUTED_PART.fullmatch(text):
        new = Part(found["name"], found["name"], source=found["source"], shards=int(found["shards"] or 0))
        sound = new.type in COMPUTED
    elif found := PART.fullmatch(text):
        new = Part(found["name"], found["type"] or found["name"], bool(found["optional"]))
        sound = new.type in GIVEN or "|" in new.type or bool(NUMBER.fullmatch(new.type))
    if not found or not sound or known.setdefault(new.name, new) != new:
        raise ValueError(f"{text!r} is not a part of a key.")
    return new


def _parts(pieces: Pieces) -> list[Part]:
    return list(dict.fromkeys(piece for piece in pieces if isinstance(piece, Part)))


def _arguments(pieces: Pieces, *, given: bool) -> list[str]:
    """Return the arguments of a template, in the order in which they first appear."""
    return list(dict.fromkeys(one.name if given else one.source or one.name for one in _parts(pieces)))


# Making functions


def _pair(entry: Entry, *, given: bool) -> Callable[..., Any]:
    partition, sort = _text(entry.partition_pieces), _text(entry.sort_pieces)
    pair = f"(text := {sort}), text" if partition == sort else f"{partition}, {sort}"
    return _function(entry.partition_pieces + entry.sort_pieces, pair, given=given)


def _with_less(function: Callable[..., Any], entry: Entry) -> Callable[..., Any]:
    """Let a function have those beside it that return only a part of its result."""
    pieces = entry.sort_pieces
    ends = [number + 1 for number, piece in enumerate(pieces) if isinstance(piece, Part)]
    starts = [pieces[: ends[0] - 1 if ends else None], *(pieces[: end + 1] for end in ends)]
    ranges = [_range(start, start) for start in starts]
    spans = [_range(start, pieces[:end]) for start, end in zip(starts, ends, strict=False)]
    vars(function).update(
        entry=entry,
        partition=_function(entry.partition_pieces, _text(entry.partition_pieces)),
        position=_function(pieces, _text(pieces)),
        between=lambda *leading: ranges[len(leading)](*leading),
        until=lambda *leading: spans[len(leading) - 1](*leading),
        given=_pair(entry, given=True),
    )
    return function


def _range(start: Pieces, end: Pieces) -> Callable[..., Range]:
    return _function(end, f"{_text(start)}, {_text(end)} + TOP")


def _rows(signature: str, entries: Iterable[Entry]) -> Callable[..., Row]:
    lines, everywhere = ["row = {}"], set[str]()
    for condition, group in groupby(entries, lambda entry: entry.condition):
        made, here = (set(everywhere), list[str]()) if condition else (everywhere, lines)
        for entry in group:
            here += _conversions(entry.partition_pieces + entry.sort_pieces, made, given=False)
            attributes = (f"{entry.index}PK", f"{entry.index}SK") if entry.sort else (entry.index,)
            texts = _text(entry.partition_pieces), _text(entry.sort_pieces)
            here += [f"row[{name!r}] = {text}" for name, text in zip(attributes, texts, strict=False)]
        if condition:
            lines += [f"if {condition}:", *(f"    {line}" for line in here)]
    return _compiled(signature, lines, "row")


def _function(pieces: Pieces, result: str, *, given: bool = True) -> Callable[..., Any]:
    lines = _conversions(pieces, set(), given=given)
    return _compiled(", ".join(_arguments(pieces, given=given)), lines, result)


def _text(pieces: Pieces) -> str:
    """Return the expression of a text in which `x_` stands for the argument x, checked and converted."""
    return f'''f"{"".join(piece if isinstance(piece, str) else f"{{{piece.name}_}}" for piece in pieces)}"'''


def _conversions(pieces: Pieces, made: set[str], *, given: bool) -> list[str]:
    """Return the lines that check and convert arguments, and then those that compute, without what is made already."""
    parts = sorted(_parts(pieces), key=lambda one: bool(one.source))
    ulids = {one.name for one in parts if one.type == "ulid"}
    lines = []
    for one in parts:
        source = one.name if given else one.source or one.name
        if source in ulids and one.type in OF_TIME:
            lines.append(f"{source}_time = time_of({source})")
            source = f"{source}_time"
        expression = re.sub(r"\bx\b", source, _expression(one, given=given))
        lines.append(f"{one.name}_ = {expression}")
    new = [line for line in dict.fromkeys(lines) if line not in made]
    made.update(new)
    return new


def _expression(one: Part, *, given: bool) -> str:
    """Return how Python says what stands in a key for an argument `x`."""
    if one.source and not given:
        return COMPUTED[one.type].replace("shards", str(one.shards))
    if "|" in one.type:
        choices = [f"{word.upper()!r} if x == {word!r} else " for word in one.type.split("|")]
        return "".join([*choices, "refuse(x)"])
    return GIVEN.get(one.type) or f'f"{{x:{one.type}}}"'


def _compiled(signature: str, lines: Iterable[str], result: str) -> Callable[..., Any]:
    """Return a function made of its text, as dataclasses make theirs. The text is the chart's, never data."""
    names = dict(NAMES)
    body = "\n    ".join([*lines, f"return {result}"])
    exec(f"def made({signature}):\n    {body}", names)  # noqa: S102
    return cast(Callable[..., Any], names["made"])
