"""The back office notes things of an order for itself: notes among what happened, and tags, which narrow lists down."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from dealsite.data.commerce import order_changes, order_notes, orders
from dealsite.data.editing import audit
from dealsite.data.people import profiles, users
from dealsite.data.table.ids import is_new, new_ulid
from tests.builders import DAY, HOUR, NOW, make_deal
from tests.cms.conftest import inputs
from tests.cms.orders.test_orders import LIST, TO_SHIP, ids, text
from tests.orders import make_order
from tests.people import signed_in

HOSTILE = '<script>alert("x")</script> & \u202egnirts'


@pytest.fixture
def order():
    return make_order("ada", make_deal(live_at=NOW - 2 * DAY), now=NOW - DAY)


def address_of(order, what=""):
    return f"/cms/orders/ada/{order.id}/{what and f'{what}/'}"


def send(office, order, what, **data):
    return office.post(address_of(order, what), data, follow=True)


def happened(answer):
    """Return what happened to the order of a page, the newest first, without tags."""
    (listed,) = re.findall(r'<ol class="timeline-list">(.*?)</ol>', answer.content.decode(), re.DOTALL)
    found = re.findall(r"<li>(.*?)</li>", listed, re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", " ", one).split()) for one in found]


def tags(answer):
    return re.findall(r'<button class="chip-x"\s+type="submit"\s+name="tag"\s+value="([^"]+)"', text(answer))


def test_a_note_stands_among_what_happened_by_its_time_with_who_wrote_it(office, order, monkeypatch):
    answer = send(office, order, "note", note="Called:\n wants it on Friday")
    assert answer.redirect_chain == [(address_of(order), 302)]
    monkeypatch.setattr(timezone, "now", lambda: NOW + HOUR)
    order_changes.ship("ada", order.id, unpaid=True, by="olga", now=NOW + HOUR)
    answer = office.get(address_of(order))
    assert happened(answer) == [
        "Shipped 21 Nov 2026, 13:00 UTC by olga",
        "A note for the team 21 Nov 2026, 12:00 UTC by olga Called: wants it on Friday",
        "Placed 20 Nov 2026, 12:00 UTC by ada",
    ]


def test_a_note_that_says_what_the_site_says_is_shown_as_it_was_typed(office, order):
    profiles.save_preferences("olga", language="de")
    answer = send(office, order, "note", note="shipped")
    assert "Bestellung" in text(answer)
    assert happened(answer)[0].endswith("olga shipped")


def test_a_form_that_is_sent_twice_makes_one_note_and_the_next_page_has_another(office, order):
    form = inputs(office.get(address_of(order)))
    assert is_new(form["token"], NOW)
    for _ in range(2):
        answer = send(office, order, "note", note="Once", token=form["token"])
    assert len(happened(answer)) == 2
    send(office, order, "note", note="Once", token=inputs(answer)["token"])
    assert len(happened(office.get(address_of(order)))) == 3


@pytest.mark.parametrize("token", ["", "x", new_ulid(NOW - 2 * DAY, 0), "7" + "Z" * 25])
def test_a_note_of_a_page_that_was_open_for_long_is_added_all_the_same(office, order, token):
    assert len(happened(send(office, order, "note", note="Late", token=token))) == 2
    (kept,) = orders.get("ada", order.id).note_tokens
    assert is_new(kept, NOW)


@pytest.mark.parametrize(
    ("what", "typed", "words"),
    [
        ("note", " ", "Write something first."),
        ("note", "x" * 501, "Shorten this to 500 characters."),
        ("tag", "", "Write something first."),
        ("tag", "y" * 31, "Shorten this to 30 characters."),
    ],
)
def test_what_is_refused_comes_back_as_it_was_typed_with_the_reason(office, order, what, typed, words):
    answer = send(office, order, what, **{what: typed})
    assert answer.status_code == 422
    page = text(answer)
    assert re.search(rf'id="{what}-error" role="alert"> .*?<span>{words}</span>', page)
    assert re.search(rf'name="{what}" value="{typed}" [^>]+ aria-describedby="{what}-error" autofocus>', page)
    assert ('<details class="open:basis-full" open>' in page) is (what == "tag")
    assert orders.get("ada", order.id) == order


def test_tags_are_added_and_removed_and_ten_at_most(office, order):
    for number in range(10):
        answer = send(office, order, "tag", tag=f"T {number}")
        assert answer.redirect_chain == [(address_of(order), 302)]
    assert tags(answer) == [f"T {number}" for number in range(10)]
    refused = send(office, order, "tag", tag="More")
    assert refused.status_code == 422
    assert "An order has 10 tags at most. Remove one first." in text(refused)
    answer = send(office, order, "untag", tag="T 0")
    assert "T 0" not in tags(answer)
    assert len(tags(send(office, order, "tag", tag="t 1"))) == 9


def test_hostile_text_is_shown_as_text(office, order):
    send(office, order, "note", note=HOSTILE)
    answer = send(office, order, "tag", tag="<b>'\"&")
    page = answer.content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; gnirts" in page
    assert tags(answer) == ["&lt;b&gt;&#x27;&quot;&amp;"]


def test_of_an_order_that_there_is_not_nothing_is_noted(office, order):
    missing = new_ulid(NOW, 1)
    for name, sent in (("note", "note"), ("tag", "tag"), ("untag", "tag")):
        address = reverse(f"cms_{name}_order", args=["ada", missing])
        assert office.post(address, {sent: "x"}).status_code == 404
    assert audit.of_target("order", missing) == []


def test_its_shopper_sees_neither(order):
    order_notes.note_order("ada", order.id, "Grumpy", token=new_ulid(NOW), by="olga", now=NOW)
    order_notes.tag_order("ada", order.id, "Awkward", by="olga", now=NOW)
    browser = signed_in(users.get("ada"))
    for address in ("/account/", "/account/orders/", f"/account/orders/{order.id}/", "/account/messages/"):
        page = browser.get(address)
        assert page.status_code == 200
        assert not re.search("Grumpy|Awkward|olga", page.content.decode()), address


def test_a_list_shows_tags_and_is_narrowed_by_them(office, order, search_index):
    other = make_order("zoe", now=NOW)
    order_notes.tag_order("ada", order.id, "Held back", by="olga", now=NOW)
    order_notes.tag_order("ada", order.id, "<VIP>", by="olga", now=NOW)
    search_index()
    for address in (LIST, TO_SHIP, "/cms/orders/of/ada/"):
        assert '<span class="tag" dir="auto">Held back</span>' in text(office.get(address))
    answer = office.get(LIST)
    assert ids(answer) == [other.id, order.id]
    options = re.findall(r'<select name="tag".*?</select>', text(answer))
    assert re.findall('value="([^"]*)"', options[0]) == ["", "&lt;vip&gt;", "held back"]
    narrowed = office.get(LIST, {"list": "placed", "tag": "held back"})
    assert ids(narrowed) == ids(office.get(LIST, {"q": "held"})) == [order.id]
    assert '<option value="held back" selected>' in text(narrowed)
    assert "Without this: Tag held back" in text(narrowed)
    order_notes.untag_order("ada", order.id, "held back", by="olga", now=NOW)
    search_index()
    assert ids(office.get(LIST, {"tag": "held back"})) == []


def test_a_note_and_a_tag_stand_in_the_audit_log(office, order):
    send(office, order, "note", note="Called")
    send(office, order, "tag", tag="VIP")
    send(office, order, "untag", tag="VIP")
    page = text(office.get(address_of(order)))
    for words in ("noted by olga (Called)", "tagged by olga (VIP)", "removed a tag by olga (VIP)"):
        assert f"21 Nov 2026, 12:00 UTC</time>: {words}" in page
