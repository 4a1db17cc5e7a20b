"""Drafts: may be incomplete, belong to one editor's version at a time, and end as a pointer to their deal."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from dealsite.data.catalogue import drafts
from dealsite.data.catalogue.content import DealContent
from dealsite.data.editing import audit
from dealsite.data.table import errors
from tests.builders import DAY, EDITOR, NOW, PICTURE, make_deal, make_draft, make_id
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")
MINUTE = timedelta(minutes=1)


def test_a_draft_is_read_back_as_it_was_stored_however_incomplete():
    empty = make_draft()
    assert drafts.get(empty.id) == empty
    full = make_draft(
        title="Idea",
        brand="Nordlicht",
        category="toys-hobbies",
        price=Decimal("9.90"),
        picture=PICTURE,
        stock=0,
        expires_at=NOW + DAY,
        link="https://shop.example/",
        description="Text",
        voucher_code="X",
    )
    assert drafts.get(full.id) == full
    assert full.content.stock == 0
    assert full.card.brand_name == "Nordlicht"
    assert (full.version, full.created_by, full.published_as) == (1, EDITOR, "")


def test_a_draft_sent_twice_is_stored_once():
    draft_id = make_id(NOW)
    first = make_draft(draft_id=draft_id, title="First")
    assert make_draft(draft_id=draft_id, title="Second") == first


@pytest.mark.parametrize(
    ("field", "content"),
    [
        ("title", DealContent(title="x" * 301)),
        ("link", DealContent(link="javascript:alert(1)")),
        ("price", DealContent(price=Decimal("-1"))),
        ("description", DealContent(description="a\x00b")),
        ("description", DealContent(description="\ud800")),
    ],
)
@pytest.mark.engines("native")
def test_what_could_do_harm_is_refused_even_in_a_draft(field, content):
    with pytest.raises(errors.Invalid) as invalid:
        drafts.create(content, draft_id=make_id(NOW), by=EDITOR, now=NOW)
    assert list(invalid.value.fields) == [field]


def test_the_second_editor_of_a_draft_is_shown_the_firsts_work():
    draft = make_draft(title="Idea")
    first = drafts.save(draft, DealContent(title="First"), version=1, by="first", now=NOW)
    with pytest.raises(errors.VersionConflict) as conflict:
        drafts.save(draft, DealContent(title="Second"), version=1, by="second", now=NOW)
    assert conflict.value.current == first
    assert (first.version, first.created_by, first.updated_by) == (2, EDITOR, "first")


def test_a_published_draft_can_be_neither_saved_nor_deleted_nor_published_again():
    draft = make_draft(title="Idea")
    deal = make_deal(draft=draft)
    with pytest.raises(errors.VersionConflict) as conflict:
        drafts.save(draft, DealContent(title="Late"), version=1, by=EDITOR, now=NOW)
    assert conflict.value.current.published_as == deal.id
    with pytest.raises(errors.VersionConflict):
        drafts.delete(draft, by=EDITOR, now=NOW)
    with pytest.raises(errors.VersionConflict):
        make_deal(draft=draft)
    assert make_deal(deal_id=deal.id, draft=draft) == deal


def test_a_deleted_draft_is_gone_and_deleting_it_twice_is_harmless():
    draft = make_draft(title="Idea")
    measured(drafts.delete)(draft, by=EDITOR, now=NOW)
    drafts.delete(draft, by=EDITOR, now=NOW)
    with pytest.raises(errors.NotFound):
        drafts.get(draft.id)


def test_a_draft_edited_meanwhile_is_not_deleted():
    draft = make_draft(title="Idea")
    saved = drafts.save(draft, DealContent(title="Better"), version=1, by="otto", now=NOW)
    with pytest.raises(errors.VersionConflict) as conflict:
        drafts.delete(draft, by=EDITOR, now=NOW)
    assert conflict.value.current == saved


@pytest.mark.parametrize("draft_id", ["", "x", "#", "0" * 25, "\x00"])
@pytest.mark.engines("native")
def test_an_id_that_is_none_is_a_draft_that_does_not_exist(draft_id):
    with pytest.raises(errors.NotFound):
        drafts.get(draft_id)


# Saving by itself


def noted(draft_id: str) -> list[str]:
    return sorted(entry.what for entry in audit.of_target("draft", draft_id))


def test_what_is_saved_by_itself_within_ten_minutes_is_one_change(wait_for_indexes):
    draft = make_draft(title="Idea")
    for n in range(4):
        content = DealContent(title=f"Idea {n}")
        draft = drafts.save(
            draft, content, version=draft.version, by=EDITOR, now=NOW + n * MINUTE, autosave=f"{n:032}"
        )
    wait_for_indexes()
    assert (draft.version, draft.autosaved_since, noted(draft.id)) == (5, NOW, ["changed", "started"])
    assert measured(drafts.get)(draft.id) == draft
    late = NOW + 10 * MINUTE
    draft = measured(drafts.save)(
        draft, DealContent(title="Late"), version=5, by=EDITOR, now=late, autosave="a" * 32
    )
    wait_for_indexes()
    assert (draft.autosaved_since, noted(draft.id)) == (late, ["changed", "changed", "started"])


def test_a_button_or_another_editor_ends_what_is_saved_by_itself(wait_for_indexes):
    draft = make_draft(title="Idea")
    for n, (by, autosave) in enumerate(
        [(EDITOR, "a" * 32), ("otto", "b" * 32), ("otto", ""), ("otto", "c" * 32)]
    ):
        content = DealContent(title=f"Idea {n}")
        draft = drafts.save(draft, content, version=n + 1, by=by, now=NOW + n * MINUTE, autosave=autosave)
    wait_for_indexes()
    assert noted(draft.id) == ["changed"] * 4 + ["started"]
    assert draft.autosaved_since == NOW + 3 * MINUTE


def test_a_draft_that_was_begun_by_itself_is_one_change_with_what_follows(wait_for_indexes):
    draft_id = make_id(NOW)
    draft = measured(drafts.create)(
        DealContent(title="I"), draft_id=draft_id, by=EDITOR, now=NOW, autosave="a" * 32
    )
    again = "b" * 32
    drafts.save(draft, DealContent(title="Idea"), version=1, by=EDITOR, now=NOW + MINUTE, autosave=again)
    wait_for_indexes()
    assert noted(draft_id) == ["started"]
    assert drafts.get(draft_id).last_edit == again


def test_what_is_saved_by_itself_never_overwrites_what_another_editor_saved():
    draft = make_draft(title="Idea")
    theirs = drafts.save(draft, DealContent(title="Theirs"), version=1, by="otto", now=NOW)
    with pytest.raises(errors.VersionConflict) as conflict:
        drafts.save(draft, DealContent(title="Mine"), version=1, by=EDITOR, now=NOW, autosave="a")
    assert conflict.value.current == theirs
