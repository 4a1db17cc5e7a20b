"""Saved views of a user: a name and an address each, whoever saves how many at once."""

from __future__ import annotations

import pytest

from dealsite.data import keys, table
from dealsite.data.editing import saved_views
from dealsite.data.editing.saved_views import SavedView
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


def keep(name: str = "Toys", query: str = "", username: str = EDITOR) -> SavedView | None:
    return saved_views.save(username, SavedView(name, f"/cms/deals/{query}"), now=NOW)


def names(username: str = EDITOR) -> list[str]:
    return [one.name for one in measured(saved_views.of)(username)]


def test_a_view_is_read_back_as_it_was_saved():
    assert keep("  Big\x07 toys ", "?state=live") is None
    assert saved_views.of(EDITOR) == (SavedView("Big toys", "/cms/deals/?state=live"),)
    assert names("oscar") == []


def test_a_view_saved_twice_is_kept_once():
    assert [keep(), keep()] == [None, None]
    assert names() == ["Toys"]
    item = table.get(keys.list_views(EDITOR))
    assert item
    assert item["version"] == 1


def test_a_view_takes_the_place_of_the_one_that_is_called_so():
    keep("Toys", "?state=live")
    keep("Other")
    assert keep("toys", "?state=draft") == SavedView("Toys", "/cms/deals/?state=live")
    assert saved_views.of(EDITOR)[0] == SavedView("toys", "/cms/deals/?state=draft")
    assert names() == ["toys", "Other"]


def test_two_names_that_differ_in_a_joiner_are_one():
    keep("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645")
    keep("\u0645\u06cc\u062e\u0648\u0627\u0647\u0645")
    assert names() == ["\u0645\u06cc\u062e\u0648\u0627\u0647\u0645"]


def test_a_view_is_deleted_once():
    for name in "abc":
        keep(name)
    assert measured(saved_views.delete)(EDITOR, "B", now=NOW) == SavedView("b", "/cms/deals/")
    assert saved_views.delete(EDITOR, "b", now=NOW) is None
    assert names() == ["a", "c"]


@pytest.mark.parametrize(
    ("name", "query"),
    [(" \u200b", ""), ("x" * 61, ""), ("x", "?" + "y" * 1_000)],
    ids=["empty", "long", "address"],
)
@pytest.mark.engines("native")
def test_what_is_no_view_is_not_saved(name, query):
    with pytest.raises(errors.Invalid):
        keep(name, query)
    assert names() == []


@pytest.mark.engines("native")
def test_a_user_has_thirty_views_at_most():
    for number in range(MOST_VIEWS):
        keep(f"View {number}")
    with pytest.raises(errors.Invalid, match="30 saved views"):
        keep("One more")
    keep("View 3", "?state=draft")  # in place of another
    assert len(names()) == MOST_VIEWS


def test_a_deleted_users_views_are_forgotten(wait_for_indexes):
    keep(username="ann")
    user = make_user("ann")
    users.delete(user, job_id=make_id(NOW), now=NOW)
    wait_for_indexes()
    job = jobs.take_next(now=NOW + HOUR)
    assert job
    accounts.remove_user(job, NOW + HOUR)
    assert names("ann") == []


def test_with_an_account_go_its_views():
    measured(saved_views.save)(EDITOR, SavedView("Toys", "/cms/deals/"), now=NOW)
    measured(saved_views.forget)(EDITOR)
    assert names() == []


@pytest.mark.engines("native", "local")
def test_of_several_views_saved_and_deleted_at_once_none_is_lost():
    keep("Old")
    saves = [
        lambda name=name: saved_views.save(EDITOR, SavedView(name, "/cms/deals/"), now=NOW) for name in "abc"
    ]
    outcomes = races.at_once(*saves, lambda: saved_views.delete(EDITOR, "Old", now=NOW))
    assert outcomes == [None, None, None, SavedView("Old", "/cms/deals/")]
    assert sorted(names()) == ["a", "b", "c"]
    item = table.get(keys.list_views(EDITOR))
    assert item
    assert item["version"] == 5


@pytest.mark.engines("native", "local")
def test_a_view_sent_twice_at_once_is_kept_once():
    view = SavedView("Toys", "/cms/deals/")
    assert races.at_once(*[lambda: saved_views.save(EDITOR, view, now=NOW)] * 3) == [None] * 3
    assert names() == ["Toys"]
