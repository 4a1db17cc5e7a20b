"""The list of a user's sessions with their devices, and ending them."""

import re

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from dealsite.accounts.decorators import signed_in
from dealsite.accounts.reauthentication import fresh
from dealsite.accounts.requests import UserRequest
from dealsite.accounts.security_log import note
from dealsite.data.people import sessions as stored_sessions
from dealsite.data.table.errors import NotFound
from dealsite.web.pages import action, page

KEY_HASH = re.compile(r"[0-9a-f]{64}")
# The first that occurs: browsers also name those that they want to be taken for.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
    ("curl", "curl"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


@page("1 query")
@signed_in
@require_safe
def sessions(request: UserRequest) -> HttpResponse:
    """Show where the user is signed in, this device first."""
    user = request.user
    found = stored_sessions.of_user(user.username, roles=user.roles, now=timezone.now())
    rows = [
        {
            "session": session,
            "device": device_name(session.user_agent),
            "ends_at": session.ends_at(user.roles),
            "is_this": session.key_hash == user.session.key_hash,
        }
        for session in found
    ]
    rows.sort(key=lambda row: not row["is_this"])
    return render(request, "accounts/sessions.html", {"rows": rows})


@action
@signed_in
@fresh
@require_POST
def end_session(request: UserRequest) -> HttpResponse:
    """End one of the user's own sessions."""
    key_hash = request.POST.get("session", "")
    if not KEY_HASH.fullmatch(key_hash):
        raise NotFound(_("There is no such session."))
    stored_sessions.end(request.user.username, key_hash)
    note(request, "sessions_ended", username=request.user.username, detail="one session")
    messages.success(request, _("That session is ended."))
    return HttpResponseRedirect(reverse("sessions"))


@action
@signed_in
@fresh
@require_POST
def end_other_sessions(request: UserRequest) -> HttpResponse:
    """End all of the user's sessions but this one."""
    user = request.user
    stored_sessions.end_all(user.username, but=user.session.key_hash)
    note(request, "sessions_ended", username=user.username, detail="all other sessions")
    messages.success(request, _("You are signed out everywhere else."))
    return HttpResponseRedirect(reverse("sessions"))


def device_name(user_agent: str) -> str:
    """Return "Firefox on Linux", or as much of it as can be told."""
    browser = _first(BROWSERS, user_agent)
    system = _first(SYSTEMS, user_agent)
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("Unknown device")


def _first(names: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for sign, name in names if sign in text), "")
