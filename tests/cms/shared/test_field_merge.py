"""Merging by field what two people typed."""

import pytest

from cms.shared.edit_form import base_of, merge

MINE, THEIRS, CONFLICT = ("mine", False), ("theirs", False), ("mine", True)


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "how"),
    [
        ("a", "a", "a", None),
        ("a", "b", "b", None),
        ("a", "b", "a", MINE),
        ("a", "a", "b", THEIRS),
        ("a", "b", "c", CONFLICT),
        ("a", "", "c", CONFLICT),
        ("", "", "c", THEIRS),
        ("a\nb", "a\r\nb", "c", THEIRS),
        ("a", "b\r\nc", "b\nc", None),
    ],
)
def test_a_field_that_only_one_changed_takes_that_text(base, mine, theirs, how):
    found = merge(base_of({"title": base}), {"title": mine}, {"title": theirs}).get("title")
    assert (found and (found.choice, found.is_conflict)) == how
    assert not found or (found.mine, found.theirs) == (mine, theirs) or "\r" in mine


@pytest.mark.parametrize("base", ["", "{}", "[]", "[" * 100_000, '{"title": "a"}x'])
@pytest.mark.parametrize("is_newer", [True, False])
def test_without_a_base_mine_stays_unless_theirs_is_newer(base, is_newer):
    found = merge(base, {"title": "a"}, {"title": "b"}, is_newer=is_newer)
    assert (found["title"].choice, found["title"].is_conflict) == ("mine", is_newer)


@pytest.mark.parametrize(
    ("mine", "theirs", "contested"),
    [
        ({"alt": "mine"}, {"file": "theirs"}, {"alt", "file"}),
        ({"alt": "mine"}, {"title": "theirs"}, set()),
        ({"alt": "mine", "file": "mine"}, {"title": "theirs"}, set()),
        ({"title": "mine"}, {"alt": "theirs", "file": "theirs"}, set()),
    ],
)
def test_of_what_belongs_together_one_may_not_be_mine_and_another_theirs(mine, theirs, contested):
    was = dict.fromkeys(("title", "file", "alt"), "")
    found = merge(base_of(was), was | mine, was | theirs, units=[("file", "alt")])
    assert {name for name, one in found.items() if one.is_conflict} == contested
    assert {name: one.choice for name, one in found.items()} == (
        dict.fromkeys(mine, "mine") | dict.fromkeys(theirs, "theirs")
    )
