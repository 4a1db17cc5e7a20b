"""What older builds wrote, as it was exported, and how to put it into a table as it was."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dealsite import data
from dealsite.data import table
from dealsite.data.table import Schemas
from dealsite.data.table.convert import Item, from_attributes

FOLDER = Path(__file__).parent
EXPORTS = {path.name.removesuffix(".jsonl.gz"): path for path in sorted(FOLDER.glob("*.jsonl.gz"))}


def items_of(export: str) -> list[Item]:
    """Return the items of an export."""
    with gzip.open(EXPORTS[export], "rt", encoding="utf-8") as lines:
        return [from_attributes(json.loads(line)) for line in lines]


def load(export: str) -> list[Item]:
    """Put an export into the empty table; no schema is noted, as none was then."""
    items = items_of(export)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "SCHEMAS", Schemas())
        assert table.insert(items) == len(items)
    return items
