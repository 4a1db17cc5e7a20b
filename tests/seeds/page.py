"""The tables of docs/seeds.md: each model's questions and entities, as the tests try them."""

from __future__ import annotations

from dealsite.data import keys
from dealsite.data.table.access_patterns import ACCESS_PATTERNS
from dealsite.data.table.key_templates import Entry
from tests.questions import ROOT, name_of
from tests.questions_page import KEY
from tests.seeds import (
    Entity,
    Model,
    Question,
    bank_payments,
    deals_stored,
    online_store,
    retail_cart,
)

PAGE = ROOT / "docs" / "seeds.md"
MODELS = [deals_stored.MODEL, retail_cart.MODEL, bank_payments.MODEL, online_store.MODEL]
QUESTION = (
    "#",
    "they ask",
    "their key condition",
    "our function",
    "our keys",
    "requests",
    "the same from a scan",
    "why it differs",
)
ESCAPED = "\\|"
ENTITY = ("they store", "under", "our item", "our keys", "example", "why it differs")


def tables() -> str:
    """Return the tables as the tests have them."""
    return "".join(_section(model) for model in MODELS)


def written() -> str:
    """Return the tables as the page has them."""
    return _parts()[1]


def write() -> None:
    """Write the tables anew."""
    PAGE.write_text(_parts()[0] + tables(), "utf-8")


def _parts() -> tuple[str, str]:
    """Return the page's text before the tables, and the tables."""
    before, heading, rest = PAGE.read_text("utf-8").partition(f"## {MODELS[0].name}\n")
    return before, heading + rest


def _section(model: Model) -> str:
    asked = [_row(_question(one)) for one in model.questions]
    kept = [_row(_entity(one)) for one in model.entities]
    return "\n".join(
        [f"## {model.name}", "", model.about, "", *_head(QUESTION), *asked, "", *_head(ENTITY), *kept, "", ""]
    ).removesuffix("\n" if model is MODELS[-1] else "")


def _head(columns: tuple[str, ...]) -> list[str]:
    return [_row(columns), f"|{'---|' * len(columns)}"]


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', ESCAPED) for cell in cells)} |"


def _question(one: Question) -> tuple[str, ...]:
    ours = "the lake" if one.requests == "none" else f"`{ACCESS_PATTERNS[one.function].keys}`"
    same = one.example.__doc__ or ""
    name = f"`{name_of(one.function)}`"
    return (str(one.number), one.asks, _keys(one.condition), name, ours, one.requests, same, one.differs)


def _entity(one: Entity) -> tuple[str, ...]:
    entries = {line: keys.CHART[line].entry for line in one.keys.split()}
    ours = "; ".join(_row_of(entry) for entry in entries.values())
    return (one.name, _keys(one.stored), f"`{one.type}`", ours, one.example.__doc__ or "", one.differs)


def _row_of(entry: Entry) -> str:
    """Return a line of the key chart: index, partition and sort key, each where there is one."""
    sort = f" / `{entry.sort}`" if entry.sort and entry.sort != entry.partition else ""
    return f"{entry.index} `{entry.partition}`{sort}".strip()


def _keys(text: str) -> str:
    """Return a text with what are keys set as code."""
    return KEY.sub(r"`\g<0>`", text)
