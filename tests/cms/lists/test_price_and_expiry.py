"""Price and expiry changed in the list: in the row or on a page of its own, against whatever changed meanwhile."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from html import unescape
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from cms.lists.list_address import list_query
from dealsite.data.catalogue import brands, deal_changes, deals, drafts
from dealsite.data.catalogue.deals import Deal
from dealsite.data.editing import audit
from dealsite.data.table import errors
from tests.builders import DAY, HOUR, NOW, STATED, make_deal, make_draft
from tests.cms.conftest import HTMX, mine_alone, said, way_back

LIST = reverse("cms_deals")


def terms(stored: Any) -> str:
    return reverse("cms_price_and_expiry", args=[stored.kind, stored.id])


def fields_of(html: str, action: str) -> dict[str, str]:
    """What a browser would send of the form of an address."""
    form = next(form for form in re.findall(r"<form.*?</form>", html, re.S) if f'action="{action}"' in form)
    sent = {}
    for tag in re.findall(r"<input[^>]*>", form, re.S):
        attributes = dict(re.findall(r'([a-z_-]+)="([^"]*)"', tag))
        if attributes.get("type") != "radio" or "checked" in tag:
            sent[attributes["name"]] = unescape(attributes.get("value", ""))
    return sent


def opened(browser: Any, stored: Any) -> dict[str, str]:
    return fields_of(browser.get(terms(stored), headers=HTMX).content.decode(), terms(stored))


def change(browser: Any, stored: Any, *, headers: Any = HTMX, **typed: str) -> Any:
    return browser.post(terms(stored), opened(browser, stored) | typed, headers=headers)


def edit(deal: Deal, **content: Any) -> Deal:
    deal = deals.get(deal.id)
    return deal_changes.edit(
        deal,
        replace(deal.content, **content),
        version=deal.version,
        brand=brands.get(deal.content.brand),
        by="oscar",
        now=NOW,
    )


def test_a_price_is_changed_in_its_row(editor):
    deal = make_deal(stock=4)
    response = change(editor, deal, price="69.90")
    html = response.content.decode()
    assert response.status_code == 200
    assert html.strip().startswith("<tr")
    assert "€69.90" in html
    assert 'id="messages"' in html
    stored = deals.get(deal.id)
    assert stored.content == replace(deal.content, price=Decimal("69.90"), stock=4)
    assert (stored.version, stored.updated_by) == (2, "eve")
    assert [price.price for price in deals.prices_of(deal.id)] == [Decimal("79.90"), Decimal("69.90")]
    entries = audit.page(kind="deal", subject=deal.id).rows
    changes = [(entry.before, entry.after) for entry in entries if entry.what == "changed"]
    assert changes == [({"price": "79.90"}, {"price": "69.90"})]


def test_what_the_shop_stated_as_its_low_goes_with_another_amount_and_not_with_another_price(editor):
    deal = make_deal(**STATED)
    change(editor, deal, price="69.90")
    assert deals.get(deal.id).content == replace(deal.content, price=Decimal("69.90"))
    change(editor, deals.get(deal.id), was_price="99.00")
    stored = deals.get(deal.id)
    assert (stored.card.low_seen_at, stored.card.low_seen_on, stored.card.rrp) == ("", None, Decimal("99.00"))


def test_without_script_a_page_does_the_same(editor):
    deal = make_deal()
    back = "?state=live&page=2&x=1"
    page = editor.get(terms(deal), {"back": back}).content.decode()
    assert "<html" in page
    sent = fields_of(page, terms(deal)) | {"expires_at": "2026-11-30T18:00"}
    response = editor.post(terms(deal), sent)
    assert response.headers["Location"] == f"{LIST}?state=live&page=2"
    assert deals.get(deal.id).content.expires_at == NOW.replace(day=30, hour=18)
    assert "Undo" in editor.get(LIST).content.decode()


@pytest.mark.parametrize("where", ["read", "written"])
@pytest.mark.parametrize("make", [make_deal, make_draft])
def test_without_script_what_was_typed_is_kept_while_the_table_is_away(editor, monkeypatch, make, where):
    stored = make()
    module = deals if isinstance(stored, Deal) else drafts
    sent = opened(editor, stored) | {"price": "9.50", "back": "?state=live"}
    saving = (deal_changes, "edit") if module is deals else (drafts, "save")
    with monkeypatch.context() as away:
        away.setattr(*((module, "get") if where == "read" else saving), _unavailable)
        page = editor.post(terms(stored), sent)
        part = editor.post(terms(stored), sent, headers=HTMX)
    assert (page.status_code, part.status_code) == (503, 503)
    kept = fields_of(page.content.decode(), terms(stored))
    assert (
        kept.items() >= {name: text for name, text in sent.items() if name != "csrfmiddlewaretoken"}.items()
    )
    assert 'value="9.50"' not in part.content.decode()  # the row that htmx sent still stands in the list
    editor.post(terms(stored), kept)
    assert module.get(stored.id).content.price == Decimal("9.50")


def _unavailable(*arguments: Any, **options: Any) -> Any:
    raise errors.Unavailable()


def test_a_draft_is_changed_as_well(editor):
    draft = make_draft(title="Lamp", brand="Nordlicht")
    assert change(editor, draft, price="5", was_price="9").status_code == 200
    stored = drafts.get(draft.id)
    assert (stored.content.price, stored.content.was_price) == (Decimal(5), Decimal(9))
    assert stored.card.brand_name == "Nordlicht"
    assert change(editor, draft, price="").status_code == 200
    assert drafts.get(draft.id).content.price is None


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("price", "", "required"),
        ("price", "1,5", "with digits and a point"),
        ("price", "119.00", "must be above the price"),
        ("was_price", "79.90", "must be above the price"),
        ("expires_at", "tomorrow", "Enter a date and a time"),
        ("expires_at", "2026-11-01T10:00", "would expire before it goes live"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(editor, field, typed, said):
    deal = make_deal()
    response = change(editor, deal, **{field: typed})
    html = response.content.decode()
    assert response.status_code == 422
    assert said in html
    assert f'value="{typed}"' in html
    assert deals.get(deal.id).version == 1


def test_a_drafts_was_price_stays_above_its_price(editor):
    draft = make_draft(title="x", price=Decimal(5), was_price=Decimal(9))
    assert change(editor, draft, price="9").status_code == 422
    assert drafts.get(draft.id).version == 1


def test_what_somebody_else_changed_elsewhere_in_the_deal_stays(editor):
    deal = make_deal()
    sent = opened(editor, deal) | {"price": "69.90"}
    edit(deal, title="Better title", was_price=Decimal("129.00"))
    assert editor.post(terms(deal), sent, headers=HTMX).status_code == 200
    content = deals.get(deal.id).content
    assert (content.title, content.price, content.was_price) == (
        "Better title",
        Decimal("69.90"),
        Decimal("129.00"),
    )


@pytest.mark.parametrize(("choice", "price"), [("mine", "69.90"), ("theirs", "75.00")])
def test_a_field_that_both_changed_shows_both_and_asks(editor, choice, price):
    deal = make_deal()
    sent = opened(editor, deal) | {"price": "69.90", "expires_at": "2026-11-30T18:00"}
    edit(deal, price=Decimal("75.00"))
    conflict = editor.post(terms(deal), sent, headers=HTMX)
    html = conflict.content.decode()
    assert conflict.status_code == 409
    assert "oscar changed this deal while you worked on it" in html
    assert (re.findall(r"<legend[^>]*>([^<]+)</legend>", html), "75.00" in html) == (["Price"], True)
    assert mine_alone(html) == "Ends"
    assert deals.get(deal.id).version == 2
    again = fields_of(html, terms(deal)) | {"choice_price": choice}
    assert editor.post(terms(deal), again, headers=HTMX).status_code == 200
    content = deals.get(deal.id).content
    assert content.price == Decimal(price)
    assert content.expires_at == NOW.replace(day=30, hour=18)


def test_who_saves_between_reading_and_writing_is_noticed(editor, monkeypatch):
    deal = make_deal()
    sent = opened(editor, deal) | {"price": "69.90"}
    real, meanwhile = deal_changes.edit, [lambda: edit(deal, price=Decimal("75.00"))]

    def late(*arguments, **options):
        if meanwhile:
            monkeypatch.setattr(deal_changes, "edit", real)
            meanwhile.pop()()
        return real(*arguments, **options)

    monkeypatch.setattr(deal_changes, "edit", late)
    assert editor.post(terms(deal), sent, headers=HTMX).status_code == 409
    assert deals.get(deal.id).content.price == Decimal("75.00")


def test_a_form_sent_twice_changes_once(editor):
    deal = make_deal()
    sent = opened(editor, deal) | {"price": "69.90"}
    for _ in range(2):
        assert editor.post(terms(deal), sent, headers=HTMX).status_code == 200
    assert deals.get(deal.id).version == 2


def test_undo_sets_back_what_was_changed_and_no_more(editor):
    moment = NOW + DAY + HOUR / 7
    deal = make_deal(expires_at=moment.replace(microsecond=123_000))
    changed = change(editor, deal, price="69.90", expires_at="2026-11-30T18:00")
    undo = way_back(changed)
    edit(deal, title="Better title")
    editor.post(undo.address, undo.fields)
    content = deals.get(deal.id).content
    assert content == replace(deal.content, title="Better title")


def test_undo_leaves_what_somebody_else_has_changed_since(editor):
    deal = make_deal()
    undo = way_back(change(editor, deal, price="69.90"))
    edit(deal, price=Decimal("75.00"))
    assert said(editor.post(undo.address, undo.fields)) == "oscar changed it since."
    assert deals.get(deal.id).content.price == Decimal("75.00")


def test_a_row_is_left_as_it_was(editor):
    deal = make_deal(stock=41)
    html = editor.get(terms(deal), {"row": "1", "back": "?columns=stock"}, headers=HTMX).content.decode()
    assert html.strip().startswith("<tr")
    assert "<form" not in html
    assert "Live" not in html  # its columns are those of the list
    assert re.search(r"column-stock[^>]*>\s*41\s*<", html)


def test_times_are_typed_in_the_editors_zone(sign_in):
    deal = make_deal(expires_at=NOW + DAY)
    tokyo = sign_in("editor", zone="Asia/Tokyo")
    assert opened(tokyo, deal)["expires_at"] == "2026-11-22T21:00"
    change(tokyo, deal, expires_at="2026-11-23T09:00")
    assert deals.get(deal.id).content.expires_at == NOW.replace(day=23, hour=0)


def test_a_published_drafts_terms_are_its_deals(editor):
    draft = make_draft(title="x")
    deal = make_deal(draft=draft)
    assert editor.get(terms(draft)).headers["Location"] == terms(deal)


@pytest.mark.parametrize("deal_id", ["x", "0" * 26])
@pytest.mark.parametrize("kind", ["deal", "draft"])
def test_terms_of_what_is_not_there_are_404(editor, kind, deal_id):
    assert editor.get(reverse("cms_price_and_expiry", args=[kind, deal_id])).status_code == 404


def test_a_change_can_be_taken_back_whatever_the_title_and_the_list_are(editor):
    random = Random(4)
    words = lambda n: "".join(chr(random.randint(0x4E00, 0x9FFF)) for _ in range(n))  # noqa: E731
    deal = make_deal(title=words(300))
    back = list_query(urlencode({"state": "live", "brand": words(80), "q": words(100)}))
    sent = opened(editor, deal) | {"price": "69.90", "back": back}
    changed = editor.post(terms(deal), sent)
    response = editor.post(way_back(changed).address, way_back(changed).fields)
    assert response["Location"] == reverse("cms_deals") + back
    assert deals.get(deal.id).content == deal.content
