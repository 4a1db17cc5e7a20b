"""The demo's deals and brands, before anything is stored."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings

from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.content import problems
from dealsite.data.catalogue.featured import MAX_CARDS, PAGES
from dealsite.data.names import slugify
from dealsite.data.table.ids import time_of
from dealsite.demo import art
from dealsite.demo.brands import BRANDS, CATEGORY_OBJECTS, CATEGORY_TEXTS
from dealsite.demo.deals import FILE, all_deals, all_drafts, featured
from dealsite.imports import csv_files
from dealsite.imports.csv_files import CsvFormat
from dealsite.imports.layout import FIELDS, guess_columns

NOW = datetime(2026, 11, 21, 13, 17, 42, 123456, tzinfo=UTC)
SHAPES = ("arch", "sun", "podium", "window", "waves", "plain")
POSES = ("one", "pair", "trio", "companion")


@pytest.fixture(scope="module")
def made():
    return all_deals(NOW)


def test_the_demo_is_the_same_each_time(made):
    assert all_deals(NOW) == made
    assert all_drafts(NOW) == all_drafts(NOW)


def test_another_day_moves_it_and_changes_nothing_else(made):
    later = all_deals(NOW + timedelta(days=30))
    assert [deal.content.title for deal in later] == [deal.content.title for deal in made]
    assert {deal.id for deal in later}.isdisjoint(deal.id for deal in made)


def test_there_are_400_deals_of_the_last_60_days_and_the_next_few(made):
    times = [time_of(deal.id) for deal in made]
    assert len(made) == len({deal.id for deal in made}) == 400
    assert times == sorted(times)
    assert NOW - timedelta(days=61) < times[0] < NOW - timedelta(days=50)
    assert NOW + timedelta(days=2) < times[-1] < NOW + timedelta(days=5)
    assert sum(time > NOW for time in times) == 14


def test_every_deal_could_be_published_by_an_editor(made):
    assert [problems(deal.content, live_at=time_of(deal.id)) for deal in made] == [{}] * 400


def test_every_state_is_to_be_seen(made):
    states = Counter(deal.content.card(deal.id, deal.brand_name).state(NOW) for deal in made)
    assert set(states) == {"scheduled", "live", "ending", "expired", "sold_out"}
    assert states["live"] > 150
    assert min(states.values()) >= 3


def test_every_category_has_its_share(made):
    counts = Counter(deal.content.category for deal in made)
    assert set(counts) == set(CATEGORIES)
    assert min(counts.values()) >= 40


def test_there_are_vouchers_stocks_and_prices_without_a_former_one(made):
    assert sum(bool(deal.content.voucher_code) for deal in made) > 50
    assert sum(deal.content.stock is not None for deal in made) > 50
    assert sum(deal.content.was_price is None for deal in made) > 20


def test_about_40_brands_each_make_something(made):
    assert len({slugify(brand.name) for brand in BRANDS}) == 40
    assert {deal.brand_name for deal in made} == {brand.name for brand in BRANDS}


def test_all_objects_are_in_the_installed_set(made):
    drawn = [*made, *(draft.deal for draft in all_drafts(NOW))]
    wanted = {name for deal in drawn for name in deal.scene.objects}
    wanted |= set(CATEGORY_OBJECTS.values())
    assert [name for name in wanted if not (settings.BASE_DIR / art.OBJECTS / f"{name}.webp").is_file()] == []


def test_every_category_is_described():
    assert set(CATEGORY_TEXTS) == set(CATEGORY_OBJECTS) == set(CATEGORIES)


def test_pictures_differ(made):
    assert {deal.scene.shape for deal in made} == set(SHAPES)
    assert {deal.scene.pose for deal in made} == set(POSES)
    assert len({deal.scene for deal in made}) > 350


def test_every_scene_can_be_drawn(subtests):
    for pose in POSES:
        for shape in SHAPES:
            with subtests.test(shape=shape, pose=pose):
                picture = art.draw(art.Scene(("1f3a7", "1f3b5"), 10, shape, pose, 7.0, 0.5))
                assert (picture.size, picture.mode) == ((960, 720), "RGB")


def test_every_page_features_live_deals_that_stay(made):
    by_id = {deal.id: deal for deal in made}
    lists = featured(made)
    assert set(lists) == set(PAGES)
    for page, ids in lists.items():
        assert 4 <= len(ids) == len(set(ids)) <= MAX_CARDS
        for deal in map(by_id.get, ids):
            assert deal.content.card(deal.id, "").state(NOW) == "live"
            assert deal.content.expires_at is None
            assert page not in CATEGORIES or deal.content.category == page
    assert not set(lists["front"]) & set(lists["editors-choice"])


def test_some_drafts_are_complete_and_some_are_not():
    drafts = all_drafts(NOW)
    missing = [len(problems(draft.content, live_at=NOW)) for draft in drafts]
    assert len(drafts) == 9
    assert missing.count(0) == 3
    assert max(missing) >= 4


def test_the_file_of_deals_is_one_that_an_editor_could_upload():
    header = next(csv_files.read(FILE, CsvFormat("utf-8", ","))).cells
    assert [name for name in guess_columns(header) if name] == [
        name for name in FIELDS if name not in ("ad", "article_number", "currency", "id", "image_url")
    ]
