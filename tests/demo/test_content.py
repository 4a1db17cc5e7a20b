"""The demo's deals and brands, before anything is stored."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from PIL import Image

from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.content import problems
from dealsite.data.catalogue.featured import MAX_CARDS, PAGES
from dealsite.data.entities.deals import ALT_CHARACTERS
from dealsite.data.names import slugify
from dealsite.data.table.ids import time_of
from dealsite.demo import loading
from dealsite.demo.deals import (
    BRAND_TEXTS,
    CATEGORY_TEXTS,
    DEALS,
    DRAWING_TEXTS,
    FILE,
    SCHEDULED,
    all_deals,
    all_drafts,
    featured,
)
from dealsite.demo.loading import DRAWINGS
from dealsite.demo.people import PEOPLE
from dealsite.imports import csv_files
from dealsite.imports.csv_files import CsvFormat
from dealsite.imports.layout import FIELDS, guess_columns

NOW = datetime(2026, 11, 21, 13, 17, 42, 123456, tzinfo=UTC)
MONTHS_LATER = (
    NOW,
    NOW + timedelta(days=100, hours=9),
)  # other hours of the day move the times of publication


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


def test_the_deals_are_of_the_last_60_days_and_the_next_few(made):
    times = [time_of(deal.id) for deal in made]
    assert len({deal.id for deal in made}) == DEALS
    assert times == sorted(times)
    assert NOW - timedelta(days=61) < times[0] < NOW - timedelta(days=50)
    assert NOW + timedelta(days=2) < times[-1] < NOW + timedelta(days=5)
    assert sum(time > NOW for time in times) == SCHEDULED


@pytest.mark.parametrize("now", MONTHS_LATER)
def test_every_deal_could_be_published_by_an_editor_and_have_its_prices(now):
    for deal in all_deals(now):
        versions = deal.versions(now)
        starts = [since for since, _content in versions]
        prices = [content.price for _since, content in versions]
        assert all(problems(content, live_at=time_of(deal.id)) == {} for _since, content in versions)
        assert starts == sorted(set(starts)), deal.content.title
        assert all(price != after for price, after in pairwise(prices))


def test_every_state_is_to_be_seen(made):
    states = Counter(deal.content.card(deal.id, deal.brand_name).state(NOW) for deal in made)
    assert set(states) == {"scheduled", "live", "ending", "expired", "sold_out"}
    assert states["live"] > 100
    assert min(states.values()) >= 2


def test_every_category_has_its_share_and_is_described(made):
    counts = Counter(deal.content.category for deal in made)
    assert set(counts) == set(CATEGORIES) == set(CATEGORY_TEXTS)
    assert min(counts.values()) >= 15


def test_there_is_something_of_everything(made):
    assert sum(bool(deal.content.voucher_code) for deal in made) > 30
    assert sum(deal.content.stock is not None for deal in made) > 30
    assert sum(deal.content.was_price is None for deal in made) > 20
    assert sum(bool(deal.content.condition) for deal in made) == 4
    assert sum(len(deal.earlier) > 1 for deal in made) > 30
    assert sum(bool(deal.earlier) and deal.earlier[-1][1] < (deal.content.price or 0) for deal in made) > 3
    assert max(deal.likes for deal in made) < len(PEOPLE)


def test_every_brand_makes_something(made):
    assert len(set(map(slugify, BRAND_TEXTS))) == len(BRAND_TEXTS)
    assert {deal.brand_name for deal in made} == set(BRAND_TEXTS)


def test_every_drawing_is_that_of_a_deal(made):
    assert {deal.drawing for deal in made} == set(DRAWING_TEXTS)
    assert {draft.deal.drawing for draft in all_drafts(NOW)} <= set(DRAWING_TEXTS)


def test_neighbours_in_the_list_look_different(made):
    newest = [
        deal.drawing for deal in made if deal.content.card(deal.id, "").state(NOW) in ("live", "ending")
    ][::-1]
    assert all(
        drawing not in newest[place + 1 : place + 7] for place, drawing in enumerate(newest[:25])
    )  # as many as a row has


def test_every_drawing_is_there_and_says_what_it_shows():
    assert {path.stem for path in DRAWINGS.iterdir()} == set(DRAWING_TEXTS)
    for path in DRAWINGS.iterdir():
        with Image.open(path) as image:
            assert image.size == (960, 720), path.name
    assert len(set(DRAWING_TEXTS.values())) == len(DRAWING_TEXTS)
    assert all(5 < len(alt) <= ALT_CHARACTERS for alt in DRAWING_TEXTS.values())
    picture = loading.upload("teapot")
    assert (picture.alt, picture.width, picture.height) == ("A grey teapot", 960, 720)


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
