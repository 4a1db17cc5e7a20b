"""Reading the link of a deal's form: what its page says fills what is empty, and nothing is saved."""

import re
import threading
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import override_settings
from django.urls import reverse

from cms.deals import while_typing
from dealsite.data import table
from dealsite.data.catalogue import deals, drafts
from dealsite.data.people import profiles
from dealsite.imports.downloads import Answer, CannotFetch
from dealsite.imports.product_page import JSON_LD, OPEN_GRAPH, ProductPage
from tests.builders import NOW, make_brand, make_deal, make_draft, make_id
from tests.cms.conftest import inputs, picture_file
from tests.cms.deals.test_drafts import WHOLE, errors_of

LINK = "https://shop.example/lamp"
LAMP = ProductPage(
    title="Lamp & chair",
    brand="Quite New",
    price=Decimal("79.90"),
    was_price=Decimal("119.00"),
    currency="EUR",
    sources=dict.fromkeys(("title", "price", "was_price", "currency"), JSON_LD) | {"brand": OPEN_GRAPH},
)
WITH_PICTURE = replace(LAMP, picture=LINK + ".jpg", sources={**LAMP.sources, "picture": OPEN_GRAPH})


@pytest.fixture
def shop(monkeypatch):
    """What a shop answers: pages by address, files of pictures too; or why there is none."""
    answers = {LINK: LAMP, LINK + ".jpg": picture_file().read()}

    def answer(url):
        if isinstance(answers.get(url), str) or url not in answers:
            raise CannotFetch(answers.get(url, "The site was not found."))
        return answers[url]

    monkeypatch.setattr(while_typing, "fetch_product", answer)
    monkeypatch.setattr(
        "dealsite.imports.downloads.fetch", lambda url, rules: Answer(answer(url), "image/jpeg", url)
    )
    return answers


@pytest.fixture
def read(editor):
    """Press Read in the form of a new draft, or at another address."""

    def press(address="", **typed):
        address = address or reverse("cms_draft", args=[make_id(NOW)])
        return editor.post(address, {"version": "0", "link": LINK, **typed, "action": "read"})

    return press


def note(page):
    """What the form says of what was read."""
    return page.context["form"].read_note


def test_what_a_page_says_fills_a_new_deal_and_nothing_is_saved(editor, shop, read):
    before = list(table.scan_all(consistent=True))
    page = read()
    assert page.status_code == 200
    found = inputs(page)
    assert {name: found[name] for name in ("title", "brand", "price", "was_price", "link")} == {
        "title": "Lamp & chair",
        "brand": "Quite New",
        "price": "79.90",
        "was_price": "119.00",
        "link": LINK,
    }
    assert "brand_new" not in found
    assert note(page) == (
        "Read at 12:00: title, price and RRP from JSON-LD, brand from Open Graph. Only empty fields were filled."
        " “Quite New” is not a brand of this site yet."
    )
    assert "aria-invalid" in re.search(r'<input[^>]*name="brand"[^>]*>', page.content.decode())[0]
    html = page.content.decode()
    assert html.index('name="link"') < html.index('name="title"')
    assert "Read again" in html
    changed = [item for item in table.scan_all(consistent=True) if item not in before]
    assert {item["type"] for item in changed} == {"Throttle"}


def test_a_brand_of_the_site_is_known(shop, read):
    make_brand("Quite New")
    page = read()
    assert note(page).endswith("Only empty fields were filled.")
    assert "aria-invalid" not in re.search(r'<input[^>]*name="brand"[^>]*>', page.content.decode())[0]


def test_what_is_typed_stays(shop, read):
    page = read(title="Mine", price="80.00", voucher_code="X")
    found = inputs(page)
    assert (found["title"], found["price"], found["was_price"]) == ("Mine", "80.00", "119.00")
    assert found["voucher_code"] == "X"
    assert note(page).startswith("Read at 12:00: RRP from JSON-LD, brand from Open Graph.")
    assert inputs(read(price="200"))["was_price"] == ""
    assert inputs(read(condition="20 % off"))["price"] == ""
    assert note(read(**WHOLE | {"link": LINK})) == "Read at 12:00: it says nothing that was missing here."


def test_its_picture_is_stored_and_kept_with_the_form_until_it_is_saved(editor, shop, read):
    shop[LINK] = WITH_PICTURE
    draft_id = make_id(NOW)
    address = reverse("cms_draft", args=[draft_id])
    page = read(address)
    assert "brand and picture from Open Graph" in note(page)
    editor.post(address, inputs(page) | {"brand": "", "action": "save"})
    kept = drafts.get(draft_id).content
    assert (kept.title, kept.picture.width, kept.picture.alt) == ("Lamp & chair", 40, "Lamp & chair")
    again = read(address, **inputs(editor.get(address)))
    assert inputs(again)["picture_kept"] == inputs(editor.get(address))["picture_kept"]
    assert "picture" not in note(again)


@pytest.mark.parametrize("picture", ["The server answered 404.", b"no picture"])
def test_a_picture_that_cannot_be_had_keeps_nothing_else_away(shop, read, picture):
    shop |= {LINK: WITH_PICTURE, LINK + ".jpg": picture}
    page = read()
    assert inputs(page)["title"] == "Lamp & chair"
    assert inputs(page)["picture_kept"] == ""
    assert "The picture could not be had: Th" in note(page)


def test_a_price_in_another_currency_and_what_is_sold_out_are_said(shop, read):
    shop[LINK] = ProductPage(
        title="Lamp", currency="USD", availability="OutOfStock", sources={"title": JSON_LD}
    )
    page = read()
    assert inputs(page)["price"] == ""
    assert note(page) == (
        "Read at 12:00: title from JSON-LD. Only empty fields were filled."
        " The price is in USD; this site sells in EUR. Sold out there."
    )


def test_why_nothing_was_read_stands_at_the_link(shop, read):
    shop["https://shop.example/news"] = ProductPage()
    for link, error in {
        "": "Enter the link to the shop.",
        "shop": "Enter a whole link, such as https://shop.example/deal.",
        "https://nowhere.example/": "The site was not found.",
        "https://shop.example/news": "The page says nothing about a product.",
    }.items():
        page = read(link=link, title="Mine")
        assert (page.status_code, errors_of(page)) == (422, {"link": error})
        assert (inputs(page)["title"], note(page)) == ("Mine", "")


def test_the_guard_is_asked_before_any_address(read):
    for link in ("http://shop.example/", "https://127.0.0.1/", "https://[::1]/", "https://localhost/"):
        assert "link" in errors_of(read(link=link)), link


def test_few_links_are_read_at_once(shop, read, monkeypatch):
    monkeypatch.setattr(while_typing, "_reading", threading.BoundedSemaphore(1))
    with while_typing._reading:
        assert "Other links are being read just now." in errors_of(read())["link"]
    assert read().status_code == 200
    shop[LINK] = "The site cannot be reached."
    for _again in range(2):
        assert errors_of(read())["link"] == "The site cannot be reached."


def test_too_many_are_refused_with_all_that_was_typed(settings, shop, read):
    limits = settings.DEALSITE_LIMITS | {"link-total": (1, timedelta(minutes=1))}
    with override_settings(DEALSITE_LIMITS=limits):
        assert read().status_code == 200
        page = read(title="Mine")
    assert "wait 60 seconds" in errors_of(page)["link"]
    assert inputs(page)["title"] == "Mine"


def test_a_link_is_read_in_the_forms_of_what_is_there(editor, shop, read):
    deal, draft = make_deal(was_price=None, link=LINK), make_draft(link=LINK)
    for name, one in (("cms_deal", deal), ("cms_draft", draft)):
        address = reverse(name, args=[one.id])
        page = read(address, **inputs(editor.get(address)))
        assert page.status_code == 200
        assert inputs(page)["title"] == (one.content.title or "Lamp & chair")
        html = page.content.decode()
        assert html.index('name="title"') < html.index('name="link"')
    assert deals.get(deal.id) == deal
    assert drafts.get(draft.id) == draft


def test_a_german_form_says_it_in_german(shop, read):
    profiles.save_preferences("eve", language="de")
    page = read()
    assert note(page).startswith("Gelesen um 12:00: Titel, Preis und UVP aus JSON-LD")
    assert inputs(page)["price"] == "79.90"


def test_who_reads_a_link_sees_first_that_it_is_there_else_what_they_have_to_fill_in(shop, read):
    make_brand("Quite New")

    def focused(page):
        return re.findall(r"<\w+ [^>]*\bautofocus\b[^>]*>", page.content.decode())

    (first,) = focused(read())
    assert 'name="category"' in first
    assert 'aria-describedby="read-note"' in first
    assert 'name="title"' in focused(read(category="peripherals-networking"))[0]
    shop[LINK] = replace(LAMP, brand="Unheard of")
    assert 'name="brand"' in focused(read())[0]
    make_deal(link=f"{LINK}?utm_source=x", title="There")
    (note,) = focused(read())
    assert 'role="alert"' in note
