"""What stands in keys and rows, and that no name gets into one it was not meant for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from dealsite.data import keys, names
from dealsite.data.commerce import carts
from dealsite.data.table import ids
from tests.hostile import moments, texts

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
A_ULID = ids.new_ulid(NOON, 1)
ulids = st.builds(ids.new_ulid, moments, st.integers(0, 2**80 - 1))
slugs = texts.map(names.slugify).filter(bool)


@given(texts)
def test_no_row_and_no_cart_takes_a_separator_or_a_control_character(text):
    """What lines of the chart take themselves is tried in test_key_chart.py."""
    for hostile in (text + "#", "#" + text, text + "\x00", "\n" + text, text + "\ud800", "", "x" * 513):
        for take in (
            carts.user_cart,
            keys.user_index,
            lambda text: carts.user_cart("ann").line(text, NOON, A_ULID),
            lambda text: keys.feed_rows(A_ULID, text, "grocery-household"),
            lambda text: keys.order_rows(A_ULID, "ann", text, NOON),
            lambda text: keys.order_rows(text, "ann", "PLACED", NOON),
        ):
            with pytest.raises(ValueError, match=r"ULID|cannot be part of a key"):
                take(hostile)


@given(texts, texts)
def test_a_slug_always_fits_into_its_key_and_out_again(one, other):
    for name in (one, other):
        if slug := names.slugify(name):
            assert keys.brand(slug) == (f"BRAND#{slug}", f"BRAND#{slug}")
            assert keys.brand(slug)[0].count("#") == 1
            assert keys.deals_of_brand.partition(slug, 2026).split("#") == ["BRAND", slug, "2026"]


@given(texts, texts)
def test_a_secret_or_an_address_stands_in_keys_as_its_hash_only(secret, subject):
    assert keys.session("ann", secret)[1].removeprefix("SESSION#").isalnum()
    assert len(keys.session("ann", secret)[1]) == len("SESSION#") + 64
    assert keys.throttle("account", subject, NOON)[0].count("#") == 2


def test_the_longest_key_stays_within_dynamodbs_limits():
    slug = names.slugify("\U00020000" * 400)
    assert len(keys.deals_of_brand.partition(slug, 2026).encode()) <= 2048
    assert len(keys.expiry_rows(ids.new_ulid(NOON), slug, slug, NOON)["GSI2PK"].encode()) <= 2048


@given(ulids, slugs, slugs)
def test_the_buckets_of_a_deal_are_cut_from_its_id(deal_id, brand, category):
    rows = keys.feed_rows(deal_id, brand, category)
    at = ids.time_of(deal_id)
    assert rows == {
        "GSI1PK": f"DEALS#{at:%Y-%m-%d}",
        "GSI1SK": f"DEAL#{deal_id}",
        "GSI2PK": f"BRAND#{brand}#{at:%Y}",
        "GSI2SK": f"DEAL#{deal_id}",
        "GSI3PK": f"CATEGORY#{category}#{at:%Y-%m}",
        "GSI3SK": f"DEAL#{deal_id}",
    }


def test_an_offer_that_never_expires_is_in_no_list_of_what_expires():
    assert keys.expiry_rows(ids.new_ulid(NOON), "lian-li", "grocery-household", None) == {}


@given(ulids, slugs, slugs, moments, moments)
def test_offers_sort_by_when_they_expire(deal_id, brand, category, one, other):
    first = keys.expiry_rows(deal_id, brand, category, one)["GSI1SK"]
    second = keys.expiry_rows(deal_id, brand, category, other)["GSI1SK"]
    assert (first < second) == (ids.iso(one) < ids.iso(other))


def test_a_draft_is_listed_where_it_has_a_place():
    ulid = ids.new_ulid(NOON, 7)
    assert keys.draft_rows(ulid, "", "") == {"GSI1PK": "DRAFTS", "GSI1SK": f"DRAFT#{ulid}"}
    assert keys.draft_rows(ulid, "lian-li", "toys-hobbies") == {
        "GSI1PK": "DRAFTS",
        "GSI1SK": f"DRAFT#{ulid}",
        "GSI2PK": "DRAFTS#BRAND#lian-li",
        "GSI2SK": f"DRAFT#{ulid}",
        "GSI3PK": "DRAFTS#CATEGORY#toys-hobbies",
        "GSI3SK": f"DRAFT#{ulid}",
    }


def test_a_job_is_open_until_it_has_no_due_time():
    ulid = ids.new_ulid(NOON, 7)
    assert keys.job_rows(ulid, None, "mail0") == {"GSI1PK": "JOBS#2026-11", "GSI1SK": f"JOB#{ulid}"}
    assert keys.job_rows(ulid, NOON, "mail0")["GSI3PK"] == "JOBS#OPEN#mail0"
    assert keys.job_rows(ulid, NOON, "mail0")["GSI3SK"] == f"2026-11-21T12:00:00.000Z#{ulid}"


@given(slugs, texts)
def test_a_prefix_range_holds_all_that_starts_with_it(start, rest):
    low, high = keys.prefix(start)
    assert low <= start + rest.replace("\U0010ffff", "") <= high
