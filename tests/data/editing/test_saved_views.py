"""Saved views of the list of deals: kept in their order, changed by whoever, however often it is sent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dealsite.data import keys, table
from dealsite.data.editing import audit, saved_views
from dealsite.data.editing.saved_views import TEAM, SavedView
from dealsite.data.entities.work import MOST_VIEWS
from dealsite.data.jobs import jobs
from dealsite.data.people import users
from dealsite.data.table import errors
from dealsite.worker import accounts
from tests import races
from tests.builders import EDITOR, HOUR, NOW, make_id
from tests.measuring import measured
from tests.people import make_user

pytestmark = pytest.mark.usefixtures("whole_table")


def view(name: str = "Toys", view_id: str = "", **filters: str) -> SavedView:
    return SavedView(view_id or make_id(NOW), name, filters)


def keep(one: SavedView, owner: str = EDITOR, place: int | None = None) -> SavedView | None:
    return saved_views.save(owner, one, by=EDITOR, now=NOW, place=place)


def names(owner: str = EDITOR) -> list[str]:
    mine, team = saved_views.of(owner)
    return [one.name for one in (team if owner == TEAM else mine)]


def test_a_view_is_read_back_as_it_was_saved():
    one = SavedView(make_id(NOW), "  Big\x07 toys ", {"state": "live", "brand": "", "x": "1"}, ("price",))
    assert keep(one) is None
    assert saved_views.of(EDITOR) == (
        (SavedView(one.id, "Big toys", {"state": "live"}, ("price",)),),
        (),
    )


def test_views_stand_in_the_order_in_which_they_were_saved_and_moved():
    saved = [view(name) for name in ("a", "b", "c")]
    for one in saved:
        keep(one)
    measured(saved_views.move)(EDITOR, saved[2].id, 0, by=EDITOR, now=NOW)
    assert names() == ["c", "a", "b"]
    saved_views.move(EDITOR, saved[2].id, 99, by=EDITOR, now=NOW)
    saved_views.move(EDITOR, saved[2].id, 99, by=EDITOR, now=NOW)
    assert names() == ["a", "b", "c"]


def test_a_view_saved_twice_is_kept_once():
    one = view()
    keep(one)
    assert keep(one) is None
    assert names() == ["Toys"]


def test_a_view_takes_the_place_of_the_one_that_is_called_so():
    first, other, second = view("Toys", state="live"), view("Other"), view("toys", state="draft")
    keep(first)
    keep(other)
    assert keep(second) == first
    assert names() == ["toys", "Other"]
    assert keep(first) == second  # which is how it is undone
    assert names() == ["Toys", "Other"]


def test_what_is_undone_takes_no_newer_view_away():
    first, second, newer = view("Toys", state="live"), view("toys", state="draft"), view("TOYS", q="x")
    keep(first)
    keep(second)
    keep(newer)

    def undo(instead_of: str) -> None:
        saved_views.save(EDITOR, first, by=EDITOR, now=NOW, instead_of=instead_of)

    for gone in (saved_views.mark_of(second), ""):
        with pytest.raises(errors.Conflict):
            undo(gone)
    assert measured(saved_views.of)(EDITOR)[0] == (newer,)
    undo(saved_views.mark_of(newer))
    undo(saved_views.mark_of(newer))  # a second click
    assert saved_views.of(EDITOR)[0] == (first,)
    measured(saved_views.delete)(EDITOR, first.id, by=EDITOR, now=NOW)
    with pytest.raises(errors.Conflict):
        undo(saved_views.mark_of(second))
    undo("")
    assert saved_views.of(EDITOR)[0] == (first,)


def test_marks_tell_views_apart():
    one = SavedView(make_id(NOW), "Toys", {"state": "live"}, ("price",))
    others = [
        replace(one, id=make_id(NOW)),
        replace(one, name="toys"),
        replace(one, filters={"state": "draft"}),
        replace(one, columns=("price", "state")),
    ]
    assert len({saved_views.mark_of(other) for other in [one, *others]}) == 5
    assert saved_views.mark_of(replace(one, name=" Toys ")) == saved_views.mark_of(one)


def test_a_view_with_the_id_of_one_and_the_name_of_another_replaces_both():
    one, other = view("One"), view("Other")
    keep(one)
    keep(other)
    keep(view("Other", one.id))
    assert names() == ["Other"]


def test_two_names_that_differ_in_a_joiner_are_one():
    keep(view("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"))
    keep(view("\u0645\u06cc\u062e\u0648\u0627\u0647\u0645"))
    assert names() == ["\u0645\u06cc\u062e\u0648\u0627\u0647\u0645"]


def test_a_deleted_view_comes_back_to_its_place():
    saved = [view(name) for name in ("a", "b", "c")]
    for one in saved:
        keep(one)
    deleted = saved_views.delete(EDITOR, saved[1].id, by=EDITOR, now=NOW)
    assert deleted == (saved[1], 1)
    assert names() == ["a", "c"]
    assert saved_views.delete(EDITOR, saved[1].id, by=EDITOR, now=NOW) is None
    keep(*deleted[:1], place=deleted[1])
    assert names() == ["a", "b", "c"]


def test_a_renamed_view_keeps_its_filters_and_its_place():
    one, other = view("a", state="live"), view("b")
    keep(one)
    keep(other)
    assert measured(saved_views.rename)(EDITOR, one.id, "z", by=EDITOR, now=NOW) == one
    assert saved_views.of(EDITOR)[0] == (SavedView(one.id, "z", {"state": "live"}), other)
    assert saved_views.rename(EDITOR, one.id, "Z", by=EDITOR, now=NOW).name == "z"  # its own name is free
    with pytest.raises(errors.Invalid):
        saved_views.rename(EDITOR, one.id, "B", by=EDITOR, now=NOW)


@pytest.mark.parametrize(
    "wrong",
    [
        view(" \u200b"),
        view("x" * 61),
        view("x", "no-id"),
        view("x", q="y" * 501),
        view("x", q="\x00"),
        SavedView(make_id(NOW, 1), "x", {}, ("c",) * 21),
        SavedView(make_id(NOW, 1), "x", {}, ("c" * 41,)),
    ],
    ids=["empty", "long", "id", "words", "control", "columns", "column"],
)
@pytest.mark.engines("native")
def test_what_is_no_view_is_not_saved(wrong):
    with pytest.raises(errors.Invalid):
        keep(wrong)
    assert names() == []


@pytest.mark.engines("native")
def test_an_owner_has_thirty_views_at_most():
    for number in range(MOST_VIEWS):
        keep(view(f"View {number}"))
    with pytest.raises(errors.Invalid, match="30 saved views"):
        keep(view("One more"))
    keep(view("View 3", state="draft"))  # in place of another
    assert len(names()) == MOST_VIEWS


def test_what_is_not_there_is_not_found():
    with pytest.raises(errors.NotFound):
        saved_views.rename(EDITOR, make_id(NOW), "x", by=EDITOR, now=NOW)
    with pytest.raises(errors.NotFound):
        saved_views.move(EDITOR, make_id(NOW), 0, by=EDITOR, now=NOW)


def test_the_team_has_views_of_its_own_which_the_audit_log_knows(wait_for_indexes):
    one = view("For all")
    keep(one, TEAM)
    keep(view("Mine"))
    assert (names(), names(TEAM)) == (["Mine"], ["For all"])
    assert saved_views.of("oscar")[1] == (one,)
    wait_for_indexes()
    entries = audit.page(kind="view", subject="team").entries
    assert [(entry.by, entry.what, entry.after) for entry in entries] == [
        (EDITOR, "saved", {"views": "For all"})
    ]


def test_a_deleted_users_views_are_forgotten(wait_for_indexes):
    keep(view(), "ann")
    user = make_user("ann")
    users.delete(user, job_id=make_id(NOW), now=NOW)
    wait_for_indexes()
    job = jobs.take_next(now=NOW + HOUR)
    assert job
    accounts.remove_user(job, NOW + HOUR)
    assert saved_views.of("ann") == ((), ())


@pytest.mark.engines("native", "local")
def test_of_several_views_saved_at_once_none_is_lost():
    saved = [view(f"View {number}") for number in range(4)]
    assert races.at_once(*(lambda one=one: keep(one) for one in saved)) == [None] * 4
    assert sorted(names()) == [f"View {number}" for number in range(4)]
    item = table.get(keys.saved_views(EDITOR))
    assert item
    assert item["version"] == 4


@pytest.mark.engines("native", "local")
def test_a_view_sent_twice_at_once_is_kept_once():
    one = view()
    assert races.at_once(*[lambda: keep(one)] * 3) == [None] * 3
    assert names() == ["Toys"]


def test_with_an_account_go_its_views():
    measured(saved_views.save)(EDITOR, view(), by=EDITOR, now=NOW)
    measured(saved_views.forget)(EDITOR)
    assert saved_views.of(EDITOR) == ((), ())
