"""Users and their roles: for admins."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.accounts.reauthentication import fresh
from dealsite.accounts.security_log import note
from dealsite.data.people import two_factor, users
from dealsite.data.table.errors import Forbidden
from dealsite.text import stored_words
from dealsite.web.pages import action, page

DUTIES = {
    "editor": gettext_lazy("Publishes deals, brands and category pages, and sets the featured deals."),
    "back office": gettext_lazy("Processes orders and payments, and asks questions of the data."),
    "admin": gettext_lazy("May do all of this, and gives roles to others."),
}


@page("1 scan + 2 batch gets or 1 get + 1 scan + 2 batch gets", at=("", "?find=nobody"))
@role("admin")
@require_safe
def user_list(request: HttpRequest) -> HttpResponse:
    """A page of users, or the one user whose name or e-mail address was asked for."""
    find = request.GET.get("find", "").strip()[:254]
    if find and (found := users.find(find)):
        return redirect("cms_user", found.username)
    page = users.page(after=request.GET.get("after") or None)
    context = {
        "find": find,
        "page": page,
        "count": users.count(),
        "after": f"?{urlencode({'after': page.after})}" if page.after else "",
    }
    return render(request, "cms/people/users.html", context)


@page("1 get")
@role("admin")
@require_safe
def user(request: EditorRequest, username: str) -> HttpResponse:
    """One user, with roles to give and take."""
    account = users.get(username)
    is_own = account.username == request.user.username
    roles = [
        {
            "name": name,
            "does": DUTIES[name],
            "has": name in account.roles,
            "is_fixed": is_own and name == "admin",
        }
        for name in users.ROLES
    ]
    trail = [(reverse("cms_users"), _("Users")), ("", account.username)]
    context = {"account": account, "roles": roles, "trail": trail, "is_own": is_own}
    return render(request, "cms/people/user.html", context)


@action
@role("admin")
@fresh
@require_POST
def change_role(request: EditorRequest, username: str, *, give: bool) -> HttpResponse:
    """Give a user a role, or take it from them, from their next request on."""
    name, by = request.POST.get("role", ""), request.user.username
    if not give and name == "admin" and username == by:
        raise Forbidden(_("You cannot take the role admin from yourself. Another admin can."))
    change = users.give_role if give else users.take_role
    change(username, name, by=by, now=timezone.now())
    note(
        request,
        "roles_changed",
        username=username,
        detail=f"{'given' if give else 'lost'} the role {name}, by {by}",
    )
    done = (
        _("%(user)s now has the role %(role)s.") if give else _("%(user)s no longer has the role %(role)s.")
    )
    messages.success(request, done % {"user": username, "role": stored_words.shown(name)})
    return redirect("cms_user", username)


@action
@role("admin")
@fresh
@require_POST
def reset_two_factor(request: EditorRequest, username: str) -> HttpResponse:
    """Turn off the second factor of a user who has lost it, and sign them out everywhere."""
    by = request.user.username
    if username == by:
        raise Forbidden(
            _("Turn off your own second factor in your account, by a code; or ask another admin.")
        )
    account = users.get(username)
    if account.two_factor:
        two_factor.turn_off(account, by=by, now=timezone.now())
        note(request, "factor_changed", username=username, detail=f"turned two-factor sign-in off, by {by}")
    done = _("%(username)s signs in with the password alone, and is signed out everywhere.")
    messages.success(request, done % {"username": username})
    return redirect("cms_user", username)
