"""What was signed stays readable: the salts stand in links, forms and cookies that are already out there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.core import signing

from cms.shared import fields
from dealsite.accounts import email_links, requests
from dealsite.data import keys, table
from dealsite.data.catalogue.cards import Picture
from dealsite.data.people import users
from dealsite.data.table.ids import hash_of, new_ulid
from dealsite.data.table.writes import Update
from shopping.checkout import Ticket
from tests.builders import NOW, make_id
from tests.people import make_user

ORDER = make_id(NOW, 1)


def test_a_checkout_reads_its_ticket():
    sent = {"order": signing.dumps([ORDER, "ada", "card"], salt="shopping.checkout")}
    request = cast(Any, SimpleNamespace(POST=sent, user=SimpleNamespace(username="ada")))
    assert Ticket.of(request) == Ticket(ORDER, "ada", "card")


def test_a_form_reads_the_picture_that_it_keeps():
    token = signing.Signer(salt="cms.kept_pictures").sign_object(["lamp.webp", 800, 600])
    assert fields.kept(token, "A lamp") == Picture(name="lamp.webp", width=800, height=600, alt="A lamp")


@pytest.mark.parametrize(
    ("cookie", "salt"),
    [
        (requests.DEVICE, "dealsite.accounts.device"),
        (requests.RESET_LINK, "dealsite.accounts.reset"),
        (requests.HALF, "dealsite.accounts.half"),
        (requests.CONFIRM_LINK, "dealsite.accounts.confirm_link"),
        (requests.TAKE_BACK_LINK, "dealsite.accounts.take_back_link"),
    ],
)
def test_a_cookie_reads_what_it_holds(cookie: requests.SignedCookie, salt: str):
    text = signing.TimestampSigner(salt=salt).sign("ada:a-token")
    assert cookie.unsign(text) == requests.Signed("ada", "a-token")


@pytest.mark.usefixtures("fresh_table")
def test_links_in_mails_name_user_address_and_time():
    until = int(NOW.timestamp()) + 60
    ada = make_user("ada", email="ada@example.org", confirmed=False)
    said = ["ada", "ada@example.org", hash_of(ada.password)[:16], until]
    token = signing.Signer(salt="dealsite.accounts.confirm_email").sign_object(said)
    assert email_links.confirming_user(token, now=NOW) == ada
    said = ["ada", "old@example.org", until]  # of an earlier release
    token = signing.Signer(salt="dealsite.accounts.take_back_email").sign_object(said)
    assert email_links.taking_back_user(token, now=NOW) == (ada, "old@example.org", "")
    link = new_ulid(NOW)
    table.write(Update(key=keys.user("ada"), set={"take_backs": [link]}))
    said = ["ada", "old@example.org", link, until]
    token = signing.Signer(salt="dealsite.accounts.take_back_email").sign_object(said)
    assert email_links.taking_back_user(token, now=NOW) == (users.get("ada"), "old@example.org", link)
