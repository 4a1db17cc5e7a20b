"""Keys of different entities never meet, and no name gets into a key it was not meant for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from itertools import combinations

import pytest
from hypothesis import assume, given, settings, strategies as st

from dealsite.data import keys, names
from dealsite.data.commerce import carts
from dealsite.data.jobs import jobs
from dealsite.data.table import ids
from tests.hostile import moments, texts

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
A_ULID = ids.new_ulid(NOON, 1)
ulids = st.builds(ids.new_ulid, moments, st.integers(0, 2**80 - 1))
slugs = texts.map(names.slugify).filter(bool)
usernames = st.from_regex(names.USERNAME_PATTERN, fullmatch=True)
emails = st.from_regex(r"[a-z.+'%]{1,9}@[a-z]{1,9}\.[a-z]{2,5}", fullmatch=True)
days = st.dates(date(2000, 1, 1), date(2099, 12, 31))
letters = st.sampled_from("abcxyz0")
statuses = st.sampled_from(["ACTIVE", "SAVED", "PURCHASED", "RETURNED"])
owners = st.one_of(usernames.map(carts.user_cart), texts.map(carts.visitor_cart))

# Each kind of item with what its key is made of: two items meet only where they are one.
KINDS: dict[str, st.SearchStrategy[keys.Key]] = {
    "deal": ulids.map(keys.deal),
    "offer": ulids.map(keys.offer),
    "draft": ulids.map(keys.draft),
    "activity": st.builds(keys.activity, ulids, days),
    "deal counts": ulids.map(keys.deal_counts),
    "deal like": st.builds(keys.deal_like, ulids, usernames),
    "deal by": st.builds(keys.deal_by, texts, ulids),
    "brand": slugs.map(keys.brand),
    "brand counts": slugs.map(keys.brand_counts),
    "brand name": slugs.map(keys.brand_name),
    "category": slugs.map(keys.category),
    "category counts": slugs.map(keys.category_counts),
    "front page": st.just(keys.front_page()),
    "editors' choice page": st.just(keys.editors_choice_page()),
    "days": st.integers(2000, 2099).map(keys.days),
    "hot deals": st.just(keys.hot_deals()),
    "day count": days.map(keys.day_count),
    "user": usernames.map(keys.user),
    "profile": usernames.map(keys.profile),
    "factor owner": ulids.map(keys.factor_owner),
    "used challenge": texts.map(keys.used_challenge),
    "email guard": emails.map(keys.email_guard),
    "user count": st.integers(0, 3).map(keys.user_count.given),
    "session": st.builds(keys.session, usernames, texts),
    "throttle": st.builds(keys.throttle, st.sampled_from(["account", "address"]), texts, moments),
    "job": ulids.map(keys.job),
    "cart head": owners.map(lambda owner: owner.head),
    "cart line": st.builds(carts.CartOwner.line, owners, statuses, moments, ulids),
    "order": st.builds(keys.order, usernames, ulids),
    "audit entry": st.builds(keys.audit, moments, ulids),
    "security event": st.builds(keys.security_event, moments, ulids),
    "failure count": moments.map(keys.failure_count),
    "heartbeat": st.sampled_from(["worker", "web"]).map(keys.heartbeat),
    "process": ulids.map(keys.process),
    "lease": slugs.map(keys.lease),
    "command run": st.builds(keys.command_run, statuses.map(str.lower), ulids),
    "payment": st.builds(keys.payment, usernames, moments, ulids),
    "past payment": st.builds(keys.past_payment, usernames, moments, ulids),
    "transaction": usernames.map(keys.transaction),
    "payment totals": st.builds(keys.payment_totals, days, st.integers(0, 9)),
    "message": st.builds(keys.message, usernames, ulids),
}
PARTITIONS: dict[str, st.SearchStrategy[str]] = {
    "GSI1 deals of a day": days.map(keys.deals_of_day.partition),
    "GSI1 active": days.map(keys.active.partition),
    "GSI1 expiring": days.map(ids.month_of).map(keys.expiring.partition),
    "GSI1 drafts": st.just(keys.drafts.partition()),
    "GSI1 jobs": days.map(ids.month_of).map(keys.jobs_of_month.partition),
    "GSI2 deals of a brand": st.builds(keys.deals_of_brand.partition, slugs, st.integers(2000, 2099)),
    "GSI2 expiring": st.builds(keys.expiring_of_brand.partition, slugs, days.map(ids.month_of)),
    "GSI2 drafts": slugs.map(keys.drafts_of_brand.partition),
    "GSI1 an order": ulids.map(keys.order_lines.partition),
    "GSI1 transactions": usernames.map(lambda name: keys.payment_of_transaction(name)["GSI1PK"]),
    "GSI1 what somebody did": usernames.map(keys.audit_by.partition),
    "GSI1 security of a user": usernames.map(keys.security_of_user.partition),
    "GSI2 security of a kind": statuses.map(keys.security_of_kind.partition),
    "GSI3 security of a network": usernames.map(keys.security_of_network.partition),
    "GSI1 waiting users": emails.map(names.normalise_email).map(keys.waiting_users.partition),
    "GSI1 unread": st.builds(lambda name, ulid: keys.unread_messages(name, ulid)["GSI1PK"], usernames, ulids),
    "GSI2 of a user": usernames.map(keys.relations_of_user.partition),
    "GSI2 who has a deal": ulids.map(keys.carts_with.partition),
    "GSI2 what was done to a thing": st.builds(
        keys.audit_of.partition, st.sampled_from(["order", "payment"]), ulids
    ),
    "GSI3 placed orders": st.integers(0, 3).map(keys.WAITING["PLACED"].partition),
    "GSI3 shipped orders": st.integers(0, 3).map(keys.WAITING["SHIPPED"].partition),
    "GSI3 payments": st.integers(0, 9).map(keys.payments_by_status.partition),
    "GSI3 past payments": st.integers(0, 9).map(keys.closed_payments.partition),
    "GSI3 deals of a category": st.builds(keys.deals_of_category.partition, slugs, days.map(ids.month_of)),
    "GSI3 expiring": st.builds(keys.expiring_of_category.partition, slugs, days.map(ids.month_of)),
    "GSI3 drafts": slugs.map(keys.drafts_of_category.partition),
    "GSI3 open jobs": st.sampled_from(jobs.OPEN),
}


@given(kind=st.sampled_from(list(KINDS)), data=st.data())
@settings(max_examples=400)
def test_keys_of_different_entities_never_collide(kind, data):
    key = data.draw(KINDS[kind], label=kind)
    other = data.draw(st.sampled_from([name for name in KINDS if name != kind]))
    assert key != data.draw(KINDS[other], label=other)


@given(st.sampled_from([(a, b) for a, b in combinations(PARTITIONS, 2) if a[:4] == b[:4]]), st.data())
def test_index_partitions_of_different_lists_never_collide(pair, data):
    one, other = pair
    assert data.draw(PARTITIONS[one], label=one) != data.draw(PARTITIONS[other], label=other)


@given(slugs, slugs)
def test_two_brands_never_share_a_partition(one, other):
    assume(one != other)
    assert keys.brand(one) != keys.brand(other)
    assert keys.deals_of_brand.partition(one, 2026) != keys.deals_of_brand.partition(other, 2026)
    assert keys.drafts_of_brand.partition(one) != keys.drafts_of_brand.partition(other)
    assert keys.expiring_of_brand.partition(one, "2026-11") != keys.expiring_of_brand.partition(
        other, "2026-11"
    )


TAKES_TEXT: list[Callable[..., object]] = [
    keys.brand,
    keys.brand_counts,
    keys.brand_name,
    keys.category,
    keys.category_counts,
    keys.user,
    keys.profile,
    keys.email_guard,
    keys.user_index,
    keys.session.partition,
    keys.expiring.partition,
    keys.jobs_of_month.partition,
    keys.drafts_of_brand.partition,
    keys.drafts_of_category.partition,
    lambda text: keys.deals_of_brand.partition(text, 2026),
    lambda text: keys.deals_of_category.partition(text, "2026-11"),
    lambda text: keys.expiring_of_brand.partition(text, "2026-11"),
    lambda text: keys.expiring_of_category.partition(text, "2026-11"),
    lambda text: keys.session.given("ann", text),
    lambda text: keys.throttle(text, "ann", NOON),
    carts.user_cart,
    keys.payment.partition,
    keys.past_payment.partition,
    keys.transaction,
    keys.audit_by.partition,
    lambda text: carts.user_cart("ann").line(text, NOON, A_ULID),
    lambda text: keys.cart_line.between(text),
    lambda text: keys.order(text, A_ULID),
    lambda text: keys.order_rows(A_ULID, text, "DELIVERED", NOON),
    lambda text: keys.order_rows(A_ULID, "ann", text, NOON),
    lambda text: keys.audit_of.partition(text, "X1"),
    lambda text: keys.audit_of.partition("order", text),
]
TAKES_ULID = [
    keys.deal,
    keys.offer,
    keys.draft,
    keys.job,
    keys.deals_of_day.position,
    lambda text: keys.feed_rows(text, "lian-li", "grocery-household"),
    lambda text: keys.expiring.position(NOON, text),
    lambda text: keys.draft_rows(text, "", ""),
    lambda text: keys.job_rows(text, NOON, "mail0"),
    keys.carts_with.partition,
    keys.order_lines.partition,
    lambda text: carts.user_cart("ann").line("ACTIVE", NOON, text),
    lambda text: keys.carts_with(text, "ACTIVE", NOON, "ann", A_ULID),
    lambda text: keys.carts_with(A_ULID, "ACTIVE", NOON, "ann", text),
    lambda text: keys.order("ann", text),
    lambda text: keys.order_lines(A_ULID, text),
    lambda text: keys.order_rows(text, "ann", "PLACED", NOON),
    lambda text: keys.orders_to_ship.position(NOON, text),
    lambda text: keys.payment("ann", NOON, text),
    lambda text: keys.past_payment("ann", NOON, text),
    lambda text: keys.audit(NOON, text),
]


@given(st.sampled_from(TAKES_TEXT), texts)
def test_a_text_with_a_separator_or_control_character_is_never_part_of_a_key(function, text):
    for hostile in (text + "#", "#" + text, text + "\x00", "\n" + text, text + "\ud800", ""):
        with pytest.raises(ValueError, match="cannot be part of a key"):
            function(hostile)


@pytest.mark.parametrize("text", ["x" * 400_000, "x" * 513])
def test_a_text_too_long_is_never_part_of_a_key(text, subtests):
    for number, function in enumerate(TAKES_TEXT):
        with subtests.test(number), pytest.raises(ValueError, match="cannot be part of a key"):
            function(text)


@given(st.sampled_from(TAKES_ULID), texts)
def test_only_a_ulid_stands_where_an_id_does(function, text):
    assume(not ids.is_ulid(text))
    with pytest.raises(ValueError, match=r"ULID|cannot be part"):
        function(text)


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
