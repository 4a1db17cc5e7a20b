"""Users and their roles, and the limits of the site: how far they are used just now, and whom one stopped lately."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from cms.jobs import row as job_row
from cms.shared.requests import EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.decorators import admins, fresh
from dealsite.accounts.limit_table import ROWS
from dealsite.accounts.security_log import note
from dealsite.data.entities.people import ROLES
from dealsite.data.names import clean_text
from dealsite.data.people import security_events, sessions, throttles, two_factor, users
from dealsite.data.people.throttles import Limit
from dealsite.data.people.users import User
from dealsite.data.table.errors import Forbidden, Invalid
from dealsite.text import stored_words
from dealsite.text.stored_words import Text
from dealsite.worker.exports import every, exported

DUTIES = {
    "editor": gettext_lazy("Publishes deals, brands and category pages, and sets the featured deals."),
    "back office": gettext_lazy("Processes orders and payments, and asks questions of the data."),
    "admin": gettext_lazy("May do all of this, and gives roles to others."),
}
REASON_CHARACTERS = 200


@admins.page("1 scan + 2 batch gets or 1 get + 1 scan + 2 batch gets", at=("", "?find=nobody"))
@exported(
    gettext_lazy("Users"),
    "user_name=username, name, email, roles=roles_in_order, @created_at, @suspended_at",
    lambda query, now: every(users.page),
)
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


@admins.page("1 get + 10 queries + 1 batch get")
def user(request: EditorRequest, username: str) -> HttpResponse:
    """One user, with roles to give and take, and what of their work goes on without them."""
    account = users.get(username)
    is_own = account.username == request.user.username
    roles = [
        {
            "name": name,
            "does": DUTIES[name],
            "has": name in account.roles,
            "is_fixed": is_own and name == "admin",
        }
        for name in ROLES
    ]
    trail = [(reverse("cms_users"), _("Users")), ("", account.username)]
    now = timezone.now()
    jobs, plans = sessions.open_work(username, now=now)
    context = {"account": account, "roles": roles, "trail": trail, "is_own": is_own}
    context |= {"jobs": [job_row(job, now) for job in jobs], "plans": plans}
    return render(request, "cms/people/user.html", context)


@admins.action
@fresh
def change_role(request: EditorRequest, username: str, *, give: bool) -> HttpResponse:
    """Give a user a role, or take it from them, from their next request on."""
    name, by = request.POST.get("role", ""), request.user.username
    if not give and name == "admin" and username == by:
        raise Forbidden(_("You cannot take the role admin from yourself. Another admin can."))
    change = users.give_role if give else users.take_role
    change(username, name, by=by, now=timezone.now())
    sessions.stop_running(username, by=by, now=timezone.now())
    what = f"{'given' if give else 'lost'} the role {name}, by {by}"
    note(request, "roles_changed", username=username, detail=what)
    done = (
        _("%(user)s now has the role %(role)s.") if give else _("%(user)s no longer has the role %(role)s.")
    )
    messages.success(request, done % {"user": username, "role": stored_words.shown(name)})
    return redirect("cms_user", username)


@admins.action
@fresh
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


@admins.action
@fresh
def end_sessions(request: EditorRequest, username: str) -> HttpResponse:
    """Sign a user out everywhere."""
    account = _other(request, username)
    sessions.end_sessions(username, by=request.user.username, now=timezone.now())
    note(request, "sessions_ended", username=username, detail=f"all, by {request.user.username}")
    messages.success(request, _("%(name)s is signed out everywhere.") % {"name": account.username})
    return redirect("cms_user", username)


@admins.action
@fresh
def suspend_user(request: EditorRequest, username: str) -> HttpResponse:
    """Suspend an account, for a reason that the audit log keeps: its sessions end, and it cannot sign in."""
    account, by = _other(request, username), request.user.username
    reason = clean_text(request.POST.get("reason", "")).strip()
    if not 0 < len(reason) <= REASON_CHARACTERS:
        raise Invalid(
            reason=_("Please give a reason of at most %(most)s characters.") % {"most": REASON_CHARACTERS}
        )
    sessions.suspend(account, reason=reason, by=by, now=timezone.now())
    sessions.stop_running(username, by=by, now=timezone.now())
    note(request, "account_suspended", username=username, detail=f"by {by}")
    messages.success(request, _("%(name)s is suspended, and signed out everywhere.") % {"name": username})
    return redirect("cms_user", username)


@admins.action
@fresh
def lift_suspension(request: EditorRequest, username: str) -> HttpResponse:
    """Let a suspended user sign in again."""
    account, by = _other(request, username), request.user.username
    sessions.lift_suspension(account.username, by=by, now=timezone.now())
    note(request, "account_suspended", username=username, detail=f"lifted, by {by}")
    messages.success(request, _("%(name)s can sign in again.") % {"name": username})
    return redirect("cms_user", username)


def _other(request: EditorRequest, username: str) -> User:
    """Return a user who is not the one who asks, else Forbidden; NotFound. 1 get."""
    if username == request.user.username:
        raise Forbidden(_("You cannot do this to your own account. Another admin can."))
    return users.get(username)


NEAR = 0.8  # of a limit


@dataclass(frozen=True)
class LimitUse:
    """A limit as its list shows it; `used` is how often it was, on the whole site, None where that is not counted."""

    name: str
    limit: Limit
    used: int | None

    @property
    def is_near(self) -> bool:
        return self.used is not None and self.used >= NEAR * self.limit.tries

    @property
    def is_reached(self) -> bool:
        return self.used is not None and self.used >= self.limit.tries

    @property
    def span(self) -> str:
        return throttles.in_words(int(self.limit.span.total_seconds()))


@admins.page("1 batch get + 1 query")
def limit_list(request: EditorRequest) -> HttpResponse:
    """Show every limit with its use, and who was stopped lately. 1 batch get + 1 query."""
    now = timezone.now()
    in_all = {name for row in ROWS for name in row.limits if name.endswith("-total")} | {"sign-in-unknown"}
    stored = throttles.uses(map(limits.limit, in_all), limits.EVERYBODY, now=now)
    here = {f"{row.name}-total" for row in ROWS if row.in_memory}
    used = stored | {name: limits.used_here(name, now=now) for name in here}
    rows = [
        (row, [LimitUse(name, limits.limit(name), used.get(name)) for name in row.limits]) for row in ROWS
    ]
    context = {
        "rows": rows,
        "near": [row for row, uses in rows if any(use.is_near for use in uses)],
        "stopped": [(event, _what(event.detail)) for event in security_events.page(event="throttled").rows],
    }
    return render(request, "cms/people/limits.html", context)


def _what(name: str) -> Text:
    """Return what a limit counts; its name where it is none of the table's."""
    return next((row.what for row in ROWS if name in row.limits), name)
