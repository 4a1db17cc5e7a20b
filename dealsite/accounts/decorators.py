"""What a view asks of its visitor: @signed_in, or @role("editor"). An admin has every role."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.http import urlencode

from dealsite.accounts.requests import SignedIn
from dealsite.accounts.sign_in_again import ask_to_sign_in
from dealsite.data.entities.people import ROLES
from dealsite.data.table.errors import Forbidden

View = Callable[..., HttpResponseBase]


def signed_in(view: View) -> View:
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
            if question := ask_to_sign_in(request, now=timezone.now()):
                return question
        response = view(request, *args, **kwargs)
        patch_cache_control(response, private=True, no_store=True)
        return response

    checked.required_roles = frozenset()  # type: ignore[attr-defined]
    return checked


def role(*names: str) -> Callable[[View], View]:
    """Let in users with one of some roles; others get 403, visitors what `signed_in` gives them."""
    if not names or not set(names) <= set(ROLES):
        raise ValueError(f"Roles are {', '.join(ROLES)}, not {', '.join(names) or 'none'}.")

    def decorate(view: View) -> View:
        @wraps(view)
        def with_role(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            user: SignedIn = request.user  # type: ignore[assignment]
            if not user.has_role(*names):
                raise Forbidden()
            if needs_second_factor(user):
                return to_set_up(request)
            return view(request, *args, **kwargs)

        checked = signed_in(with_role)
        checked.required_roles = frozenset(names)  # type: ignore[attr-defined]
        return checked

    return decorate


def sent_again(view: View) -> View:
    """Keep what a form sends to this view in vain: while the table is away, the page that says so sends it again.

    Not for forms with a password: the page holds what was typed. Where htmx sent it, the form still stands there.
    """
    view.is_sent_again = True  # type: ignore[attr-defined]
    return view


def needs_second_factor(user: SignedIn) -> bool:
    """Tell whether somebody with a role has to set up two-factor sign-in before they go on."""
    required: bool = settings.DEALSITE_REQUIRE_TWO_FACTOR
    return required and bool(user.roles) and not user.account.two_factor


def to_set_up(request: HttpRequest) -> HttpResponse:
    """Redirect to the set-up of two-factor sign-in, which leads back to this page."""
    back = request.get_full_path() if request.method in ("GET", "HEAD") else ""
    address = reverse("set_up_two_factor") + (f"?{urlencode({'next': back})}" if back else "")
    if _htmx(request):
        return HttpResponse(headers={"HX-Redirect": reverse("set_up_two_factor")})
    return HttpResponseRedirect(address)


def to_sign_in(request: HttpRequest, *, back: str = "", then: str = "") -> HttpResponse:
    """Redirect to the sign-in page, which leads back to this page, or to the one whose form was sent.

    `then` is what the visitor wanted to do there (see `after_sign_in`).
    """
    htmx, address = _htmx(request), reverse("sign_in")
    if not back and htmx:
        back = htmx.current_url_abs_path or ""
    elif not back and request.method in ("GET", "HEAD"):
        back = request.get_full_path()
    if back:  # whether it may lead there is judged when it does
        address += "?" + urlencode({"next": back} | ({"then": then} if then else {}))
    if htmx:
        return HttpResponse(headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def _htmx(request: HttpRequest) -> Any:
    """Return htmx's details of a request; None where it did not send it."""
    return getattr(request, "htmx", None) or None
