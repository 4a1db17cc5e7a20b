"""The parts of docs and deployment that code says already: what yields their lines, by name in PARTS."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import groupby
from math import ceil
from pathlib import Path
from typing import Any

from benchmarks import capacity, cloud_costs, paper_site, volume
from dealsite import retention_chart
from dealsite.accounts import limit_table
from dealsite.data import keys
from dealsite.data.entities.attributes import Attribute, Each, Map, MapOf, Shape
from dealsite.data.entities.chart import ROOMS
from dealsite.data.entities.entity import Entity, pattern
from dealsite.data.table.convert import to_attributes
from dealsite.data.table.key_templates import Entry, Pieces
from dealsite.data.table.meters import ACCESS_PATTERNS
from dealsite.imports.csv_format import KNOWN_FORMATS
from dealsite.variables import VARIABLES
from dealsite.web import counting as metrics_chart
from tests.data.entities.examples import EXAMPLES as ENTITY_EXAMPLES
from tests.deploy.stack import table_part
from tests.derived import sizes
from tests.measuring import measured_here
from tests.pages import Route, routes
from tests.questions import QUESTIONS, name_of, room_of
from tests.seeds import Entity as SeedEntity, Model, Question as SeedQuestion
from tests.seeds.models import MODELS

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = re.compile(r'^((?:# .+\n)*)\w+ = env\(\s*"(\w+)"[^#]*?\)(  # .+)?$', re.MULTILINE)
KEY = re.compile(r"[^\s,;()]*#[^\s,;()]*|\b[A-Z]{4,}\b")

Lines = Iterator[str]


def table(head: str, rows: Iterable[Iterable[object]], *, right: int = 0) -> Lines:
    """Yield a table: `head` names its columns, the last `right` of which hold numbers."""
    columns = head.split(" | ")
    yield f"| {head} |"
    yield f"|{'---|' * (len(columns) - right)}{'---:|' * right}"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"


# Questions and pages


def questions() -> Lines:
    """Yield the questions to the table by room, with the units that their examples took when they were measured."""
    head = "question | keys | function | requests | read units | write units"
    measured = _measured()
    for room, names in groupby(QUESTIONS, lambda name: room_of(QUESTIONS[name])):
        yield f"\n### {room.capitalize()}\n"
        yield from table(
            head, (_question(name, *measured.get(name, ["", "", ""])) for name in names), right=2
        )


def _question(name: str, touched: str, *units: str) -> list[str]:
    pattern = ACCESS_PATTERNS[QUESTIONS[name]]
    return [pattern.question, touched, f"`{name}`", pattern.requests, *units]


@cache
def _measured() -> dict[str, list[str]]:
    """Return the keys and units of each question as tests measured them: with the code as it is, or else before."""
    here = {path.stem: json.loads(path.read_text("utf-8")) for path in measured_here().glob("*.json")}
    return cloud_costs.measured() | here


def as_code(text: str) -> str:
    """Return a text with what are keys set as code."""
    return KEY.sub(r"`\g<0>`", text)


def pages() -> Lines:
    """Yield what each view says of its page."""
    rows = ((f"`{one.name}`", f"`/{one.pattern}`", _who(one), one.page.requests) for one in routes())
    yield from table("page | address | who | requests", rows)


def _who(route: Route) -> str:
    if route.roles is None:
        return "all"
    return " or ".join(sorted(route.roles, reverse=True)) or "signed in"


# What is stored


def keys_of_items() -> Lines:
    """Yield the key chart: the items."""
    items = [(name, line.entry) for name, line in keys.CHART.items() if not line.entry.index]
    rows = ((f"`{name}`", *_stored(entry), entry.about) for name, entry in items)
    yield from table("key | partition | sort key | what it is", rows)


def keys_of_lists() -> Lines:
    """Yield the key chart: the rows of indexes."""
    lists = [(name, line.entry) for name, line in keys.CHART.items() if line.entry.index]
    rows = (
        (
            entry.about + (f" (if `{entry.condition}`)" if entry.condition else ""),
            entry.index,
            *_stored(entry),
            f"`{name}`",
        )
        for name, entry in lists
    )
    yield from table("question | index | partition | sort key | row", rows)


def _stored(entry: Entry) -> list[str]:
    return [f"`{text}`".replace("|", "\\|") if text else "" for text in (entry.partition, entry.sort)]


def entities() -> Iterator[str]:
    """Yield the entity chart: every type of item, its keys, index rows and attributes."""
    seen: dict[int, str] = {}
    for room in ROOMS:
        yield f"## {(room.__doc__ or '').partition('.')[0]}\n"
        for one in vars(room).values():
            if isinstance(one, Entity):
                yield from _entity(one, seen)


def _entity(one: Entity, seen: dict[int, str]) -> Iterator[str]:
    yield f"### {one.type}\n"
    notes = [
        f"schema {one.schema}",
        *(["a root"] if one.is_root else []),
        *(["passing"] if one.is_passing else []),
        *([f"stays ({one.stays_for})"] if one.stays_for else []),
    ]
    yield f"{one.about[:1].upper()}{one.about[1:]}. {', '.join(notes)[:1].upper()}{', '.join(notes)[1:]}.\n"
    yield "| | partition key | sort key | |"
    yield "|---|---|---|---|"
    for key in one.keys:
        yield f"| key | {_template(key.entry, key.pieces)} | |"
    for entry in _rows(one):
        yield f"| {entry.index} | {_template(entry, (entry.partition_pieces, entry.sort_pieces))} | {entry.about} |"
    yield "\n| attribute | holds | |\n|---|---|---|"
    for path, kind in _attributes(one.type, one.shape, seen):
        yield f"| `{path}` | {_holds(kind)} | {_notes(kind)} |"
    for beginning, kind in one.named.items():
        yield f"| `{beginning}…` | {_holds(kind)} | {_notes(kind)} |"
    yield ""


def _template(entry: Entry, pieces: tuple[Pieces, Pieces]) -> str:
    return " | ".join(f"`{_pieces(some)}`" if some else "" for some in pieces)


def _pieces(pieces: Pieces) -> str:
    return "".join(
        piece
        if isinstance(piece, str)
        else f"{{{piece.name}}}"
        if not piece.source
        else f"{{{piece.name} of {piece.source}}}"
        for piece in pieces
    )


def _rows(one: Entity) -> Iterator[Entry]:
    """The lines of the key chart in which an example of the type stands."""
    item = ENTITY_EXAMPLES[one.type]
    for entry in (line.entry for line in keys.CHART.values()):
        names = [f"{entry.index}PK", f"{entry.index}SK"] if entry.sort else [entry.index]
        if entry.index and names[0] in item:
            pieces = (entry.partition_pieces, entry.sort_pieces)
            values = "\n".join([*(item[name] for name in names), *([""] if not entry.sort else [])])
            if pattern(pieces).fullmatch(values):
                yield entry


def _attributes(
    path: str, shape: Shape, seen: dict[int, str], within: str = ""
) -> Iterator[tuple[str, Attribute]]:
    """Each attribute with its path; a map that was shown before is not shown again."""
    seen[id(shape)] = path
    for name, kind in shape.items():
        yield f"{within}{name}", kind
        inner = kind.of if isinstance(kind, (Each, MapOf)) else kind
        if isinstance(inner, Map) and id(inner.shape) not in seen:
            end = "[]." if isinstance(kind, (Each, MapOf)) else "."
            yield from _attributes(f"{path}.{name}", inner.shape, seen, f"{within}{name}{end}")


def _holds(kind: Attribute) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(kind).__name__).lower()
    if isinstance(kind, (Each, MapOf)):
        name = f"{name} {re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', type(kind.of).__name__).lower()}"
    said = f"{name}: {kind.range()}" if kind.range() else name
    return f"{said} {kind.unit}".strip()


def _notes(kind: Attribute) -> str:
    said = [
        "absent" if kind.optional else "",
        "**secret**" if kind.secret else "",
        "*personal*" if kind.personal else "",
        f"-> {kind.refers}" if kind.refers else "",
        f"= `{kind.copy_of}`" if kind.copy_of else "",
        f"counts {kind.counts}" if kind.counts else "",
        kind.about,
    ]
    return "; ".join(one for one in said if one)


# Declared elsewhere


def settings() -> Lines:
    """Yield the variables that the site reads, by section; comments before or behind each say its meaning."""
    code = (ROOT / "dealsite" / "settings.py").read_text("utf-8")
    for section, lines in re.findall(r"^# -- (.+?) -+\n(.*?)(?=^# -- |\Z)", code, re.DOTALL | re.MULTILINE):
        if rows := list(map(_variable, VARIABLE.findall(lines))):
            yield f"## {section}\n"
            yield from table("variable | default | meaning", rows)
            yield ""


def _variable(found: tuple[str, str, str]) -> tuple[str, str, str]:
    comment, name, behind = found
    words = " ".join((comment + behind).replace("# ", " ").split())
    meaning, _, default = words.partition(" Default: ")
    variable = VARIABLES[name]
    if default:
        meaning = meaning.removesuffix(".")
    secret = " (a secret)" if variable.is_secret else ""
    return f"`{name}`", default or _in_words(variable.default), meaning + secret


def _in_words(default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, list):
        return " ".join(default)
    return str(default) if isinstance(default, str | int) else ""


def retention() -> Lines:
    """Yield how long is kept what nobody needs for good."""
    rows = ((f"`{one.kind}`", one.what, one.since, f"`{one.span}`") for one in retention_chart.CHART)
    yield from table("kind | what | since | span", rows)


def commands() -> Lines:
    """Yield what make does."""
    found = re.findall(r"^([a-z-]+):.*## (.*)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    yield from table("command | does", ((f"`make {name}`", what) for name, what in found))


def limits() -> Lines:
    """Yield how often what costs something may be done."""
    rows = (
        (f"`{one.name}`{'*' if one.in_memory else ''}", one.what, one.own, one.network, one.total)
        for one in limit_table.ROWS
    )
    yield from table("name | what | own | network | total", rows)


def metrics() -> Lines:
    """Yield what /metrics shows, by where it comes from."""
    for source in metrics_chart.Source:
        yield f"## {source.value[0].upper()}{source.value[1:]}\n"
        rows = (
            (f"`{one.name}`", one.kind.value, ", ".join(one.labels), one.about)
            for one in metrics_chart.CHART.values()
            if one.source is source
        )
        yield from table("metric | kind | labels | what it is", rows)
        yield ""


# What it costs


def costs() -> Lines:
    """Yield the dollars a month of three sites at Amazon."""
    yield from cloud_costs.rows()


def at_rest() -> Lines:
    """Yield what a small and a large site ask by the clock."""
    small, large = (cloud_costs.at_rest(cloud_costs.SITES[number]) for number in (0, -1))
    rows = (
        [
            of_small.what,
            *(
                text
                for one in (of_small, of_large)
                for text in (f"{one.a_second * cloud_costs.SECONDS:,.0f}", f"{cloud_costs.a_month(one):,.2f}")
            ),
        ]
        for of_small, of_large in zip(small, large, strict=True)
    )
    yield from table("what | small, a month | dollars | large, a month | dollars", rows, right=4)


COUNTED = [
    "Deal",
    "Offer",
    "Price",
    "DealLike",
    "User",
    "Session",
    "Message",
    "CartLine",
    "Order",
    "Payment",
    "Job",
    "AuditEntry",
]


def item_sizes() -> Lines:
    """Yield the bytes of items and of their index rows, and the write units of a new one."""
    rows = []
    for name in COUNTED:
        item = to_attributes(ENTITY_EXAMPLES[name])
        in_indexes = [capacity.index_row(item, index) for index in keys.INDEXES]
        sizes = [str(capacity.item_size(row)) if row else "" for row in in_indexes]
        rows.append((name, capacity.item_size(item), *sizes, capacity.cost_of(None, item).total))
    yield from table(f"item | bytes | {' | '.join(keys.INDEXES)} | write units", rows, right=6)


@cache
def _on_paper() -> tuple[list[paper_site.Heat], list[paper_site.Collection]]:
    site = paper_site.Site()
    return [one for load in site.loads() for one in paper_site.hottest(site, load)], paper_site.fullest(site)


def hottest() -> Lines:
    """Yield the hottest partitions of each load on paper, those nearest to what they can take first."""
    shown = [one for of_load in _by_load() for one in [of_load[0], *_hot(of_load[1:3])]]
    rows = (
        (
            f"{one.index_name} `{one.name}`".strip(),
            one.load.what,
            f"{one.load.a_second:,.0f}",
            _bold(one.units, one.most),
            f"{one.of_item:,.0f}",
            f"{one.most:,} {one.kind}",
            f"{one.gives_way:,.0f}",
        )
        for one in sorted(shown, key=lambda one: (-one.part, one.name))
    )
    head = "partition | load | a second | units a second | of one item | it can take | gives way at"
    yield from table(head, rows, right=5)


def _hot(heats: list[paper_site.Heat]) -> list[paper_site.Heat]:
    return [one for one in heats if one.part >= 1 / 10]


def _bold(units: float, most: float) -> str:
    return f"**{units:,.0f}**" if units > most else f"{units:,.0f}"


def _by_load() -> list[list[paper_site.Heat]]:
    """Return the partitions of each load, the hottest first, and of those that are named alike only that."""
    found: dict[str, dict[str, paper_site.Heat]] = {}
    for one in _on_paper()[0]:
        found.setdefault(one.load.what, {}).setdefault(f"{one.index_name} {one.name}", one)
    return [[*of_load.values()] for of_load in found.values()]


def breaks() -> Lines:
    """Yield which loads are too much first, and what to do then."""
    told = [one for one in _hot([of_load[0] for of_load in _by_load()]) if one.load.then]
    for number, one in enumerate(sorted(told, key=lambda one: -one.part), 1):
        what = f"{one.load.what[0].upper()}{one.load.what[1:]}"
        yield f"{number}. **{what}: {one.gives_way:,.0f} a second** (`{one.name}`). {one.load.then}"


def in_all() -> Lines:
    """Yield what the loads take of the whole table, at most."""
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for one in _on_paper()[0]:
        if not one.index_name:
            sums[one.kind, one.load.what] += one.units
    for kind in ("read", "write"):
        units, what = max((units, what) for (of, what), units in sums.items() if of == kind)
        yield f"- most {kind} units: {units:,.0f} a second, of the {what}"


def fullest() -> Lines:
    """Yield the largest partitions of the site on paper."""
    _, found = _on_paper()
    rows = (
        (f"{one.index_name} `{one.name}`".strip(), f"{one.items:,.0f}", f"{one.size / 1e9:,.1f}")
        for one in found[:4]
    )
    yield from table("partition | items or rows | GB", rows, right=2)


def payments() -> Lines:
    """Yield what the busiest partitions take of a million payments."""
    loads = volume.partition_loads(volume.EXAMPLE, now=volume.NOW)
    rows = ((f"`{one.partition}`", one.what, _bold(one.units, capacity.PARTITION_WRITES)) for one in loads)
    yield from table("partition | what | write units a second", rows, right=1)


def warmth() -> Lines:
    """Yield what table and indexes take of a million payments, and what they take without being warmed."""
    steps = volume.units_by_index(volume.EXAMPLE, now=volume.NOW)
    due = cloud_costs.units()["charging.due"][0]
    reads = volume.reads_by_index(volume.EXAMPLE, due=due)
    places = ["", keys.GSI1, keys.GSI2, keys.GSI3]
    rows: list[tuple[object, ...]] = [
        (f"{name}, write units", *(units.get(place, 0) for place in places)) for name, units in steps.items()
    ]
    needed: dict[str, list[float]] = {
        "writes": [sum(units.get(place, 0) for units in steps.values()) for place in places],
        "reads": [reads.get(place, 0) for place in places],
    }
    for what, units in needed.items():
        rows.append((f"all at once, {what} a second", *(f"{one * volume.rate():,.0f}" for one in units)))
        rows.append((f"what is new takes at once, {what}", *[f"{volume.AT_ONCE[what]:,}"] * len(places)))
    yield from table(f"step | table | {' | '.join(places[1:])}", rows, right=4)
    least = {
        what: max(volume.AT_ONCE[what], ceil(max(units) * volume.rate() / 1000) * 1000)
        for what, units in needed.items()
    }
    yield f"\nTo be set: `WarmReads={least['reads']} WarmWrites={least['writes']}`."


# The models that the site grew out of


def seeds(model: Model) -> Callable[[], Lines]:
    """Return what yields a model's questions and entities, as the tests try them."""

    def lines() -> Lines:
        asked = (
            "# | they ask | their key condition | our function | our keys | requests | the same from a scan"
        )
        asked += " | why it differs"
        stored = "they store | under | our item | our keys | example | why it differs"
        yield from table(asked, (_escaped(_seed_question(one)) for one in model.questions))
        yield ""
        yield from table(stored, (_escaped(_seed_entity(one)) for one in model.entities))

    return lines


def _escaped(cells: tuple[str, ...]) -> list[str]:
    return [cell.replace("|", "\\|") for cell in cells]


def _seed_question(one: SeedQuestion) -> tuple[str, ...]:
    name, same = name_of(one.function), one.example.__doc__ or ""
    ours = "a snapshot" if one.requests == "none" else _measured()[name][0]
    return (
        str(one.number),
        one.asks,
        as_code(one.condition),
        f"`{name}`",
        ours,
        one.requests,
        same,
        one.differs,
    )


def _seed_entity(one: SeedEntity) -> tuple[str, ...]:
    ours = "; ".join(_line(keys.CHART[line].entry) for line in one.keys.split())
    return one.name, as_code(one.stored), f"`{one.type}`", ours, one.example.__doc__ or "", one.differs


def _line(entry: Entry) -> str:
    sort = f" / `{entry.sort}`" if entry.sort and entry.sort != entry.partition else ""
    return f"{entry.index} `{entry.partition}`{sort}".strip()


# Imports


def file_formats() -> Lines:
    """Yield which column of each known format a deal's fields are of."""
    fields = ("title", "brand", "category", "price", "was_price", "url")
    rows = []
    for one in KNOWN_FORMATS:
        columns = {field: ", else ".join(slugs.split()) for field, slugs in one.columns.items()}
        if one.page:
            columns["url"] += f", as `{one.page.format('…')}` of the shop"
        others = "; ".join(f"{field}: {columns[field]}" for field in columns if field not in fields)
        rows.append((one.name, *(columns.get(field, "") for field in fields), others))
    yield from table(f"file of | {' | '.join(fields)} | others", rows)


PARTS: dict[str, Callable[[], Iterable[str]]] = {
    "questions": questions,
    "pages": pages,
    "keys of items": keys_of_items,
    "keys of lists": keys_of_lists,
    "entities": entities,
    "settings": settings,
    "retention": retention,
    "commands": commands,
    "limits": limits,
    "metrics": metrics,
    "costs": costs,
    "at rest": at_rest,
    "item sizes": item_sizes,
    "hottest partitions": hottest,
    "fullest partitions": fullest,
    "breaks first": breaks,
    "in all": in_all,
    "payments": payments,
    "warm throughput": warmth,
    "sizes": sizes.lines,
    "file formats": file_formats,
    **{model.name: seeds(model) for model in MODELS},
    **{
        f"table {part}": partial(table_part, part)
        for part in ("parameters", "conditions", "resources", "outputs")
    },
}
