"""A shopper's addresses: their pages, and the fields that a country asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from dealsite.data.commerce import addresses, order_record, orders
from dealsite.data.commerce.addresses import Address
from dealsite.data.entities.commerce import MOST_ADDRESSES
from tests.jobs import run_next
from tests.orders import ADDRESS as LONDON
from tests.people import calls, make_user, signed_in
from tests.shop import ADDRESS as BERLIN
from tests.shopping.shoppers import ADDRESS as TYPED, checkout_form, fill_cart, make_shopper, place

pytestmark = pytest.mark.usefixtures("whole_table")
PAGE, ADD, FIELDS = "/account/addresses/", "/account/addresses/add/", "/account/address-fields/"


@pytest.fixture
def ada(whole_table: None) -> Client:
    return make_shopper()


def text(answer) -> str:
    return " ".join(answer.content.decode().split())


def kept(username: str = "ada") -> list[Address]:
    return list(order_record.buyer(username).addresses)


def fields(answer) -> list[str]:
    return [field.name for field in answer.context["form"].address_fields]


def test_an_address_is_added_changed_and_removed(ada: Client):
    assert "There is no address yet." in text(ada.get(PAGE))
    assert ada.post(ADD, TYPED)["Location"] == PAGE
    (address,) = kept()
    assert (address.street, address.country) == ("1 High Street", "DE")
    shown = text(ada.get(PAGE))
    assert "The address is saved." in shown
    assert "1 High Street <br> 10115 Berlin <br> Germany" in shown
    one = f"{PAGE}{address.key}/"
    assert f'href="{one}"' in shown
    assert 'value="1 High Street"' in text(ada.get(one))
    assert calls(ada.get(one))[-1:] == ["GetItem"]
    assert ada.post(one, TYPED | {"street": "2 High Street"})["Location"] == PAGE
    (changed,) = kept()
    assert changed == replace(address, street="2 High Street")
    assert ada.get(one).status_code == ada.post(one, TYPED).status_code == 404
    assert kept() == [changed]
    assert ada.post(f"{PAGE}{changed.key}/remove/")["Location"] == PAGE
    assert kept() == []


def test_what_is_wrong_stands_at_its_field_and_nothing_is_kept(ada: Client):
    answer = ada.post(ADD, TYPED | {"postcode": "1", "phone": "call"})
    assert (answer.status_code, set(answer.context["form"].errors)) == (422, {"postcode", "phone"})
    assert "Postcode: Write it as in" in text(answer)
    assert 'value="call"' in text(answer)
    assert kept() == []


def test_where_the_list_is_full_the_page_says_which_one_goes(ada: Client):
    for number in range(MOST_ADDRESSES):
        addresses.keep("ada", replace(BERLIN, street=f"{number} High Street"))
    assert "10 are kept: another one takes the place" in text(ada.get(PAGE))


def test_anothers_addresses_are_not_there(ada: Client):
    make_user("bob")
    addresses.keep("bob", BERLIN)
    one = f"{PAGE}{BERLIN.key}/"
    assert ada.get(one).status_code == 404
    ada.post(f"{one}remove/")
    assert kept("bob") == [BERLIN]
    assert "1 High Street" not in text(ada.get(PAGE))
    assert ada.post(FIELDS, {"use": "", "kept": BERLIN.key}).context["form"]["street"].value() is None


@pytest.mark.parametrize(
    ("country", "asked"),
    [
        ("", ["name", "country", "street", "extra", "postcode", "city", "phone"]),
        ("DE", ["name", "country", "street", "extra", "postcode", "city", "phone"]),
        ("US", ["name", "country", "street", "extra", "postcode", "city", "state", "phone"]),
        ("JP", ["name", "country", "street", "extra", "postcode", "state", "phone"]),
        ("HK", ["name", "country", "street", "extra", "city", "state", "phone"]),
        ("SG", ["name", "country", "street", "extra", "postcode", "phone"]),
        ("Atlantis", ["name", "country", "street", "extra", "postcode", "city", "phone"]),
    ],
)
def test_a_country_says_what_is_asked_for(ada: Client, country: str, asked: list[str]):
    answer = ada.post(FIELDS, {"country": country, "own": ""})
    assert fields(answer) == asked
    assert 'autocomplete="shipping address-line1"' in text(answer)
    assert "autofocus" not in text(answer)


def test_what_was_typed_stays_when_another_country_is_chosen(ada: Client):
    typed = TYPED | {"country": "HK", "phone": "030 1"}
    form = ada.post(FIELDS, typed).context["form"]
    assert {name: form[name].value() for name in typed} == typed
    assert "postcode" in [field.name for field in form.address_fields]
    assert ada.post(FIELDS, {"country": "US", "of": "bill"}).context["form"]["country"].value() == "US"
    bill = ada.post(FIELDS, {f"bill-{name}": value for name, value in typed.items()} | {"of": "bill"})
    assert 'name="bill-street" value="1 High Street"' in text(bill)
    assert 'autocomplete="off"' in text(bill)


def test_the_fields_speak_the_words_of_the_country(ada: Client):
    for country, word in (("US", "ZIP code"), ("IN", "PIN code"), ("IE", "Eircode"), ("JP", "Prefecture")):
        assert f"{word}" in text(ada.post(FIELDS, {"country": country}))


def test_checkout_keeps_where_it_was_ordered_to_and_offers_it(ada: Client):
    fill_cart("ada")
    place(ada)
    assert kept() == [replace(BERLIN, name="Ada Ash")]
    fill_cart("ada")
    assert "Your addresses" not in text(ada.get("/checkout/"))
    place(ada, street="9 Low Road", postcode="20095", city="Hamburg")
    fill_cart("ada")
    page = text(ada.get("/checkout/"))
    home = kept()[1]
    assert f'<option value="{kept()[0].key}" selected>' in page
    assert f'<option value="{home.key}" >Ada Ash, 1 High Street, 10115 Berlin, Germany' in page
    chosen = ada.post(FIELDS, {"use": "", "kept": home.key, "own": "", "street": "typed"})
    assert 'value="1 High Street"' in text(chosen)
    other = ada.post(FIELDS, {"use": "", "kept": "", "country": "DE", "street": "typed"}).context["form"]
    assert (other["street"].value(), other["country"].value()) == (None, "DE")
    # what is typed is none of them
    ada.post("/checkout/", checkout_form(ada, street="typed") | {"do": "keep"})
    page = text(ada.get("/checkout/"))
    assert '<option value="">Another address</option>' in page
    assert "selected>Ada Ash" not in page
    # without script
    form = checkout_form(ada) | {"do": "use", "kept": home.key}
    assert ada.post("/checkout/", form)["Location"] == "/checkout/"
    assert ada.get("/checkout/").context["form"]["street"].value() == "1 High Street"


def test_the_bill_goes_to_another_address(ada: Client):
    fill_cart("ada")
    bill = {f"bill-{name}": value for name, value in TYPED.items()} | {"bill_elsewhere": "on"}
    wrong = ada.post("/checkout/", checkout_form(ada, **bill | {"bill-postcode": ""}))
    assert wrong.status_code == 422
    assert '<a href="#id_bill-postcode">Where the bill goes, Postcode: Enter the postcode.</a>' in text(wrong)
    assert "Complete where the bill goes." in text(wrong)
    order_id = place(ada, **bill | {"bill-name": "Ash Ltd"})
    while run_next(now=timezone.now()):
        pass
    (told,) = [sent.body for sent in mail.outbox if "thank you for your order" in sent.body]
    assert "Germany\n\nThe bill goes to:\nAsh Ltd\n1 High Street\n10115 Berlin\nGermany\n" in told
    order = orders.get("ada", order_id)
    assert order.bill_to == replace(order.address, name="Ash Ltd")
    for page in (f"/checkout/{order_id}/done/", f"/account/orders/{order_id}/"):
        assert "The bill goes to" in text(ada.get(page))
        assert "Ash Ltd <br> 1 High Street" in text(ada.get(page))
    office = signed_in(make_user("kim", roles=["back office"]), now=timezone.now())
    assert "Ash Ltd <br> 1 High Street" in text(office.get(f"/cms/orders/ada/{order_id}/"))
    fill_cart("ada")
    assert ada.get("/checkout/").context["form"].bill["name"].value() == "Ash Ltd"
    assert orders.get("ada", place(ada)).bill_to is None


def test_a_bill_that_is_not_ticked_is_not_looked_at(ada: Client):
    fill_cart("ada")
    order_id = place(ada, **{"bill-name": "Ash Ltd", "bill-country": "Atlantis"})
    assert orders.get("ada", order_id).bill_to is None


def test_an_order_shows_its_telephone(ada: Client):
    fill_cart("ada")
    order_id = place(ada, phone="030 1234567")
    assert "+49 30 1234567" in text(ada.get(f"/account/orders/{order_id}/"))
    assert orders.get("ada", order_id).address == replace(BERLIN, name="Ada Ash", phone="+49 30 1234567")
    assert LONDON.phone == ""
