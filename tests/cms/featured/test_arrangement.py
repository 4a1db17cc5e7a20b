import pytest
from django.http import QueryDict

from cms.featured_page import MOST_ROWS, Arrangement
from tests.builders import make_id

A, B, C, D = (make_id() for _ in range(4))


def posted(*rows):
    """Return the list as a form sends it; rows are (id, title, position)."""
    data = QueryDict(mutable=True)
    for deal_id, title, position in rows:
        data.appendlist("deal", deal_id)
        data.appendlist("title", title)
        data.appendlist("position", position)
    return Arrangement.posted(data)


@pytest.mark.parametrize(
    ("positions", "order"),
    [
        (("1", "2", "3", "4"), [A, B, C, D]),
        (("1", "2", "3", "1"), [D, A, B, C]),
        (("4", "2", "3", "4"), [B, C, D, A]),
        (("3", "2", "1", "4"), [C, B, A, D]),
        (("99", "2", "3", "4"), [B, C, D, A]),
        (("1", "2", "3", "0"), [D, A, B, C]),
        (("2", "2", "3", "4"), [B, A, C, D]),
    ],
)
def test_a_typed_number_is_where_the_deal_goes(positions, order):
    assert posted(*zip((A, B, C, D), "abcd", positions, strict=True)).ids == order


@pytest.mark.parametrize("number", ["", "x", "-1", "1.5", "٣", "9" * 4000])
def test_what_is_no_number_moves_nothing_and_is_said(number):
    arrangement = posted((A, "a", "1"), (B, "b", number))
    assert arrangement.ids == [A, B]
    assert "is no position" in arrangement.said


def test_up_and_down_move_by_one_and_stop_at_the_ends():
    arrangement = posted((A, "a", "1"), (B, "b", "2"), (C, "c", "3"))
    arrangement.move(C, -1)
    assert arrangement.ids == [A, C, B]
    assert arrangement.said == "“c” is now at position 2 of 3."
    arrangement.move(A, -1)
    arrangement.move(B, 1)
    assert arrangement.ids == [A, C, B]


def test_what_is_no_id_and_what_comes_twice_is_left_out():
    assert posted((A, "a", "1"), ("DEAL#1", "x", "2"), (A, "a", "3")).ids == [A]


def test_a_list_has_an_end():
    rows = [(make_id(), "x", str(n)) for n in range(1, MOST_ROWS + 20)]
    arrangement = posted(*rows)
    assert len(arrangement.ids) == MOST_ROWS
    arrangement.add(make_id())
    assert len(arrangement.ids) == MOST_ROWS


def test_adding_a_deal_twice_says_where_it_is():
    arrangement = posted((A, "a", "1"))
    arrangement.add(A)
    assert arrangement.ids == [A]
    assert arrangement.said == "“a” is at position 1 already."


@pytest.mark.parametrize(
    ("now", "before", "changes"),
    [
        ([A, B, C, D], {}, 0),
        ([D, A, B, C], {D: 4}, 1),
        ([A, C, D], {}, 1),
        ([A, D, B], {D: 4}, 2),
        ([], {}, 4),
    ],
)
def test_what_was_moved_since_the_list_was_saved_is_known(now, before, changes):
    arrangement = Arrangement(now)
    assert arrangement.places_before([A, B, C, D]) == before
    assert arrangement.changes([A, B, C, D]) == changes


def test_what_is_put_in_the_place_of_another_fits_into_a_full_list():
    arrangement = Arrangement([make_id() for _ in range(MOST_ROWS)])
    last = arrangement.ids[-1]
    arrangement.replace(last)
    arrangement.add(A)
    assert (arrangement.ids[-1], len(arrangement.ids), arrangement.replaced) == (A, MOST_ROWS, "")
