"""All that is stored about a person is found and is theirs alone; what is left of a deleted one, the chart says."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.commerce import charging, order_changes
from dealsite.data.commerce.payment_lists import Debt
from dealsite.data.commerce.payment_record import Sum
from dealsite.data.editing import audit, saved_views
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.personal import SOMEBODY_ELSE, is_actor, own_part, who
from dealsite.data.people import mails, messages, my_data, users
from dealsite.data.people.messages import message_item
from dealsite.data.table.writes import Update
from dealsite.gateways.testing import TestGateway
from tests.builders import DAY, HOUR, NOW, make_id
from tests.data.entities.examples import EXAMPLES
from tests.every_type import ORDER, copy_every_type, everything, look_in
from tests.jobs import run_next
from tests.measuring import measured
from tests.payments import owe
from tests.people import give_card, make_user
from tests.shop import ADDRESS

pytestmark = [pytest.mark.usefixtures("whole_table"), pytest.mark.engines("native", "local")]
LATER = NOW + 2 * DAY


def store_everything_about_ann() -> None:
    copy_every_type()
    look_in()
    owe(order_number=97, method="test:approve")
    give_card("ann", "test:approve")
    charging.run_due(TestGateway(), currency="EUR", clock=lambda: NOW)
    saved_views.save("ann", saved_views.SavedView("Mine", "/cms/deals/"), now=NOW)


def naming(text: str) -> Counter[str]:
    """Return how many items of each type hold a text as a word anywhere, by a search of the whole table."""
    word = re.compile(rf"(?<!\w){re.escape(text)}(?![\w@])", re.IGNORECASE)
    return Counter(item["type"] for item in everything().values() if word.search(repr(item)))


def of_ann(**how: bool) -> Counter[str]:
    return Counter(one.type for one in my_data.all_items("ann", **how))


def test_all_that_names_a_person_is_found_of_every_type_without_a_search_but_passing_work():
    store_everything_about_ann()
    wanted = {
        name: number
        for name, number in naming("ann").items()
        if ENTITIES[name].stays_for not in ("work", "passing")
    }
    assert of_ann() == wanted
    of_people = {
        entity.type
        for entity in ENTITIES.values()
        if any(not is_actor(name) for name in who(entity.shape)) and entity.stays_for != "passing"
    }
    assert wanted.keys() == of_people, "tests/every_type.py lacks an item about ann of these types"
    assert of_ann(everywhere=True) >= Counter(wanted)
    assert of_ann(everywhere=True) == naming("ann")


def test_what_is_left_of_a_deleted_person_is_what_the_chart_says_stays(monkeypatch, settings):
    settings.DEALSITE_UNPAID_DAYS = 0  # orders that nobody paid wait for nothing
    monkeypatch.setattr(users, "owed", lambda _: Debt(Sum(), Sum()))  # else they could not be deleted
    store_everything_about_ann()
    there = naming("ann").keys()
    users.delete(users.get("ann"), job_id=make_id(NOW, 98), now=NOW)
    for moment in (NOW + HOUR, LATER):
        while run_next(now=moment):
            pass
    left = naming("ann").keys()
    stays = {name for name in there if ENTITIES[name].stays_for}
    assert stays >= left >= {name for name in stays if ENTITIES[name].stays_for != "passing"}
    assert "Job" not in left, "a job that is done names nobody any more"
    assert naming("ann@example.org").keys() == {"Order"}
    assert naming(ADDRESS.name).keys() == {"Order", "ReturnRequest"}
    assert naming(ADDRESS.street).keys() == {"Order"}
    assert table.get(keys.user("ann"), as_stored=True).keys() == {
        "PK", "SK", "schema", "type", "username", "created_at", "deleted_at"
    }  # fmt: skip


@pytest.mark.engines("native")
def test_no_type_gives_away_a_secret():
    for name, entity in ENTITIES.items():
        item = EXAMPLES[name]
        secret = [one for one, kind in entity.shape.items() if kind.secret]
        part = own_part(entity.shape, item, {"ann"})
        assert not part.keys() & {*secret, "PK", "SK"}, name
        for one in secret:
            if isinstance(item.get(one), str) and item[one]:
                assert item[one] not in repr(part), name


def test_a_card_is_shown_without_its_token():
    item = EXAMPLES["Profile"]
    assert "token" in item["card"]
    assert own_part(ENTITIES["Profile"].shape, item, {item["username"]})["card"].keys() == {
        "gateway",
        "label",
    }


def test_other_peoples_names_are_left_out_of_what_is_ones_own():
    store_everything_about_ann()
    order_changes.ship("ann", ORDER, tracking="", unpaid=True, by="eve", now=NOW)
    found = [one.attributes for one in my_data.all_items("ann") if one.type == "Order"]
    (order,) = [one for one in found if one["id"] == ORDER]
    assert [step["by"] for step in order["timeline"]] == ["ann", SOMEBODY_ELSE] * 2
    assert order["address"]["street"] == ADDRESS.street


def test_of_what_somebody_only_did_nobody_else_is_told():
    make_user("root", roles=["admin"])
    make_user("ann")
    users.give_role("ann", "editor", by="root", now=NOW)
    (entry,) = [one.attributes for one in my_data.all_items("root") if one.type == "AuditEntry"]
    assert entry["card"].keys() == {"at", "by", "kind", "what"}
    assert "ann" not in json.dumps(entry)
    (entry,) = [one.attributes for one in my_data.all_items("ann") if one.type == "AuditEntry"]
    assert (entry["card"]["subject"], entry["card"]["by"]) == ("ann", SOMEBODY_ELSE)


def found_everywhere(username: str) -> Counter[tuple[str, Any]]:
    """Return what is found of somebody, by type and user name."""
    return Counter(
        (one.type, one.attributes.get("username")) for one in my_data.all_items(username, everywhere=True)
    )


OWN = {("User", "mallory"): 1, ("Profile", "mallory"): 1, ("EmailGuard", "mallory"): 1}


def test_an_address_that_nobody_has_confirmed_finds_nothing():
    make_user("ann")
    make_user("mallory")
    table.write(mails.notice("two_factor_on", users.get("ann"), now=NOW))
    for key in (keys.user("mallory"), keys.profile("mallory")):
        table.write(Update(key=key, set={"pending_email": "ann@example.org"}))
    assert found_everywhere("mallory") == OWN
    assert {name for _, name in found_everywhere("ann")} == {"ann", None}
    assert found_everywhere("ann")[("Job", None)] == 1


def test_another_ones_address_name_and_work_are_not_theirs_who_is_called_so():
    make_user("ann")
    for key in (keys.user("ann"), keys.profile("ann")):
        table.write(Update(key=key, set={"name": "mallory"}))
    table.write(Update(key=keys.profile("ann"), set={"address": {"city": "mallory"}}))
    make_user("mallory")
    notice = mails.order_notice(
        "mallory", order_id=ORDER, username="ann", to="ann@example.org", at=NOW, now=NOW
    )
    about_a_brand = audit.entry_write(by="ann", kind="brand", subject="mallory", what="changed", now=NOW)
    table.transact([notice, about_a_brand])
    assert found_everywhere("mallory") == OWN


def test_many_items_are_read_to_the_end():
    make_user("ann")
    messages.deliver(
        message_item("ann", make_id(NOW, number), kind="hot_deal", headline="Look", deal="")
        for number in range(250)
    )
    assert of_ann() == {"User": 1, "Profile": 1, "EmailGuard": 1, "Message": 250}


def test_of_nobody_there_is_nothing():
    assert list(my_data.all_items("ann", everywhere=True)) == []


def test_all_of_it_is_json_and_counted_and_a_copy_for_another_noted(wait_for_indexes):
    make_user("ann")
    text, counts = my_data.as_json("ann", now=NOW)
    said = json.loads(text)
    assert (said["username"], said["written_at"]) == ("ann", "2026-11-21T12:00:00.000Z")
    assert said["types"].keys() == counts.keys() == {"User", "Profile", "EmailGuard"}
    measured(my_data.note_export)("ann", by="-", now=NOW)
    table.write(audit.entry_write(by="ann", kind="brand", subject="aurora", what="changed", now=NOW))
    wait_for_indexes()
    assert {entry.by for entry in audit.of_target("user", "ann")} == {"-"}
    assert "Profile" in {one.type for one in measured(my_data.all_items)("ann")}
