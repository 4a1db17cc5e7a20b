"""Finds out who makes a request, when somebody asks, and keeps pages of the CMS shut that name no role."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.functional import SimpleLazyObject

from dealsite.accounts import cookies, locales
from dealsite.accounts.decorators import kept_of
from dealsite.accounts.locales import UserZone, zone_of
from dealsite.accounts.requests import Anonymous, SiteRequest, Visit, warn_of_proxy
from dealsite.accounts.security_log import BY_STATUS, note_refusal
from dealsite.accounts.sign_in import give_cookies
from dealsite.data.table.errors import Unavailable
from dealsite.middleware import error_page

CMS_ROUTE = "cms/"


class AccountMiddleware:
    """Sets `request.user`, lazily, and with it the language of the texts and the time zone of the times shown."""

    def __init__(self, get_response: Callable[[SiteRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: SiteRequest) -> HttpResponse:
        warn_of_proxy(request)
        request.visit = visit = Visit(request)
        request.user = user = SimpleLazyObject(visit.visitor)  # type: ignore[assignment]
        has_cookie = settings.SESSION_COOKIE_NAME in request.COOKIES
        timezone.activate(UserZone(lambda: str(user.timezone)) if has_cookie else zone_of(""))
        # A part's page says its language; else it is the user's, who has to be asked for.
        of_page = request.headers.get("Page-Language", "")
        locales.activate((lambda: of_page or request.user.preferences.language) if has_cookie else None)
        try:
            response = self.get_response(request)
            if (language := locales.shown()) and response.get("Content-Type", "").startswith("text/html"):
                response.headers.setdefault("Content-Language", language)
        finally:
            translation.deactivate()
        if response.status_code in BY_STATUS:
            name = str(user.username) if visit.was_read else ""
            note_refusal(request, response.status_code, username=name)
        if visit.was_read:
            patch_vary_headers(response, ("Cookie",))
        if visit.begun:
            give_cookies(response, *visit.begun)
            visit.username = visit.begun[0]
        if visit.is_stale and has_cookie and settings.SESSION_COOKIE_NAME not in response.cookies:
            cookies.forget_session(response)
        holds_token = "CSRF_COOKIE_NEEDS_UPDATE" in request.META
        if (visit.was_read and has_cookie) or holds_token or response.cookies:
            patch_cache_control(response, private=True)
        return response

    def process_view(self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Refuse a view under /cms/ that no `role` decorator guards: who forgot it shuts the page to all."""
        match = request.resolver_match
        if match and match.route.startswith(CMS_ROUTE) and not getattr(view, "required_roles", None):
            raise PermissionDenied(f"{match.route} names no role.")

    def process_exception(self, request: SiteRequest, exception: Exception) -> HttpResponse | None:
        """Show the page of an error as to a visitor, when who is signed in may be what cannot be known.

        It holds the form that was sent where the view's decorator says so.
        """
        if not isinstance(exception, Unavailable):
            return None
        if not request.visit.username:
            request.user = Anonymous()
            locales.show_as_to_visitors()
        view = request.resolver_match.func if request.resolver_match else None
        htmx = getattr(request, "htmx", None)
        if request.method == "POST" and not htmx and getattr(view, "is_sent_again", False):
            return error_page(request, exception, **kept_of(request))
        return None
