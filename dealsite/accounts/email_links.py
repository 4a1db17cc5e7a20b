"""The links that mails carry, and their pages: a new password, an address confirmed, or one taken back.

A link is signed and names its user. It is good once, since it fits only what is so until it was used, and for hours or
days. Who holds the mailbox need not be signed in. Programs that look through mails follow links, too: nothing happens
until somebody presses the page's button.
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.hashers import make_password
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from dealsite.accounts import limits, passwords, requests
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.forms import NewPasswordForm, PasswordResetForm, answer_form
from dealsite.accounts.passwords import Owner
from dealsite.accounts.requests import Signed, SignedCookie, UserRequest
from dealsite.accounts.security_log import note
from dealsite.accounts.sign_in import go_on
from dealsite.data.names import shown_email
from dealsite.data.people import email_addresses, mails, sessions as stored_passwords, users
from dealsite.data.people.email_addresses import TAKE_BACK_WITHIN
from dealsite.data.people.users import User
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import epoch_seconds, hash_of, time_of
from dealsite.web.pages import everyone

CONFIRM_WITHIN = timedelta(days=3)
_confirming = Signer(salt="dealsite.accounts.confirm_email")
_taking_back = Signer(salt="dealsite.accounts.take_back_email")


def confirmation_path(user: User, *, now: datetime) -> str:
    """Return the path that confirms a user's pending address; void as soon as that, or their password, changes."""
    said = [user.username, user.pending_email, _mark(user), epoch_seconds(now + CONFIRM_WITHIN)]
    return reverse("follow_confirmation_link", args=[_confirming.sign_object(said)])


def take_back_path(user: User, email: str, link: str) -> str:
    """Return the path by which the holder of an address that a user had gets the account back; see `take_backs`."""
    said = [user.username, email, link, epoch_seconds(time_of(link) + TAKE_BACK_WITHIN)]
    return reverse("follow_take_back_link", args=[_taking_back.sign_object(said)])


def confirming_user(token: str, *, now: datetime) -> User | None:
    """Return the user whose pending address a good token confirms. No call or 1 get."""
    user, email, *mark = _user_and_more(_confirming, token, now)
    return user if user and (user.pending_email, [_mark(user)]) == (email, mark) else None


def taking_back_user(token: str, *, now: datetime) -> tuple[User, str, str] | None:
    """Return the user whom a good token gives an address back, the address and the link's id. No call or 1 get."""
    user, email, *link = _user_and_more(_taking_back, token, now)
    if user and user.email != email and {*link} <= {*user.take_backs}:  # none in a link of an earlier release
        return user, email, "".join(link)
    return None


def _user_and_more(signer: Signer, token: str, now: datetime) -> tuple[Any, ...]:
    """Return the user of a good token, and what else it says between their name and its end."""
    try:
        username, *more, until = signer.unsign_object(token)
    except (BadSignature, ValueError):
        return None, ""
    return users.find(username) if epoch_seconds(now) <= until else None, *more


def _mark(user: User) -> str:
    """Return what a link is bound to a password by, and tells nothing of it: the hash has a salt."""
    return hash_of(user.password)[:16]


@everyone.form("none")
@never_cache
def reset_password(request: HttpRequest) -> HttpResponse:
    """Ask for a reset link: the same answer in the same time, whether name or address is known or not."""
    if not settings.DEALSITE_SENDS_MAIL:
        return render(request, "accounts/no_mail.html")
    form = PasswordResetForm(request.POST or None)

    def send_link() -> HttpResponse:
        email, now = form.cleaned_data["email"], timezone.now()
        limits.count_use(request, "reset", own=email, now=now)
        mails.request_password_reset(email, now=now)
        note(request, "password_reset_asked")
        return HttpResponseRedirect(reverse("reset_password_sent"))

    return answer_form(request, "accounts/password_reset.html", form, send_link)


@everyone.page("none")
def reset_password_sent(request: HttpRequest) -> HttpResponse:
    """Say that a link was sent, if the address is an account's."""
    return render(request, "accounts/password_reset_sent.html")


@everyone.page("1 get")
@never_cache
def follow_reset_link(request: HttpRequest, username: str, token: str) -> HttpResponse:
    """Take the token out of the address, into a cookie, and go on to the form."""
    user = _resetting_user(Signed(username, token), timezone.now())
    return _keep(requests.RESET_LINK, user, token, "new_password")


@everyone.form("none")
@never_cache
def new_password(request: HttpRequest) -> HttpResponse:
    """Set a new password after following a link: all sessions end, and a new one starts here.

    Who has a second factor is asked for a code first: a mailbox alone signs nobody in.
    """
    now = timezone.now()
    user = _resetting_user(requests.RESET_LINK.read(request), now)
    if user is None:
        return _link_is_over(request, requests.RESET_LINK)
    form = NewPasswordForm(request.POST or None, owner=Owner.of(user))

    def set_password() -> HttpResponse:
        change = (
            email_addresses.confirm_with_password
            if confirms_address(user)
            else stored_passwords.change_password
        )
        try:
            change(user, password=passwords.hashed(form.cleaned_data["password"]), now=now)
        except Conflict:
            return _link_is_over(request, requests.RESET_LINK)
        note(request, "password_changed", username=user.username, detail="by a link")
        changed = users.get(user.username)
        done = _("Your new password is set, and you are signed in with it.")
        messages.success(request, _("Your new password is set.") if changed.two_factor else done)
        response = go_on(request, changed, {"next": reverse("account")}, now=now)
        requests.RESET_LINK.forget(response)
        return response

    return answer_form(
        request, "accounts/new_password.html", form, set_password, name=user.name, username=user.username
    )


def confirms_address(user: User) -> bool:
    """Tell whether a user who sets a new password by a link confirms their pending address with it.

    Not with a second factor: whoever has that may have signed up with somebody else's address.
    """
    return not user.email and not user.two_factor


def _resetting_user(link: Signed | None, now: datetime) -> User | None:
    """Return the user whom a good link belongs to. No call or 1 get."""
    user = requests.user_of(link)
    return user if link and user and passwords.is_good_reset_token(user, link.text, now=now) else None


@signed_in.action
def send_confirmation(request: UserRequest) -> HttpResponse:
    """Send the link to the user's pending address again; TooManyRequests."""
    user, now = request.user.account, timezone.now()
    if user.pending_email and settings.DEALSITE_SENDS_MAIL:
        limits.count_use(request, "confirmation", own=user.pending_email, now=now)
        mails.request_confirmation(user.username, now=now)
        messages.success(
            request, _("A link is on its way to %(email)s.") % {"email": shown_email(user.pending_email)}
        )
    return HttpResponseRedirect(reverse("account"))


@everyone.page("none or 1 get")
@never_cache
def follow_confirmation_link(request: HttpRequest, token: str) -> HttpResponse:
    """Take the token out of the address, into a cookie, and go on to the page with the button."""
    return _keep(requests.CONFIRM_LINK, confirming_user(token, now=timezone.now()), token, "confirm_email")


@everyone.form("none")
@never_cache
def confirm_email(request: HttpRequest) -> HttpResponse:
    """Confirm the address that a link was sent to; its holder need not be signed in. AlreadyExists, Conflict."""
    now, link = timezone.now(), requests.CONFIRM_LINK.read(request)
    user = confirming_user(link.text, now=now) if link else None
    if user is None:
        return _link_is_over(request, requests.CONFIRM_LINK)
    if request.method != "POST":
        return render(request, "accounts/confirm_email.html", {"account": user})
    email_addresses.confirm(user, now=now)
    note(request, "email_changed", username=user.username)
    messages.success(request, _("%(email)s is confirmed.") % {"email": shown_email(user.pending_email)})
    response = HttpResponseRedirect(reverse("account"))
    requests.CONFIRM_LINK.forget(response)
    return response


@everyone.page("none or 1 get")
@never_cache
def follow_take_back_link(request: HttpRequest, token: str) -> HttpResponse:
    """Take the token out of the address, into a cookie, and go on to the page with the button."""
    found = taking_back_user(token, now=timezone.now())
    return _keep(requests.TAKE_BACK_LINK, found[0] if found else None, token, "take_back_email")


@everyone.form("none")
@never_cache
def take_back_email(request: HttpRequest) -> HttpResponse:
    """Give an account back to the holder of the address that it had: all sessions end, and a new password is due."""
    now, link = timezone.now(), requests.TAKE_BACK_LINK.read(request)
    found = taking_back_user(link.text, now=now) if link else None
    if found is None:
        return _link_is_over(request, requests.TAKE_BACK_LINK)
    user, email, taken = found
    if request.method != "POST":
        return render(
            request, "accounts/take_back_email.html", {"account": user, "email": shown_email(email)}
        )
    nothing = make_password(None)  # which no password matches
    email_addresses.take_back(user, email, taken, password=nothing, now=now)
    note(request, "email_changed", username=user.username, detail="taken back")
    token = passwords.make_reset_token(users.get(user.username), now=now)
    messages.success(request, _("The account is yours again. Choose a new password for it."))
    response = HttpResponseRedirect(reverse("new_password"))
    requests.RESET_LINK.set(response, Signed(user.username, token))
    requests.TAKE_BACK_LINK.forget(response)
    return response


def _keep(cookie: SignedCookie, user: User | None, token: str, page_name: str) -> HttpResponse:
    """Redirect to the page of a link, which stands in a cookie then if it is a user's."""
    response = HttpResponseRedirect(reverse(page_name))
    if user:
        cookie.set(response, Signed(user.username, token))
    else:
        cookie.forget(response)
    # Not on the page: under this policy browsers send its form with `Origin: null`, which the CSRF check refuses.
    response["Referrer-Policy"] = "no-referrer"
    return response


def _link_is_over(request: HttpRequest, cookie: SignedCookie) -> HttpResponse:
    context = {"of_password": cookie is requests.RESET_LINK}
    response = render(request, "accounts/link_over.html", context, status=410)
    cookie.forget(response)
    return response
