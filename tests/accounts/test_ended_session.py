"""A form that comes after the session has ended is kept: signing in goes on with it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyotp
import pytest
from django.conf import settings as site_settings
from django.test import Client
from django.utils import timezone

from dealsite.accounts import passwords, second_factor
from dealsite.data.catalogue import brands, deals, drafts
from dealsite.data.people import sessions, two_factor
from dealsite.data.people.users import User
from dealsite.data.table.errors import NotFound
from tests.accounts.conftest import PASSWORD, sign_in
from tests.builders import make_deal
from tests.cms.conftest import inputs, picture_file
from tests.people import make_user

NEW = "/cms/brands/new/"
BRAND = {"name": "Vela", "description": 'One\n\ntwo < three & "four"'}
WHO = {"proof-name": "eve", "proof-password": PASSWORD}


@pytest.fixture
def eve(whole_table: None) -> User:
    """An editor."""
    return make_user("eve", roles=["editor"], password=passwords.hashed(PASSWORD))


@pytest.fixture
def ended(browser: Client, eve: User) -> Client:
    """Eve's browser, whose session has ended elsewhere."""
    sign_in(browser, "eve")
    sessions.end_all("eve")
    return browser


def is_there(slug: str = "vela") -> bool:
    try:
        return brands.get(slug) is not None
    except NotFound:
        return False


def test_the_form_is_kept_and_nothing_is_done(ended: Client):
    page = ended.post(NEW, BRAND)
    assert (page.status_code, page["WWW-Authenticate"]) == (401, "Form")
    assert "no-store" in page["Cache-Control"]
    assert BRAND.items() <= inputs(page).items()
    assert inputs(page)["proof-name"] == "eve"
    assert not is_there()


def test_signing_in_goes_on_with_it(ended: Client):
    sent = inputs(ended.post(NEW, BRAND)) | WHO
    answer: Any = ended.post(NEW, sent)
    assert answer.status_code == 302
    assert brands.get("vela").description == BRAND["description"]
    assert ended.get("/cms/").status_code == 200
    (session,) = sessions.of_user("eve", now=timezone.now())
    assert answer.wsgi_request.user.session.key_hash == session.key_hash


def test_the_address_with_its_question_is_kept(ended: Client):
    assert ended.post(f"{NEW}?a=b%20c", BRAND).context["address"] == f"{NEW}?a=b%20c"


@pytest.mark.parametrize(
    "wrong",
    [{"proof-password": "wrong"}, {"proof-name": "nobody"}, {"proof-password": ""}, {"proof-name": ""}],
)
def test_with_a_wrong_password_nothing_is_done_and_nothing_lost(ended: Client, wrong: dict[str, str]):
    page = ended.post(NEW, BRAND | WHO | wrong)
    assert page.status_code == 401
    assert page.context["form"].errors
    assert page.context["kept"] == list(BRAND.items())
    assert site_settings.SESSION_COOKIE_NAME not in {
        name for name, cookie in page.cookies.items() if cookie.value
    }
    assert not is_there()


def test_guessing_is_limited_as_it_is_on_the_sign_in_page(browser: Client, eve: User):
    statuses = [browser.post(NEW, BRAND | WHO | {"proof-password": "x"}).status_code for _ in range(6)]
    assert statuses == [401] * 5 + [429]
    answer = browser.post(NEW, BRAND | WHO)
    assert answer.status_code == 429
    assert answer.context["kept"] == list(BRAND.items())
    assert browser.post("/account/sign-in/", {"name": "eve", "password": PASSWORD}).status_code == 429


def test_who_has_not_the_role_signs_in_and_is_refused(ended: Client):
    make_user("sam", password=passwords.hashed(PASSWORD))
    assert ended.post(NEW, BRAND | WHO | {"proof-name": "sam"}).status_code == 403
    assert not is_there()
    assert b"sam" in ended.get("/account/").content


def test_who_has_a_second_factor_gives_a_code_before_anything_is_done(ended: Client, eve: User):
    secret = second_factor.new_secret()
    sealed = second_factor.seal("eve", secret)
    two_factor.turn_on(eve, secret=sealed, recovery=["x"], step=1, key="", now=timezone.now())
    page = ended.post(NEW, BRAND | WHO)
    assert page.status_code == 401
    assert (is_there(), sessions.of_user("eve", now=timezone.now())) == (False, [])
    sent = inputs(page)
    assert BRAND.items() <= sent.items()
    assert "proof-password" not in sent
    assert ended.post(NEW, sent | {"proof-code": "000000"}).status_code == 401
    forged = sent | {"proof-half": "eve:mark:1abcde:x", "proof-code": pyotp.TOTP(secret).now()}
    assert "proof-name" in inputs(ended.post(NEW, forged))
    assert not is_there()
    assert ended.post(NEW, sent | {"proof-code": pyotp.TOTP(secret).now()}).status_code == 302
    assert is_there()


def test_times_that_were_typed_are_read_in_the_zone_of_who_signs_in(browser: Client, eve: User):
    make_user("tokyo", roles=["editor"], password=passwords.hashed(PASSWORD), timezone="Asia/Tokyo")
    sign_in(browser, "eve")
    typed = {"title": "x", "expires_at": "2030-01-01T09:00", "action": "save"}
    page = browser.get("/cms/deals/new/")
    address = page.context["address"]
    sessions.end_all("eve")
    answer = browser.post(address, inputs(page) | typed | WHO | {"proof-name": "tokyo"})
    assert answer["Location"] == address
    draft = drafts.get(address.split("/")[3])
    assert draft.content.expires_at is not None
    assert draft.content.expires_at.isoformat() == "2030-01-01T00:00:00+00:00"


def test_an_amount_is_no_secret(ended: Client):
    deal = make_deal()
    sent = {
        "deal": deal.id,
        "to_price": "=",
        "amount": "9.00",
        "given": "1",
        "asked_at": timezone.now().isoformat(),
    }
    page = ended.post("/cms/deals/do/price/", sent)
    assert ended.post("/cms/deals/do/price/", inputs(page) | WHO).status_code == 302
    assert deals.get(deal.id).content.price == Decimal("9.00")


def test_a_file_can_be_chosen_again(ended: Client, settings: Any, tmp_path: Any):
    settings.MEDIA_ROOT = tmp_path
    page = ended.post(NEW, BRAND | {"picture_file": picture_file(), "picture_alt": "A logo"})
    assert page.context["files"] == [("picture_file", "keyboard.png")]
    assert 'enctype="multipart/form-data"' in page.content.decode()
    assert list(tmp_path.iterdir()) == []  # a stranger stores nothing
    sent = inputs(page) | WHO | {"picture_file": picture_file()}
    assert ended.post(NEW, sent).status_code == 302
    assert brands.get("vela").logo is not None


def test_a_form_from_elsewhere_is_refused_before_anybody_is_asked(eve: User):
    browser = Client(enforce_csrf_checks=True)
    assert browser.post(NEW, BRAND | WHO).status_code == 403
    assert not is_there()


def test_a_form_of_before_one_signed_in_anew_can_be_sent_again(eve: User):
    browser, here = Client(enforce_csrf_checks=True), {"Sec-Fetch-Site": "same-origin"}
    for _ in range(2):  # at first, and in another tab while the form is open
        old = inputs(browser.get("/account/sign-in/"))["csrfmiddlewaretoken"]
        browser.post("/account/sign-in/", {"name": "eve", "password": PASSWORD, "csrfmiddlewaretoken": old})
    form = BRAND | {"csrfmiddlewaretoken": old, "password": "secret"}
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {}, here | {"HX-Request": "true"}):
        page = browser.post(NEW, form, headers=headers)
        assert (page.status_code, "Vela" in page.content.decode()) == (403, False)
    page = browser.post(NEW, form, headers=here)
    kept = inputs(page)
    assert page.status_code == 403
    assert BRAND.items() <= kept.items()
    assert "password" not in kept
    assert not is_there()
    assert browser.post(NEW, kept, headers=here).status_code == 302
    assert is_there()


def test_the_address_of_a_form_is_a_page_that_says_so_and_signing_in_leads_past_it(
    browser: Client, eve: User
):
    address = "/account/sessions/end/"
    assert browser.get(address)["Location"] == "/account/sign-in/"
    sign_in(browser, "eve")
    page = browser.get(address)
    assert (page.status_code, page["Allow"], page["Cache-Control"]) == (405, "POST", "no-store")
    assert "only takes a form" in page.content.decode()


def test_htmx_is_told_what_to_show_over_the_page(ended: Client):
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/cms/deals/?q=a&b"}
    answer = ended.post("/cms/deals/preview/", {"description": "x"}, headers=headers)
    assert answer.status_code == 401
    page = answer.content.decode()
    assert 'id="error"' in page
    assert 'href="/account/sign-in/?next=/cms/deals/%3Fq%3Da%26b"' in page


def test_what_was_secret_is_not_carried_in_a_page(ended: Client):
    page = ended.post("/account/password/", {"old_password": "secret", "password": "new secret"})
    assert (page.status_code, page.context["kept"]) == (401, [])
