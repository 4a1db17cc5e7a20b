"""Right values of what people reported of shops: addresses without a postcode, forms that password managers fill."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from dealsite.accounts import passwords
from dealsite.data.commerce import orders
from dealsite.data.people import users
from dealsite.data.table.ids import new_ulid
from dealsite.worker import loop
from tests.builders import HOUR, NOW
from tests.people import make_user, signed_in
from tests.shopping.shoppers import checkout_form, fill_cart, make_shopper, place

pytestmark = pytest.mark.usefixtures("shop")
HONG_KONG = {"street": "2/F, 88 Des Voeux Road", "postcode": " ", "city": "Hong Kong", "country": "Hong Kong"}


def shown_lines(page: str) -> list[str]:
    """The lines of the address on a page."""
    (found,) = re.findall(r"<address[^>]*>(.*?)</address>", page, re.S)
    return [line.strip() for line in found.split("<br>")]


def test_an_address_needs_no_postcode_and_shows_no_gap():
    """A14: on pages, slips, in mails and files."""
    ada, office = make_shopper(), signed_in(make_user("kim", roles=["back office"]))
    fill_cart("ada")
    order_id = place(ada, **HONG_KONG)
    expected = ["Ada Ash", "2/F, 88 Des Voeux Road", "Hong Kong", "Hong Kong"]
    assert orders.get("ada", order_id).address.postcode == ""
    slips = f"{reverse('cms_packing_slips')}?order=ada/{order_id}"
    for browser, path in (
        (ada, reverse("checkout_done", args=[order_id])),
        (ada, reverse("order", args=[order_id])),
        (office, reverse("cms_order", args=["ada", order_id])),
        (office, slips),
    ):
        assert shown_lines(browser.get(path).text) == expected, path
    while loop.run_next(now=NOW + HOUR):
        pass
    assert "\n\n" + "\n".join(expected) + "\n" in mail.outbox[0].body
    asked = {"token": new_ulid(NOW), "address": reverse("cms_orders")}
    answer: Any = office.post(reverse("cms_export_list"), asked)
    file = b"".join(answer.streaming_content).decode()
    assert ',Ada Ash,"2/F, 88 Des Voeux Road",,,Hong Kong,Hong Kong,' in file
    fill_cart("ada")
    assert ada.get("/checkout/").context["form"]["postcode"].value() == ""


@pytest.mark.parametrize(
    "name",
    ["change_password", "new_password", "delete_account", "edit_profile", "set_up_two_factor", "my_data"],
)
def test_a_password_stands_with_its_user_name(name):
    """A18: for password managers."""
    ada = make_user("ada")
    browser = signed_in(ada, now=NOW - HOUR)
    if name == "new_password":
        browser = Client()
        token = passwords.make_reset_token(users.get("ada"), now=NOW)
        browser.get(reverse("follow_reset_link", args=["ada", token]))
    page = browser.post(reverse(name)) if name == "my_data" else browser.get(reverse(name))
    form = next(part for part in page.text.split("<form") if 'type="password"' in part)
    (field,) = re.findall(r'<input[^>]*autocomplete="username"[^>]*>', form)
    assert 'value="ada"' in field
    assert form.index(field) < form.index('type="password"')


def test_what_is_typed_at_checkout_is_there_after_a_detour():
    """A15: without script, too; and where the cart changed so that nothing was ordered."""
    ada = make_shopper()
    fill_cart("ada")
    form = checkout_form(ada, street="5 Long Lane", postcode="")
    assert ada.post("/checkout/", form | {"do": "cart"})["Location"] == "/cart/"
    assert ada.get("/checkout/").context["form"]["street"].value() == "5 Long Lane"
    assert ada.post("/checkout/", form | {"street": "6 Long Lane", "total": "1.00"}).status_code == 409
    assert ada.get("/checkout/").context["form"]["street"].value() == "6 Long Lane"
