"""Confirming an e-mail address by a link, and taking back the one that somebody replaced.

Programs that look through mails follow links, too: nothing happens until somebody presses the page's button.
"""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dealsite.accounts import cookies, email_links, limits, passwords
from dealsite.accounts.cookies import Signed, SignedCookie
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.requests import UserRequest
from dealsite.accounts.security_log import note
from dealsite.data.people import email_addresses, mails, users
from dealsite.web.pages import action, page


@action
@signed_in
@require_POST
def send_confirmation(request: UserRequest) -> HttpResponse:
    """Send the link to the user's pending address again; TooManyRequests."""
    user, now = request.user.account, timezone.now()
    if user.pending_email and settings.DEALSITE_SENDS_MAIL:
        limits.count_use(request, "confirmation", own=user.pending_email, now=now)
        mails.request_confirmation(user.username, now=now)
        messages.success(request, _("A link is on its way to %(email)s.") % {"email": user.pending_email})
    return HttpResponseRedirect(reverse("account"))


@page("none or 1 get")
@never_cache
@require_safe
def follow_confirmation_link(request: HttpRequest, token: str) -> HttpResponse:
    """Take the token out of the address, into a cookie, and go on to the page with the button."""
    user = email_links.confirming_user(token, now=timezone.now())
    return _keep(cookies.CONFIRM_LINK, Signed(user.username, token) if user else None, "confirm_email")


@page("none")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_email(request: HttpRequest) -> HttpResponse:
    """Confirm the address that a link was sent to; its holder need not be signed in. AlreadyExists, Conflict."""
    now, link = timezone.now(), cookies.CONFIRM_LINK.read(request)
    user = email_links.confirming_user(link.text, now=now) if link else None
    if user is None:
        return _link_is_over(request, cookies.CONFIRM_LINK)
    if request.method != "POST":
        return render(request, "accounts/confirm_email.html", {"account": user})
    email_addresses.confirm(user, now=now)
    note(request, "email_changed", username=user.username)
    messages.success(request, _("%(email)s is confirmed.") % {"email": user.pending_email})
    response = HttpResponseRedirect(reverse("account"))
    cookies.CONFIRM_LINK.forget(response)
    return response


@page("none or 1 get")
@never_cache
@require_safe
def follow_take_back_link(request: HttpRequest, token: str) -> HttpResponse:
    """Take the token out of the address, into a cookie, and go on to the page with the button."""
    found = email_links.taking_back_user(token, now=timezone.now())
    return _keep(
        cookies.TAKE_BACK_LINK, Signed(found[0].username, token) if found else None, "take_back_email"
    )


@page("none")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def take_back_email(request: HttpRequest) -> HttpResponse:
    """Give an account back to the holder of the address that it had: all sessions end, and a new password is due."""
    now, link = timezone.now(), cookies.TAKE_BACK_LINK.read(request)
    found = email_links.taking_back_user(link.text, now=now) if link else None
    if found is None:
        return _link_is_over(request, cookies.TAKE_BACK_LINK)
    user, email = found
    if request.method != "POST":
        return render(request, "accounts/take_back_email.html", {"account": user, "email": email})
    email_addresses.take_back(user, email, password=passwords.unusable(), now=now)
    note(request, "email_changed", username=user.username, detail="taken back")
    token = passwords.make_reset_token(users.get(user.username), now=now)
    messages.success(request, _("The account is yours again. Choose a new password for it."))
    response = HttpResponseRedirect(reverse("new_password"))
    cookies.RESET_LINK.set(response, Signed(user.username, token))
    cookies.TAKE_BACK_LINK.forget(response)
    return response


def _keep(cookie: SignedCookie, link: Signed | None, page_name: str) -> HttpResponse:
    response = HttpResponseRedirect(reverse(page_name))
    if link:
        cookie.set(response, link)
    else:
        cookie.forget(response)
    # Not on the page: under this policy browsers send its form with `Origin: null`, which the CSRF check refuses.
    response["Referrer-Policy"] = "no-referrer"
    return response


def _link_is_over(request: HttpRequest, cookie: SignedCookie) -> HttpResponse:
    response = render(request, "accounts/email_link_over.html", status=410)
    cookie.forget(response)
    return response
