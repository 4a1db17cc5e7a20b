"""Loading the demo: into the project's own engine, once, and on after an interruption."""

import io
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from dealsite.accounts import passwords
from dealsite.accounts.passwords import Owner
from dealsite.data import table
from dealsite.data.catalogue import (
    brands,
    categories,
    deal_changes,
    deals,
    drafts,
    featured,
    hot,
    publishing,
    relations,
)
from dealsite.data.commerce import carts, orders
from dealsite.data.entities.commerce import CANCELLED, DELIVERED, PLACED, SHIPPED
from dealsite.data.names import slugify
from dealsite.data.people import users
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import first_ulid_of
from dealsite.demo import loading
from dealsite.demo.deals import BRAND_TEXTS, DEALS, all_deals, all_drafts
from dealsite.demo.people import PEOPLE, SIGN_INS
from dealsite.demo.purchases import all_orders
from tests.builders import PICTURE, all_brands
from tests.people import NOW, make_user


@pytest.fixture(autouse=True)
def place(whole_table, tmp_path, monkeypatch):
    """An own engine with an empty table; no picture is drawn, for speed."""
    monkeypatch.setattr(loading, "upload", lambda name: PICTURE)
    with override_settings(MEDIA_ROOT=tmp_path / "media", DEALSITE_EMBEDDED=True):
        yield


def load(*arguments):
    """Run the command; return what it prints."""
    out = io.StringIO()
    call_command("load_demo", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


_loaded: list[Item] = []


@pytest.fixture
def loaded(place) -> None:
    """The demo's items, without its pictures: loaded once, then copied."""
    if _loaded:
        table.insert(_loaded)
        return
    load()
    _loaded.extend(table.scan_all(consistent=True))


def loaded_deals():
    started = users.get(PEOPLE[0].username.lower()).created_at
    return deals.get_many(deal.id for deal in all_deals(started))


def test_the_shoppers_have_bought_something_and_have_something_in_their_carts(loaded):
    started = users.get("ada").created_at
    placed = [orders.get(order.username, order.id) for order in all_orders(all_deals(started), started)]
    assert Counter(order.status for order in placed) == {DELIVERED: 9, PLACED: 7, SHIPPED: 4, CANCELLED: 2}
    waiting = orders.waiting(PLACED).rows
    assert {card.id for card in waiting} == {order.id for order in placed if order.status == PLACED}
    assert {card.payment_state for card in waiting} == {"paid", "part_paid", "declined"}
    for name in ("sam", "lena", "tomas"):
        cart = carts.read(carts.user_cart(name), now=started)
        assert (len(cart.active), len(cart.saved)) == (3, 1)
        assert orders.account_page(name)[1].address.country


def everything():
    """Every item of the table but what a sign-in would change."""
    return {(item["PK"], item["SK"]): item for item in table.scan_all(consistent=True)}


def test_all_of_it_is_loaded_and_a_second_time_nothing_changes():
    assert load() == ""
    started = users.get("ada").created_at
    stored = loaded_deals()
    assert len(stored) == DEALS
    assert {deal.card.brand for deal in stored.values()} == set(map(slugify, BRAND_TEXTS))
    assert all(deal.content.picture and deal.content.picture.alt for deal in stored.values())
    assert {brand.name for brand in all_brands()} == set(BRAND_TEXTS)
    assert all(category.description for category in categories.all_categories())
    assert [len(featured.get(page).cards) > 3 for page in featured.PAGES] == [True] * len(featured.PAGES)
    assert [drafts.get(draft.id).content.title for draft in all_drafts(started)] == [
        draft.content.title for draft in all_drafts(started)
    ]
    before = everything()
    assert load() == "The demo content is here already.\n"
    assert everything() == before


def test_the_known_sign_ins_work_and_keep_the_sites_own_rules(loaded):
    for role, username, password in SIGN_INS:
        user = users.find(username)
        assert user is not None
        assert passwords.matches(password, user.password)
        assert (role in user.roles) or (role == "shopper" and not user.roles)
    for person in PEOPLE:
        passwords.check(person.password, Owner(person.username, person.username, person.email))
    assert sum("editor" in users.get(person.username.lower()).roles for person in PEOPLE) == 2


@pytest.mark.parametrize("step", ["publish", "edit"])
def test_an_interrupted_load_goes_on_where_it_was(monkeypatch, step):
    module = publishing if step == "publish" else deal_changes
    write, calls = getattr(module, step), []

    def interrupted(content, *more, **options):
        calls.append(content)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return write(content, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            load()
    assert 0 < len(loaded_deals()) < DEALS
    load()
    stored, started = loaded_deals(), users.get("ada").created_at
    for deal in all_deals(started):
        versions = deal.versions(started)
        assert stored[deal.id].version == len(versions)
        assert stored[deal.id].content.price == deal.content.price
        assert [one.price for one in deals.prices_of(deal.id)] == [
            content.price for _since, content in versions if content.price is not None
        ]
    assert brands.get_with_counts("copperleaf").deals == sum(
        deal.card.brand == "copperleaf" for deal in stored.values()
    )


def test_a_price_that_somebody_set_during_an_interruption_stays(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(deal_changes, "edit", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            load()
    started = users.get("ada").created_at
    halfway = next(deal for deal in all_deals(started) if deal.earlier)
    stored = deals.get(halfway.id)
    content = replace(stored.content, price=Decimal("1.00"))
    brand = brands.get(stored.card.brand)
    deal_changes.edit(stored, content, version=1, brand=brand, by="mara", now=started)
    load()
    assert deals.get(halfway.id).content.price == Decimal("1.00")


def test_what_is_reduced_is_compared_with_what_it_cost_before(loaded):
    reduced = [deal for deal in loaded_deals().values() if deal.card.percent_off]
    assert (
        len([deal for deal in reduced if not deal.content.low_seen_on]) > 3
    )  # none but their own prices tell
    raised = [deal for deal in loaded_deals().values() if deal.card.raised_from]
    assert len(raised) > 3
    assert not any(deal.card.percent_off for deal in raised)


def test_some_deals_are_hot_from_the_start(loaded):
    assert len(hot.read().deals) > 20
    assert max(deal.likes for deal in hot.read().deals) > 3
    assert {entry.slug for entry in relations.watched_by("sam")} == set(loading.WATCHED)


def test_what_was_deleted_does_not_come_back(loaded):
    deal_id = next(iter(loaded_deals()))
    deal_changes.delete(deals.get(deal_id), by="mara", now=users.get("ada").created_at)
    load()
    assert deal_id not in loaded_deals()


def test_what_editors_wrote_meanwhile_stays():
    started, _ = loading.begin(NOW, random_passwords=False)
    categories.create_all()
    category = categories.get("toys-hobbies")
    categories.edit(category, name="Toys", description="Mine", logo=None, by="mara", now=started)
    featured.set_featured(featured.get("front"), [], version=0, by="mara", now=started)
    load()
    assert categories.get("toys-hobbies").description == "Mine"
    assert featured.get("front").cards == []


def test_another_table_gets_it_only_on_demand_and_with_other_passwords():
    with override_settings(DEALSITE_EMBEDDED=False):
        with pytest.raises(CommandError, match="is not of the embedded engine"):
            load()
        assert table.scan_page(limit=10).items == []
        printed = load("--yes")
    told = dict(re.findall(r"^(\w+) +(\S+) ", printed, re.MULTILINE))
    assert set(told) == {person.username for person in PEOPLE}
    for person in PEOPLE:
        user = users.get(person.username.lower())
        assert passwords.matches(told[person.username], user.password)
        assert not passwords.matches(person.password, user.password)


def test_random_passwords_are_told_once():
    with override_settings(DEALSITE_EMBEDDED=False):
        load("--yes")
        assert load("--yes") == "The demo content is here already.\n"


def test_a_stranger_who_has_a_name_of_the_demo_is_left_alone():
    make_user("Ada", email="ada@elsewhere.example")
    with pytest.raises(CommandError, match="There is another user called Ada here"):
        load()
    assert users.get("ada").email == "ada@elsewhere.example"


def test_the_progress_adds_up():
    steps: list[int] = []
    started, _ = loading.begin(NOW, random_passwords=False)
    loading.load_content(started, steps.append)
    assert sum(steps) == loading.steps()
    steps.clear()
    loading.load_content(started, steps.append)
    assert sum(steps) == loading.steps()


def test_nothing_scheduled_is_featured(loaded):
    now = users.get("ada").created_at
    for page in featured.PAGES:
        assert all(card.id < first_ulid_of(now) for card in featured.get(page).cards)
