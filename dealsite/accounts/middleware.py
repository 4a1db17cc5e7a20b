"""Finds out who makes a request, when somebody asks, and keeps pages of the CMS shut that name no role."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.functional import SimpleLazyObject

from dealsite.accounts import cookies, kept_form, languages
from dealsite.accounts.addresses import client_address
from dealsite.accounts.sign_in import give_cookies
from dealsite.accounts.timezones import UserZone, zone_of
from dealsite.accounts.visitors import Anonymous, SignedIn
from dealsite.data.catalogue import relations
from dealsite.data.catalogue.categories import Kind
from dealsite.data.catalogue.relations import RelationState
from dealsite.data.people import sessions
from dealsite.data.people.sessions import Session
from dealsite.data.people.users import User
from dealsite.data.table.errors import Unavailable
from dealsite.middleware import error_page

CMS_ROUTE = "cms/"


class Visit:
    """One request's visitor, looked up once: no call without a cookie, else 1 consistent batch get."""

    def __init__(self, request: HttpRequest) -> None:
        self.request = request
        self.looked = False
        self.is_stale = False
        self.begun: tuple[str, str] | None = None  # user name and key of a session that this request began
        self.asked: tuple[Kind, str] | None = None
        self.found: RelationState | None = None

    def look(self) -> Anonymous | SignedIn:
        """Return who it is; what failed is tried again by the next look."""
        self.looked = True
        cookie = cookies.session(self.request)
        found = self._read(*cookie) if cookie else None
        if found is None:
            self.is_stale = True
            return Anonymous()
        session, user, self.found = found
        sessions.see(
            session,
            user_agent=self.request.headers.get("User-Agent", ""),
            address=client_address(self.request),
            now=timezone.now(),
        )
        return SignedIn(session, user)

    def _read(self, username: str, key: str) -> tuple[Session, User, RelationState | None] | None:
        now = timezone.now()
        if self.asked:
            target, slug = self.asked
            return sessions.read_with_relation_state(username, key, target=target, slug=slug, now=now)
        found = sessions.read(username, key, now=now)
        return (*found, None) if found else None

    def relation_state(self, target: Kind, slug: str) -> RelationState | None:
        """Return how the user stands to a brand or category; None for who is not signed in.

        It is read along with who it is; 1 batch get more only where somebody asked for that before.
        """
        self.asked = (target, slug)
        user: Anonymous | SignedIn = self.request.user  # type: ignore[assignment]
        if not user.is_authenticated:
            return None
        if self.found is None or (self.found.target, self.found.slug) != self.asked:
            self.found = relations.relation_state_of(user.username, target, slug)
        return self.found


class AccountMiddleware:
    """Sets `request.user`, lazily, and with it the language of the texts and the time zone of the times shown."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.visit = visit = Visit(request)  # type: ignore[attr-defined]
        request.user = user = SimpleLazyObject(visit.look)  # type: ignore[assignment]
        has_cookie = settings.SESSION_COOKIE_NAME in request.COOKIES
        timezone.activate(UserZone(lambda: str(user.timezone)) if has_cookie else zone_of(""))
        languages.activate((lambda: _language(request)) if has_cookie else None)
        try:
            response = self.get_response(request)
            _say_language(response)
        finally:
            translation.deactivate()
        if visit.looked:
            patch_vary_headers(response, ("Cookie",))
        if visit.begun:
            give_cookies(response, *visit.begun)
        if visit.is_stale and has_cookie and settings.SESSION_COOKIE_NAME not in response.cookies:
            cookies.forget_session(response)
        return response

    def process_view(self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Refuse a view under /cms/ that no `role` decorator guards: who forgot it shuts the page to all."""
        match = request.resolver_match
        if match and match.route.startswith(CMS_ROUTE) and not getattr(view, "required_roles", None):
            raise PermissionDenied(f"{match.route} names no role.")

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Show the page of an error as to a visitor, when who is signed in may be what cannot be known.

        It holds the form that was sent where the view's decorator says so.
        """
        if not isinstance(exception, Unavailable):
            return None
        request.user = Anonymous()  # type: ignore[assignment]
        timezone.activate(zone_of(""))
        languages.activate()
        view = request.resolver_match.func if request.resolver_match else None
        htmx = getattr(request, "htmx", None)
        if request.method == "POST" and not htmx and getattr(view, "is_sent_again", False):
            return error_page(request, exception, **kept_form.kept_of(request))
        return None


def _language(request: HttpRequest) -> str:
    """Return the language of a part's page, which says it, or of the user, who has to be asked for."""
    of_page = request.headers.get("Page-Language", "")
    return of_page or request.user.preferences.language  # type: ignore[union-attr]


def _say_language(response: HttpResponse) -> None:
    language = languages.shown()
    if language and response.get("Content-Type", "").startswith("text/html"):
        response.headers.setdefault("Content-Language", language)
