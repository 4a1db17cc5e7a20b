"""What imports and changes of many deals may hold, and that reading and writing them loses nothing."""

from __future__ import annotations

from typing import Any

import pytest

from dealsite.data.editing.bulk import BulkResult, Chunk, chunk_put, expires_at
from dealsite.data.editing.imports import Import, SourceFile
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.imports import BULK_CHUNK, BULK_ROW, IMPORT
from dealsite.data.jobs.payloads import payload_from_item, payload_to_item
from dealsite.imports.layout import Layout
from tests.data.entities.examples_batches import EXAMPLES, JOB, LAYOUT
from tests.data.entities.sound import assert_is_sound, problems_with

UPLOADED = {"layout": None, "totals": None, "remarks": None, "card.stage": "uploaded", "card.job": None}


@pytest.mark.parametrize("item", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_is_sound(item):
    assert_is_sound(item)


def test_a_file_that_was_just_uploaded_is_sound():
    assert problems_with(EXAMPLES["Import"], UPLOADED | {"card.totals": None}) == []


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("Import", {"version": 0}, "version is '0'"),
        ("Import", {"card.stage": "lost"}, "card stage is 'lost'"),
        ("Import", {"card.stage": "uploaded"}, "It is uploaded, and a job works on it"),
        ("Import", {"card.stage": "checking"}, "It is checking, and has totals."),
        ("Import", {"totals": None}, "It is imported, and has no totals."),
        ("Import", {"totals.imported": -1}, "totals imported is '-1'"),
        ("Import", {"card.totals.imported": 7}, "Its totals, remarks and card do not go together."),
        ("Import", {"layout.columns": ["title"]}, "Its rows have not as many cells as columns."),
        ("Import", {"brought.titles": []}, "brought titles has 0 entries"),
        ("ImportLayout", {"ttl": None}, "ttl is missing"),
        ("BulkChunk", {"number": 0}, "number is '0'"),
        ("BulkChunk", {"ttl": None}, "ttl is missing"),
        ("BulkRow", {"outcome": "LOST"}, "outcome is 'LOST'"),
        ("BulkRow", {"ttl": 7}, "ttl is '7'"),
    ],
)
def test_what_an_item_may_not_be_is_said(kind, changes, said):
    found = problems_with(EXAMPLES[kind], changes)
    assert [one for one in found if said in one], found


def test_reading_and_storing_lose_nothing():
    chunk, row, one = (dict(EXAMPLES[kind]) for kind in ("BulkChunk", "BulkRow", "Import"))
    read_chunk = reader(BULK_CHUNK.shape, Chunk, targets="subjects")
    assert chunk_put(JOB, read_chunk(chunk)).item == BULK_CHUNK.item(
        {name: chunk[name] for name in BULK_CHUNK.shape} | {"ttl": expires_at(JOB)}
    )
    read, store = (made(BULK_ROW.shape, BulkResult, id="subject") for made in (reader, writer))
    assert store(read(row)) == {name: row[name] for name in BULK_ROW.shape if name not in ("job", "ttl")}
    read_import = reader(IMPORT.shape, Import, "stage", "job", source_file="brought")
    found = read_import(one, stage="imported", job=JOB)
    assert writer(IMPORT.shape, Import, source_file="brought")(found) == {
        name: one[name] for name in IMPORT.shape if name != "card"
    }


def test_what_jobs_and_forms_keep_of_a_file_is_what_the_chart_says():
    """A file and its layout are stored as payloads are, field by field."""
    brought: dict[str, Any] = EXAMPLES["Import"]["brought"]
    assert payload_to_item(payload_from_item(SourceFile, brought)) == brought
    assert payload_to_item(payload_from_item(Layout, LAYOUT)) == LAYOUT


def test_an_import_that_an_older_build_stored_is_whole_and_read():
    old = dict(EXAMPLES["Import"])
    totals = old["totals"] | {"mendable": 1}
    old |= {
        "brought": old["brought"] | {"of": JOB},
        "totals": totals,
        "card": old["card"] | {"totals": totals},
    }
    assert list(IMPORT.problems(old)) == []
    read_import = reader(IMPORT.shape, Import, "stage", "job", source_file="brought")
    assert read_import(old, stage="imported", job=JOB).totals == totals
