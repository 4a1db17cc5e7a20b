"""Signing in again in the dialog: as strict as the sign-in page, and it leaves the page beneath as it is."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dealsite.data.people import sessions
from tests.accounts.conftest import PASSWORD

HERE, SESSION = reverse("sign_in_here"), reverse("session")
ADA = {"name": "ada", "password": PASSWORD}

pytestmark = pytest.mark.usefixtures("ada")


def test_the_session_is_there_after_it_and_was_not_before(browser: Client):
    assert browser.get(SESSION).status_code == 401
    response = browser.post(HERE, ADA)
    assert "You are signed in again." in response.content.decode()
    assert "no-store" in response["Cache-Control"]
    assert browser.get(SESSION).status_code == 204
    assert len(sessions.of_user("ada", now=timezone.now())) == 1


def test_a_wrong_password_is_refused(browser: Client):
    response = browser.post(HERE, ADA | {"password": "wrong"})
    assert response.status_code == 422
    assert "do not belong together" in response.content.decode()
    assert browser.get(SESSION).status_code == 401


def test_it_stops_after_too_many_tries(browser: Client):
    codes = [browser.post(HERE, ADA | {"password": f"wrong {n}"}).status_code for n in range(40)]
    assert codes[0] == 422
    assert codes[-1] == 429
    response = browser.post(HERE, ADA)
    assert response.status_code == 429
    assert int(response["Retry-After"]) > 0


def test_it_needs_a_token_and_gives_a_new_one():
    browser = Client(enforce_csrf_checks=True)
    assert browser.post(HERE, ADA).status_code == 403
    page = browser.get(HERE).content.decode()
    token = page.split('name="csrfmiddlewaretoken" value="')[1].split('"')[0]
    response = browser.post(HERE, ADA | {"csrfmiddlewaretoken": token})
    assert response.status_code == 200
    new = response.content.decode().split('data-signed-in="')[1].split('"')[0]
    assert browser.post(reverse("sign_out"), {"csrfmiddlewaretoken": token}).status_code == 403
    assert browser.post(reverse("sign_out"), {"csrfmiddlewaretoken": new}).status_code == 302


def test_it_names_whoever_the_page_was_made_for(browser: Client):
    assert 'value="ada"' in browser.get(HERE, {"name": "ada"}).content.decode()
    page = browser.get(HERE, {"name": '"><script>' + "x" * 5000}).content.decode()
    assert "<script>" not in page
    assert len(page) < 5000


def test_ids_of_its_fields_are_its_own(browser: Client):
    for page in (browser.get(HERE), browser.post(HERE, {"name": "", "password": ""})):
        assert 'id="here_name"' in page.content.decode()
        assert 'id="id_name"' not in page.content.decode()
