"""My data: all that is stored about who is signed in, as JSON, and what of it stays when the account is deleted."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from dealsite.accounts import limits
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.reauthentication import fresh
from dealsite.accounts.requests import UserRequest
from dealsite.accounts.security_log import note
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.personal import Stays
from dealsite.data.people import my_data as stored
from dealsite.text.lazy import Text
from dealsite.web.pages import page

STAYS: dict[Stays, tuple[Text, Text]] = {  # by why the entity chart says that it stays: what does, and why
    "name": (
        gettext_lazy("Your user name, and when the account was deleted"),
        gettext_lazy("so that nobody can pass for you"),
    ),
    "law": (
        gettext_lazy("Your orders and payments, with the name and addresses on them"),
        gettext_lazy("the law asks for the records of what was bought and paid"),
    ),
    "security": (
        gettext_lazy("Log entries: what was changed and by whom, sign-ins and the networks they came from"),
        gettext_lazy("they show what happened if something goes wrong, and are cleared after a time"),
    ),
    "work": (
        gettext_lazy("If you worked for this site: your user name on what you made or changed"),
        gettext_lazy("others have to know who did it"),
    ),
    "passing": (
        gettext_lazy("Traces in work that is under way, such as a mail that could not be sent yet"),
        gettext_lazy("they go by themselves after a time"),
    ),
}


@page("none")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
@fresh
def my_data(request: UserRequest) -> HttpResponse:
    """Say what there is, or answer with all that is stored about the user, for who has just given their password."""
    if request.method != "POST":
        return render(request, "accounts/my_data.html", {"stays": what_stays()})
    username, now = request.user.username, timezone.now()
    limits.count_use(request, "my-data", now=now)
    file, _ = stored.as_json(username, now=now)
    note(request, "export_asked", username=username, detail="my data")
    response = HttpResponse(file, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="my-data-{now:%Y-%m-%d}.json"'
    return response


def what_stays() -> list[tuple[Text, Text]]:
    """Return what still names a user after their account is deleted, and why, by the reasons in the entity chart."""
    reasons = {one.stays_for for one in ENTITIES.values()}
    return [words for reason, words in STAYS.items() if reason in reasons]
