"""Who makes a request, and whom a view is for: @signed_in.page, @editors.form, @admins.action, @fresh below it.

An admin has every role.

@fresh: before what is dangerous, the password has to have been given within the last 15 minutes, and a code where they
have a second factor, or else a passkey. A session left open on a desk, or stolen, does no lasting harm.

Who is asked in the middle of something goes on with it: the page that asks carries every field of the form that was
sent, and leads to the same address. Its own fields start with PREFIX; they are taken out again before the view sees
the form.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, overload

from django import forms
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone, translation
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.functional import SimpleLazyObject

from dealsite.accounts import locales, requests, second_factor, sign_in
from dealsite.accounts.forms import CodeAgainForm, CodeForm, ReauthenticationForm, SignInAgainForm, SignInForm
from dealsite.accounts.locales import UserZone, zone_of
from dealsite.accounts.requests import Anonymous, SignedIn, SiteRequest, Visit, warn_of_proxy
from dealsite.accounts.security_log import BY_STATUS, note_refusal
from dealsite.accounts.sign_in import give_cookies
from dealsite.data.people import sessions
from dealsite.data.people.users import User
from dealsite.data.table.errors import Forbidden, TooManyRequests, Unavailable
from dealsite.middleware import error_page
from dealsite.web.pages import Audience, Guard, View, page_of

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
                patch_vary_headers(response, ("Cookie",))  # who is signed in may read it in another
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
            requests.forget_session(response)
        holds_token = "CSRF_COOKIE_NEEDS_UPDATE" in request.META
        if (visit.was_read and has_cookie) or holds_token or response.cookies:
            patch_cache_control(response, private=True)
        return response

    def process_view(self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Refuse a view under /cms/ that is not for users with a role: who forgot to say so shuts the page to all."""
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


When = Callable[[HttpRequest], bool]
READS = ("GET", "HEAD")
FRESH = timedelta(minutes=15)
PREFIX = f"{SignInAgainForm.prefix}-"
TOKEN = "csrfmiddlewaretoken"  # noqa: S105 - a field's name: the page has one of its own
# What has to be typed again, or is worth nothing later: passwords, codes, cards, and what the second factor signs.
SECRETS = ("password", "old_password", "code", "number", "secret", "half", "passkey")


def _signed_in(view: View) -> View:
    """Send visitors to the sign-in page and back afterwards; keep the page out of every shared cache.

    A form that is sent after the session has ended is kept: signing in goes on with it. htmx is told to show that.
    """

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            if htmx := _htmx(request):
                return render(request, "401.html", {"back": htmx.current_url_abs_path or ""}, status=401)
            if request.method != "POST":
                return to_sign_in(request)
            if question := _ask_to_sign_in(request):
                return question
        response = view(request, *args, **kwargs)
        patch_cache_control(response, private=True, no_store=True)
        return response

    checked.required_roles = frozenset()  # type: ignore[attr-defined]
    return checked


def _with_role(*names: str) -> Guard:
    """Let in users with one of some roles; others get 403, visitors what `_signed_in` gives them."""

    def decorate(view: View) -> View:
        @wraps(view)
        def with_role(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            user: SignedIn = request.user  # type: ignore[assignment]
            if not user.has_role(*names):
                raise Forbidden()
            if needs_second_factor(user):  # to its set-up, which leads back to this page
                back = "" if _htmx(request) or request.method not in READS else request.get_full_path()
                return _redirect(request, sign_in.page_address("set_up_two_factor", back))
            return view(request, *args, **kwargs)

        checked = _signed_in(with_role)
        checked.required_roles = frozenset(names)  # type: ignore[attr-defined]
        return checked

    return decorate


signed_in = Audience(_signed_in)
editors = Audience(_with_role("editor"))
back_office = Audience(_with_role("back office"))
staff = Audience(_with_role("editor", "back office"))
admins = Audience(_with_role("admin"))


def sent_again(view: View) -> View:
    """Keep what a form sends to this view in vain: while the table is away, the page that says so sends it again.

    Not for forms with a password: the page holds what was typed. Where htmx sent it, the form still stands there.
    """
    view.is_sent_again = True  # type: ignore[attr-defined]
    return view


@overload
def fresh(view: View) -> View: ...
@overload
def fresh(*, when: When) -> Callable[[View], View]: ...
def fresh(view: View | None = None, *, when: When = lambda request: True) -> Any:
    """Guard what a view does by POST; `when` says for which forms. Stands below the line that says whom it is for."""

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method == "POST":
                if when(request) and (question := _ask_to_reauthenticate(request)):
                    return question
                _take_out(request)
            return view(request, *args, **kwargs)

        checked.asks_to_reauthenticate = True  # type: ignore[attr-defined]
        return checked

    return decorate(view) if view else decorate


def is_required(user: SignedIn) -> bool:
    """Tell whether the site asks a user for a second factor."""
    return bool(settings.DEALSITE_REQUIRE_TWO_FACTOR and user.roles)


def needs_second_factor(user: SignedIn) -> bool:
    """Tell whether somebody with a role has to set up two-factor sign-in before they go on."""
    return is_required(user) and not user.account.two_factor


def to_sign_in(request: HttpRequest, *, back: str = "", then: str = "") -> HttpResponse:
    """Redirect to the sign-in page, which leads back to this page, or to the one whose form was sent.

    `then` is what the visitor wanted to do there (see `sign_in.after_sign_in`). An action's address leads nowhere.
    """
    if not back and (htmx := _htmx(request)):
        back = htmx.current_url_abs_path or ""
    elif not back and request.method in READS and not _is_action(request):
        back = request.get_full_path()
    return _redirect(request, sign_in.page_address("sign_in", back, then))


def _is_action(request: HttpRequest) -> bool:
    page = page_of(request.resolver_match.func) if request.resolver_match else None
    return page is not None and page.kind == "action"


def _htmx(request: HttpRequest) -> Any:
    """Return htmx's details of a request; None where it did not send it."""
    return getattr(request, "htmx", None) or None


def _redirect(request: HttpRequest, address: str) -> HttpResponse:
    if _htmx(request):
        return HttpResponse(headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def _ask_to_sign_in(request: HttpRequest) -> HttpResponse | None:
    """Return the page that asks a visitor to sign in; None once they have, and are `request.user` from then on.

    Who signs in may be somebody else than before: what they may do is checked after that, as always.
    """
    template, now = "accounts/ended_session.html", timezone.now()
    half = sign_in.half_signed_in(requests.HALF.unsign(request.POST.get(PREFIX + "half", "")))
    form: CodeForm | SignInForm = CodeAgainForm(request.POST) if half else _sign_in_form(request)
    try:
        user = _user_of(request, form, half, now)
    except TooManyRequests as error:
        return _ask(request, template, _sign_in_form(request), error=error, without_secrets=True)
    if user and user.two_factor and not half and not form.by_passkey:
        form, user = CodeAgainForm(initial={"half": requests.HALF.sign(sign_in.half_of(user))}), None
    if user is None:
        return _ask(request, template, form, without_secrets=True)
    # The middleware sets the session's cookies on whatever the answer will be.
    how = sign_in.CODE if half else sign_in.PASSKEY if form.by_passkey else sign_in.PASSWORD
    started, *begun = sign_in.begin(request, user, how=how, now=now)
    request.visit.begun = (user.username, *begun)  # type: ignore[attr-defined]
    request.user = SignedIn(started, user)  # type: ignore[assignment]
    timezone.activate(UserZone(lambda: user.timezone))
    _take_out(request)
    return None


def _user_of(
    request: HttpRequest, form: CodeForm | SignInForm, half: User | None, now: datetime
) -> User | None:
    """Return the user who has taken this step, by password or, who has given that, by code; else the form says why."""
    if not form.is_valid():
        return None
    if isinstance(form, SignInForm):
        return sign_in.user_of_form(request, form, now=now)
    return half if half and second_factor.passes(request, half, form, now=now) else None


def _sign_in_form(request: HttpRequest) -> SignInAgainForm:
    if PREFIX + "name" in request.POST:
        return SignInAgainForm(request.POST)
    cookie = requests.session_in(request)
    return SignInAgainForm(initial={"name": cookie.username if cookie else ""})


def _ask_to_reauthenticate(request: HttpRequest) -> HttpResponse | None:
    """Return the page that asks for the password; None for who has given it, just now or a while ago. 1 update."""
    user: SignedIn = request.user  # type: ignore[assignment]
    now = timezone.now()
    if abs(now - user.session.proved_at) < FRESH:
        return None
    sent = request.POST if PREFIX + "old_password" in request.POST else None
    form, refused = ReauthenticationForm(sent, needs_code=bool(user.account.two_factor)), None
    try:
        if form.is_valid() and second_factor.is_proved(request, form):  # type: ignore[arg-type]
            sessions.reauthenticate(user.session, now=now)
            return None
    except TooManyRequests as error:
        refused = error
    return _ask(request, "accounts/reauthentication.html", form, error=refused)


def _ask(
    request: HttpRequest,
    template: str,
    form: forms.Form,
    *,
    error: TooManyRequests | None = None,
    without_secrets: bool = False,
) -> HttpResponse:
    """Return the page that asks, with the form that was sent kept in it: 401, or 429 after too many tries."""
    status, name, value = 401, "WWW-Authenticate", "Form"
    if error:
        form.add_error(None, str(error))
        status, name, value = error.status, "Retry-After", str(error.retry_after)
    kept = kept_of(request, without_secrets=without_secrets)
    response = render(request, template, kept | {"form": form}, status=status)
    response[name] = value
    patch_cache_control(response, private=True, no_store=True)
    return response


def kept_of(request: HttpRequest, *, without_secrets: bool = False) -> dict[str, Any]:
    """Return what `accounts/_kept_form.html` keeps of a form that was sent, and the address that it was sent to."""
    left_out = {TOKEN, *(SECRETS if without_secrets else ())}
    kept = [
        (name, value)
        for name, values in request.POST.lists()
        if name not in left_out and not name.startswith(PREFIX)
        for value in values
    ]
    # A browser gives no page a file of another one: it can only be chosen again.
    files = [(name, file.name) for name in request.FILES for file in request.FILES.getlist(name)]
    return {"kept": kept, "files": files, "address": request.get_full_path()}


def _take_out(request: HttpRequest) -> None:
    """Leave in a request only what the visitor was sending."""
    if asked := [name for name in request.POST if name.startswith(PREFIX)]:
        data = request.POST.copy()
        for name in asked:
            del data[name]
        data._mutable = False
        request.POST = data  # type: ignore[assignment]
