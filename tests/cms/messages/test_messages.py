from datetime import timedelta

import pytest
from django.urls import reverse

from dealsite.data.catalogue import relations
from dealsite.data.jobs import jobs
from dealsite.data.people import announcements, messages
from dealsite.data.people.announcements import Audience
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid, time_of
from tests.builders import DAY, EDITOR, HOUR, NOW, make_deal
from tests.cms.conftest import inputs
from tests.jobs import run_all, run_next
from tests.people import make_user

ADDRESS = "/cms/messages/new/"


@pytest.fixture
def deal():
    """A live deal; ann and bob watch its brand, bob and cleo its category."""
    deal = make_deal(title="Quiet keyboard")
    for name in ("ann", "bob", "cleo"):
        make_user(name)
    relations.add(relations.BRAND_WATCH, "nordlicht", username="ann", now=NOW)
    relations.add(relations.BRAND_WATCH, "nordlicht", username="bob", now=NOW)
    relations.add(relations.CATEGORY_WATCH, "peripherals-networking", username="bob", now=NOW)
    relations.add(relations.CATEGORY_WATCH, "peripherals-networking", username="cleo", now=NOW)
    return deal


def compose(browser, deal, **changes):
    """Open the form of a message about a deal, fill it in, and ask for the preview."""
    form = inputs(browser.get(ADDRESS, {"deal": deal.id}))
    return browser.post(ADDRESS, form | {"audience": "all", "action": "preview"} | changes)


def send(browser, preview, **changes):
    """Press Send on a preview, sure of it."""
    return browser.post(ADDRESS, inputs(preview) | {"sure": "yes", "action": "send"} | changes)


def sent():
    return announcements.newest().rows


def page(response):
    return " ".join(response.content.decode().split())


def test_a_message_is_written_looked_at_and_sent(editor, deal):
    preview = compose(editor, deal, headline="Look at this", text="Only today.")
    assert preview.status_code == 200
    assert "Look at this" in page(preview)
    assert "<p>Only today.</p>" in page(preview)
    assert sent() == []
    response = send(editor, preview)
    assert (response.status_code, response["Location"]) == (302, reverse("cms_messages"))
    (row,) = sent()
    assert (row.headline, row.deal, row.audience, row.going_out_at) == (
        "Look at this",
        deal.id,
        Audience(),
        NOW,
    )
    job = jobs.get(row.id)
    assert (job.payload["text"], job.payload["by"], job.state) == ("Only today.", "eve", "open")
    run_all(now=NOW)
    assert messages.get("ann", row.id).headline == "Look at this"


def test_the_headline_is_the_deals_title_at_first(editor, deal):
    assert inputs(editor.get(ADDRESS, {"deal": deal.id}))["headline"] == "Quiet keyboard"


@pytest.mark.parametrize(
    ("kind", "audience", "number"),
    [
        ("all", Audience(), "4"),
        ("brand", Audience(brand="nordlicht"), "2"),
        ("category", Audience(category="peripherals-networking"), "2"),
        ("both", Audience(brand="nordlicht", category="peripherals-networking"), "up to 4"),
    ],
)
def test_whom_it_goes_to_and_to_how_many(editor, deal, kind, audience, number):
    preview = compose(editor, deal, audience=kind)
    assert f'tabular-nums"> {number} <span' in page(preview)
    send(editor, preview)
    assert sent()[0].audience == audience


def test_without_the_last_word_nothing_is_sent(editor, deal):
    preview = compose(editor, deal)
    response = send(editor, preview, sure="")
    assert response.status_code == 422
    assert "Tick this before you send" in page(response)
    assert inputs(response)["token"] == inputs(preview)["token"]
    assert sent() == []


def test_a_second_click_sends_nothing_more(editor, deal, other_editor):
    preview = compose(editor, deal)
    send(editor, preview)
    assert send(editor, preview).status_code == 302
    assert len(sent()) == 1


def test_a_second_click_much_later_sends_nothing_more(editor, deal, monkeypatch):
    preview = compose(editor, deal, send_at="2026-11-21T14:00", audience="brand")
    send(editor, preview)
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW + 3 * HOUR)
    assert send(editor, preview).status_code == 302
    assert len(sent()) == 1


def test_a_preview_that_was_open_for_long_asks_again(editor, deal, monkeypatch):
    preview = compose(editor, deal, audience="brand")
    late = NOW + timedelta(minutes=16)
    monkeypatch.setattr("django.utils.timezone.now", lambda: late)
    response = send(editor, preview)
    assert response.status_code == 409
    assert sent() == []
    assert time_of(inputs(response)["token"]) == late
    assert send(editor, response).status_code == 302
    assert sent()[0].going_out_at == late


@pytest.mark.parametrize("token", ["", "x", "../", new_ulid(NOW + DAY, 1), new_ulid(NOW - DAY, 1)])
def test_a_token_from_elsewhere_sends_nothing(editor, deal, token):
    assert send(editor, compose(editor, deal), token=token).status_code == 409
    assert sent() == []


def test_a_message_is_planned_in_the_editors_own_zone(sign_in, deal):
    browser = sign_in("editor", zone="Europe/Berlin")
    form = browser.get(ADDRESS, {"deal": deal.id})
    assert "Time zone: Europe/Berlin" in page(form)
    preview = compose(browser, deal, send_at="2026-11-21T14:00")
    assert "21 Nov 2026, 14:00 CET" in page(preview)
    send(browser, preview)
    assert sent()[0].going_out_at == NOW + HOUR
    assert jobs.get(sent()[0].id).state == "open"
    assert not run_next(now=NOW)
    assert run_next(now=NOW + HOUR)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"send_at": "2026-11-21T11:59"}, "This time has passed"),
        ({"send_at": "2026-11-22T12:00"}, "The deal has expired by then"),
        ({"send_at": "soon"}, "Enter a date"),
        ({"headline": " "}, "This field is required"),
        ({"headline": "\u200b"}, "This field is required"),
        ({"headline": "x" * 201}, "at most 200"),
        ({"text": "x" * 1001}, "at most 1000"),
        ({"audience": "friends"}, "Select a valid choice"),
    ],
)
def test_what_will_not_do_is_said_beside_its_field(editor, changes, words):
    deal = make_deal(expires_at=NOW + HOUR)
    response = compose(editor, deal, **changes)
    assert response.status_code == 422
    assert words in page(response)
    assert sent() == []


def test_a_scheduled_deal_can_be_announced_from_its_time_on(editor):
    deal = make_deal(live_at=NOW + HOUR)
    response = compose(editor, deal)
    assert response.status_code == 422
    assert "not live at that time yet" in page(response)
    assert compose(editor, deal, send_at="2026-11-21T13:00").status_code == 200


def test_change_leads_back_to_the_form_with_all_that_was_typed(editor, deal):
    preview = compose(editor, deal, headline="Mine", text="Two\r\nlines", audience="brand")
    response = editor.post(ADDRESS, inputs(preview) | {"action": "change"})
    assert response.status_code == 200
    again = inputs(response)
    assert (again["headline"], again["text"].split(), again["audience"]) == (
        "Mine",
        ["Two", "lines"],
        "brand",
    )


def test_a_deal_is_named_by_id_or_pasted_link(editor, deal):
    for text in (deal.id, f"http://testserver/deals/{deal.id}/quiet-keyboard/", f" {deal.id.lower()} "):
        assert inputs(editor.get(ADDRESS, {"deal": text}))["deal"] == deal.id
    assert editor.get(ADDRESS).status_code == 200
    for text in ("x", new_ulid(NOW), "#", "\x00"):
        response = editor.get(ADDRESS, {"deal": text})
        assert (response.status_code, "no deal with this id" in page(response)) == (404, True)


def test_a_deals_own_page_leads_to_a_message_about_it(editor, deal):
    assert f"{ADDRESS}?deal={deal.id}" in page(editor.get(reverse("cms_deal", args=[deal.id])))


def test_what_is_typed_is_shown_as_text(editor, deal):
    preview = compose(editor, deal, headline="<b>x</b>", text="<script>alert(1)</script>")
    assert "<b>x</b>" not in page(preview)
    assert "<script>alert" not in page(preview)
    send(editor, preview)
    assert "<b>x</b>" not in page(editor.get(reverse("cms_messages")))


def test_the_list_shows_planned_and_sent_ones(editor, deal):
    send(editor, compose(editor, deal, headline="First", audience="brand"))
    run_all(now=NOW)
    send(editor, compose(editor, deal, headline="Second", send_at="2026-11-21T14:00"))
    text = page(editor.get(reverse("cms_messages")))
    assert text.index("Second") < text.index("First")
    for words in ("Planned", "Done", "All users", "Watchers of Nordlicht", "2 sent"):
        assert words in text


def test_the_list_is_paged(editor, deal):
    for number in range(26):
        announcements.send(
            deal.id,
            message_id=new_ulid(NOW, number),
            headline=f"No. {number}.",
            text="",
            audience=Audience(),
            by=EDITOR,
            now=NOW,
        )
    first = page(editor.get(reverse("cms_messages")))
    assert "No. 1." in first
    assert "No. 0." not in first
    after = sent()[-1].id
    second = page(editor.get(reverse("cms_messages"), {"after": after}))
    assert "No. 0." in second
    assert editor.get(reverse("cms_messages"), {"after": "x"}).status_code == 400


def test_nothing_typed_is_lost_when_the_table_is_away(editor, deal, monkeypatch):
    preview = compose(editor, deal, headline="Mine")

    def fail(*arguments, **words):
        raise errors.Unavailable

    monkeypatch.setattr(announcements, "send", fail)
    response = send(editor, preview)
    assert response.status_code == 503
    assert inputs(response)["headline"] == "Mine"


TYPED = {
    "title": "Brand new",
    "brand": "Nordlicht",
    "category": "peripherals-networking",
    "price": "9.90",
    "link": "https://shop.example/x",
    "action": "publish",
    "version": "0",
}


def test_publishing_a_draft_can_announce_it(editor, deal):
    address = reverse("cms_draft", args=[new_ulid(NOW)])
    assert editor.post(address, TYPED | {"announce": "on"}).status_code == 302
    (row,) = sent()
    assert (row.headline, row.audience.is_union) == ("Brand new", True)
    run_all(now=NOW)
    assert [messages.get(name, row.id).headline for name in ("ann", "bob", "cleo")] == ["Brand new"] * 3
    assert "are told" in page(editor.get(reverse("cms_deal", args=[row.deal])))


def test_publishing_announces_nothing_unless_it_is_asked_for(editor, deal):
    address = reverse("cms_draft", args=[new_ulid(NOW)])
    assert editor.post(address, TYPED).status_code == 302
    assert sent() == []


@pytest.mark.parametrize("address", [ADDRESS, "/cms/messages/"])
def test_messages_are_for_editors(sign_in, client, address):
    assert sign_in("back office").get(address).status_code == 403
    assert client.get(address)["Location"].startswith(reverse("sign_in"))
