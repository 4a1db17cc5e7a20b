"""The pages of what went wrong."""

from __future__ import annotations

import pytest
from django.template.loader import get_template
from django.test import Client, RequestFactory

from dealsite.middleware import server_error


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
    assert "We could not find that" in response.content.decode()


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
            assert "We are catching our breath" in response.content.decode()
