"""The pages of what went wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.template.loader import get_template
from django.test import Client, RequestFactory

from dealsite.data import keys, table
from dealsite.data.catalogue import hot
from dealsite.data.table.errors import Unavailable
from dealsite.middleware import server_error
from shopping.templatetags.shopping import hot_of_process
from tests.builders import HOUR, NOW, make_deal


def test_an_error_page_needs_neither_request_nor_data(subtests: pytest.Subtests):
    for code in [400, 403, 404, 409, 413, 429, 500, 503]:
        with subtests.test(code=code):
            html = get_template(f"{code}.html").render()
            assert html.count("<h1") == 1
            assert 'id="error"' in html
            assert 'href="/"' in html
            assert 'content="noindex"' in html
            assert "sign_in" not in html


def test_an_address_that_leads_nowhere_is_a_friendly_404(client: Client):
    response = client.get("/no/such/page/")
    assert response.status_code == 404
    assert "This page is not here" in response.content.decode()


def test_a_mistake_of_ours_is_a_friendly_500():
    response = server_error(RequestFactory().get("/"))
    assert response.status_code == 500
    assert "Something went wrong on our side" in response.content.decode()


def test_a_silent_engine_is_a_503_that_says_when_to_come_back(
    client: Client, settings, subtests: pytest.Subtests
):
    for path in ["/", "/editors-choice/", "/brands/", "/brands/x/", "/deals.atom", "/sitemap.xml"]:
        with subtests.test(path=path):
            from dealsite.data import table
            from dealsite.web import page_cache

            settings.DYNAMODB_ENDPOINT_URL = "http://127.0.0.1:9"
            table.reset()
            page_cache.forget()
            response = client.get(path)
            table.reset()
            assert response.status_code == 503
            assert response["Retry-After"] == "5"
            assert "One moment, please" in response.content.decode()


@pytest.fixture
def hot_deals(fresh_table: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two hot deals, one of which ends in an hour."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    cards = [make_deal(title="Desk lamp").card, make_deal(title="Kettle", expires_at=NOW + HOUR).card]
    hot.of_process.keep(hot.Ranking(tuple(hot.HotDeal(one.id, one.brand, one.category, 1) for one in cards)))
    hot.of_process._read_at = float("inf")
    hot_of_process.forget()
    return [card.id for card in cards]


def test_an_address_that_leads_nowhere_shows_what_is_hot_and_many_of_them_cost_one_read(
    client: Client, hot_deals: list[str], monkeypatch: pytest.MonkeyPatch
):
    read: list[tuple[str, str]] = []
    batch_get = table.batch_get

    def noted(wanted, **options):
        wanted = list(wanted)
        read.extend(wanted)
        return batch_get(wanted, **options)

    monkeypatch.setattr(table, "batch_get", noted)
    for path in ("/no/such/page/", "/brands/nobody-2/", "/nor/this/"):
        response = client.get(path)
        html = response.content.decode()
        assert response.status_code == 404
        assert [f"/deals/{one}/" in html for one in hot_deals] == [True, True]
        assert "Hot now" in html
    assert [key for key in read if key in map(keys.deal, hot_deals)] == list(map(keys.deal, hot_deals))


def test_what_has_ended_since_it_was_read_is_not_hot_now(
    client: Client, hot_deals: list[str], monkeypatch: pytest.MonkeyPatch
):
    client.get("/no/such/page/")
    hot_of_process._read_at = float("inf")
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW + timedelta(hours=2))
    html = client.get("/no/such/page/").content.decode()
    assert [f"/deals/{one}/" in html for one in hot_deals] == [True, False]


def test_while_what_is_hot_cannot_be_read_the_page_shows_without(
    client: Client, hot_deals: list[str], monkeypatch: pytest.MonkeyPatch
):
    def away(*_args: object, **_options: object) -> None:
        raise Unavailable

    monkeypatch.setattr(table, "batch_get", away)
    response = client.get("/no/such/page/")
    assert response.status_code == 404
    assert "Hot now" not in response.content.decode()
    assert "To the latest deals" in response.content.decode()


def test_a_503_leads_back_to_the_same_address_and_its_frame_to_nothing_that_needs_data(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    def away(*_args: object, **_options: object) -> None:
        raise Unavailable

    monkeypatch.setattr(table, "query", away)
    response = client.get("/brands/?q=nord&x=%22")
    html = response.content.decode()
    assert response.status_code == 503
    assert 'href="/brands/?q=nord&amp;x=%22"' in html
    assert [part in html for part in ("/account/", '"/cart/', "/categories/", 'role="search"')] == [False] * 4
