from dataclasses import replace
from functools import partial

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, categories, deal_changes, deals, relations
from dealsite.data.editing import trash
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.table import errors
from tests.builders import EDITOR, HOUR, NOW, make_brand, make_category, make_deal, make_id
from tests.capacity import recorded
from tests.measuring import measured
from tests.people import make_user
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("whole_table")

CATEGORY = "toys-hobbies"
DEAL, LATER = make_id(NOW - HOUR, 1), make_id(NOW + HOUR, 1)


@pytest.fixture(autouse=True)
def targets(whole_table):
    make_brand("Nordlicht")
    make_category(CATEGORY)
    make_deal(deal_id=DEAL)
    make_deal(deal_id=LATER)
    for username in ("sam", "tom"):
        make_user(username)


def counts():
    brand, category = brands.get_with_counts("nordlicht").counts, categories.get_with_counts(CATEGORY).counts
    return (brand.likes, brand.watches, category.likes, category.watches, likes_of_deal())


def likes_of_deal():
    return deals.get_visible(DEAL, now=NOW).likes


def test_each_relation_counts_once_however_often_it_is_repeated():
    for _ in range(2):
        relations.add(relations.BRAND_LIKE, "nordlicht", username="sam", now=NOW)
        relations.add(relations.BRAND_WATCH, "nordlicht", username="sam", now=NOW)
        relations.add(relations.CATEGORY_LIKE, CATEGORY, username="sam", now=NOW)
        relations.add(relations.CATEGORY_WATCH, CATEGORY, username="sam", now=NOW)
        relations.add(relations.DEAL_LIKE, DEAL, username="sam", now=NOW)
    relations.add(relations.BRAND_LIKE, "nordlicht", username="tom", now=NOW)
    relations.add(relations.DEAL_LIKE, DEAL, username="tom", now=NOW)
    assert counts() == (2, 1, 1, 1, 2)


@pytest.mark.moto
def test_undo_is_the_mirror_and_taking_back_what_is_not_there_changes_nothing():
    relations.add(relations.BRAND_LIKE, "nordlicht", username="sam", now=NOW)
    relations.add(relations.CATEGORY_WATCH, CATEGORY, username="sam", now=NOW)
    relations.add(relations.DEAL_LIKE, DEAL, username="sam", now=NOW)
    for _ in range(2):
        relations.remove(relations.BRAND_LIKE, "nordlicht", username="sam")
        relations.remove(relations.BRAND_WATCH, "nordlicht", username="sam")
        relations.remove(relations.CATEGORY_LIKE, CATEGORY, username="sam")
        relations.remove(relations.CATEGORY_WATCH, CATEGORY, username="sam")
        relations.remove(relations.DEAL_LIKE, DEAL, username="sam")
    assert counts() == (0, 0, 0, 0, 0)


@pytest.mark.budget
def test_a_first_like_says_so_and_a_second_one_too():
    assert relations.add(relations.BRAND_LIKE, "nordlicht", username="sam", now=NOW) is True
    assert relations.add(relations.BRAND_LIKE, "nordlicht", username="sam", now=NOW) is False
    assert measured(relations.remove)(relations.BRAND_LIKE, "nordlicht", username="sam") is True
    assert relations.remove(relations.BRAND_LIKE, "nordlicht", username="sam") is False


@pytest.mark.parametrize(
    "slug", ["nobody", "", "nord#licht", "NORDLICHT", "\x00", "a" * 500, LATER], ids=repr
)
def test_what_does_not_exist_cannot_be_liked_or_watched(slug):
    for relation in relations.RELATIONS:
        with pytest.raises(errors.NotFound):
            relations.add(relation, slug, username="sam", now=NOW)


def test_a_users_lists_hold_what_he_likes_and_what_he_watches(wait_for_indexes):
    relations.add(relations.BRAND_LIKE, "nordlicht", username="sam", now=NOW)
    relations.add(relations.CATEGORY_LIKE, CATEGORY, username="sam", now=NOW)
    relations.add(relations.BRAND_WATCH, "nordlicht", username="sam", now=NOW)
    relations.add(relations.CATEGORY_WATCH, CATEGORY, username="tom", now=NOW)
    relations.add(relations.DEAL_LIKE, DEAL, username="sam", now=NOW)
    wait_for_indexes()
    assert [(row.target, row.slug) for row in measured(relations.likes_of)("sam")] == [
        ("brand", "nordlicht"),
        ("category", CATEGORY),
        ("deal", DEAL),
    ]
    assert [(row.target, row.slug) for row in relations.watched_by("sam")] == [("brand", "nordlicht")]
    assert [(row.target, row.slug) for row in relations.watched_by("tom")] == [("category", CATEGORY)]


def test_a_watch_can_be_muted_and_heard_again(wait_for_indexes):
    measured(relations.add)(relations.BRAND_WATCH, "nordlicht", username="sam", now=NOW)
    measured(relations.mute_watch)(relations.BRAND_WATCH, "nordlicht", username="sam", muted=True)
    wait_for_indexes()
    assert [row.muted for row in measured(relations.watched_by)("sam")] == [True]
    relations.mute_watch(relations.BRAND_WATCH, "nordlicht", username="sam", muted=False)
    wait_for_indexes()
    assert [row.muted for row in relations.watched_by("sam")] == [False]
    with pytest.raises(errors.NotFound):
        relations.mute_watch(relations.CATEGORY_WATCH, CATEGORY, username="sam", muted=True)


def test_like_watch_and_counters_are_read_together():
    relations.add(relations.BRAND_WATCH, "nordlicht", username="sam", now=NOW)
    relations.add(relations.BRAND_LIKE, "nordlicht", username="tom", now=NOW)
    expected = relations.RelationState("brand", "nordlicht", likes=1, watches=1, watched=True)
    assert measured(relations.relation_state_of)("sam", "brand", "nordlicht") == expected
    relations.add(relations.CATEGORY_LIKE, CATEGORY, username="sam", now=NOW)
    expected = relations.RelationState("category", CATEGORY, likes=1, liked=True)
    assert relations.relation_state_of("sam", "category", CATEGORY) == expected
    relations.add(relations.DEAL_LIKE, DEAL, username="tom", now=NOW)
    expected = relations.RelationState("deal", DEAL, likes=1)
    assert relations.relation_state_of("sam", "deal", DEAL) == expected


@pytest.mark.parametrize("relation", relations.RELATIONS, ids=lambda one: one.type)
def test_with_the_counts_that_all_are_shown_no_partition_is_read_for_which_all_ask(
    relation, wait_for_indexes
):
    slug = {"brand": "nordlicht", "category": CATEGORY, "deal": DEAL}[relation.target]
    counts = categories.Counts(likes=7, watches=8)
    state = relations.RelationState(relation.target, slug, likes=7, watches=8)
    assert relations.relation_state_of("sam", relation.target, slug, counts) == state
    for name in ("sam", "tom"):
        relations.add(relation, slug, name, now=NOW)
    relations.remove(relation, slug, "tom")
    wait_for_indexes()
    with recorded() as units:
        assert relations.relation_state_of("tom", relation.target, slug, counts) == state
        held = relations.relation_state_of("sam", relation.target, slug, counts)
    assert held == replace(state, liked=relation.verb == "LIKE", watched=relation.verb == "WATCH")
    assert all(partition.endswith(("#sam", "#tom")) for _, partition, _ in units.touched)


@pytest.mark.parametrize(
    ("target", "slug"), [("brand", "a#b"), ("brand", ""), ("category", "nordlicht"), ("deal", "x")]
)
def test_nobody_stands_to_what_cannot_be(target, slug):
    assert relations.relation_state_of("sam", target, slug) == relations.RelationState(target, slug)


def test_a_relation_state_follows_a_change_without_being_read_again():
    before = relations.RelationState("brand", "nordlicht", likes=3, watches=2, watched=True)
    liked = before.after(relations.BRAND_LIKE, held=True)
    assert (liked.liked, liked.likes, liked.watches) == (True, 4, 2)
    assert liked.after(relations.BRAND_LIKE, held=True) == liked
    assert liked.after(relations.BRAND_LIKE, held=False) == before
    assert before.after(relations.BRAND_WATCH, held=False).watches == 1


@pytest.mark.engines("native", "local")
@pytest.mark.parametrize(
    ("relation", "slug"),
    [(relations.BRAND_LIKE, "nordlicht"), (relations.DEAL_LIKE, DEAL)],
    ids=["brand", "deal"],
)
def test_fifty_threads_liking_and_unliking_leave_the_counter_equal_to_the_likes(relation, slug):
    people = [make_user(f"user{number:02}").username for number in range(25)]

    def come_and_go(username):
        for _ in range(4):
            relations.add(relation, slug, username=username, now=NOW)
            relations.remove(relation, slug, username=username)
        relations.add(relation, slug, username=username, now=NOW)
        return username

    outcomes = at_once(
        *[lambda username=username: come_and_go(username) for username in people for _ in range(2)]
    )
    assert [outcome for outcome in outcomes if isinstance(outcome, Exception)] == []
    there = table.batch_get(relation.key(slug, username) for username in people)
    assert table.get(relation.count_key(slug))["likes"] == len(there)


def test_a_deal_in_the_trash_keeps_its_likes_and_gets_no_new_ones(wait_for_indexes):
    for username in ("sam", "tom"):
        relations.add(relations.DEAL_LIKE, DEAL, username, now=NOW)
    deal_changes.delete(deals.get(DEAL), by=EDITOR, now=NOW)
    with pytest.raises(errors.NotFound):
        relations.add(relations.DEAL_LIKE, DEAL, "ann", now=NOW)
    assert relations.remove(relations.DEAL_LIKE, DEAL, "tom") is True
    wait_for_indexes()
    assert checks.find() == []
    deal_changes.restore(DEAL, by=EDITOR, now=NOW)
    assert likes_of_deal() == 1


@pytest.mark.parametrize("room", [5, 100])
def test_likes_go_with_a_deal_that_is_deleted_for_good(room, monkeypatch, wait_for_indexes):
    monkeypatch.setattr(trash, "MAX_ACTIONS", room)
    people = [make_user(f"user{number}").username for number in range(4)]
    for username in people:
        relations.add(relations.DEAL_LIKE, DEAL, username, now=NOW)
    deal_changes.delete(deals.get(DEAL), by=EDITOR, now=NOW)
    assert trash.purge("deal", DEAL, by=EDITOR, now=NOW)
    wait_for_indexes()
    assert [row for name in people for row in relations.likes_of(name)] == []
    assert table.get(keys.deal_counts(DEAL)) is None
    assert checks.find() == []


def test_a_like_that_is_taken_back_while_all_of_them_go_is_counted_off_once():
    for username in ("sam", "tom"):
        relations.add(relations.DEAL_LIKE, DEAL, username, now=NOW)
    deletions = relations.deletions_of_deal(DEAL, room=10)
    relations.remove(relations.DEAL_LIKE, DEAL, "tom")
    with pytest.raises(errors.VersionConflict):
        table.transact(deletions)
    table.transact(relations.deletions_of_deal(DEAL, room=10))
    assert likes_of_deal() == 0


@pytest.mark.engines("native", "local")
def test_a_deal_that_goes_while_it_is_liked_leaves_no_like_of_nothing():
    for number in range(6):
        deal, username = make_deal(deal_id=make_id(number=number)), f"user{number}"
        make_user(username)
        like = partial(relations.add, relations.DEAL_LIKE, deal.id, username, now=NOW)
        unlike = partial(relations.remove, relations.DEAL_LIKE, deal.id, username)
        like()

        def go(deal=deal):
            deal_changes.delete(deals.get(deal.id), by=EDITOR, now=NOW)
            trash.purge("deal", deal.id, by=EDITOR, now=NOW)

        outcomes = at_once(go, unlike, like, like)
        assert outcomes[0] is None
        assert {type(outcome) for outcome in outcomes[1:]} <= {bool, errors.NotFound}
        assert table.batch_get([keys.deal_like(deal.id, username), keys.deal_counts(deal.id)]) == {}


@pytest.mark.engines("native", "local")
def test_a_watch_that_ends_while_it_is_muted_leaves_no_ghost():
    for number in range(6):
        username = f"user{number}"
        relations.add(relations.BRAND_WATCH, "nordlicht", username=username, now=NOW)
        of_user = partial(relations.mute_watch, relations.BRAND_WATCH, "nordlicht", username=username)
        mute = [partial(of_user, muted=muted) for muted in (True, False, True)]
        outcomes = at_once(
            *mute, partial(relations.remove, relations.BRAND_WATCH, "nordlicht", username=username)
        )
        assert outcomes[-1] is True
        assert {type(outcome) for outcome in outcomes[:-1]} <= {type(None), errors.NotFound}
        assert table.get(keys.brand_watch("nordlicht", username)) is None
    assert counts()[1] == 0


def test_all_watches_are_muted_some_at_a_time(wait_for_indexes):
    relations.add(relations.BRAND_WATCH, "nordlicht", username="sam", now=NOW)
    relations.add(relations.CATEGORY_WATCH, CATEGORY, username="sam", now=NOW)
    wait_for_indexes()
    assert measured(relations.mute_all)("sam", muted=True, limit=1) == 1
    wait_for_indexes()
    assert relations.mute_all("sam", muted=True, limit=5) == 1
    wait_for_indexes()
    assert [row.muted for row in relations.watched_by("sam")] == [True, True]
    assert relations.mute_all("sam", muted=True, limit=5) == 0
    assert relations.mute_all("sam", muted=False, limit=5) == 2


def test_all_that_a_user_likes_and_watches_is_taken_back_with_its_counts(wait_for_indexes):
    for username in ("sam", "tom"):
        relations.add(relations.BRAND_LIKE, "nordlicht", username=username, now=NOW)
        relations.add(relations.CATEGORY_LIKE, CATEGORY, username=username, now=NOW)
        relations.add(relations.BRAND_WATCH, "nordlicht", username=username, now=NOW)
        relations.add(relations.CATEGORY_WATCH, CATEGORY, username=username, now=NOW)
        relations.add(relations.DEAL_LIKE, DEAL, username=username, now=NOW)
    wait_for_indexes()
    measured(relations.remove_all)("sam")
    assert counts() == (1, 1, 1, 1, 1)
    relations.remove_all("sam")
    assert counts() == (1, 1, 1, 1, 1)
    wait_for_indexes()
    assert relations.likes_of("sam") == relations.watched_by("sam") == []
    assert (len(relations.likes_of("tom")), len(relations.watched_by("tom"))) == (3, 2)


@pytest.mark.budget
@pytest.mark.parametrize("relation", relations.RELATIONS, ids=lambda relation: relation.type)
def test_a_like_or_watch_is_one_transaction_and_a_list_one_query(relation):
    slug = {"brand": "nordlicht", "category": CATEGORY, "deal": DEAL}[relation.target]
    with table.metered() as meter:
        relations.add(relation, slug, username="sam", now=NOW)
        relations.remove(relation, slug, username="sam")
        relations.likes_of("sam")
    assert meter.log == [("TransactWriteItems", None), ("TransactWriteItems", None), ("Query", "GSI2")]


def test_muting_all_of_many_is_ordered(wait_for_indexes):
    measured(relations.mute_all_later)("sam", muted=True, now=NOW)
    wait_for_indexes()
    job = jobs.take_next(now=NOW)
    assert job is not None
    assert (job.kind, job.payload) == (relations.MUTE_ALL, {"username": "sam", "muted": True})
