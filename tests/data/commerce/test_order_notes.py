"""Notes and tags of an order: each stands once, with who did it, and no other change of the order loses one."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from dealsite.data import table
from dealsite.data.commerce import order_changes, order_notes, orders
from dealsite.data.commerce.order_record import Order, buyer
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import MOST_TAGS, NOTE_TOKENS, SHIPPED
from dealsite.data.entities.people import CUSTOMER_NOTE
from dealsite.data.people import my_data, profiles
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from tests.builders import HOUR, NOW, make_deal, make_id
from tests.measuring import measured
from tests.people import make_user
from tests.races import again, at_once, errors_of, meanwhile
from tests.shop import buy

TOKEN = make_id(NOW, 900)


@pytest.fixture(autouse=True)
def _ann(whole_table: None) -> None:
    make_user("ann")


@pytest.fixture
def order() -> Order:
    return buy("ann", make_deal())


def note(order: Order, text: str, token: str = TOKEN, hours: int = 1) -> Order:
    return order_notes.note_order("ann", order.id, text, token=token, by="eve", now=NOW + hours * HOUR)


def tag(order: Order, text: str, by: str = "eve") -> Order:
    return order_notes.tag_order("ann", order.id, text, by=by, now=NOW + HOUR)


def untag(order: Order, text: str) -> Order:
    return order_notes.untag_order("ann", order.id, text, by="eve", now=NOW + HOUR)


def ship(order: Order) -> Order:
    return order_changes.ship("ann", order.id, unpaid=True, by="olga", now=NOW + HOUR)


def logged(order: Order, *verbs: str) -> list[tuple[str, str, str]]:
    """Return by whom what was noted in the audit log, the oldest first."""
    entries = [one for one in audit.of_target("order", order.id)[::-1] if one.what in verbs]
    return [(one.what, one.note, one.by) for one in entries]


TAGGED = ("tagged", "removed a tag")


def test_a_note_stands_in_the_audit_log_with_who_wrote_it_and_when(order, wait_for_indexes):
    measured(order_notes.note_order)("ann", order.id, " Call\n first ", token=TOKEN, by="eve", now=NOW + HOUR)
    wait_for_indexes()
    (entry,) = [one for one in audit.of_target("order", order.id) if one.what == order_notes.NOTED]
    assert (entry.note, entry.by, entry.at) == ("Call first", "eve", NOW + HOUR)


@pytest.mark.parametrize("text", ["", " \n ", "\u202e\u200b", "x" * 501])
def test_a_note_of_nothing_or_too_much_is_refused(order, text):
    with pytest.raises(Invalid) as refused:
        note(order, text)
    assert refused.value.fields.keys() == {"note"}
    assert orders.get("ann", order.id) == order


def test_a_form_that_is_sent_twice_makes_one_note_also_where_another_came_between(order, wait_for_indexes):
    other = make_id(NOW, 901)
    note(order, "One")
    note(order, "Two", other, 2)
    note(order, "One", hours=3)
    wait_for_indexes()
    assert logged(order, "noted") == [("noted", "One", "eve"), ("noted", "Two", "eve")]


def test_a_form_that_is_sent_twice_at_once_makes_one_note(order, wait_for_indexes):
    assert errors_of(at_once(*[again(partial(note, order, "One"))] * 3)) == []
    wait_for_indexes()
    assert logged(order, "noted") == [("noted", "One", "eve")]


def test_an_order_keeps_the_tokens_of_its_last_notes_alone(order):
    tokens = [make_id(NOW, 901 + number) for number in range(NOTE_TOKENS + 1)]
    for token in tokens:
        note(order, "x", token)
    assert orders.get("ann", order.id).note_tokens == tuple(tokens[1:])


def test_of_an_order_that_there_is_not_nothing_is_noted(order, wait_for_indexes):
    for username, order_id in (("bob", order.id), ("ann", TOKEN), ("ann", "a#\x00")):
        for change in (
            partial(order_notes.note_order, text="x", token=TOKEN),
            partial(order_notes.tag_order, tag="x"),
            partial(order_notes.untag_order, tag="x"),
        ):
            with pytest.raises(NotFound):
                change(username, order_id, by="eve", now=NOW)
        wait_for_indexes()
        assert logged(order, "noted", *TAGGED) == []
        assert audit.of_target("order", TOKEN) == []


def test_a_tag_is_added_as_typed_and_removed_each_with_an_entry(order, wait_for_indexes):
    measured(order_notes.tag_order)("ann", order.id, "  Held\tback ", by="eve", now=NOW + HOUR)
    after = tag(order, "VIP", by="olga")
    assert after.tags == orders.get("ann", order.id).tags == ("Held back", "VIP")
    after = measured(order_notes.untag_order)("ann", order.id, "HELD BACK", by="eve", now=NOW + HOUR)
    assert after.tags == ("VIP",)
    assert untag(order, "vip").tags == orders.get("ann", order.id).tags == ()
    wait_for_indexes()
    assert sorted(logged(order, *TAGGED)) == [
        ("removed a tag", "HELD BACK", "eve"),
        ("removed a tag", "vip", "eve"),
        ("tagged", "Held back", "eve"),
        ("tagged", "VIP", "olga"),
    ]


@pytest.mark.parametrize("text", ["held BACK", " held  back", "ｈｅｌｄ back"])
def test_a_tag_that_is_there_in_other_letters_is_not_added_again(order, wait_for_indexes, text):
    tagged = tag(order, "Held back")
    assert tag(order, text) == tagged
    wait_for_indexes()
    assert logged(order, *TAGGED) == [("tagged", "Held back", "eve")]


def test_to_remove_a_tag_that_is_not_there_changes_nothing(order, wait_for_indexes):
    tagged = tag(order, "Held back")
    assert untag(order, "held") == tagged
    wait_for_indexes()
    assert logged(order, *TAGGED) == [("tagged", "Held back", "eve")]


@pytest.mark.parametrize("text", ["", " ", "\u200b", "x" * 31])
def test_a_tag_of_nothing_or_too_much_is_refused(order, text):
    with pytest.raises(Invalid) as refused:
        tag(order, text)
    assert refused.value.fields.keys() == {"tag"}
    assert tag(order, "x" * 30).tags == ("x" * 30,)


def test_an_order_has_ten_tags_at_most(order):
    for number in range(MOST_TAGS):
        tag(order, f"t{number}")
    with pytest.raises(Invalid):
        tag(order, "one more")
    assert tag(order, "T9").tags == tuple(f"t{number}" for number in range(10))
    untag(order, "t0")
    assert tag(order, "one more").tags[-1] == "one more"


def test_a_tag_and_a_note_that_come_while_an_order_is_shipped_lose_nothing(order, monkeypatch):
    meanwhile(monkeypatch, lambda: ship(order))
    tag(order, "Held back")
    meanwhile(monkeypatch, lambda: untag(order, "held back"))
    note(order, "One")
    after = orders.get("ann", order.id)
    assert (after.status, after.tags, after.note_tokens) == (SHIPPED, (), (TOKEN,))


def test_an_order_that_is_shipped_while_it_is_tagged_keeps_its_tag(order, monkeypatch):
    meanwhile(monkeypatch, lambda: tag(order, "Held back"))
    ship(order)
    after = orders.get("ann", order.id)
    assert (after.status, after.tags) == (SHIPPED, ("Held back",))


def test_tags_and_a_parcel_at_once_are_all_there(order):
    tags = [f"t{number}" for number in range(3)]
    acts = [partial(ship, order), *(partial(tag, order, text) for text in tags)]
    assert errors_of(at_once(*map(again, acts))) == []
    after = orders.get("ann", order.id)
    assert (after.status, sorted(after.tags)) == (SHIPPED, tags)


def test_nothing_is_written_of_either_but_the_audit_log_and_the_order(order, wait_for_indexes):
    def there() -> Counter[str]:
        return Counter(item["type"] for item in table.scan_all(consistent=True))

    before = there()
    note(order, "A word about Ann")
    tag(order, "Odd")
    assert there() - before == {"AuditEntry": 2}
    wait_for_indexes()
    own = my_data.as_json("ann", now=NOW)[0]
    assert "A word about Ann" not in own  # what the audit log has of other things than users is not theirs
    assert "Odd" in own  # as all that is stored of their orders


# Of a customer


def kept() -> str:
    return buyer("ann").note


def test_a_note_of_a_customer_takes_the_place_of_the_one_that_was_read():
    measured(order_notes.note_customer)("ann", " Calls\r\nbefore noon. ", before="")
    assert kept() == "Calls\nbefore noon."
    order_notes.note_customer("ann", "Gone", before="Calls\r\nbefore noon.")
    order_notes.note_customer("ann", "Gone", before="Calls\nbefore noon.")  # sent twice
    assert kept() == "Gone"
    order_notes.note_customer("ann", " \u200b ", before="Gone")
    assert kept() == ""
    assert profiles.get("ann").version == 1


def test_what_somebody_else_wrote_meanwhile_is_not_lost():
    order_notes.note_customer("ann", "Theirs", before="")
    for before in ("", "Other"):
        with pytest.raises(Conflict, match="Somebody wrote another note"):
            order_notes.note_customer("ann", "Mine", before=before)
    assert kept() == "Theirs"


def test_of_two_notes_at_once_one_stands_and_the_other_is_told():
    writes = [partial(order_notes.note_customer, "ann", text, before="") for text in ("One", "Two", "Three")]
    refused = errors_of(at_once(*map(again, writes)))
    assert refused == [Conflict, Conflict]
    assert kept() in ("One", "Two", "Three")


def test_a_note_of_nobody_or_too_long_is_refused():
    with pytest.raises(NotFound):
        order_notes.note_customer("nobody", "x", before="")
    with pytest.raises(NotFound):
        order_notes.note_customer("a#b", "x", before="")
    with pytest.raises(Invalid):
        order_notes.note_customer("ann", "x" * (CUSTOMER_NOTE + 1), before="")


def test_a_note_stays_when_the_customer_orders_and_changes_their_profile():
    order_notes.note_customer("ann", "Kept", before="")
    buy("ann", make_deal())
    profiles.edit(profiles.get("ann"), name="Ann", timezone="Europe/Berlin")
    assert kept() == "Kept"
