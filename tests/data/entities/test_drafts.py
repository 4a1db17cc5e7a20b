"""What the chart says of drafts, versions, unpublished changes and the trash."""

from typing import Any

import pytest

from dealsite.data.catalogue import drafts
from dealsite.data.catalogue.brands import Brand
from dealsite.data.editing import pending_edits, trash_record, versions
from dealsite.data.table.ids import from_iso
from dealsite.data.table.writes import Put
from tests.data.entities.examples_deals import CARD, DEAL, EDIT, LATER, PUBLISHED
from tests.data.entities.examples_drafts import EXAMPLES, POINTER, SHOWN
from tests.data.entities.sound import assert_is_sound, problems


@pytest.mark.parametrize("item", [*EXAMPLES.values(), POINTER], ids=[*EXAMPLES, "Pointer"])
def test_a_sound_item_of_drafts_is_what_the_chart_says(item):
    assert_is_sound(item)


def test_unpublished_changes_are_listed_until_they_are_discarded():
    item = {name: value for name, value in EXAMPLES["DealChanges"].items() if name != "discarded_at"}
    assert_is_sound(item | {"GSI1PK": "DEALCHANGES", "GSI1SK": f"{LATER}#{EDIT}"})


def test_drafts_and_versions_are_stored_as_they_were_read():
    draft = drafts.draft_from_item(EXAMPLES["Draft"])
    stored = drafts.draft_item(
        draft.id,
        draft.content,
        Brand("nordlicht", "Nordlicht"),
        draft.version,
        draft.last_edit,
        draft.created_by,
        draft.updated_by,
        draft.updated_at,
        autosaved_since=draft.autosaved_since,
    )
    version = versions.from_item(EXAMPLES["Version"])
    (put,) = versions.keep_writes(DEAL, version)
    pointer = drafts.published_write(drafts.draft_from_item(POINTER), DEAL)
    assert stored == _without_key(EXAMPLES["Draft"])
    assert isinstance(put, Put)
    kept_for_good = {name: value for name, value in EXAMPLES["Version"].items() if name != "ttl"}
    assert put.item == _without_key(kept_for_good)
    assert pointer.item == _without_key(POINTER) | {"version": 4}


def test_the_trash_and_unpublished_changes_are_read_as_they_were_stored():
    entry, changes = (
        trash_record.from_item(EXAMPLES["Trash"]),
        pending_edits.from_item(EXAMPLES["DealChanges"]),
    )
    assert (entry.kind, entry.id, entry.by, entry.is_being_emptied) == ("deal", DEAL, "eve", True)
    assert (changes.deal_id, changes.history_id, changes.base, changes.is_discarded) == (DEAL, EDIT, 3, True)
    assert (changes.begun_at, changes.brand_name) == (from_iso(PUBLISHED), "Nordlicht")


def _without_key(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in ("PK", "SK")}


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("Draft", {"card": None}, "It is not published, and has no card."),
        (
            "Draft",
            {"published_as": DEAL},
            "It is published, and still holds autosaved_since, card, description, last_edit, link, stock.",
        ),
        ("Draft", {"card": SHOWN}, f"card.id is not {EDIT}."),
        ("Draft", {"link": "javascript:x"}, "link is 'javascript:x', which is not a web address."),
        ("Version", {"version": 0}, "version is '0', which is not a whole number from 1 to 99,999,999."),
        ("DealChanges", {"deal": EDIT}, f"card.id is not {EDIT}."),
        ("Trash", {"kept": {"type": "Draft", "id": DEAL}}, f"It keeps the Draft {DEAL}."),
        (
            "Trash",
            {"kept": EXAMPLES["Trash"]["kept"] | {"version": 0}},
            "What it keeps is not whole: "
            "version is '0', which is not a whole number from 1 to 1,000,000,000,000.",
        ),
        (
            "Trash",
            {"offer": EXAMPLES["Trash"]["offer"] | {"id": EDIT}},
            f"What it keeps is not whole: The offer is the Offer {EDIT}.",
        ),
        (
            "Trash",
            {"card": CARD | {"kind": "draft", "deleted_at": LATER, "deleted_by": "eve"}},
            "card.kind is not deal.",
        ),
    ],
)
def test_what_they_cannot_be_is_named(kind: str, changes: dict[str, Any], said: str):
    assert problems(EXAMPLES[kind], **changes) == [said]
