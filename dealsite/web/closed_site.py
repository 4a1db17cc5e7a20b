"""What visitors see while the site's switch does not say open, or where a form is too old: a page that keeps it.

Read-only, or on a copy, every page can be read and no form is carried out. In maintenance only admins get in. Signing
in, the switch and what load balancers ask work always: `pages.open_while` says so of a view.
"""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from dealsite.accounts import locales
from dealsite.accounts.decorators import kept_of
from dealsite.accounts.requests import Anonymous, SiteRequest
from dealsite.accounts.security_log import note
from dealsite.data.entities.operations import COPY, READ_ONLY
from dealsite.data.jobs import site_switch
from dealsite.data.jobs.site_switch import SiteSwitch
from dealsite.data.table.errors import DataError
from dealsite.middleware import Middleware
from dealsite.web.counting import CLOSED as CLOSED_SITE
from dealsite.web.page_cache import is_from_this_site
from dealsite.web.pages import CLOSED

RETRY_SECONDS = "120"
READS = ("GET", "HEAD", "OPTIONS")


class ClosedSiteMiddleware(Middleware):
    """Answers in place of a view that the site's switch shuts."""

    def process_view(
        self, request: SiteRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponse | None:
        always: frozenset[str] = getattr(view, "open_while", frozenset())
        if always.issuperset(CLOSED):
            return None
        switch = site_switch.of_process.current()
        state = READ_ONLY if switch.state == COPY else switch.state
        if switch.is_open or state in always:
            return None
        if state == READ_ONLY and request.method in READS:
            return None
        is_admin = _is_admin(request)
        return None if state != READ_ONLY and is_admin else closed_page(request, view, switch)


def _is_admin(request: SiteRequest) -> bool:
    """Tell whether an admin asks; where nobody can know, the page is a visitor's."""
    try:
        return request.user.has_role("admin")
    except DataError:
        request.user = Anonymous()
        locales.show_as_to_visitors()
        return False


def closed_page(request: SiteRequest, view: Callable[..., Any], switch: SiteSwitch) -> HttpResponse:
    """Return what a visitor sees in place of a view; also for one that would change something at a GET."""
    context: dict[str, Any] = {"switch": switch}
    is_form = request.method == "POST" and not request.htmx  # a part's form still stands on its page
    if is_form and (not getattr(view, "csrf_exempt", False) or is_from_this_site(request)):
        context |= kept_of(request, without_secrets=True)
    response = render(request, "closed.html", context, status=503)
    response["Retry-After"], response["Cache-Control"] = RETRY_SECONDS, "no-store"
    response._has_been_logged = True  # type: ignore[attr-defined]  # it is meant so
    response.cause = CLOSED_SITE  # type: ignore[attr-defined]
    return response


def csrf_failure(request: SiteRequest, reason: str = "") -> HttpResponse:
    """Refuse a form without its token, as of before somebody signed in anew; a page of this site can send it again."""
    note(request, "csrf_refused", detail=reason)
    is_form = not request.htmx and is_from_this_site(request)
    kept = kept_of(request, without_secrets=True) if is_form else {}
    return render(request, "403_csrf.html", kept, status=403)
