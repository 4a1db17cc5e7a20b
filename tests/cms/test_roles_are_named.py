"""A page of the CMS whose view names no role is shut to everybody: its author forgot something."""

from __future__ import annotations

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path

from dealsite.urls import urlpatterns as pages_of_the_site


def forgotten(request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"for anybody")


urlpatterns = [path("cms/forgotten/", forgotten), path("elsewhere/", forgotten), *pages_of_the_site]
handler500 = "dealsite.middleware.server_error"


@pytest.mark.urls(__name__)
def test_a_view_without_a_role_is_shut_to_everybody(sign_in, client):
    for browser in (sign_in("admin", "editor", "back office"), client):
        assert browser.get("/cms/forgotten/").status_code == 403
        assert browser.get("/elsewhere/").status_code == 200
