"""Users read the site in the language they chose, visitors in the site's, and no page looks it up for nothing."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone, translation
from django.utils.translation import gettext

from cms.shared.fields import PriceField
from dealsite.accounts import locales, passwords
from dealsite.data import table
from dealsite.data.commerce import carts
from dealsite.data.jobs import jobs
from dealsite.data.people import mails, profiles, sessions, users
from dealsite.data.people.users import User
from dealsite.data.table.errors import Unavailable
from dealsite.templatetags.design import moment, time_left
from dealsite.text.writing import grouped, money, price
from dealsite.web import page_cache
from tests.accounts.conftest import PASSWORD, sign_in
from tests.builders import DAY, HOUR, NOW, make_brand, make_deal
from tests.jobs import run_next
from tests.measuring import measured
from tests.people import calls, make_user, signed_in

pytestmark = pytest.mark.usefixtures("fresh_table")
SIGN_OUT = {"en-gb": "Sign out", "de": "Abmelden"}


def german(username: str = "ada", **details) -> Client:
    user = make_user(username, **details)
    profiles.save_preferences(username, language="de")
    return signed_in(users.get(user.username))


def page(answer) -> str:
    return " ".join(answer.content.decode().split())


# Who reads what


@pytest.mark.parametrize("language", ["en-gb", "de"])
def test_visitors_read_the_sites_language_whatever_their_browser_asks_for(settings, language: str):
    settings.LANGUAGE_CODE = language
    answer = Client(headers={"Accept-Language": "de" if language == "en-gb" else "en"}).get("/")
    assert f'<html lang="{language}">' in page(answer)
    assert ("Latest deals" in page(answer)) is (language == "en-gb")
    assert ("Neueste Deals" in page(answer)) is (language == "de")
    assert answer["Content-Language"] == language
    assert "Accept-Language" not in answer.get("Vary", "")


@pytest.mark.parametrize(
    ("chosen", "read"), [("", "en-gb"), ("en-gb", "en-gb"), ("de", "de"), ("tlh", "en-gb")]
)
def test_a_user_reads_what_he_chose_and_else_the_sites(chosen: str, read: str):
    user = make_user("ada")
    profiles.save_preferences("ada", language=chosen)
    answer = signed_in(user).get("/")
    assert f'<html lang="{read}">' in page(answer)
    assert SIGN_OUT[read] in page(answer)
    assert answer["Content-Language"] == read
    assert "Cookie" in answer["Vary"]


def test_a_page_that_is_kept_for_visitors_is_never_in_the_language_of_a_user(settings):
    settings.DEALSITE_PAGE_CACHE_SECONDS = 60
    page_cache.forget()
    first = german().get("/")
    visitor = Client().get("/")
    again = signed_in(users.get("ada")).get("/")
    page_cache.forget()
    assert ["Neueste Deals" in page(one) for one in (first, visitor, again)] == [True, False, True]


def test_a_language_does_not_stay_in_the_thread_that_showed_it():
    german().get("/")
    assert gettext("Sign out") == "Sign out"


def test_an_answer_without_texts_does_not_ask_who_is_signed_in():
    answer = german().get("/healthz")
    assert calls(answer) == []
    assert "Content-Language" not in answer


def test_a_part_of_a_page_is_in_the_language_of_its_page_and_asks_nobody():
    make_brand("Nordlicht")
    browser = german()
    htmx = {"HX-Request": "true", "Page-Language": "de"}
    answer = browser.get("/brands/nordlicht/", headers=htmx)
    assert "Gerade läuft hier kein Deal" in page(answer)
    assert calls(answer).count("BatchGetItem") == 1  # of the brand, and none of a user
    assert "Page-Language" in page(browser.get("/"))


def test_a_card_is_kept_in_each_language():
    make_deal(title="A lamp", price=Decimal("1299.90"), was_price=None)
    assert "€1,299" in page(Client().get("/"))
    assert "1.299" in page(german().get("/"))
    assert "€1,299" in page(Client().get("/"))


def test_when_the_table_is_away_the_page_that_says_so_is_in_the_sites_language(monkeypatch):
    browser = german()

    def away(*_args: object, **_options: object) -> None:
        raise Unavailable

    monkeypatch.setattr(sessions, "read", away)
    answer = browser.get("/account/")
    assert (answer.status_code, answer["Content-Language"]) == (503, "en-gb")
    assert "One moment, please" in page(answer)


def test_a_page_that_is_not_there_says_so_in_the_users_language():
    answer = german().get("/nothing-here/")
    assert answer.status_code == 404
    assert "Diese Seite gibt es hier nicht" in page(answer)


# Choosing


def profile_form(browser: Client, **changes: str) -> dict[str, str]:
    form = browser.get("/account/profile/").context["form"]
    return {name: str(form[name].value() or "") for name in form.fields} | changes


@pytest.fixture
def ada_browser(browser: Client, ada: User) -> Client:
    sign_in(browser)
    return browser


def test_everybody_chooses_his_language_in_his_profile(ada_browser: Client):
    answer = ada_browser.post("/account/profile/", profile_form(ada_browser, language="de"), follow=True)
    assert users.get("ada").preferences.language == "de"
    assert "Ihr Profil ist gespeichert." in page(answer)
    assert '<option value="de" selected>Deutsch</option>' in page(ada_browser.get("/account/profile/"))
    ada_browser.post("/account/profile/", profile_form(ada_browser, language=""))
    assert users.get("ada").preferences.language == ""
    assert "My account" in page(ada_browser.get("/account/"))


def test_a_language_that_the_site_does_not_speak_is_refused(ada_browser: Client):
    answer = ada_browser.post("/account/profile/", profile_form(ada_browser, language="tlh"))
    assert answer.status_code == 422
    assert users.get("ada").preferences.language == ""


def test_a_profile_whose_language_stays_costs_no_write_more(ada_browser: Client):
    answer = ada_browser.post("/account/profile/", profile_form(ada_browser, name="Ada Ash"))
    assert calls(answer).count("UpdateItem") == 0


def test_what_django_says_about_a_form_is_translated_too(ada_browser: Client):
    profiles.save_preferences("ada", language="de")
    answer = ada_browser.post("/account/profile/", profile_form(ada_browser, name=""))
    assert "Dieses Feld ist zwingend erforderlich." in page(answer)


# Mails


def work() -> None:
    while run_next(now=timezone.now()):
        pass


def test_a_mail_is_written_in_the_language_of_who_gets_it():
    german(email="ada@example.org")
    measured(mails.request_password_reset)("ada@example.org", now=timezone.now())
    work()
    (sent,) = mail.outbox
    assert sent.subject == "Dealsite: Ein neues Passwort"
    assert "Guten Tag, ada," in sent.body


def test_a_link_that_confirms_an_address_is_asked_for(fresh_table: None):
    measured(mails.request_confirmation)("ada", now=NOW)
    job = jobs.take_next(now=NOW)
    assert job is not None
    assert job.payload == {"username": "ada"}


def test_a_notice_keeps_the_language_that_the_user_has_as_it_is_caused():
    make_user("ada", email="ada@example.org", password=passwords.hashed(PASSWORD))
    profiles.save_preferences("ada", language="de")
    table.write(mails.notice("password_changed", users.get("ada"), now=timezone.now()))
    work()
    assert mail.outbox[0].subject == "Dealsite: Ihr Passwort wurde geändert"


def test_the_language_of_a_mail_ends_with_it():
    with locales.spoken("de"):
        assert gettext("Sign out") == "Abmelden"
    assert gettext("Sign out") == "Sign out"


# Numbers, dates, prices


def test_numbers_dates_and_prices_are_written_as_the_language_does(settings):
    with translation.override("de"):
        assert money(Decimal("1299.9")) == "1.299,90\xa0€"
        assert price(Decimal("1299.9")) == '1.299<span class="price-cents">,90</span>\xa0€'
        assert grouped(1234567) == "1.234.567"
        assert "21. Nov. 2026, 12:00 UTC" in moment(NOW)
        assert time_left(NOW + 3 * DAY, NOW) == "Noch 3 Tage"
        settings.DEALSITE_CURRENCY = "CHF"
        assert money(Decimal(5)) == "5,00\xa0CHF"
    assert money(Decimal("1299.9")) == "CHF 1,299.90"
    settings.DEALSITE_CURRENCY = "EUR"
    assert money(Decimal("1299.9")) == "€1,299.90"
    assert grouped(1234567) == "1,234,567"
    assert "21 Nov 2026, 12:00 UTC" in moment(NOW)
    assert time_left(NOW + 3 * DAY, NOW) == "3 days left"
    assert time_left(NOW + 3 * HOUR, NOW) == "3 hours left"


@pytest.mark.parametrize("text", ["79,90", "79.90"])
def test_in_german_a_price_is_typed_with_a_comma_or_a_point(text: str):
    with translation.override("de"):
        assert PriceField().clean(text) == Decimal("79.90")


@pytest.mark.parametrize("text", ["1.299,90", "1,299.90", "1299,900", ","])
def test_in_german_a_price_that_means_two_things_is_refused(text: str):
    with translation.override("de"), pytest.raises(ValidationError, match="1299,90"):
        PriceField().clean(text)


def test_what_machines_read_keeps_its_point_in_german():
    deal = make_deal(title="A lamp", price=Decimal("1299.90"), was_price=None)
    browser = german()
    for path in ("/", f"/deals/{deal.id}/"):
        shown = page(browser.get(path, follow=True))
        assert f'value="{deal.id}:1299.90"' in shown
        assert re.findall(r'(?:value|data-[a-z-]+)="[^"]*\d,\d\d[^"]*"', shown) == []


def test_a_german_shopper_puts_a_deal_into_the_cart():
    deal = make_deal(title="A lamp", price=Decimal("1299.90"), was_price=None)
    browser = german()
    (offer,) = set(re.findall(r'name="offer" value="([^"]+)"', page(browser.get("/"))))
    answer = browser.post(
        "/cart/add/", {"offer": offer}, headers={"Sec-Fetch-Site": "same-origin"}, follow=True
    )
    assert answer.status_code == 200
    assert list(carts.read_head(carts.user_cart("ada"), now=timezone.now()).lines) == [deal.id]
