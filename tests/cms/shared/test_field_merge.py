"""Merging by field what two people typed."""

import pytest

from cms.shared.field_merge import FieldMerge, base_of, merge, rebase

MINE, THEIRS, CONFLICT = ("mine", False), ("theirs", False), ("mine", True)


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "result", "how"),
    [
        ("a", "a", "a", "a", None),
        ("a", "b", "b", "b", None),
        ("a", "b", "a", "b", MINE),
        ("a", "a", "b", "b", THEIRS),
        ("a", "b", "c", "b", CONFLICT),
        ("a", "", "c", "", CONFLICT),
        ("", "", "c", "c", THEIRS),
        ("a\nb", "a\r\nb", "c", "c", THEIRS),
        ("a", "b\r\nc", "b\nc", "b\nc", None),
    ],
)
def test_a_field_that_only_one_changed_takes_that_text(base, mine, theirs, result, how):
    merged = merge(base_of({"title": base}), {"title": mine}, {"title": theirs})
    assert merged.result == {"title": result}
    found = merged.differing.get("title")
    assert (found and (found.choice, found.is_conflict)) == how
    assert set(merged.conflicts) == ({"title"} if how == CONFLICT else set())


def test_who_chose_theirs_gets_theirs_and_who_chose_mine_is_asked_again_if_it_changed_again():
    base, mine, theirs = base_of({"title": "a"}), {"title": "b"}, {"title": "c"}
    assert merge(base, mine, theirs, {"title": "theirs"}).result == {"title": "c"}
    assert not merge(base, mine, theirs, {"title": "theirs"}).conflicts
    again = merge(base, mine, theirs, {"title": "mine"})
    assert again.conflicts == {"title": FieldMerge("b", "c", "mine", is_conflict=True)}
    assert not merge(rebase(base, theirs), mine, theirs, {"title": "mine"}).conflicts


@pytest.mark.parametrize("base", ["", "{}", "[]", "[" * 100_000, '{"title": "a"}x'])
def test_without_a_base_mine_stays(base):
    assert merge(base, {"title": "a"}, {"title": "b"}) == merge("{}", {"title": "a"}, {"title": "b"})
    assert merge(base, {"title": "a"}, {"title": "b"}).result == {"title": "a"}
    assert not merge(base, {"title": "a"}, {"title": "b"}).conflicts
